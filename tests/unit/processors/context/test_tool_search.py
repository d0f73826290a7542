"""`ToolSearchProcessor` and its index, beyond the cases from practice."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

from sluiceway import Tool, tool
from sluiceway.errors import ConfigurationError, MessageError, RunError
from sluiceway.models import Reply
from sluiceway.processors import ToolSearchProcessor
from sluiceway.processors.context._bm25 import ToolIndex, words_of
from sluiceway.tools import RequestContext, ToolContext
from tests.support.runs import calls_tool, make_agent, reply_parts
from tests.support.storing import THREAD, new_memory

META = ["search_tools", "load_tool"]


def described(name: str, text: str = "") -> Tool:
    return Tool(name, text, {"type": "object", "properties": {}}, run=lambda: name)


TOOLS = [
    described("get_weather", "Say what the weather is like in a city."),
    described("sendMail", "Send a mail to a person."),
    described("list_mails", "List the mails of a mailbox, newest first."),
    described("delete_mailbox", "Delete a mailbox and all that is in it."),
    described("convert_currency", "Convert an amount of money from one currency to another."),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sendMails", ["send", "mail"]),
        ("get_HTTPStatus-codes", ["get", "http", "status", "code"]),
        ("companies, classes and Ümläute 42", ["company", "classe", "and", "ümläute", "42"]),
        ("", []),
    ],
)
def test_words_of_names_and_texts(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what is the weather in Oslo", "get_weather"),
        ("send an email mail", "sendMail"),
        ("list my mails", "list_mails"),
        ("mailbox delete", "delete_mailbox"),
        ("money conversion currency", "convert_currency"),
    ],
)
def test_the_best_tool_comes_first(query: str, first: str) -> None:
    found = ToolIndex(TOOLS).search(query, 3)
    assert found[0][0].name == first
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_what_has_none_of_the_words_is_not_found() -> None:
    index = ToolIndex(TOOLS)
    assert index.search("zebra", 5) == []
    assert index.search("", 5) == []
    assert len(index.search("mail", 1)) == 1
    best = index.search("weather", 5)[0][1]
    assert index.search("weather", 5, best + 0.1) == []
    assert ToolIndex([]).search("mail", 5) == []


async def ask(processor: ToolSearchProcessor, *replies: Any, **options: Any) -> Any:
    agent, model = make_agent(*replies, "done", input_processors=[processor], **options)
    result = await agent.generate("q")
    return result, [[tool.name for tool in call.tools] for call in model.calls]


def search(query: str, id: str = "c1") -> Reply:  # noqa: A002
    return Reply(tool_calls=[calls_tool("search_tools", {"query": query}, id)])


def load(*names: str, id: str = "c1") -> Reply:  # noqa: A002
    return Reply(tool_calls=[calls_tool("load_tool", {"names": list(names)}, id)])


@pytest.mark.anyio
async def test_a_search_alone_makes_nothing_callable() -> None:
    result, offered = await ask(
        ToolSearchProcessor(TOOLS), search("weather"), Reply(tool_calls=[calls_tool("get_weather", id="c2")])
    )
    assert offered == [META, META, META]
    called = reply_parts(result)[2]
    assert (called.tool_name, called.state) == ("get_weather", "error")


@pytest.mark.anyio
async def test_a_search_loads_if_that_is_wanted() -> None:
    processor = ToolSearchProcessor(TOOLS, search={"auto_load": True, "top_k": 1})
    result, offered = await ask(processor, search("weather"))
    assert offered == [["search_tools"], ["search_tools", "get_weather"]]
    assert reply_parts(result)[0].result == {
        "tools": [{"name": "get_weather", "description": "Say what the weather is like in a city."}],
        "loaded": ["get_weather"],
    }


@pytest.mark.anyio
async def test_loaded_tools_come_last_in_the_order_of_their_loading() -> None:
    """So that what a provider keeps of a prompt stays of use."""
    own = described("own")
    _, offered = await ask(
        ToolSearchProcessor(TOOLS),
        load("sendMail"),
        load("get_weather", "sendMail", id="c2"),
        tools=[own],
    )
    assert offered == [["own", *META], ["own", *META, "sendMail"], ["own", *META, "sendMail", "get_weather"]]


@pytest.mark.anyio
async def test_one_name_may_come_without_a_list() -> None:
    result, _ = await ask(
        ToolSearchProcessor(TOOLS), Reply(tool_calls=[calls_tool("load_tool", {"names": "sendMail"})])
    )
    assert reply_parts(result)[0].result == {"loaded": ["sendMail"]}


@pytest.mark.anyio
async def test_the_steps_own_tools_can_be_put_behind_the_search() -> None:
    own = described("stock_price", "Say what a share costs.")
    processor = ToolSearchProcessor(TOOLS, include_resolved_tools=True)
    result, offered = await ask(processor, search("share price"), load("stock_price", id="c2"), tools=[own])
    assert offered == [META, META, [*META, "stock_price"]]
    assert reply_parts(result)[0].result["tools"][0]["name"] == "stock_price"


@pytest.mark.anyio
async def test_active_tools_name_the_steps_own() -> None:
    a, b = described("a"), described("b")
    agent, model = make_agent("x", tools=[a, b], input_processors=[ToolSearchProcessor(TOOLS)])
    for active in (None, ["b"], []):
        await agent.generate("q", active_tools=active)
    assert [[tool.name for tool in call.tools] for call in model.calls] == [["a", "b", *META], ["b", *META], []]


@pytest.mark.anyio
async def test_a_tool_of_the_step_goes_before_one_of_its_name_behind_the_search() -> None:
    own = described("sendMail", "another")
    agent, model = make_agent(load("sendMail"), "done", tools=[own], input_processors=[ToolSearchProcessor(TOOLS)])
    await agent.generate("q")
    assert [tool.name for tool in model.calls[1].tools] == ["sendMail", *META]
    assert model.calls[1].tools[0] is own


@pytest.mark.anyio
async def test_loads_can_be_read_from_the_conversation() -> None:
    """Another object, as after a restart, offers what the conversation shows to be loaded."""
    memory = new_memory()
    first, _ = make_agent(
        load("sendMail", "nope"), "a", memory=memory, input_processors=[ToolSearchProcessor(TOOLS, storage="context")]
    )
    await first.generate("q", memory=THREAD)
    second, model = make_agent("b", memory=memory, input_processors=[ToolSearchProcessor(TOOLS, storage="context")])

    await second.generate("q", memory=THREAD)
    await second.generate("q", memory={"thread": "t2", "resource": "u1"})

    assert [[tool.name for tool in call.tools] for call in model.calls] == [[*META, "sendMail"], META]


@pytest.mark.anyio
async def test_loads_can_be_forgotten() -> None:
    processor = ToolSearchProcessor(TOOLS)
    agent, model = make_agent(load("sendMail"), "a", input_processors=[processor], memory=new_memory())
    await agent.generate("q", memory=THREAD)
    await agent.generate("q", memory={"thread": "t2", "resource": "u1"})
    assert processor.state_stats() == {"threads": 2, "loaded_tools": 1}

    assert processor.clear_state("t1", "someone else") is False
    assert processor.clear_state("t1", "u1") is True
    await agent.generate("q", memory=THREAD)
    assert [tool.name for tool in model.calls[-1].tools] == META
    assert processor.clear_all_state() == 2
    assert processor.state_stats() == {"threads": 0, "loaded_tools": 0}


@pytest.mark.anyio
async def test_a_filter_sees_who_asks() -> None:
    def allow(tool: Tool, context: RequestContext, phase: str) -> bool:
        return context.get("plan") == "paid" or tool.name != "delete_mailbox"

    processor = ToolSearchProcessor(TOOLS, filter=allow, search={"top_k": 2})
    agent, model = make_agent(
        search("mailbox delete mails"), load("delete_mailbox", id="c2"), "done", input_processors=[processor]
    )
    free = await agent.generate("q")
    names = [found["name"] for found in reply_parts(free)[0].result["tools"]]
    assert "delete_mailbox" not in names
    assert len(names) == 2
    assert reply_parts(free)[2].result == {"loaded": [], "not_found": ["delete_mailbox"]}
    assert [tool.name for tool in model.calls[2].tools] == META


@pytest.mark.anyio
async def test_nothing_is_kept_of_a_run_without_a_thread() -> None:
    processor = ToolSearchProcessor(TOOLS)
    await ask(processor, load("sendMail"))
    gc.collect()
    assert (len(processor._sessions), processor.state_stats()["threads"]) == (0, 0)


@pytest.mark.anyio
async def test_the_meta_tools_are_of_no_use_outside_of_a_run() -> None:
    processor = ToolSearchProcessor(TOOLS)
    with pytest.raises(RunError, match="can only be called in a run that offers them"):
        await processor._meta["search_tools"].call({"query": "mail"}, ToolContext(run_id="other"))
    with pytest.raises(MessageError):
        await processor._meta["load_tool"].call({"names": 5}, ToolContext(run_id="other"))


def test_the_meta_tools_cost_few_tokens() -> None:
    meta = ToolSearchProcessor(TOOLS)._meta.values()
    sent = [{"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in meta]
    assert len(json.dumps(sent)) < 600


def test_a_long_description_is_cut_and_only_its_first_line_is_shown() -> None:
    @tool
    def talks() -> None:
        """Talk.

        At length.
        """

    from sluiceway.processors.context._tool_search import _short

    assert _short(talks.description) == "Talk."
    assert _short("x" * 500) == "x" * 159 + "…"


@pytest.mark.anyio
async def test_what_the_step_may_not_use_is_not_behind_the_search() -> None:
    shares, houses = described("stock_price", "Say what a share costs."), described("house_price", "What it costs.")
    processor = ToolSearchProcessor(include_resolved_tools=True)
    agent, model = make_agent(
        search("price costs"),
        load("stock_price", "house_price", id="c2"),
        "done",
        tools=[shares, houses],
        input_processors=[processor],
    )

    result = await agent.generate("q", active_tools=["stock_price"])

    assert [found["name"] for found in reply_parts(result)[0].result["tools"]] == ["stock_price"]
    assert [tool.name for tool in model.calls[2].tools] == [*META, "stock_price"]


@pytest.mark.anyio
async def test_a_filter_that_is_async_hides() -> None:
    """Its answer would count as yes, whatever it says."""

    async def no(*_: object) -> bool:
        return False

    with pytest.raises(ConfigurationError, match="that is not async"):
        ToolSearchProcessor(TOOLS, filter=no)
    processor = ToolSearchProcessor(TOOLS, filter=lambda *_: no())
    result, offered = await ask(processor, load("sendMail"))
    assert reply_parts(result)[0].result == {"loaded": [], "not_found": ["sendMail"]}
    assert offered == [META, META]
