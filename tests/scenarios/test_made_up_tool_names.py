"""The name of a tool that a model makes up is text that it wrote; that of a tool that there is never changes."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import Agent, Processor
from sluiceway.errors import ModelError
from sluiceway.memory import Memory, SQLiteStore
from sluiceway.messages import Chunk, Message, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import HookEvent, PIIDetector, RegexFilterProcessor, StepOverrides
from sluiceway.tools import Tool
from tests.support.judges import FlagsPlace
from tests.support.models import ChunkModel, deltas
from tests.support.pii_texts import cuts, pieces
from tests.support.runs import calls_tool, collect, lines, make_agent, reply_parts
from tests.support.storing import THREAD

pytestmark = pytest.mark.anyio

MADE_UP = "send_to_ann.planted@example.org"
SECRET = "planted@example"
KEY = "use_sk-ant-abcdefghijklmnopqrstuvwxyz0123456789"


def tool(name: str, ran: list[str]) -> Tool:
    async def run() -> str:
        ran.append(name)
        return "done"

    return Tool(name, "A tool.", {"type": "object", "properties": {}}, run)


def guards() -> list[Any]:
    return [
        PIIDetector(),
        PIIDetector(redaction_method="placeholder", reversible=True),
        PIIDetector(detector=FlagsPlace("Maria", "name"), redaction_method="hash"),
        PIIDetector(strategy="filter"),
        RegexFilterProcessor(presets=["pii", "secrets"], strategy="redact"),
    ]


@pytest.mark.parametrize("guard", guards(), ids=["mask", "vault", "detector", "filter", "regex"])
@pytest.mark.parametrize(("name", "secret"), [(MADE_UP, SECRET), (KEY, "abcdefghijkl")], ids=["mail", "key"])
async def test_a_made_up_name_is_redacted_everywhere(
    guard: Any, name: str, secret: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[HookEvent] = []
    told: list[Any] = []
    guard.on_violation = told.append
    ran: list[str] = []
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool(name, {"n": 1})]),
        "done",
        tools=[tool("lookup", ran)],
        memory=Memory(SQLiteStore(tmp_path / "memory.db")),
        output_processors=[guard],
    )
    with caplog.at_level(logging.DEBUG):
        done = await collect(agent, "hi", memory=THREAD, observer=events.append)

    part = next(part for part in reply_parts(done.result) if isinstance(part, ToolPart))
    assert (ran, part.state, part.args) == ([], "error", {"n": 1})
    assert part.error == f"there is no tool {part.tool_name!r} in this step; offered: lookup"
    assert done.of("tool-call")[0].get("tool_name") == done.of("tool-error")[0].get("tool_name") == part.tool_name
    seen = {
        "chunks": str([chunk.payload for chunk in done.chunks]),
        "prompt": "".join(lines(model.prompts[1])),
        "steps": str(done.result.steps),
        "events": str([dataclasses.asdict(event) for event in events]),
        "audit": str(done.result.audit),
        "violations": str(told),
        "log": caplog.text,
        "store": (tmp_path / "memory.db").read_bytes().decode("latin-1"),
    }
    assert [where for where, text in seen.items() if secret in text] == []
    assert len(told) == 1
    assert told[0].detail[0] | {"rule": "", "length": 0, "offset": 0} == {
        "rule": "",
        "offset": 0,
        "length": 0,
        "path": "/tool_name",
    }


async def test_what_stands_in_its_place_is_a_name_that_providers_take() -> None:
    guard = PIIDetector(redaction_method="placeholder")
    agent, _ = make_agent(Reply(tool_calls=[calls_tool(MADE_UP)]), "done", output_processors=[guard])
    assert (await collect(agent, "hi")).of("tool-call")[0].get("tool_name") == "_EMAIL_"


@pytest.mark.parametrize("strategy", ["redact", "block"])
@pytest.mark.parametrize("how", ["of the agent", "of the step", "not offered", "of the client"])
async def test_the_name_of_a_tool_that_there_is_never_changes(how: str, strategy: Any) -> None:
    name = "card_4111111111111111"
    ran: list[str] = []
    listed = [tool(name, ran), tool("other", ran)]
    if how == "of the client":
        listed[0] = Tool(name, "A tool.", {"type": "object", "properties": {}}, None)
    hooks: list[Any] = []
    if how == "of the step":
        by_name = {one.name: one for one in listed}
        hooks = [Processor.of("more", process_input_step=lambda ctx: StepOverrides(tools=by_name))]
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool(name)]),
        "done",
        tools=[] if how == "of the step" else listed,
        input_processors=hooks,
        output_processors=[PIIDetector(strategy=strategy)],
    )
    if how == "not offered" and strategy == "block":
        return  # the error that says so is text, with a card in it
    done = await collect(agent, "hi", active_tools=["other"] if how == "not offered" else None)
    assert done.result.tripwire is None
    assert ran == ([name] if how in ("of the agent", "of the step") else [])
    assert {chunk.get("tool_name") for chunk in done.of("tool-call", "tool-result", "tool-error")} == {name}
    assert [part.tool_name for part in reply_parts(done.result) if isinstance(part, ToolPart)] == [name]


async def test_a_name_that_becomes_one_of_a_tool_does_not_run_it() -> None:
    ran: list[str] = []
    guard = PIIDetector(detection_types={"badge": r"EMP-[0-9]{6}"}, redaction_method="remove")
    calls = [calls_tool("payEMP-123456", id="c1"), calls_tool("EMP-123456", id="c2"), calls_tool("pay", id="c3")]
    agent, _ = make_agent(Reply(tool_calls=calls), "done", tools=[tool("pay", ran)], output_processors=[guard])
    done = await collect(agent, "hi")
    assert [chunk.get("tool_name") for chunk in done.of("tool-call")] == ["pay_", "_", "pay"]
    assert ran == ["pay"]


@pytest.mark.parametrize("strategy", ["block", "warn"])
async def test_what_is_said_of_a_made_up_name_does_not_hold_it(strategy: Any) -> None:
    told: list[Any] = []
    guard = PIIDetector(strategy=strategy, on_violation=told.append)
    agent, _ = make_agent(Reply(tool_calls=[calls_tool(MADE_UP)]), "done", output_processors=[guard])
    done = await collect(agent, "hi")
    assert told[0].message.startswith("email found in the arguments of '")
    assert SECRET not in str(told) + str(done.result.tripwire) + str(done.result.audit)
    assert (SECRET in str(done.result.steps)) == (strategy == "warn")
    assert (done.result.tripwire is None) == (strategy == "warn")
    names = [chunk.get("tool_name") for chunk in done.of("tool-call")]
    assert names == ([] if strategy == "block" else [MADE_UP])


async def test_the_name_of_a_tool_that_the_provider_runs_stays() -> None:
    call = {"tool_call_id": "c1", "tool_name": "card_4111111111111111", "provider_executed": True}
    model = ChunkModel(
        [
            Chunk("tool-call", {**call, "args": {}}),
            Chunk("tool-result", {**call, "result": "ann@x.org"}),
            *deltas("ok"),
            Chunk("finish", {"reason": "stop"}),
        ]
    )
    agent = Agent(id="a", model=model, output_processors=[PIIDetector(redaction_method="placeholder")])
    done = await collect(agent, "hi")
    shown = [(chunk.get("tool_name"), chunk.get("result")) for chunk in done.of("tool-call", "tool-result")]
    assert shown == [("card_4111111111111111", None), ("card_4111111111111111", "[EMAIL]")]


async def test_made_up_names_among_the_input() -> None:
    parts = [
        ToolPart(MADE_UP, "c1", {}, "error", error="no"),
        ToolPart("lookup", "c2", {}, "result", 1),
        ToolPart("card_4111111111111111", "c3", {}, "result", 1),
    ]
    guard = PIIDetector(surfaces=["text", "tool-args"])
    agent, model = make_agent("ok", tools=[tool("card_4111111111111111", [])], input_processors=[guard])
    await agent.generate([Message("hi"), Message(role="assistant", parts=parts), Message("go on")])
    sent = "".join(lines(model.prompts[0]))
    assert SECRET not in sent
    assert "lookup" in sent
    assert "card_4111111111111111" in sent


@pytest.mark.parametrize(
    "call",
    [
        {"tool_name": MADE_UP, "args": {}},
        {"tool_name": MADE_UP, "args": [1], "tool_call_id": "c1"},
    ],
)
async def test_the_error_for_a_call_that_is_none_does_not_hold_its_name(call: dict[str, Any]) -> None:
    model = ChunkModel([Chunk("tool-call", call), Chunk("finish", {"reason": "stop"})])
    agent = Agent(id="a", model=model, output_processors=[PIIDetector()])
    with pytest.raises(ModelError) as caught:
        await agent.generate("hi")
    assert SECRET not in str(caught.value)


async def test_a_hook_that_is_run_alone_knows_no_tool() -> None:
    call = Chunk("tool-call", {"tool_call_id": "c1", "tool_name": MADE_UP, "args": {}})
    ran = await PIIDetector(redaction_method="placeholder").run_on([call], hook="process_output_stream")
    assert [chunk.get("tool_name") for chunk in ran.parts] == ["_EMAIL_"]


AROUND = "mail ann@example.org or bob@"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@given(st.data())
@settings(max_examples=30)
async def test_any_cut_of_what_stands_around_the_call_gives_the_same(data: st.DataObject) -> None:
    parts = pieces(AROUND, data.draw(cuts(AROUND)))

    call = {"tool_call_id": "c1", "tool_name": f"x{MADE_UP}", "args": {"to": "ann@example.org"}}
    after = deltas("example.org ends", block="t2")
    model = ChunkModel(
        [*deltas(*parts), Chunk("tool-call", call), *after, Chunk("finish", {"reason": "stop"})],
    )
    agent = Agent(id="a", model=model, output_processors=[PIIDetector()], max_steps=1)
    done = await collect(agent, "hi")
    assert done.emitted == "mail a*n@*******.org or bob@example.org ends"
    assert [dict(chunk.payload) for chunk in done.of("tool-call")] == [
        {"tool_call_id": "c1", "tool_name": "x_d_org", "args": {"to": "a*n@*******.org"}}
    ]
