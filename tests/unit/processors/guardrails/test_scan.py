"""A look at a message: its texts one by one and joined, attachments included."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway import Message
from sluiceway._types import MISSING
from sluiceway.messages import ReasoningPart, TextPart, ToolPart
from sluiceway.processors import PIIDetector
from sluiceway.processors._texts import edit_texts
from sluiceway.processors.detectors import Finding, Span, unite
from sluiceway.processors.guardrails._scan import Scan


def look_for(pattern: str) -> Any:
    def look(text: str) -> list[Finding]:
        return unite(Span(*match.span(), "found") for match in re.finditer(pattern, text))

    return look


def scanned(message: Message, pattern: str) -> tuple[list[str], list[tuple[int, int]]]:
    scan = Scan(look_for(pattern), lambda finding, value: "#").message(message, {"text"})
    scan.apply()
    return [part.text for part in message.text_parts], [(e["offset"], e["length"]) for e in scan.entries]


def test_text_parts_are_those_of_the_prompt_in_order() -> None:
    image = {"type": "image", "image": "https://example.org/a.png"}
    message = Message([{"type": "text", "text": "a"}, image], attachments=[{"type": "text", "text": "c"}])
    message.parts.append(ReasoningPart("no"))
    message.parts.append(TextPart("b"))
    assert [part.text for part in message.text_parts] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("texts", "after", "found"),
    [
        (["x12", "34y"], ["x#", "y"], [(1, 4)]),
        (["1", "", "2", "3", "4"], ["#", "", "", "", ""], [(0, 4)]),
        (["1234", "1234"], ["#", "#"], [(0, 4), (4, 4)]),
        (["1234", "56"], ["#", "56"], [(0, 4)]),
        (["12", "34 12", "34"], ["#", " #", ""], [(0, 4), (5, 4)]),
        (["12", "3412", "34"], ["12", "#", "34"], [(2, 4)]),
        (["123", "x4"], ["123", "x4"], []),
    ],
)
def test_what_lies_over_several_texts_is_found(
    texts: list[str], after: list[str], found: list[tuple[int, int]]
) -> None:
    message = Message(parts=[TextPart(text) for text in texts])
    assert scanned(message, r"[0-9]{4}") == (after, found)


def test_what_a_text_holds_by_itself_does_not_swallow_its_neighbour() -> None:
    assert scanned(Message(parts=[TextPart("hi"), TextPart("ab@c"), TextPart("bye")]), r"\w+@\w+") == (
        ["hi", "#", "bye"],
        [(2, 4)],
    )


def test_only_the_texts_of_a_user_are_joined() -> None:
    """The blocks of a reply are apart: on the stream a match ends with its block."""
    parts = [TextPart("12"), TextPart("34")]
    assert scanned(Message(role="assistant", parts=parts), r"[0-9]{4}") == (["12", "34"], [])


@given(st.lists(st.text("ab", max_size=4), max_size=6), st.data())
def test_edits_of_joined_texts_are_edits_of_the_text(texts: list[str], data: st.DataObject) -> None:
    whole = "".join(texts)
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edits = [
        (start, end, data.draw(st.sampled_from(["", "X", "YZ"])))
        for start, end in zip(places[::2], places[1::2], strict=False)
        if start < end
    ]
    expected, at = "", 0
    for start, end, new in edits:
        expected += whole[at:start] + new
        at = end
    parts = [TextPart(text) for text in texts]
    edit_texts(parts, edits)
    assert "".join(part.text for part in parts) == expected + whole[at:]


def test_a_key_of_many_rows_is_looked_at_once() -> None:
    looked: list[str] = []
    scan = Scan(lambda text: looked.append(text) or [], lambda finding, value: "#")
    scan.value([{"name": "a"}, {"name": "b"}])
    assert looked == ["name", "a", "b"]


def test_keys_can_be_looked_at_in_another_way() -> None:
    scan = Scan(look_for("x"), lambda finding, value: "#", look_at_keys=lambda _: ())
    assert scan.value({"x": "x"}) == {"x": "#"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("surfaces", "args", "result", "shown", "error"),
    [
        (["tool-args"], "[EMAIL]", "ann@x.org", "cc ann@x.org", "no ann@x.org"),
        (["tool-results"], "ann@x.org", "[EMAIL]", "cc [EMAIL]", "no [EMAIL]"),
        (["text"], "ann@x.org", "ann@x.org", "cc ann@x.org", "no ann@x.org"),
    ],
)
async def test_calls_in_the_history_are_rewritten_where_they_are_looked_at(
    surfaces: list[str], args: str, result: str, shown: str, error: str
) -> None:
    done = ToolPart("t", "c", {"to": "ann@x.org"}, "result", {"cc": "ann@x.org"}, model_output="cc ann@x.org")
    failed = ToolPart("t", "d", {"to": "ann@x.org"}, "error", error="no ann@x.org")
    plain = ToolPart("t", "e", {"to": "ann@x.org"}, "result", {"cc": "ann@x.org"})
    asked = Message(role="assistant", parts=[done, failed, plain])
    guard = PIIDetector(surfaces=surfaces, redaction_method="placeholder")
    call = await guard.run_on([Message("hi"), asked, Message("and?")])
    parts = [part for part in call.message_list.all[1].parts if isinstance(part, ToolPart)]
    assert [part.args for part in parts] == [{"to": args}] * 3
    assert [parts[0].result, parts[0].model_output] == [{"cc": result}, shown]
    assert (parts[1].state, parts[1].error) == ("error", error)
    assert (parts[2].result, parts[2].model_output) == ({"cc": result}, MISSING)
