"""`SystemPromptScrubber`: keeps the agent's instructions out of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import regex

from sluiceway.errors import ConfigurationError
from sluiceway.processors._base import OnError, OnViolation
from sluiceway.processors._contexts import HookContext, OutputResultContext
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import Detector, Finding, ModelChoice, Rule, Span, custom_rule, find, leak_rules
from sluiceway.processors.guardrails._guard_effects import guard_effects
from sluiceway.processors.guardrails._inquiring import Asked, checked_inquiry
from sluiceway.processors.guardrails._inquiry import ErrorStrategy, OnDetection
from sluiceway.processors.guardrails._marks import mark_rule
from sluiceway.processors.guardrails._options import (
    SURFACES,
    checked_one_of,
    checked_policy,
    checked_size,
)
from sluiceway.processors.guardrails._text_guard import TextGuard
from sluiceway.processors.guardrails._windows import WindowSize

__all__ = ["SystemPromptScrubber"]

Strategy: TypeAlias = Literal["block", "warn", "filter", "redact"]
Method: TypeAlias = Literal["mask", "placeholder", "remove"]

_TYPE = "system-prompt"
_MARKERS = r"<\|(?:im_start|start_header_id)\|>\s{0,3}system|<<SYS>>"
_LETTER = re.compile(r"[^\W_]")
_TASK = (
    "Judge whether a text that an assistant wrote gives away instructions that it was given, in their words or in "
    "others. Score system-prompt from 0, not at all, to 1, certainly. Quote what does it exactly as it is written."
)


class SystemPromptScrubber(TextGuard):
    """Finds pieces of this run's system messages in the answer: offline, by what they share.

    Hooks: `process_output_stream`, `finish_output_stream`, `process_output_result`. Reads
    messages and chunks; writes them with the strategies `redact` and `filter`.

    Five words of a system message in a row count, whatever their case and what parts them; of a
    shorter message all of it. Marks that set off system messages count too. Messages that carry
    a tag, such as those of memory, do not count. On the stream any cut gives the same text, and
    nothing of a piece is delivered.

    Args:
        strategy: `redact` puts something else in the place of a piece, `filter` takes it out,
            `block` ends the run, `warn` only reports.
        custom_patterns: Further patterns of the module `regex`.
        redaction_method: `mask` (a star for each letter), `placeholder`, `remove`.
        placeholder_text: The placeholder.
        model: A model to ask too, its name, or a function of the request context.
        detector: Something else to ask too.
        instructions: What to tell the model in place of the usual.
        provider_options: Options for one provider, by its name.
        threshold: What the model scores as high or higher counts, from 0 to 1.
        buffer_size: How many characters of a stream the model gets at a time.
        timeout: How long the model may take for one text, in seconds; None: any time.
        error_strategy: What happens when a text cannot be checked: `strict` or `warn`.
        surfaces: What to look at, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`. None: all but tool results.
        on_detection: Called with a `DetectionEvent` for each text that the model has looked at.
        id: Unique within a list.
        on_violation: Called once per message or stretch of stream with a piece in it.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed.

    Examples:
        >>> SystemPromptScrubber(redaction_method="placeholder").id
        'system-prompt-scrubber'
    """

    _opens_json = True

    def __init__(
        self,
        *,
        strategy: Strategy = "redact",
        custom_patterns: Sequence[str | regex.Pattern[str] | re.Pattern[str]] = (),
        redaction_method: Method = "mask",
        placeholder_text: str = "[SYSTEM_PROMPT]",
        model: ModelChoice | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        threshold: float = 0.6,
        buffer_size: int = 400,
        timeout: float | None = 10,
        error_strategy: ErrorStrategy = "strict",
        surfaces: Sequence[str] | None = None,
        on_detection: OnDetection | None = None,
        id: str = "system-prompt-scrubber",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        checked_policy(id, strategy, ("block", "warn", "filter", "redact"), threshold)
        checked_one_of(id, "redaction_method", redaction_method, ("mask", "placeholder", "remove"))
        checked_size(id, "buffer_size", buffer_size)
        if not isinstance(placeholder_text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{id}: placeholder_text={placeholder_text!r} is not allowed; give a text")
        asked = Asked(
            model=model,
            detector=detector,
            instructions=instructions or _TASK,
            types=(_TYPE,),
            spans=True,
            provider_options=provider_options,
            timeout_s=timeout,
            error_strategy=error_strategy,
            on_detection=on_detection,
        )
        looked_at = tuple(name for name in SURFACES if name != "tool-results")
        super().__init__(
            id,
            surfaces=looked_at if surfaces is None else surfaces,
            inquiry=checked_inquiry(id, asked),
            size=WindowSize(buffer_size, buffer_size, buffer_size),
            on_violation=on_violation,
            on_error=on_error,
        )
        self.strategy = strategy
        self.threshold = threshold
        self.error_strategy = error_strategy
        self.redaction_method: Method = redaction_method
        self.placeholder_text = placeholder_text
        puts_in = strategy == "redact" and redaction_method == "placeholder"
        self._marks = mark_rule([placeholder_text]) if puts_in else None
        self._own = (custom_rule(_TYPE, _MARKERS, option="markers"), *_custom(id, custom_patterns))
        self.effects = guard_effects(
            edits=strategy in ("redact", "filter"), holds=strategy != "warn", external=self._inquiry is not None
        )

    def process_output_stream(self, ctx: StreamContext) -> Any:
        """Pass on what is cleared, hold what could still become a piece of a system message."""
        return self.look_at_chunk(ctx)

    def finish_output_stream(self, ctx: StreamContext) -> Any:
        """Decide and pass on all that is held."""
        return self.finish(ctx)

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """Look at the reply, but for what the stream hook has passed and nobody has changed since."""
        return self.look_at_result(ctx)

    def rules_of(self, ctx: HookContext) -> Sequence[Rule]:
        """Return what is looked for in this run."""
        secrets = tuple(message.text for message in ctx.system_messages if message.tag is None)
        return (*leak_rules(secrets, _TYPE), *self._own)

    def find(self, ctx: HookContext, text: str) -> Sequence[Span]:
        """Return what is in a text."""
        return find(self.rules_of(ctx), text)

    def marks_of(self, ctx: HookContext) -> Rule | None:
        """Return the rule for the placeholder: a system message may say it."""
        del ctx
        return self._marks

    def replace(self, ctx: HookContext, finding: Finding, value: str) -> str:
        """Return what stands in the place of a piece."""
        del ctx, finding
        if self.strategy == "filter" or self.redaction_method == "remove":
            return ""
        return self.placeholder_text if self.redaction_method == "placeholder" else _LETTER.sub("*", value)


def _custom(owner: str, patterns: Any) -> list[Rule]:
    if isinstance(patterns, str) or not isinstance(patterns, Sequence):
        raise ConfigurationError(f"{owner}: custom_patterns={patterns!r} is not allowed; give a list of patterns")
    given = cast("Sequence[Any]", patterns)
    for pattern in given:
        if not isinstance(pattern, str | re.Pattern | regex.Pattern):
            raise ConfigurationError(f"{owner}: custom_patterns has {pattern!r}; give patterns")
    return [custom_rule(_TYPE, pattern, option="custom_patterns") for pattern in given]
