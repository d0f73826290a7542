"""Tokens that model calls used."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or of several added up.

    Args:
        input_tokens: What the prompt took.
        output_tokens: What the answer took, reasoning included.
        total_tokens: Both; where None is given, their sum.
        details: Finer counts as the provider names them, such as `cached_tokens`.
        estimated: Whether the library counted because the provider did not say.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = -1
    details: tuple[tuple[str, int], ...] = ()
    estimated: bool = False

    def __post_init__(self) -> None:
        if self.total_tokens < 0:
            object.__setattr__(self, "total_tokens", self.input_tokens + self.output_tokens)

    def __add__(self, other: Usage) -> Usage:
        details = dict(self.details)
        for name, count in other.details:
            details[name] = details.get(name, 0) + count
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            tuple(details.items()),
            self.estimated or other.estimated,
        )
