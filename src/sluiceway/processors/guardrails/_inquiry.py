"""How a guardrail asks its detector: several texts at once, none twice, within a time."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from sluiceway.engine import fan_out, raise_first, with_timeout
from sluiceway.errors import ConfigurationError
from sluiceway.processors._contexts import HookContext
from sluiceway.processors._scope import call_observer
from sluiceway.processors.detectors import Detection, Detector, Span
from sluiceway.processors.guardrails._scan import digest

__all__ = ["DetectionEvent", "ErrorStrategy", "Inquiry", "OnDetection"]

_log = logging.getLogger(__name__)

ErrorStrategy: TypeAlias = Literal["strict", "warn"]

_KEPT = 1024
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class DetectionEvent:
    """What `on_detection` is told of a text that a detector has looked at; never the text.

    Args:
        processor_id: The guardrail.
        hook: The hook it looked in.
        run_id: The run.
        length: How many characters the text has.
        detection: What was found: scores and spans; without what the text should be instead.
    """

    processor_id: str
    hook: str
    run_id: str
    length: int
    detection: Detection


OnDetection: TypeAlias = Callable[[DetectionEvent], Any]
"""Called for each text that a detector has looked at, sync or async."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Asks a detector. Holds options only; what was asked before is in the state of the run.

    Args:
        detector: What looks at the texts.
        timeout_s: How long one text may take, in seconds; None: as long as it takes.
        error_strategy: What happens where the detector fails or takes too long: `strict` ends
            the run, `warn` logs it and lets the text through.
        on_detection: Called for each text that was looked at.
    """

    detector: Detector
    timeout_s: float | None = 10.0
    error_strategy: ErrorStrategy = "strict"
    on_detection: OnDetection | None = None
    key: str = field(default="detections", kw_only=True)

    async def ask(self, ctx: HookContext, texts: Iterable[str]) -> Mapping[str, Detection]:
        """Return what is in each of the texts; one that could not be checked is not among them.

        Raises:
            TripWire: One could not be checked, and the strategy is `strict`.
            ConfigurationError: The detector cannot work like this.
        """
        known: OrderedDict[bytes, Detection] = ctx.state.setdefault(self.key, OrderedDict())
        found: dict[str, Detection] = {}
        new: dict[str, bytes] = {}
        for text in texts:
            key = digest(text)
            if key in known:
                known.move_to_end(key)
                found[text] = known[key]
            elif text:
                new[text] = key
        asked = list(new)
        failures: list[Exception] = []
        for text, outcome in zip(asked, await self._outcomes(ctx, asked), strict=True):
            if isinstance(outcome, Exception):
                failures.append(outcome)
                continue
            found[text] = known[new[text]] = outcome
            if len(known) > _KEPT:
                known.popitem(last=False)
            await self._tell(ctx, text, outcome)
        if failures:
            self._failed(ctx, failures)
        return found

    async def _outcomes(self, ctx: HookContext, texts: Sequence[str]) -> Sequence[Detection | Exception]:
        if len(texts) == 1:  # the usual case needs no task
            return [await self._one(ctx, texts[0])]
        outcomes = await fan_out([partial(self._one, ctx, text) for text in texts], limit=_AT_ONCE)
        raise_first(outcomes, [f"text {number}" for number in range(len(texts))])
        return [outcome.value for outcome in outcomes]

    async def _one(self, ctx: HookContext, text: str) -> Detection | Exception:
        try:
            look = partial(self.detector.detect, text, ctx)
            said = await with_timeout(look, self.timeout_s, path=ctx.processor_id, run_id=ctx.run_id)
            return _checked(said, len(text))
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a detector raises: the text was not checked
            return error

    async def _tell(self, ctx: HookContext, text: str, detection: Detection) -> None:
        if self.on_detection is None:
            return
        shown = Detection(detection.scores, detection.spans, detection.reason)
        event = DetectionEvent(ctx.processor_id, ctx.hook, ctx.run_id, len(text), shown)
        await call_observer(self.on_detection, event, what=f"on_detection of processor {ctx.processor_id!r}")

    def _failed(self, ctx: HookContext, failures: Sequence[Exception]) -> None:
        kinds = sorted({type(error).__name__ for error in failures})
        reason = f"processor {ctx.processor_id!r} could not check {len(failures)} text(s): {', '.join(kinds)}"
        ctx.note("not checked", {"reason": reason, "texts": len(failures)})
        if self.error_strategy == "strict":
            ctx.abort(reason, metadata={"status": "not checked", "errors": kinds})
        _log.warning("%s; let through", reason)


def _checked(said: Any, length: int) -> Detection:
    """Return what a detector said if it makes sense; else a text would pass for looked at that was not."""
    if not isinstance(said, Detection):
        raise TypeError(f"detect() must return a Detection, not {type(said).__name__}")
    spans = cast("Sequence[Any]", said.spans)
    for span in spans:
        if not isinstance(span, Span) or not 0 <= span.start < span.end <= length:
            raise ValueError(f"a span must lie inside the text of {length} characters")
    for score in (*said.scores.values(), *(span.score for span in spans)):
        if math.isnan(score):
            raise ValueError("a score must be a number from 0 to 1")
    text: Any = said.text
    if text is not None and not isinstance(text, str):
        raise TypeError("the text of a Detection must be a str, or None")
    return said
