"""`PlaceholderRestorer`: puts back what reversible placeholders of the answer stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import regex

from sluiceway.errors import ConfigurationError
from sluiceway.processors._base import OnError, OnViolation
from sluiceway.processors._contexts import HookContext, OutputResultContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import Finding, Rule, Span, opens_with
from sluiceway.processors.guardrails._text_guard import TextGuard
from sluiceway.processors.guardrails._vault import PLACEHOLDER, PIIVault
from sluiceway.processors.guardrails._windows import WindowSize

__all__ = ["PlaceholderRestorer"]

_SHOWN = ("text", "reasoning", "object")
_RULES = (
    Rule(
        "placeholder",
        "placeholder",
        regex.compile(PLACEHOLDER.pattern),
        gate=opens_with(["["], edge=""),
        lookbehind_chars=1,
    ),
)


class PlaceholderRestorer(TextGuard):
    """Puts values in the place of the placeholders that a `PIIDetector(reversible=True)` gave out.

    Hooks: `process_output_stream`, `finish_output_stream`, `process_output_result`. Reads and
    writes messages and chunks; never aborts. List it last among the output processors: what
    comes after it sees the values.

    Whatever the cut of the stream, the text is that of the whole answer restored. Placeholders
    that are not of this run or thread stay as they are. What the client sees is what is stored;
    later prompts get the placeholders again, from the detector.

    Args:
        vault: The detector's vault.
        surfaces: Where to restore, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`. None: text, reasoning and objects. Tools get values through the detector's
            `restore_tools`, and what is shown of their calls keeps the placeholders.
        id: Unique within a list.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed.
    """

    _opens_json = True

    def __init__(
        self,
        vault: PIIVault,
        *,
        surfaces: Sequence[str] | None = None,
        id: str = "placeholder-restorer",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(
            id,
            surfaces=_SHOWN if surfaces is None else surfaces,
            inquiry=None,
            size=WindowSize(1),
            on_violation=on_violation,
            on_error=on_error,
        )
        if not isinstance(vault, PIIVault):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{id}: vault={vault!r} is not allowed; give the vault of a PIIDetector")
        self.vault = vault
        self.strategy = "redact"
        self.silent = True
        stream = Effects(reads=("chunk",), writes=("chunk", "state"), aborts=False)
        self.effects = {
            "process_output_stream": stream,
            "finish_output_stream": stream,
            "process_output_result": Effects(reads=("messages",), writes=("messages", "state"), aborts=False),
        }

    def process_output_stream(self, ctx: StreamContext) -> Any:
        """Pass on the text, holding what could still become a placeholder."""
        return self.look_at_chunk(ctx)

    def finish_output_stream(self, ctx: StreamContext) -> Any:
        """Pass on all that is held."""
        return self.let_go(ctx)

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """Restore what later processors changed."""
        return self.look_at_result(ctx)

    def rules_of(self, ctx: HookContext) -> Sequence[Rule]:
        """Return the rule for placeholders."""
        del ctx
        return _RULES

    def find(self, ctx: HookContext, text: str) -> Sequence[Span]:
        """Return the placeholders in a text that stand for something."""
        book = self.vault.book(ctx)
        return [
            Span(*match.span(), "placeholder")
            for match in PLACEHOLDER.finditer(text)
            if book.value(match.group()) is not None
        ]

    def replace(self, ctx: HookContext, finding: Finding, value: str) -> str:
        """Return what a placeholder stands for; itself if that is nothing."""
        del finding
        restored = self.vault.book(ctx).value(value)
        return value if restored is None else restored
