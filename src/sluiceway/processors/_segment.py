"""Segments: what the branches of a `parallel` made of one stretch of the stream, and their merge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from sluiceway.messages import Chunk, Hunk, merge_hunks, merge_value
from sluiceway.processors._stream_runs import DELTAS, Run, split_chunks, width

__all__ = ["Segment", "merge_segment"]

_Edit: TypeAlias = "tuple[int, int, tuple[Chunk, ...], bool]"
"""Positions `start` to `end` became these chunks; whether exactly they did."""


class Segment:
    """A stretch of the stream as it came in, and as each branch made it.

    Args:
        base: The chunks as they came in.
        runs: Branch key to its runs, in list order.
        n: How many positions it has.
    """

    __slots__ = ("base", "n", "runs")

    def __init__(self, base: Sequence[Chunk], runs: dict[str, list[Run]], n: int) -> None:
        self.base = base
        self.runs = runs
        self.n = n

    def parts(self, key: str) -> Sequence[Chunk]:
        """Return the chunks that a branch made of it."""
        if all(run.same for run in self.runs[key]):
            return self.base
        return [chunk for run in self.runs[key] for chunk in run.chunks]

    def unchanged(self) -> list[Run]:
        """Return the runs of a branch that changes nothing."""
        return [Run(self.n, self.base, same=True)] if self.n else []


def merge_segment(segment: Segment, prefer: str | None = None) -> list[Run]:
    """Return the segment with the edits of all branches.

    What meets is settled as in texts (see `merge_hunks`): exact edits that overlap become one
    over their whole union. Other chunks than deltas are merged by the fields of their payload.

    Args:
        segment: What the branches made.
        prefer: The branch that wins a conflict; None: a conflict is an error.

    Raises:
        MergeConflict: Two branches changed the same positions in different ways.
    """
    edits = {key: list(_edits(runs)) for key, runs in segment.runs.items()}
    changed = [key for key, made in edits.items() if made]
    if not changed:
        return segment.unchanged()
    if len(changed) == 1:
        return segment.runs[changed[0]]
    _merge_payloads(segment.base, edits, prefer)
    names = _Names()
    hunks = [(key, tuple(_hunk(edit, names) for edit in made)) for key, made in edits.items()]
    return _applied(segment, merge_hunks(hunks, prefer, "the same piece of the stream"), names)


class _Names:
    """Chunks as texts, so that merges of texts can compare them."""

    def __init__(self) -> None:
        self._names: dict[tuple[Chunk, ...], str] = {(): ""}
        self._chunks: dict[str, tuple[Chunk, ...]] = {"": ()}

    def of(self, chunks: tuple[Chunk, ...]) -> str:
        name = self._names.setdefault(chunks, str(len(self._names)))
        self._chunks.setdefault(name, chunks)
        return name

    def chunks(self, name: str) -> tuple[Chunk, ...]:
        return self._chunks[name]


def _hunk(edit: _Edit, names: _Names) -> Hunk:
    start, end, chunks, exact = edit
    return Hunk(start, end, names.of(chunks), redact=exact and start < end, exact=exact)


def _edits(runs: Sequence[Run]) -> Iterator[_Edit]:
    """Give the edits among the runs. Runs that are glued are one, unless something stands between."""
    at = start = 0
    chunks: list[Chunk] = []
    exact, is_open = True, False
    for run in runs:
        if run.same:
            if is_open:
                yield start, at, tuple(chunks), exact
            at += run.n_in
            start, chunks, exact, is_open = at, [], True, False
            continue
        at += run.n_in
        chunks.extend(run.chunks)
        exact = exact and run.exact
        is_open = run.glue
        if not is_open:
            yield start, at, tuple(chunks), exact
            start, chunks, exact = at, [], True
    if is_open:
        yield start, at, tuple(chunks), exact


def _merge_payloads(base: Sequence[Chunk], edits: dict[str, list[_Edit]], prefer: str | None) -> None:
    """Give all branches that changed one chunk, and not its type, the merge of what they made of it."""
    at = 0
    for chunk in base:
        if chunk.type not in DELTAS:
            made = dict(_replacements(at, chunk, edits))
            if len(made) > 1 and len({id(one) for one in made.values()}) > 1:
                _settle_payload(at, chunk, made, edits, prefer)
        at += width(chunk)


def _replacements(at: int, chunk: Chunk, edits: Mapping[str, Sequence[_Edit]]) -> Iterator[tuple[str, Chunk]]:
    for key, made in edits.items():
        for start, end, chunks, _ in made:
            if (start, end) == (at, at + 1) and len(chunks) == 1 and chunks[0].type == chunk.type:
                yield key, chunks[0]


def _settle_payload(
    at: int, chunk: Chunk, made: Mapping[str, Chunk], edits: dict[str, list[_Edit]], prefer: str | None
) -> None:
    versions = [(key, dict(one.payload)) for key, one in made.items()]
    payload = merge_value(dict(chunk.payload), versions, prefer, f"a {chunk.type} chunk")
    merged = chunk.replace(payload=payload, execute=any(one.execute for one in made.values()) or None)
    for key in made:
        edits[key] = [
            (start, end, (merged,), exact) if (start, end) == (at, at + 1) else (start, end, chunks, exact)
            for start, end, chunks, exact in edits[key]
        ]


def _applied(segment: Segment, hunks: Sequence[Hunk], names: _Names) -> list[Run]:
    out: list[Run] = []
    rest: Sequence[Chunk] = segment.base
    at = 0
    for hunk in hunks:
        same, rest = split_chunks(rest, hunk.start - at)
        _, rest = split_chunks(rest, hunk.end - hunk.start)
        if same:
            out.append(Run(hunk.start - at, same, same=True))
        out.append(Run(hunk.end - hunk.start, names.chunks(hunk.text), exact=hunk.exact))
        at = hunk.end
    if rest:
        out.append(Run(segment.n - at, rest, same=True))
    return out
