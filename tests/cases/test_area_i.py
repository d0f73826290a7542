"""Area I: tool search and loading."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor, ToolContext, tool
from sluiceway.engine import use_clock
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import StepOverrides, ToolSearchProcessor
from sluiceway.tools import RequestContext, Tool
from tests.support.runs import Entry, by, calls_tool, each_entry, make_agent, reply_parts
from tests.support.storing import THREAD, new_memory
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio

META = ["search_tools", "load_tool"]


@tool
def weather(city: str = "here", context: ToolContext | None = None) -> str:
    """Say what the weather is like."""
    return "sunny"


@tool
def mail(to: str = "you") -> str:
    """Send a mail."""
    return "sent"


@tool
def tenant(context: ToolContext) -> Any:
    """Say whose request this is."""
    return context.request_context.get("tenant")


def load(*names: str) -> Reply:
    return Reply(tool_calls=[calls_tool("load_tool", {"names": list(names)})])


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[tool.name for tool in call.tools] for call in model.calls]


@each_entry
async def test_b151_callers_do_not_share_what_they_have_loaded(entry: Entry) -> None:
    """Neither two runs without a thread, nor two threads, nor two users with a thread of one name."""
    search = ToolSearchProcessor([weather])
    agent, model = make_agent(load("weather"), "a", "b", "c", "d", "e", input_processors=[search], memory=new_memory())

    await by(entry, agent, "q")
    await by(entry, agent, "q")
    assert offered(model) == [META, [*META, "weather"], META]

    model.calls.clear()
    await by(entry, agent, "q", memory=THREAD)
    await by(entry, agent, "q", memory=THREAD)
    await by(entry, agent, "q", memory={"thread": "t2", "resource": "u1"})
    await by(entry, agent, "q", request_context=RequestContext(resource_id="u2"))
    assert offered(model) == [META, [*META, "weather"], [*META, "weather"], META, META]


@each_entry
async def test_b152_a_loaded_tool_knows_the_request(entry: Entry) -> None:
    agent, _ = make_agent(
        load("tenant"),
        Reply(tool_calls=[calls_tool("tenant", id="c2")]),
        "done",
        input_processors=[ToolSearchProcessor([tenant])],
    )

    ran = await by(entry, agent, "q", request_context={"tenant": "acme"})

    assert reply_parts(ran.result)[2].result == "acme"


@each_entry
async def test_b156_what_a_step_offers_can_be_called(entry: Entry) -> None:
    """Also a tool that a step hook adds, and an agent as a tool."""
    inner = Agent(id="inner", model=ScriptedModel(["from inside"]))
    adds = Processor.of("adds", process_input_step=lambda ctx: StepOverrides(tools={**ctx.tools, "mail": mail}))
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("search_tools", {"query": "ask inner"}, "c1"), calls_tool("mail", {}, "c2")]),
        load("inner"),
        Reply(tool_calls=[calls_tool("inner", {"message": "hi"}, "c4")]),
        "done",
        input_processors=[ToolSearchProcessor([inner]), adds],
    )

    ran = await by(entry, agent, "q")

    results = [part.result for part in reply_parts(ran.result) if part.type == "tool"]
    assert results == [
        {"tools": [{"name": "inner", "description": "Ask the agent inner."}]},
        "sent",
        {"loaded": ["inner"]},
        "from inside",
    ]
    assert offered(model)[2] == ["search_tools", "load_tool", "inner", "mail"]


@each_entry
async def test_b157_a_filter_that_raises_hides_that_tool_only(entry: Entry) -> None:
    def allow(tool: Tool, context: RequestContext, phase: str) -> bool:
        if tool.name == "weather":
            raise ValueError("broken")
        return True

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("search_tools", {"query": "weather mail"})]),
        load("weather", "mail"),
        "done",
        input_processors=[ToolSearchProcessor([weather, mail], filter=allow)],
    )

    ran = await by(entry, agent, "q")

    results = [part.result for part in reply_parts(ran.result) if part.type == "tool"]
    assert results == [
        {"tools": [{"name": "mail", "description": "Send a mail."}]},
        {"loaded": ["mail"], "not_found": ["weather"]},
    ]
    assert offered(model)[2] == [*META, "mail"]


async def test_b157_a_filter_that_raises_only_later_hides_a_loaded_tool() -> None:
    def allow(tool: Tool, context: RequestContext, phase: str) -> bool:
        if phase == "active" and tool.name == "weather":
            raise ValueError("broken")
        return True

    agent, model = make_agent(
        load("weather", "mail"), "done", input_processors=[ToolSearchProcessor([weather, mail], filter=allow)]
    )

    await agent.generate("q")

    assert offered(model) == [META, [*META, "mail"]]


@each_entry
async def test_b158_several_tools_are_loaded_at_once(entry: Entry) -> None:
    agent, model = make_agent(
        load("weather", "mail", "nope", "weather"), "done", input_processors=[ToolSearchProcessor([weather, mail])]
    )

    ran = await by(entry, agent, "q")

    assert reply_parts(ran.result)[0].result == {"loaded": ["weather", "mail"], "not_found": ["nope"]}
    assert offered(model)[1] == [*META, "weather", "mail"]


@pytest.mark.parametrize(("ttl", "removed", "left"), [(60, 2, 1), (0, 0, 3)])
async def test_b159_threads_that_nobody_uses_are_forgotten(ttl: float, removed: int, left: int) -> None:
    search = ToolSearchProcessor([weather], ttl=ttl)
    agent, _ = make_agent(load("weather"), "a", "b", "c", "d", input_processors=[search], memory=new_memory())
    clock = FakeClock()

    with use_clock(clock):
        for thread in ("t1", "t2", "t3"):
            await agent.generate("q", memory={"thread": thread, "resource": "u"})
        clock.passed_s += 50
        await agent.generate("q", memory={"thread": "t2", "resource": "u"})
        clock.passed_s += 50

        assert search.cleanup() == removed
        assert search.state_stats()["threads"] == left
