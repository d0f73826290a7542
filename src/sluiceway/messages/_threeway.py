"""Three-way merges of texts and plain values: what several branches made of one base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluiceway._types import MISSING
from sluiceway.errors import MergeConflict
from sluiceway.messages._box import copy_value, same_value
from sluiceway.messages._hunks import Hunk, apply_hunks, diff

__all__ = ["Version", "conflict", "merge_hunks", "merge_text", "merge_value"]

Version: TypeAlias = "tuple[str, Any]"
"""The key of a branch, and what it made of the thing."""

_Placed: TypeAlias = "tuple[int, Hunk]"
"""A hunk and the place of its branch in list order."""


def conflict(keys: Sequence[str], where: str) -> MergeConflict:
    """Return the error for branches that disagree."""
    named = " and ".join(repr(key) for key in keys)
    return MergeConflict(
        f"The branches {named} changed {where} in different ways. Pick a branch with `.map(key)`, "
        "or say which one wins with `merge.prefer(key)`.",
        keys=keys,
    )


def merge_text(base: str, versions: Sequence[Version], prefer: str | None = None, where: str = "a text") -> str:
    """Return a text with the edits of several branches in it.

    Args:
        base: The text that all began from.
        versions: Per branch, in list order, its key and either the text it made, or hunks.
        prefer: The branch whose edits win where they meet others.
        where: What it is, for the error.

    Raises:
        MergeConflict: Edits meet and are neither equal nor all exact redactions.
    """
    hunks = [(key, diff(base, made) if isinstance(made, str) else tuple(made)) for key, made in versions]
    return apply_hunks(base, merge_hunks(hunks, prefer, where))


def merge_hunks(branches: Sequence[tuple[str, tuple[Hunk, ...]]], prefer: str | None, where: str) -> tuple[Hunk, ...]:
    """Return the hunks of several branches as one ascending, disjoint sequence.

    Hunks that meet form a group. A group of one branch is kept; one in which all branches
    have the same hunks counts once; one of exact redactions only becomes a single hunk over
    their union, with the text of the first branch. Anything else is a conflict.

    Args:
        branches: The key of each branch and its hunks, in list order.
        prefer: The key of the branch that wins a conflict; None: no branch does.
        where: What is merged, for the error.
    """
    keys = [key for key, hunks in branches if hunks]
    if len(keys) < 2:
        return next((hunks for _, hunks in branches if hunks), ())
    placed: list[_Placed] = [(rank, hunk) for rank, (_, hunks) in enumerate(branches) for hunk in hunks]
    placed.sort(key=lambda item: (item[1].start, item[1].end, item[0]))
    out: list[Hunk] = []
    for group in _groups(placed):
        out += _resolve(group, [key for key, _ in branches], prefer, where)
    return tuple(out)


def _groups(placed: Sequence[_Placed]) -> list[list[_Placed]]:
    groups: list[list[_Placed]] = []
    end = -1
    for rank, hunk in placed:
        last = groups[-1][-1][1] if groups else None
        same_point = last is not None and hunk.start == hunk.end == last.start == last.end
        if groups and (hunk.start < end or same_point):
            groups[-1].append((rank, hunk))
            end = max(end, hunk.end)
        else:
            groups.append([(rank, hunk)])
            end = hunk.end
    return groups


def _resolve(group: list[_Placed], keys: Sequence[str], prefer: str | None, where: str) -> list[Hunk]:
    by_rank: dict[int, list[Hunk]] = {}
    for rank, hunk in group:
        by_rank.setdefault(rank, []).append(hunk)
    ranks = sorted(by_rank)
    first = by_rank[ranks[0]]
    if len(ranks) == 1:
        return first
    if all(_spans(by_rank[rank]) == _spans(first) for rank in ranks):
        return [
            Hunk(one.start, one.end, one.text, any(h.redact for h in same), all(h.exact for h in same))
            for one, *rest in zip(*[by_rank[rank] for rank in ranks], strict=True)
            for same in [(one, *rest)]
        ]
    hunks = [hunk for _, hunk in group]
    if all(hunk.exact and hunk.redact for hunk in hunks):
        start, end = min(h.start for h in hunks), max(h.end for h in hunks)
        return [Hunk(start, end, first[0].text, redact=True)]
    winner = next((rank for rank in ranks if keys[rank] == prefer), None)
    if winner is None:
        end = max(hunk.end for hunk in hunks)
        raise conflict([keys[rank] for rank in ranks], f"{where} at {hunks[0].start}:{end}")
    return _preferred(by_rank[winner], [h for rank, h in group if rank != winner and h.redact])


def _preferred(won: list[Hunk], redactions: Sequence[Hunk]) -> list[Hunk]:
    """Return the winning hunks; what others redacted around them does not come back."""
    out = list(won)
    for redaction in redactions:
        gaps = [(redaction.start, redaction.end)]
        for hunk in out:
            gaps = [
                piece
                for start, end in gaps
                for piece in ((start, min(end, hunk.start)), (max(start, hunk.end), end))
                if piece[0] < piece[1]
            ]
        out += [Hunk(start, end, "", redact=True) for start, end in gaps]
        out.sort(key=lambda hunk: (hunk.start, hunk.end))
    return out


def _spans(hunks: Sequence[Hunk]) -> list[tuple[int, int, str]]:
    return [(hunk.start, hunk.end, hunk.text) for hunk in hunks]


@dataclass(slots=True)
class _Values:
    """A merge of plain values: dicts by key, lists of one length by index, texts by hunk."""

    prefer: str | None

    def merge(self, base: Any, versions: Sequence[Version], where: str) -> Any:
        changed = [(key, value) for key, value in versions if not same_value(value, base)]
        if not changed:
            return base
        first = changed[0][1]
        if all(same_value(value, first) for _, value in changed[1:]):
            return first
        values = [base, *[value for _, value in changed]]
        if all(isinstance(value, dict) for value in values):
            return self._dict(base, changed, where)
        if _lists_of_one_length(values):
            return [
                self.merge(item, [(key, value[i]) for key, value in changed], f"{where}[{i}]")
                for i, item in enumerate(base)
            ]
        if all(isinstance(value, str) for value in values):
            return merge_text(base, changed, self.prefer, where)
        for key, value in changed:
            if key == self.prefer:
                return value
        raise conflict([key for key, _ in changed], where)

    def _dict(self, base: Mapping[Any, Any], changed: Sequence[Version], where: str) -> dict[Any, Any]:
        names = dict.fromkeys(base)
        for _, value in changed:
            names.update(dict.fromkeys(value))
        out: dict[Any, Any] = {}
        for name in names:
            versions = [(key, value.get(name, MISSING)) for key, value in changed]
            merged = self.merge(base.get(name, MISSING), versions, f"{where}[{name!r}]")
            if merged is not MISSING:
                out[name] = merged
        return out


def merge_value(base: Any, versions: Sequence[Version], prefer: str | None = None, where: str = "a value") -> Any:
    """Return a plain value with the changes of several branches in it.

    Args:
        base: The value that all began from.
        versions: Per branch, in list order, its key and the value it made.
        prefer: The branch that wins where they disagree.
        where: What it is, for the error.

    Raises:
        MergeConflict: Two branches changed the same thing differently.
    """
    try:
        return copy_value(_Values(prefer).merge(base, versions, where))
    except RecursionError as error:
        raise conflict([key for key, _ in versions], where) from error


def _lists_of_one_length(values: Sequence[Any]) -> bool:
    return all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1
