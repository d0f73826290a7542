"""Laws of edits, merges and escapes of texts."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.errors import MergeConflict
from sluiceway.messages import Hunk, TextPart, escape_tags, merge_text
from sluiceway.messages._escape import tag_escapes
from sluiceway.messages._hunks import apply_hunks, changed_span

ALPHABET = "ab<> /syste-mr\u200b"


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, TextPart]:
    """A base and a part that was edited from it in any of the ways there are."""
    base = draw(st.text("abc", max_size=20))
    part = TextPart(base)
    part.rebase()
    for _ in range(draw(st.integers(0, 6))):
        size = len(part.text)
        cuts = sorted(draw(st.lists(st.integers(0, size), min_size=2, max_size=6)))
        spans = list(zip(cuts[::2], cuts[1::2], strict=False))
        texts = [draw(st.text("xyz", max_size=3)) for _ in spans]
        way = draw(st.sampled_from(["edit", "all", "assign"]))
        redact = draw(st.booleans())
        if way == "edit":
            part.edit(*spans[0], texts[0], redact)
        elif way == "all":
            part.edit_all([(s, e, t) for (s, e), t in zip(spans, texts, strict=True)], redact)
        else:
            part.text = draw(st.text("abxyz", max_size=20))
    return base, part


@given(edited())
def test_hunks_make_the_text_from_its_base(case: tuple[str, TextPart]) -> None:
    base, part = case
    hunks = part.hunks()
    assert apply_hunks(base, hunks) == part.text
    bounds = [(hunk.start, hunk.end) for hunk in hunks]
    assert bounds == sorted(bounds)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(bounds))


@given(st.text("ab", max_size=30), st.text("ab", max_size=30))
def test_the_changed_span_is_least(old: str, new: str) -> None:
    start, end, new_end = changed_span(old, new)
    assert old[:start] + new[start:new_end] + old[end:] == new
    changed_old, changed_new = old[start:end], new[start:new_end]
    if changed_old and changed_new:
        assert changed_old[0] != changed_new[0]
        assert changed_old[-1] != changed_new[-1]


@st.composite
def branches(draw: st.DrawFn) -> tuple[str, list[tuple[str, tuple[Hunk, ...]]]]:
    """A base of distinct characters, and disjoint hunks of up to three branches on it."""
    size = draw(st.integers(1, 12))
    base = "".join(chr(ord("A") + i) for i in range(size))
    made: list[tuple[str, tuple[Hunk, ...]]] = []
    for key in "xyz"[: draw(st.integers(1, 3))]:
        cuts = sorted(draw(st.lists(st.integers(0, size), max_size=6)))
        hunks: list[Hunk] = []
        for start, end in zip(cuts[::2], cuts[1::2], strict=False):
            if hunks and (hunks[-1].end > start or (hunks[-1].end == start == end == hunks[-1].start)):
                continue
            redact = draw(st.booleans()) and start < end
            text = draw(st.text(key, max_size=2))
            hunks.append(Hunk(start, end, text, redact, exact=draw(st.booleans()) or redact))
        made.append((key, tuple(hunks)))
    return base, made


def outcome(base: str, made: list[tuple[str, tuple[Hunk, ...]]], prefer: str | None = None) -> str | None:
    try:
        return merge_text(base, made, prefer)
    except MergeConflict as error:
        keys = error.keys
    assert len(keys) >= 2
    assert set(keys) <= {key for key, _ in made}
    return None


@given(branches(), st.sampled_from([None, "x", "y", "z"]))
def test_no_redacted_character_is_in_any_outcome(
    case: tuple[str, list[tuple[str, tuple[Hunk, ...]]]], prefer: str | None
) -> None:
    base, made = case
    merged = outcome(base, made, prefer)
    if merged is None:
        return
    redacted = {c for _, hunks in made for h in hunks if h.redact for c in base[h.start : h.end]}
    assert redacted.isdisjoint(merged)


@given(branches())
def test_disjoint_edits_are_all_kept_and_others_are_not_made_up(
    case: tuple[str, list[tuple[str, tuple[Hunk, ...]]]],
) -> None:
    base, made = case
    hunks = [h for _, hs in made for h in hs]
    apart = all(
        a is b or (a.end <= b.start and (a.start, a.end) != (b.start, b.end)) or b.end <= a.start
        for i, a in enumerate(hunks)
        for b in hunks[i:]
    )
    merged = outcome(base, made)
    if apart and not any(a.start == a.end == b.start == b.end for a in hunks for b in hunks if a is not b):
        everything = sorted(hunks, key=lambda h: (h.start, h.end))
        assert merged == apply_hunks(base, everything)
    if merged is not None:
        assert set(merged) <= set(base) | set("xyz")


@given(branches())
def test_a_branch_that_did_nothing_or_the_same_again_changes_nothing(
    case: tuple[str, list[tuple[str, tuple[Hunk, ...]]]],
) -> None:
    base, made = case
    assert outcome(base, [*made, ("idle", ())]) == outcome(base, made)
    assert merge_text(base, [made[0], ("again", made[0][1])]) == apply_hunks(base, made[0][1])


@given(st.lists(st.text(ALPHABET, max_size=12) | st.sampled_from(["<system-", "reminder>", "</SYSTEM-reminder"])))
def test_no_forged_tag_survives(pieces: list[str]) -> None:
    """Neither in a text, nor in texts that follow one another."""
    unseen = "[\\s\u200b]*"
    name = unseen.join("system-reminder")
    forged = re.compile(f"<{unseen}/?{unseen}{name}(?![\\w.:-])", re.IGNORECASE)
    safe = tag_escapes(pieces, [])
    assert not forged.search("".join(safe))
    for text, kept in zip(pieces, safe, strict=True):
        assert not forged.search(kept)
        assert kept.replace("&lt;", "<") == text.replace("&lt;", "<")
        assert escape_tags(kept) == kept
