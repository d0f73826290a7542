"""Processors that shape what the model is given."""

from sluiceway.processors.context._prefill_error_handler import PrefillErrorHandler
from sluiceway.processors.context._prepare_step import PrepareStep

__all__ = ["PrefillErrorHandler", "PrepareStep"]
