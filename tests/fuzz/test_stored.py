"""What a store gives back: runs, messages, exports, cached answers, damaged in any way. Read, or the promised error."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.engine import RunStore
from sluiceway.engine._snapshot import load_run
from sluiceway.errors import MessageError, RunError, SnapshotError, StorageError
from sluiceway.graphs import CommittedWorkflow
from sluiceway.memory import InMemoryStore, Memory, MessageRow, Turn
from sluiceway.memory._codec import decode, encode
from sluiceway.memory._transfer import export_lines, import_lines
from sluiceway.messages import (
    Chunk,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    MessageList,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolPart,
    UnknownPart,
    Usage,
)
from sluiceway.processors.context._cache_values import decoded, encoded
from tests.fuzz.values import broken_json, json_values, mutated, nested
from tests.support.snapshots import FOLDER, SAMPLES

FEWER = settings(max_examples=settings().max_examples // 4)
"""For what goes through a database each time."""

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PARTS = (
    TextPart("hello", id="p1"),
    ReasoningPart("hm"),
    ToolPart("look", "c1", {"a": [1]}, "result", {"found": 2}, model_output="two"),
    ToolPart("look", "c2", {}, "error", error="no"),
    FilePart(b"\x00\xff", "application/pdf", filename="f.pdf"),
    ImagePart(url="https://example.org/a.png"),
    SourcePart("s1", "https://example.org"),
    DataPart("data-note", {"n": 1}),
    StepStartPart(),
    UnknownPart("future", {"x": 1}),
)
MESSAGE = Message(role="assistant", parts=[part.copy() for part in PARTS], id="m1", metadata={"a": 1}, created_at=NOW)
MESSAGE.attachments.append(FilePart(b"x", "text/plain"))


# -- runs


def snapshots(name: str) -> list[Any]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob(f"format-*-{name}.json"))]


async def taken(name: str, text: str) -> None:
    """Show a stored run and go on with it; what is refused stays as it was."""
    workflow = SAMPLES[name].build().commit()
    store = RunStore.in_memory()
    async with store:
        await store.save("r1", workflow.id, "suspended", text)
        with pytest.raises(SnapshotError, match="r1") if _is_refused(workflow, text) else nullcontext():
            await workflow.load("r1", store=store)
        try:
            with anyio.fail_after(20):
                await workflow.resume("r1", store=store, **SAMPLES[name].resume)
        except RunError as error:
            told, kept = str(error), await store.load("r1")
            assert "r1" in told
            assert kept is not None
            assert kept.document == text


def _is_refused(workflow: CommittedWorkflow, text: str) -> bool:
    try:
        load_run(workflow._spec, "r1", text)
    except SnapshotError:
        return True
    return False


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_damaged_run_is_read_or_refused(name: str) -> None:
    documents = snapshots(name)
    names = sorted(documents[0])

    @FEWER
    @given(broken_json(documents, names) | json_values(names).map(json.dumps))
    def check(text: str) -> None:
        anyio.run(taken, name, text.encode("utf-8", "replace").decode())

    check()


@pytest.mark.parametrize(
    ("name", "damage", "says"),
    [
        ("then", {"input": 99}, "value 99 is"),
        ("then", {"input": -1}, "value -1 is"),
        ("then", {"tripwire": {"what": 1}}, "tripwire.reason"),
        ("then", {"steps": []}, "no step of it waits"),
        ("foreach", {"limits": [{"path": "foreach › foreach[0]", "value": 0}]}, "limits.0.value"),
        ("loop", {"loops": [{"path": "loop › do_until[0]", "value": -5, "data": 0}]}, "loops.0.value"),
        ("branch", {"choices": [{"path": "branch › branch[1]", "value": "tiny"}]}, "'tiny'"),
        ("branch", {"choices": [{"path": "branch › elsewhere", "value": "small"}]}, "elsewhere"),
    ],
)
def test_damage_that_would_change_what_runs_is_refused(name: str, damage: dict[str, Any], says: str) -> None:
    """A limit of 0 would wait for ever, an arm that is not there would be passed over, a step be run again."""
    document = {**snapshots(name)[0], **damage}
    with pytest.raises(SnapshotError, match=re.escape(says)):
        load_run(SAMPLES[name].build().commit()._spec, "r1", json.dumps(document))


def test_a_step_that_is_stored_where_there_is_none_is_refused() -> None:
    document = snapshots("then")[0]
    document["steps"][0]["path"] = "then › third"
    with pytest.raises(SnapshotError, match="then › third"):
        load_run(SAMPLES["then"].build().commit()._spec, "r1", json.dumps(document))


def test_data_that_are_nested_too_deep_are_refused() -> None:
    document = snapshots("then")[0]
    document["values"][0]["v"] = "deep"
    for depth in (400, 50_000):
        text = json.dumps(document).replace('"deep"', nested(depth))
        with pytest.raises(SnapshotError, match=r"'r1'.*deep|'r1'.*recursion"):
            load_run(SAMPLES["then"].build().commit()._spec, "r1", text)


# -- messages


def is_no_json(value: Any) -> bool:
    """Whether there are numbers in it that JSON does not have; they come back as null."""
    return "nan" in repr(value) or "inf" in repr(value)


@given(broken_json([json.loads(encode(MESSAGE, "t1", parts=PARTS).document)], ["type", "parts", "data"]))
def test_a_damaged_row_is_read_or_refused(document: str) -> None:
    row = MessageRow("t1", "m1", "assistant", NOW, document)
    try:
        message = decode(row, "u1")
    except StorageError as error:
        told = str(error)
        assert "'m1' of thread 't1'" in told
        return
    messages = MessageList()
    messages.add(message, "memory")
    messages.to_prompt()
    json.dumps(messages.to_ui())
    again = decode(encode(message, "t1", parts=message.parts), "u1")
    assert is_no_json(json.loads(document)) or again.same_as(message)


@given(mutated([MESSAGE.to_dict()], ["role", "parts", "type", "text", "created_at", "metadata"]))
def test_a_damaged_record_is_read_or_refused(record: Any) -> None:
    try:
        message = Message.from_dict(record)
    except MessageError:
        return
    again = Message.from_dict(json.loads(json.dumps(message.to_dict())))
    assert is_no_json(record) or again.same_as(message)


def test_damaged_rows_do_not_reach_a_run_as_another_error() -> None:
    document = json.loads(encode(MESSAGE, "t1", parts=PARTS).document)

    @given(broken_json([document], ["type", "parts", "data"]))
    def check(text: str) -> None:
        async def run() -> None:
            store = InMemoryStore()
            await store.save_turn(Turn("t1", "u1", NOW, [MessageRow("t1", "m1", "assistant", NOW, text)]))
            try:
                await Memory(store).recall("t1", resource="u1")
            except StorageError as error:
                told = str(error)
                assert "m1" in told

        anyio.run(run)

    check()


# -- exports


async def exported() -> list[str]:
    store = InMemoryStore()
    await store.save_turn(Turn("t1", "u1", NOW, [encode(MESSAGE, "t1", parts=PARTS)]))
    return [line async for line in export_lines(store)]


def test_a_damaged_export_is_taken_or_refused_with_its_line() -> None:
    lines = anyio.run(exported)
    fields = [json.loads(line) for line in lines]

    @given(
        st.integers(0, len(lines) - 1).flatmap(
            lambda at: st.tuples(st.just(at), broken_json([fields[at]], ["type", "id", "document"]))
        )
    )
    def check(hit: tuple[int, str]) -> None:
        at, damaged = hit
        damaged = damaged.replace("\n", " ")

        async def run() -> None:
            store = InMemoryStore()
            try:
                await import_lines(store, [*lines[:at], damaged, *lines[at + 1 :]])
            except StorageError as error:
                told = str(error)
                assert told.startswith("line ") or "t1" in told
                return
            for thread in await store.threads():
                [decode(row, thread.resource_id) for row in await store.newest(thread.id)]

        anyio.run(run)

    check()


# -- cached answers

ANSWER = [
    Chunk("response-metadata", {"id": "r", "model_id": "m", "timestamp": NOW}),
    Chunk("text-start", {"id": "text-1"}),
    Chunk("text-delta", {"id": "text-1", "text": "hi"}),
    Chunk("text-end", {"id": "text-1"}),
    Chunk("tool-call", {"tool_call_id": "c", "tool_name": "look", "args": {"a": 1}, "provider_executed": False}),
    Chunk("tool-result", {"tool_call_id": "c", "tool_name": "look", "result": [1], "provider_executed": False}),
    Chunk("file", {"part": FilePart(b"\x00", "image/png")}),
    Chunk("finish", {"reason": "stop", "usage": Usage(1, 2, 3, (("cached_tokens", 1),))}),
]


@given(broken_json([json.loads(encoded(ANSWER))], ["type", "payload", "$bytes", "$time", "$usage", "$part", "version"]))
def test_a_damaged_answer_of_a_cache_is_read_or_refused(text: str) -> None:
    try:
        chunks = decoded(text.encode("utf-8", "surrogatepass"))
    except MessageError:
        return
    assert all(isinstance(chunk, Chunk) for chunk in chunks)


def test_the_samples_are_there() -> None:
    assert sorted(SAMPLES) == sorted({path.stem.split("-")[-1] for path in Path(FOLDER).glob("format-*.json")})
