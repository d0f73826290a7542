"""Laws of a `parallel` in the stream, told by the plain list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import Workflow
from sluiceway.engine import merge
from sluiceway.messages import Chunk
from sluiceway.processors import HookCall, run_on
from tests.support.streams import AsyncPass, Pass, Window, chunks_of, redacts, texts_of

EXAMPLES = 200 if settings().max_examples <= 200 else 5000

WORDS = {"a": "abc", "b": "xyz", "c": "pqr"}
"""Redactor to its word; `[A]` is as long as `abc`, so positions stay the same."""

pieces = st.lists(st.sampled_from(["abc", "xyz", "pqr", "ab", "c", "xy", "pq", "r", " ", "o", "é😀"]), max_size=8)
blocks = st.lists(
    st.tuples(
        st.sampled_from(["text", "reasoning"]),
        pieces.map("".join),
        st.lists(st.integers(0, 40), max_size=8),
    ),
    min_size=1,
    max_size=3,
)
others = st.lists(
    st.sampled_from(
        [
            Chunk("tool-call", {"tool_call_id": "c", "tool_name": "t", "args": {"q": "abc"}}),
            Chunk("source", {"part": None}),
            Chunk("x-unknown", {"text": "abc", "any": [1]}),
            Chunk("text-delta", {"id": "other", "text": ""}),
        ]
    ),
    max_size=3,
)
streams = st.builds(chunks_of, blocks, st.lists(st.integers(0, 3), max_size=30), others)

Shape = Any
"""A letter (a redactor), a number (a window), `pass`, or a pair of a combinator and shapes."""


def shapes(letters: str) -> st.SearchStrategy[Shape]:
    """Shapes in which each redactor stands once at most."""
    leaf = st.one_of(st.integers(1, 9), st.integers(-9, -1), st.sampled_from(["pass", "wait"]))
    if not letters:
        return leaf
    here = st.just(letters[0])
    rest = st.deferred(lambda: shapes(letters[1:]))
    return st.one_of(
        here,
        st.tuples(st.sampled_from(["then", "parallel", "if", "unless"]), st.permutations([letters[0], "pass"]), rest),
        rest,
    )


def built(shape: Shape, number: Iterator[int]) -> Any:
    """Return what a shape stands for."""
    if isinstance(shape, int):
        return Window(f"window-{next(number)}", abs(shape), waits=shape < 0)
    if shape in ("pass", "wait"):
        return (Pass if shape == "pass" else AsyncPass)(f"{shape}-{next(number)}")
    if isinstance(shape, str):
        return redacts(shape, WORDS[shape])
    how, pair, rest = shape
    things = [built(one, number) for one in (*pair, rest)]
    workflow = Workflow(f"{how}-{next(number)}")
    if how == "then":
        for thing in things:
            workflow = workflow.then(thing)
        return workflow
    if how == "parallel":
        return workflow.parallel(things)
    return workflow.branch([(lambda call: how == "if", Workflow(f"arm-{next(number)}").parallel(things))])


def letters_of(shape: Shape) -> str:
    """Return the redactors of a shape that run."""
    if isinstance(shape, str):
        return shape if shape in WORDS else ""
    if isinstance(shape, int) or shape[0] == "unless":
        return ""
    return "".join(letters_of(one) for one in (*shape[1], shape[2]))


def streamed(items: Sequence[object], chunks: Sequence[Chunk]) -> HookCall:
    """Run chunks through the stream hooks."""
    return anyio.run(partial(run_on, items, chunks, hook="process_output_stream"))


def plain(letters: str, chunks: Sequence[Chunk]) -> tuple[dict[str, str], list[Chunk]]:
    """Return what the redactors make of it as a plain list."""
    items = [redacts(letter, WORDS[letter]) for letter in letters]
    return texts_of(streamed(items, chunks).parts if items else chunks)


def sorted_out(outcome: tuple[dict[str, str], list[Chunk]]) -> tuple[dict[str, str], list[Chunk]]:
    """A delta without text may stay or go."""
    return outcome[0], [chunk for chunk in outcome[1] if not chunk.type.endswith("-delta")]


@settings(max_examples=EXAMPLES)
@given(streams, shapes("abc"), st.integers(1, 9))
def test_a_picked_redactor_gives_what_the_plain_one_gives(chunks: list[Chunk], beside: Shape, size: int) -> None:
    """Whatever stands beside it and however the stream is cut."""
    number = count()
    redactor = redacts("picked", "abc|xyz")
    workflow = Workflow("w").parallel([Window("first", size), redactor, Workflow("z").then(built(beside, number))])

    ran = streamed([workflow.map("processor:picked")], chunks)

    assert sorted_out(texts_of(ran.parts)) == sorted_out(texts_of(streamed([redactor], chunks).parts))


@settings(max_examples=EXAMPLES)
@given(streams, st.permutations("abc"), st.data())
def test_branches_that_edit_different_places_are_merged(chunks: list[Chunk], letters: list[str], data: Any) -> None:
    """As if the same redactors stood in a plain list."""
    number = count()
    shape = data.draw(shapes("".join(letters[1:])))
    workflow = Workflow("w").parallel([built(letters[0], number), Workflow("z").then(built(shape, number))])

    ran = streamed([workflow], chunks)

    assert sorted_out(texts_of(ran.parts)) == sorted_out(plain(letters[0] + letters_of(shape), chunks))


@given(blocks, st.lists(st.integers(0, 3), max_size=30), st.integers(1, 9), st.booleans())
def test_nothing_goes_out_that_a_sibling_has_not_cleared(told: Any, order: list[int], size: int, waits: bool) -> None:
    """Told at every chunk, for a redactor whose edits are as long as what they replace."""
    window = Window("window", size, waits=waits)
    workflow = Workflow("w").parallel([redacts("a", "abc"), window]).map("processor:a")
    out: dict[str, int] = {}

    class Reader(Pass):
        def process_output_stream(self, ctx: Any) -> Any:
            part = ctx.part
            if part.type.endswith("-delta"):
                block = str(part.get("id"))
                out[block] = out.get(block, 0) + len(part.text)
                assert out[block] <= window.cleared.get(block, 0)
            return part

    chunks = chunks_of(told, order)
    streamed([workflow, Reader("reader")], chunks)

    assert out == {block: len(text) for block, text in texts_of(chunks)[0].items()}


@given(streams, st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_checks_alone_change_nothing(chunks: list[Chunk], first: int, second: int, waits: bool) -> None:
    """No merge, no pick, no first: the text of each block and all other chunks are as they came."""
    for how in (None, merge.all(), merge.prefer("processor:one"), merge.first(["processor:two"])):
        workflow = Workflow("w").parallel([Window("one", first), Window("two", second, waits=waits), Pass("three")])
        ran = streamed([workflow if how is None else workflow.map(how)], chunks)
        assert sorted_out(texts_of(ran.parts)) == sorted_out(texts_of(chunks))


@given(streams)
def test_a_chunk_that_nobody_holds_goes_on_as_it_is(chunks: list[Chunk]) -> None:
    """The same objects, one for one."""
    workflow = Workflow("w").parallel([Pass("one"), AsyncPass("two"), Workflow("z").then(Pass("three"))])
    ran = streamed([workflow], chunks)
    assert [id(chunk) for chunk in ran.parts] == [id(chunk) for chunk in chunks]


def united(text: str) -> str:
    """Return a text with what either redactor finds taken out: what overlaps once, as the first in list order says."""
    spans = sorted(
        (match.start(), match.end(), name)
        for name, word in (("X", "abcd"), ("Y", "cdef"))
        for match in re.finditer(word, text)
    )
    groups: list[tuple[int, int, str]] = []
    for start, end, name in spans:
        if groups and start < groups[-1][1]:
            first, last, named = groups[-1]
            groups[-1] = (first, max(last, end), min(named, name))
        else:
            groups.append((start, end, name))
    out, position = "", 0
    for start, end, name in groups:
        out += f"{text[position:start]}[{name}]"
        position = end
    return out + text[position:]


@settings(max_examples=EXAMPLES)
@given(
    st.lists(st.sampled_from(["abcdef", "abcd", "cdef", "ab", "cd", "ef", " "]), max_size=8).map("".join),
    st.lists(st.integers(0, 40), max_size=12),
    st.integers(1, 9),
    st.booleans(),
)
def test_what_two_redactors_both_take_out_never_comes_back(
    text: str, places: list[int], size: int, nested: bool
) -> None:
    """Redactions that overlap become one over their union, however the stream is cut."""
    one: Any = redacts("x", "abcd")
    branches = [Workflow("n").parallel([one, Pass("pass")]) if nested else one, redacts("y", "cdef")]
    workflow = Workflow("w").parallel([*branches, Window("window", size)])

    ran = streamed([workflow], chunks_of([("text", text, places)]))

    assert texts_of(ran.parts)[0].get("text-0", "") == united(text)
