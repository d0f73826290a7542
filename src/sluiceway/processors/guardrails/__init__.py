"""Guardrails: processors that look at texts and block, redact, filter or report what they find."""

from sluiceway.processors.guardrails._batch_parts_processor import BatchPartsProcessor
from sluiceway.processors.guardrails._cost_guard_processor import CostGuardProcessor
from sluiceway.processors.guardrails._inquiry import DetectionEvent
from sluiceway.processors.guardrails._language_detector import LanguageDetector
from sluiceway.processors.guardrails._ledger import CostEntry, CostLedger, InMemoryLedger, PostgresLedger, SQLiteLedger
from sluiceway.processors.guardrails._moderation_processor import MODERATION_CATEGORIES, ModerationProcessor
from sluiceway.processors.guardrails._pii_detector import PIIDetector
from sluiceway.processors.guardrails._placeholder_restorer import PlaceholderRestorer
from sluiceway.processors.guardrails._prices import Price, PriceTable
from sluiceway.processors.guardrails._prompt_injection_detector import PromptInjectionDetector
from sluiceway.processors.guardrails._regex_filter_processor import RegexFilterProcessor, RegexRule
from sluiceway.processors.guardrails._system_prompt_scrubber import SystemPromptScrubber
from sluiceway.processors.guardrails._unicode_normalizer import UnicodeNormalizer
from sluiceway.processors.guardrails._vault import PIIVault

__all__ = [
    "MODERATION_CATEGORIES",
    "BatchPartsProcessor",
    "CostEntry",
    "CostGuardProcessor",
    "CostLedger",
    "DetectionEvent",
    "InMemoryLedger",
    "LanguageDetector",
    "ModerationProcessor",
    "PIIDetector",
    "PIIVault",
    "PlaceholderRestorer",
    "PostgresLedger",
    "Price",
    "PriceTable",
    "PromptInjectionDetector",
    "RegexFilterProcessor",
    "RegexRule",
    "SQLiteLedger",
    "SystemPromptScrubber",
    "UnicodeNormalizer",
]
