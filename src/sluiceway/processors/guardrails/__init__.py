"""Guardrails: processors that look at texts and block, redact, filter or report what they find."""

from sluiceway.processors.guardrails._pii_detector import PIIDetector
from sluiceway.processors.guardrails._prompt_injection_detector import PromptInjectionDetector
from sluiceway.processors.guardrails._unicode_normalizer import UnicodeNormalizer

__all__ = ["PIIDetector", "PromptInjectionDetector", "UnicodeNormalizer"]
