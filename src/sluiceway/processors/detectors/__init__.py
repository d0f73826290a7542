"""Detectors: what looks at a text and says what it found, where, and how sure it is."""

from sluiceway.processors.detectors._holdback import HoldBack, HoldExceeded, Release
from sluiceway.processors.detectors._injection import INJECTION_TYPES, InjectionRules
from sluiceway.processors.detectors._mask import REDACTION_METHODS, RedactionMethod, replacement
from sluiceway.processors.detectors._normalize import COMPATIBILITY, Compatibility, normalize_text
from sluiceway.processors.detectors._overlap import Finding, unite
from sluiceway.processors.detectors._pii import PII_MODEL_TYPES, PII_RULE_TYPES, PIIRules
from sluiceway.processors.detectors._port import Detection, Detector, Span
from sluiceway.processors.detectors._rule import Rule, find

__all__ = [
    "COMPATIBILITY",
    "INJECTION_TYPES",
    "PII_MODEL_TYPES",
    "PII_RULE_TYPES",
    "REDACTION_METHODS",
    "Compatibility",
    "Detection",
    "Detector",
    "Finding",
    "HoldBack",
    "HoldExceeded",
    "InjectionRules",
    "PIIRules",
    "RedactionMethod",
    "Release",
    "Rule",
    "Span",
    "find",
    "normalize_text",
    "replacement",
    "unite",
]
