"""What one run of a scenario showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sluiceway.errors import SluicewayError
from sluiceway.messages import Chunk

__all__ = ["Observed", "SeenTurn"]


@dataclass(slots=True)
class SeenTurn:
    """One call: its result or error, and its chunks where they were read."""

    text: str | None = None
    finish_reason: str | None = None
    tripwire: Any = None
    error: SluicewayError | None = None
    chunks: list[Chunk] | None = None

    def take(self, result: Any) -> None:
        """Note the fields of a result."""
        self.text, self.finish_reason, self.tripwire = result.text, result.finish_reason, result.tripwire


@dataclass(slots=True)
class Observed:
    """All calls of a scenario, the hook order over all of them, and what the models were given."""

    hooks: Sequence[str]
    prompts: Sequence[Any]
    turns: Sequence[SeenTurn]
    calls: Sequence[Any]
    other_models: dict[str, int] = field(default_factory=dict[str, int])
    stored: list[dict[str, Any]] | None = None
