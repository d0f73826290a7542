"""The steps of a run that wait, and which of them an answer is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from sluiceway.engine._flow import Flow, Indices, position
from sluiceway.engine._records import StepRecord, Suspension
from sluiceway.engine._step import Data
from sluiceway.errors import RunError

__all__ = ["Resume", "answers", "suspensions"]

_SEPARATOR: Final = " › "


@dataclass(frozen=True, slots=True)
class Resume:
    """Which waiting steps go on, and with what.

    Args:
        step: Id or path of the step; None where only one waits.
        index: Which items of a `foreach`, from 0: one, or a list.
        data: The answer, or a list of them where `index` is a list.
    """

    step: str | None = None
    index: int | Sequence[int] | None = None
    data: Data = None


def suspensions(flow: Flow) -> tuple[Suspension, ...]:
    """Return the steps that wait. A workflow that waits because of a step in it is not one."""
    return tuple(
        Suspension(record.path, record.step_id, record.payload, at[-1] if at else None)
        for _, at, record in _waiting(flow)
    )


def _waiting(flow: Flow) -> list[tuple[str, Indices, StepRecord]]:
    waiting = [entry for entry in flow.records.items() if entry[2].status == "suspended"]
    above: set[str] = set()
    for path, _, _ in waiting:
        parts = path.split(_SEPARATOR)
        above.update(_SEPARATOR.join(parts[:length]) for length in range(1, len(parts)))
    return sorted((entry for entry in waiting if entry[0] not in above), key=lambda entry: entry[1])


def answers(flow: Flow, what: Resume) -> dict[tuple[str, Indices], Data]:
    """Return which waiting steps go on, and with what.

    Raises:
        RunError: It is not clear which, or it does not wait; the text lists those that do.
    """
    run_id = flow.run_id
    waiting = _waiting(flow)
    named = [entry for entry in waiting if what.step is None or what.step in _names(entry)]
    there = ", ".join(position(path, at) for path, at, _ in waiting)
    if not named:
        raise RunError(f"run {run_id!r}: no step {what.step!r} waits; there wait: {there}", run_id=run_id)
    indices, given = _indices(what, run_id)
    if len({entry[0] for entry in named}) > 1:
        message = f"run {run_id!r}: several steps wait, say which with step=: {there}"
        raise RunError(message, run_id=run_id)
    if indices is None:
        if len(named) > 1:
            listed = ", ".join(str(at[-1]) for _, at, _ in named)
            message = f"run {run_id!r}: several items wait, say which with index=: {listed}"
            raise RunError(message, run_id=run_id)
        return {named[0][:2]: what.data}
    by_index: dict[int, list[tuple[str, Indices, StepRecord]]] = {}
    for entry in named:
        by_index.setdefault(entry[1][-1] if entry[1] else -1, []).append(entry)
    chosen: dict[tuple[str, Indices], Data] = {}
    for index, answer in zip(indices, given, strict=True):
        hits = by_index.get(index, [])
        if len(hits) != 1:
            listed = ", ".join(position(path, at) for path, at, _ in hits or named)
            fault = "is not clear" if hits else "does not wait"
            raise RunError(f"run {run_id!r}: index {index} {fault}; there wait: {listed}", run_id=run_id)
        chosen[hits[0][:2]] = answer
    return chosen


def _names(entry: tuple[str, Indices, StepRecord]) -> tuple[str, str, str]:
    path, at, record = entry
    return record.step_id, path, position(path, at)


def _indices(what: Resume, run_id: str) -> tuple[list[int] | None, list[Data]]:
    if what.index is None:
        return None, []
    if _is_index(what.index):
        return [cast("int", what.index)], [what.data]
    if not isinstance(what.index, list | tuple) or not all(map(_is_index, what.index)):
        message = f"run {run_id!r}: index={what.index!r} is neither a whole number nor a list of them"
        raise RunError(message, run_id=run_id)
    indices = list(what.index)
    answers = list(cast("Any", what.data)) if isinstance(what.data, list | tuple) else []
    if len(set(indices)) != len(indices) or len(indices) != len(answers):
        message = f"with index={indices} data is a list of as many answers, and no index is given twice"
        raise RunError(f"run {run_id!r}: {message}", run_id=run_id)
    return indices, answers


def _is_index(index: object) -> bool:
    return isinstance(index, int) and not isinstance(index, bool)
