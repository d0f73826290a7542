"""Answer: characters cut in halves, whatever the halves come as."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.messages import Chunk
from sluiceway.models._answer import Answer, mended
from sluiceway.models._errors import Refusals
from sluiceway.models._sse import ServerEvent


def by_units(text: str) -> list[str]:
    """Cut a text into its UTF-16 units, as some servers do."""
    data = text.encode("utf-16-le")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


def streamed(pieces: list[str]) -> str:
    answer = Answer(Refusals("p", "m"), "r")
    chunks: list[Chunk] = []
    for piece in pieces:
        event = ServerEvent("", json.dumps({"text": piece}).encode())
        chunks += answer.delta("text", answer.load(event)["text"])
    chunks += answer.close_block()
    return "".join(chunk.text for chunk in chunks)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x1FFFF, exclude_categories=["Cs"])))
def test_a_text_cut_into_utf16_units_is_whole_again(text: str) -> None:
    assert streamed(by_units(text)) == text


@given(st.lists(st.text(st.characters(categories=["Cs", "L", "So"]), max_size=4), max_size=8))
def test_no_half_of_a_character_is_ever_sent(pieces: list[str]) -> None:
    got = streamed(pieces)
    got.encode("utf-8")
    assert got == mended("".join(pieces))
