"""`ModerationProcessor`: hate, violence and their like, judged by a model or an endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.models import Model
from sluiceway.processors._base import OnError, OnViolation
from sluiceway.processors._contexts import InputContext, OutputResultContext
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import Detector, ModelChoice, checked_model
from sluiceway.processors.guardrails._guard_effects import guard_effects
from sluiceway.processors.guardrails._inquiring import Asked, checked_inquiry
from sluiceway.processors.guardrails._inquiry import ErrorStrategy, OnDetection
from sluiceway.processors.guardrails._options import (
    checked_policy,
    checked_size,
    checked_texts,
)
from sluiceway.processors.guardrails._scan import Shown
from sluiceway.processors.guardrails._text_guard import TextGuard
from sluiceway.processors.guardrails._windows import WindowSize

__all__ = ["MODERATION_CATEGORIES", "ModerationProcessor"]

Strategy: TypeAlias = Literal["block", "warn", "filter"]

MODERATION_CATEGORIES: tuple[str, ...] = (
    "hate",
    "hate/threatening",
    "harassment",
    "harassment/threatening",
    "self-harm",
    "self-harm/intent",
    "self-harm/instructions",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)
"""The usual categories, those of the moderation endpoints."""

_TASK = "Judge a text. Score each category from 0, not at all, to 1, certainly: how much the text belongs to it."


class ModerationProcessor(TextGuard):
    """Has texts scored by category and blocks, filters or reports what scores too high.

    Hooks: `process_input`, `process_output_stream`, `finish_output_stream`,
    `process_output_result`. Reads messages and chunks; writes them with the strategy `filter`.

    On the stream windows are looked at, counted from the start of the block, never single
    tokens; text is held until its window is cleared. What begins in one window and ends in the
    next is seen whole only with `chunk_window`.

    Args:
        categories: What to score.
        threshold: A score as high or higher counts, from 0 to 1. A category without a score
            does not count and is logged; one that was not asked for is ignored; an answer that
            says `blocked` or `flagged` counts whatever its scores.
        strategy: `block` ends the run, `filter` takes out the message, or the window of the
            answer, `warn` only reports.
        model: A model, its name, or a function of the request context. None, and no detector:
            the agent's own.
        detector: Something else to ask, such as `ClassifierDetector(OpenAIModerations())`.
        instructions: What to tell the model in place of the usual.
        provider_options: Options for one provider, by its name.
        chunk_window: How many earlier windows of the stream are shown along with one.
        window_chars: How long a window is.
        timeout: How long one text may take, in seconds; None: any time.
        error_strategy: What happens when a text cannot be checked: `strict` ends the run,
            `warn` logs it and lets the text through, `not checked` in the audit.
        surfaces: What to look at, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`. None: text and tool results on input, all on output.
        last_message_only: Look at the last message of the input only.
        include_scores: Whether a block's metadata and a violation's detail have the scores.
        on_detection: Called with a `DetectionEvent` for each text that was looked at.
        id: Unique within a list.
        on_violation: Called once per message or stretch of stream with something in it.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed; a model that cannot answer
            in a shape (the agent's own: when the agent is built).

    Examples:
        >>> from sluiceway.models import ScriptedModel
        >>> ModerationProcessor(model=ScriptedModel(['{"scores": {"hate": 0.1}}'])).id
        'moderation'
    """

    def __init__(
        self,
        *,
        categories: Sequence[str] = MODERATION_CATEGORIES,
        threshold: float = 0.5,
        strategy: Strategy = "block",
        model: ModelChoice | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        chunk_window: int = 0,
        window_chars: int = 400,
        timeout: float | None = 10,
        error_strategy: ErrorStrategy = "strict",
        surfaces: Sequence[str] | None = None,
        last_message_only: bool = False,
        include_scores: bool = False,
        on_detection: OnDetection | None = None,
        id: str = "moderation",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        flags = {"last_message_only": last_message_only, "include_scores": include_scores}
        checked_policy(id, strategy, ("block", "warn", "filter"), threshold, **flags)
        checked_size(id, "window_chars", window_chars)
        if isinstance(chunk_window, bool) or not isinstance(chunk_window, int) or chunk_window < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{id}: chunk_window={chunk_window!r} is not allowed; give a whole number from 0")
        self.categories = checked_texts(id, "categories", categories)
        asked = Asked(
            model=model,
            detector=detector,
            instructions=instructions or _TASK,
            types=self.categories,
            provider_options=provider_options,
            timeout_s=timeout,
            error_strategy=error_strategy,
            on_detection=on_detection,
            spans=False,
            own_model=True,
        )
        super().__init__(
            id,
            surfaces=surfaces,
            inquiry=checked_inquiry(id, asked),
            size=WindowSize(window_chars, chunk_window * window_chars),
            on_violation=on_violation,
            on_error=on_error,
        )
        self.strategy = strategy
        self.threshold = threshold
        self.error_strategy = error_strategy
        self.last_message_only = last_message_only
        self.shown = Shown(scores=include_scores)
        self._own_model = model is None and detector is None
        self.effects = guard_effects(edits=strategy == "filter", holds=strategy != "warn", external=True)

    def check_models(self, models: Sequence[Model]) -> None:
        """Refuse an agent's model that cannot judge, where it is to.

        Raises:
            ConfigurationError: It cannot answer in a shape.
        """
        if self._own_model:
            checked_model(models[0], f"{self.id}: without model= and detector= the agent's own model judges")

    def process_input(self, ctx: InputContext) -> Any:
        """Look at the messages that go to the model."""
        return self.look_at_input(ctx)

    def process_output_stream(self, ctx: StreamContext) -> Any:
        """Pass on what is cleared, a window at a time."""
        return self.look_at_chunk(ctx)

    def finish_output_stream(self, ctx: StreamContext) -> Any:
        """Have the last window looked at and pass it on."""
        return self.finish(ctx)

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """Look at the reply, but for what the stream hook has passed and nobody has changed since."""
        return self.look_at_result(ctx)

    def counts(self, type_: str) -> bool:
        """Whether a category was asked for."""
        return type_ in self.categories
