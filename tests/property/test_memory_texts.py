"""Laws of the texts of memory."""

from __future__ import annotations

import html
import json
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from sluiceway import Message
from sluiceway.memory._codec import decode, encode
from sluiceway.memory._fence import element
from sluiceway.memory._working_text import merge_lines, patched
from sluiceway.messages import TextPart, ToolPart

texts = st.text(st.sampled_from("ab\n"), max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(base=texts, mine=texts, theirs=texts)
def test_a_merge_keeps_what_one_writer_alone_did(base: str, mine: str, theirs: str) -> None:
    assert merge_lines(base, mine, base) == mine
    assert merge_lines(base, base, theirs) == theirs
    assert merge_lines(base, mine, mine) == mine
    merged = merge_lines(base, mine, theirs)
    assert set(merged.split("\n")) <= {*base.split("\n"), *mine.split("\n"), *theirs.split("\n")}


@given(
    st.lists(st.text(st.sampled_from("abc"), min_size=1, max_size=3), min_size=3, max_size=8, unique=True), st.data()
)
def test_changes_of_different_lines_are_all_there(lines: list[str], data: st.DataObject) -> None:
    mine_at = data.draw(st.integers(0, len(lines) - 1))
    theirs_at = data.draw(st.integers(0, len(lines) - 1).filter(lambda n: n != mine_at))

    def changed(**at: str) -> str:
        return "\n".join(at.get(f"line{n}", line) for n, line in enumerate(lines))

    mine, theirs = changed(**{f"line{mine_at}": "MINE"}), changed(**{f"line{theirs_at}": "THEIRS"})

    both = changed(**{f"line{mine_at}": "MINE", f"line{theirs_at}": "THEIRS"})
    assert merge_lines("\n".join(lines), mine, theirs) == both


@given(st.text())
def test_a_region_gives_its_text_back_and_nothing_gets_out(text: str) -> None:
    region = element("memory", text, {"who": text})
    assert region.startswith("<memory who=")
    assert region.count("</memory>") == 1
    assert html.unescape(region.partition(">")[2].removesuffix("</memory>")) == text


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF)))
def test_a_region_is_xml(text: str) -> None:
    region = ET.fromstring(element("memory", text, {"who": text}))
    assert (region.text or "", region.attrib) == (text, {"who": text})


@given(args=st.dictionaries(st.text(), anything, max_size=3), result=anything, text=st.text())
def test_a_message_comes_back_as_it_was(args: dict[str, object], result: object, text: str) -> None:
    parts = [TextPart(text), ToolPart("t", "c", args, "result", result)]
    message = Message(role="assistant", parts=parts, metadata=args)
    row = encode(message, "t", parts=message.parts)
    back = decode(row, None)
    assert back.replace(thread_id=None).same_as(message)
    assert encode(back, "t", parts=back.parts) == row
    row.document.encode()
    assert "\0" not in row.document


@given(before=st.dictionaries(st.text(), anything, max_size=3), patch=st.dictionaries(st.text(), anything, max_size=3))
def test_a_patch_applied_twice_is_a_patch_applied_once(before: dict[str, object], patch: dict[str, object]) -> None:
    once = patched(json.dumps(before), patch)
    twice = patched(once, patch)
    assert json.loads(once or "{}") == json.loads(twice or "{}")
