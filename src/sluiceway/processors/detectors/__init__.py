"""Detectors: what looks at a text and says what it found, where, and how sure it is."""

from sluiceway.processors.detectors._adapters import EldcDetector, FastLangDetector, PresidioDetector, SpacyDetector
from sluiceway.processors.detectors._betterleaks import BetterleaksDetector
from sluiceway.processors.detectors._classifier import ClassifierDetector
from sluiceway.processors.detectors._custom import custom_rule
from sluiceway.processors.detectors._escapes import (
    EscapedHold,
    Offsets,
    escaped,
    hold_for,
    paired,
    read_escapes,
)
from sluiceway.processors.detectors._holdback import HoldBack, HoldExceeded, Release
from sluiceway.processors.detectors._injection import INJECTION_TYPES, InjectionRules
from sluiceway.processors.detectors._languages import LANGUAGES, LanguageRules, language_code
from sluiceway.processors.detectors._leaks import leak_rules
from sluiceway.processors.detectors._mask import REDACTION_METHODS, RedactionMethod, placeholder_of, replacement
from sluiceway.processors.detectors._model import ModelChoice, ModelDetector, ModelTask, checked_model
from sluiceway.processors.detectors._normalize import COMPATIBILITY, Compatibility, normalize_text
from sluiceway.processors.detectors._overlap import Finding, unite
from sluiceway.processors.detectors._pii import PII_MODEL_TYPES, PII_RULE_TYPES, PIIRules
from sluiceway.processors.detectors._port import Classifier, Detection, Detector, Span
from sluiceway.processors.detectors._rule import Rule, find, opens_with
from sluiceway.processors.detectors._verdict import FLAGGED, Verdict

__all__ = [
    "COMPATIBILITY",
    "FLAGGED",
    "INJECTION_TYPES",
    "LANGUAGES",
    "PII_MODEL_TYPES",
    "PII_RULE_TYPES",
    "REDACTION_METHODS",
    "BetterleaksDetector",
    "Classifier",
    "ClassifierDetector",
    "Compatibility",
    "Detection",
    "Detector",
    "EldcDetector",
    "EscapedHold",
    "FastLangDetector",
    "Finding",
    "HoldBack",
    "HoldExceeded",
    "InjectionRules",
    "LanguageRules",
    "ModelChoice",
    "ModelDetector",
    "ModelTask",
    "Offsets",
    "PIIRules",
    "PresidioDetector",
    "RedactionMethod",
    "Release",
    "Rule",
    "SpacyDetector",
    "Span",
    "Verdict",
    "checked_model",
    "custom_rule",
    "escaped",
    "find",
    "hold_for",
    "language_code",
    "leak_rules",
    "normalize_text",
    "opens_with",
    "paired",
    "placeholder_of",
    "read_escapes",
    "replacement",
    "unite",
]
