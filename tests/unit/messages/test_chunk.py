"""Chunks are frozen; changed copies keep the rest."""

import pytest

from sluiceway.messages import Chunk, Usage, jsonable


def test_a_chunk_says_what_it_holds() -> None:
    chunk = Chunk("text-delta", {"id": "t1", "text": "hi"}, "run_1", "TOOL")
    assert (chunk.type, dict(chunk.payload), chunk.run_id, chunk.from_) == (
        "text-delta",
        {"id": "t1", "text": "hi"},
        "run_1",
        "TOOL",
    )
    assert (chunk.text, chunk.data, chunk.get("id"), chunk.get("none", 1)) == ("hi", None, "t1", 1)
    assert Chunk("finish", {"text": "whole"}).text == ""
    assert Chunk("data-x", {"data": 1}).data == 1


def test_a_chunk_cannot_be_changed() -> None:
    chunk = Chunk("text-delta", {"text": "hi"})
    with pytest.raises(TypeError):
        chunk.payload["text"] = "yo"  # pyright: ignore[reportIndexIssue]
    with pytest.raises(AttributeError):
        chunk.type = "x"  # pyright: ignore[reportAttributeAccessIssue]


def test_replace_changes_a_copy() -> None:
    chunk = Chunk("tool-call", {"tool_call_id": "c", "args": {"a": 1}}, "run_1")
    new = chunk.replace(args={"a": 2}, execute=True)
    assert new == Chunk("tool-call", {"tool_call_id": "c", "args": {"a": 2}}, "run_1")
    assert (new.execute, chunk.execute, chunk.get("args")) == (True, False, {"a": 1})
    assert new.replace(run_id="run_2").execute
    assert Chunk("data-x", {"data": 1}).replace(data=None).data is None
    assert chunk.replace(payload={}, text="x") == Chunk("tool-call", {"text": "x"}, "run_1")


def test_equal_chunks_have_one_hash() -> None:
    one, other = Chunk("a", {"x": [1]}), Chunk("a", {"x": [1]})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Chunk("a", {"x": [2]})
    assert one != "a"


def test_usage_adds_up() -> None:
    one = Usage(1, 2, details=(("cached", 1),))
    other = Usage(10, 20, 35, (("cached", 2), ("audio", 3)), estimated=True)
    assert one.total_tokens == 3
    assert one + other == Usage(11, 22, 38, (("cached", 3), ("audio", 3)), estimated=True)


def test_any_value_becomes_json() -> None:
    value = {None: b"\x00", True: {"b", "a"}, 2: (1.5, float("inf")), "r": range(2), "t": Usage}
    assert jsonable(value) == {
        "null": "AA==",
        "true": ["a", "b"],
        "2": [1.5, None],
        "r": "range(0, 2)",
        "t": "Usage",
    }
    assert jsonable(Usage(1, 2))["total_tokens"] == 3
