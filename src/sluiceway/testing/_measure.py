"""`measure_detector`: precision, recall and time of any detector on a labelled corpus."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sluiceway.errors import ConfigurationError
from sluiceway.processors import Detection, Detector, HookContext, Processor
from sluiceway.testing._corpus import CorpusPart, CorpusText
from sluiceway.testing._counting import SpanCounting, VerdictCounting
from sluiceway.testing._scores import Scores, Speed, Task

__all__ = ["MeasureOptions", "measure_detector"]

_THRESHOLDS: Final[Mapping[Task, float]] = {"pii": 0.6, "injection": 0.7}
"""What the guardrails take for a finding, where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """How a detector is measured.

    Args:
        threshold: How sure a finding has to be to count; None: 0.6 and 0.7, as for the guardrails.
        kinds: The kinds of spans, or of attacks, that count; None: all.
        rules_only: Whether spans that are not for rules, see `LabelledSpan`, are counted apart.
        rounds: How often each text is looked at; the fastest round counts.
    """

    threshold: float | None = None
    kinds: Collection[str] | None = None
    rules_only: bool = False
    rounds: int = 1


_USUAL: Final = MeasureOptions()


async def measure_detector(
    detector: Detector, part: CorpusPart, task: Task, options: MeasureOptions = _USUAL
) -> Scores:
    """Measure a detector on a part of a corpus.

    Personal data is found if a finding has its kind and both its ends: it is what a guardrail would
    put something else in the place of. An attack is found if anything in its text is. What is found
    in a benign text is wrong, and counts for the precision.

    Args:
        detector: Any detector; it is asked about one text at a time.
        part: The texts.
        task: `pii` or `injection`.
        options: How.

    Raises:
        ConfigurationError: The detector failed on a text, or the part has no texts for the task.

    Examples:
        >>> import anyio
        >>> from sluiceway.processors.detectors import PIIRules
        >>> text = CorpusText(id="1", lang="en", style="chat", text="I am ann@example.org")
        >>> part = CorpusPart("mine", benign_pii=(text,))
        >>> anyio.run(measure_detector, PIIRules(), part, "pii").false_alarm_rate
        1.0
    """
    found, benign = (part.pii, part.benign_pii) if task == "pii" else (part.injection, part.benign_injection)
    texts = [*found, *benign]
    if not texts:
        raise ConfigurationError(f"part {part.name!r} of the corpus has no texts for the task {task!r}")
    detections, seconds = await _detections(detector, texts, options.rounds)
    chars, size = sum(len(text.text) for text in texts), sum(len(text.text.encode()) for text in texts)
    scores = Scores(part.name, task, type(detector).__name__, len(benign), Speed(chars, size, seconds))
    scores.rule_ms = {rule: s * 1e6 / chars for rule, s in _profile(detector, texts).items()}
    least = _THRESHOLDS[task] if options.threshold is None else options.threshold
    counting: SpanCounting | VerdictCounting = (
        SpanCounting(scores, least, options.kinds, rules_only=options.rules_only)
        if task == "pii"
        else VerdictCounting(scores, least, options.kinds)
    )
    for at, (text, detection) in enumerate(zip(texts, detections, strict=True)):
        counting.add(text, detection, benign=at >= len(found))
    counting.finish()
    return scores


async def _detections(
    detector: Detector, texts: Sequence[CorpusText], rounds: int
) -> tuple[Sequence[Detection], float]:
    """Return what it says of each text, and the time of the fastest round."""
    taken: list[Detection] = []
    times: list[float] = []
    failed: list[ConfigurationError] = []

    async def look(ctx: HookContext) -> None:
        try:
            for _ in range(rounds):
                taken.clear()
                times.append(0.0)
                for text in texts:
                    began = time.perf_counter()
                    taken.append(await detector.detect(text.text, ctx))
                    times[-1] += time.perf_counter() - began
        except Exception as error:  # noqa: BLE001 - raised below, outside of the hook
            at = texts[len(taken)].id
            why = f"{type(detector).__name__} failed on the text {at!r}: {type(error).__name__}: {error}"
            failed.append(ConfigurationError(why))
            failed[0].__cause__ = error

    # In a hook, since a detector may need what belongs to a run, such as a request context.
    await Processor.of("measure", process_input=look).run_on("measured")
    if failed:
        raise failed[0]
    return taken, min(times)


def _profile(detector: Detector, texts: Sequence[CorpusText]) -> Mapping[str, float]:
    """Return the seconds that each rule takes for the texts, where the detector can tell."""
    profile: Callable[[str], Mapping[str, float]] | None = getattr(detector, "profile", None)
    total: dict[str, float] = defaultdict(float)
    if profile is None:
        return total
    for text in texts:
        for rule, seconds in profile(text.text).items():
            total[rule] += seconds
    return total
