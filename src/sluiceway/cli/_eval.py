"""`sluiceway eval`: how much a detector finds of a labelled corpus, and how fast."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import anyio
import typer

from sluiceway.cli._eval_show import show
from sluiceway.cli._load import load_object
from sluiceway.errors import ConfigurationError
from sluiceway.processors import Detector
from sluiceway.processors.detectors import InjectionRules, PIIRules
from sluiceway.testing import HELD_OUT, CorpusPart, MeasureOptions, Scores, Task, measure_detector, read_corpus

__all__ = ["evaluate"]

_CORPUS: Final = Path("tests/data/eval")
_ROUNDS: Final = 3


@dataclass(frozen=True)
class _Measured:
    detector: Detector
    task: Task
    ours: bool


def evaluate(
    corpus: Annotated[
        Path, typer.Argument(help="A folder with the texts; it is described in the documents.")
    ] = _CORPUS,
    *,
    detector: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE:NAME", help="A detector of your own instead of the rules; may be repeated."),
    ] = None,
    task: Annotated[
        Literal["pii", "injection"] | None, typer.Option(help="Measure this alone; by default what the corpus has.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="A kind of span or attack that counts; may be repeated. By default all.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="How sure a finding has to be; by default as for the guardrails.")
    ] = None,
    misses: Annotated[
        bool, typer.Option("--misses", help="List what was got wrong, but for the held-out part.")
    ] = False,
    held_out: Annotated[bool, typer.Option("--held-out", help="With --misses: of the held-out part too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure detectors on a labelled corpus: precision, recall and time, by kind and by rule.

    Without `--detector` the built-in rules. The exit code is 0 if it could be measured, whatever came of
    it, and 1 if not.
    """
    if held_out and not misses:
        raise ConfigurationError("--held-out says of which part to list the misses; give --misses too")
    parts = read_corpus(corpus)
    measured = [one for one in _detectors(detector or ()) if task in (None, one.task)]
    scores = anyio.run(_measure, measured, parts, kind, threshold)
    if not scores:
        raise ConfigurationError(f"{corpus}: no part of it has texts for {task or 'any task'!r}")
    listed = {part.name for part in parts if misses and (held_out or part.name != HELD_OUT)}
    if as_json:
        typer.echo(json.dumps([one.to_dict(misses=one.part in listed) for one in scores], ensure_ascii=False, indent=1))
    else:
        show(scores, listed)


def _detectors(targets: Sequence[str]) -> list[_Measured]:
    if not targets:
        return [_Measured(PIIRules(), "pii", ours=True), _Measured(InjectionRules(), "injection", ours=True)]
    tasks: tuple[Task, ...] = ("pii", "injection")
    return [_Measured(_loaded(target), task, ours=False) for target in targets for task in tasks]


def _loaded(target: str) -> Detector:
    made = load_object(target)
    if isinstance(made, type):
        made = made()
    if not isinstance(made, Detector):
        raise ConfigurationError(
            f"{target}: {type(made).__name__} is no detector; it needs `async def detect(self, text, ctx) -> Detection`"
        )
    return made


async def _measure(
    measured: Sequence[_Measured], parts: Sequence[CorpusPart], kinds: Sequence[str] | None, threshold: float | None
) -> list[Scores]:
    # One of your own may cost money, and is asked once.
    ours = MeasureOptions(threshold=threshold, kinds=kinds, rules_only=True, rounds=_ROUNDS)
    own = MeasureOptions(threshold=threshold, kinds=kinds)
    return [
        await measure_detector(one.detector, part, one.task, ours if one.ours else own)
        for one in measured
        for part in parts
        if (part.pii or part.benign_pii if one.task == "pii" else part.injection or part.benign_injection)
    ]
