"""Laws of the automatic merge, on whole calls: list order decides, and redacted text stays away."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import Processor, Workflow
from sluiceway.engine import merge
from sluiceway.errors import MergeConflict
from sluiceway.messages import Message, TextPart

EXAMPLES = 200 if settings().max_examples <= 200 else 5000
TEXT = "".join(chr(ord("A") + i) for i in range(20))
"""Every character once, so that one that is found is the one that was there."""

spans = st.tuples(st.integers(0, 19), st.integers(1, 6)).map(lambda span: (span[0], min(20, sum(span))))
edits = st.one_of(
    st.tuples(st.just("redact"), spans),
    st.tuples(st.just("exact"), spans),
    st.tuples(st.just("insert"), st.integers(0, 20)),
    st.tuples(st.just("meta"), st.sampled_from("kl")),
    st.tuples(st.just("message"), st.just(0)),
    st.tuples(st.just("part"), st.just(0)),
    st.tuples(st.just("system"), st.just(0)),
)
branches = st.lists(st.tuples(st.lists(edits, max_size=3), st.integers(0, 3)), min_size=2, max_size=4)


def change(message: Message, name: str, kind: str, what: Any) -> None:
    """Make one edit; its marks are digits and lower case, never a character of the text."""
    part = message.parts[0]
    assert isinstance(part, TextPart)
    if kind in ("redact", "exact"):
        present = [part.text.find(letter) for letter in TEXT[slice(*what)]]
        if -1 not in present and present[-1] - present[0] == len(present) - 1:
            mark = "#" if kind == "redact" else name
            part.edit(present[0], present[-1] + 1, mark, redact=kind == "redact")
    elif kind == "insert":
        at = min(what, len(part.text))
        part.edit(at, at, name)
    elif kind == "meta":
        message.metadata[what] = name
    elif kind == "part":
        message.parts.append(TextPart(name))


def branch(name: str, made: list[tuple[str, Any]], turns: int, redacted: dict[str, str]) -> Processor:
    """Return a processor that gives way so often, then makes its edits."""

    async def process_input(ctx: Any) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        for kind, what in made:
            message = ctx.messages[0]
            before = message.text
            if kind == "message":
                ctx.message_list.add(Message(f"new {name}", id=f"new-{name}"))
            elif kind == "system":
                ctx.message_list.add_system(f"system {name}")
            else:
                change(message, name, kind, what)
            if kind == "redact":
                redacted.update(dict.fromkeys(set(before) - set(message.text), name))

    return Processor.of(name, process_input=process_input)


def outcome(made: list[tuple[list[tuple[str, Any]], int]], prefer: int | None, backend: str) -> tuple[Any, set[str]]:
    """Return what a `parallel` of these makes of the text, and what was redacted."""
    redacted: dict[str, str] = {}
    steps = [branch(f"b{i}", edits, turns, redacted) for i, (edits, turns) in enumerate(made)]
    workflow = Workflow("w").parallel(steps)
    if prefer is not None:
        workflow = workflow.map(merge.prefer(f"processor:b{prefer % len(made)}"))

    async def run() -> Any:
        try:
            call = await workflow.commit().run_on(Message(parts=[TextPart(TEXT)], id="m"))
        except MergeConflict as conflict:
            return str(conflict), conflict.keys
        shown = [([getattr(part, "text", "") for part in m.parts], dict(m.metadata)) for m in call.messages]
        return shown, [system.text for system in call.system_messages]

    return anyio.run(run, backend=backend), set(redacted)


@settings(max_examples=EXAMPLES)
@given(branches, st.data(), st.none() | st.integers(0, 3), st.sampled_from(["asyncio", "trio"]))
def test_list_order_decides_and_redacted_text_stays_away(
    made: list[tuple[list[tuple[str, Any]], int]], data: st.DataObject, prefer: int | None, backend: str
) -> None:
    """Other delays and another backend change nothing; what a branch redacted is nowhere."""
    first, redacted = outcome(made, prefer, backend)
    turns = data.draw(st.lists(st.integers(0, 5), min_size=len(made), max_size=len(made)))
    again = [(edits, turn) for (edits, _), turn in zip(made, turns, strict=True)]
    assert outcome(again, prefer, "asyncio") == (first, redacted)
    shown = first[0]
    if isinstance(shown, list):
        assert not redacted & set("".join(text for texts, _ in shown for text in texts))
