"""Guards of one pattern, for cases that speak of such."""

from __future__ import annotations

from typing import Literal

from sluiceway.processors import PIIDetector

__all__ = ["redactor"]


def redactor(name: str, pattern: str, *, strategy: Literal["redact", "block"] = "redact") -> PIIDetector:
    """Return a guard that replaces what a pattern matches by the name in brackets, or blocks it."""
    return PIIDetector(
        id=f"{name}-redactor",
        detection_types={name: pattern},
        strategy=strategy,
        redaction_method="placeholder",
    )
