"""Agents behind an API, a page to watch them, and guards around the official clients."""

from sluiceway.serve._clients import guard_anthropic, guard_openai
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._server import Server

__all__ = ["ServeOptions", "Server", "guard_anthropic", "guard_openai"]
