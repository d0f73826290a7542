"""The command line: `sluiceway run`, and what else there is to see and check."""

from sluiceway.cli._app import app, main
from sluiceway.cli._load import load

__all__ = ["app", "load", "main"]
