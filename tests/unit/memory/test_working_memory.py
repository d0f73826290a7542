"""How working memory is shown, changed and kept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from sluiceway import RequestContext
from sluiceway.errors import ConfigurationError
from sluiceway.memory import InMemoryStore, Memory, WorkingMemory
from sluiceway.models import Reply
from tests.support.memory import ON, remembering
from tests.support.processors import hooked
from tests.support.runs import calls_tool

pytestmark = pytest.mark.anyio


class Person(BaseModel):
    name: str
    age: int


def update(id: str = "w1", **args: Any) -> dict[str, Any]:  # noqa: A002
    return calls_tool("update_working_memory", args, id)


def shown(prompt: Any) -> str:
    """Return what stands in the region of a prompt's system message."""
    [text] = [m.text for m in prompt.messages if m.role == "system" and "<working_memory>" in m.text]
    return text.partition("<working_memory>")[2].removesuffix("</working_memory>")


async def test_the_template_is_shown_until_something_is_known() -> None:
    memory = Memory(InMemoryStore(), working_memory={"template": "- Name:"})
    agent, model, _ = remembering(Reply(tool_calls=[update(memory="- Name: Ann")]), "hi Ann", "again", memory=memory)
    await agent.generate("I am Ann", memory=ON)
    await agent.generate("who am I", memory={"thread": "t2", "resource": "u1"})

    assert [shown(prompt) for prompt in model.prompts] == ["- Name:", "- Name: Ann", "- Name: Ann"]
    assert [tool.name for tool in model.calls[0].tools] == ["update_working_memory"]
    assert "update_working_memory with the whole text" in model.prompts[0].messages[1].text


async def test_a_model_is_shown_as_json_and_asked_for_changed_fields() -> None:
    memory = Memory(InMemoryStore(), working_memory={"template": Person})
    agent, model, _ = remembering(Reply(tool_calls=[update(name="Ann"), update("w2", age=7)]), "hi", memory=memory)
    await agent.generate("I am Ann, 7", memory=ON)

    assert [shown(prompt) for prompt in model.prompts] == ["{}", '{"name":"Ann","age":7}']
    assert await memory.working_memory(resource="u1") == '{"name":"Ann","age":7}'
    [tool] = model.calls[0].tools
    assert "required" not in tool.parameters
    assert "the fields that change" in model.prompts[0].messages[1].text


async def test_fields_of_the_wrong_type_are_refused_and_change_nothing() -> None:
    memory = Memory(InMemoryStore(), working_memory={"template": Person})
    agent, model, _ = remembering(Reply(tool_calls=[update(age="seven")]), "sorry", memory=memory)
    await agent.generate("hi", memory=ON)

    assert "arguments do not fit" in str(model.prompts[1])
    assert await memory.working_memory(resource="u1") is None


async def test_thread_scope_is_one_for_each_thread() -> None:
    memory = Memory(InMemoryStore(), working_memory={"scope": "thread", "template": "-"})
    agent, model, _ = remembering(Reply(tool_calls=[update(memory="a")]), "ok", memory=memory)
    await agent.generate("hi", memory=ON)
    await agent.generate("hi", memory={"thread": "t2", "resource": "u1"})

    assert shown(model.prompts[-1]) == "-"
    assert await memory.working_memory(thread="t1") == "a"
    await memory.delete_thread("t1")
    assert await memory.working_memory(thread="t1") is None


async def test_resources_see_their_own_only() -> None:
    memory = Memory(InMemoryStore(), working_memory={"template": "-"})
    agent, model, _ = remembering(Reply(tool_calls=[update(memory="a")]), "ok", memory=memory)
    await agent.generate("hi", memory=ON)
    await agent.generate("hi", memory={"thread": "t2", "resource": "u2"})
    await agent.generate("hi", memory={"thread": "t3"})

    assert [shown(prompt) for prompt in model.prompts[2:]] == ["-", "-"]


async def test_an_update_in_a_turn_that_is_not_saved_is_lost_with_it() -> None:
    """Neither a tripped run nor a rejected attempt leaves its update."""
    memory = Memory(InMemoryStore(), working_memory=True)
    agent, _, _ = remembering(
        Reply(tool_calls=[update(memory="bad")]),
        "fine",
        memory=memory,
        output_processors=[hooked("no", {"process_output_result": lambda ctx: ctx.abort("no")})],
    )
    await agent.generate("hi", memory=ON)
    assert await memory.working_memory(resource="u1") is None

    def again(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("not so", retry=True)

    agent, model, _ = remembering(
        Reply(tool_calls=[update(memory="wrong")]),
        Reply(tool_calls=[update(memory="good")]),
        "fine",
        memory=memory,
        output_processors=[hooked("again", {"process_tool_result": again})],
        max_processor_retries=1,
    )
    await agent.generate("hi", memory=ON)
    assert await memory.working_memory(resource="u1") == "good"
    assert "wrong" not in str(model.prompts)


async def test_what_is_kept_is_what_processors_left_of_the_call() -> None:
    """A guard that redacts arguments keeps them out of working memory too."""

    def redact(ctx: Any) -> Any:
        if ctx.part.type == "tool-call":
            return ctx.part.replace(args={"memory": "- Card: [CARD]"})
        return ctx.part

    memory = Memory(InMemoryStore(), working_memory=True)
    agent, _, _ = remembering(
        Reply(tool_calls=[update(memory="- Card: 4111")]),
        "ok",
        memory=memory,
        output_processors=[hooked("redact", {"process_output_stream": redact})],
    )
    await agent.generate("hi", memory=ON)
    assert await memory.working_memory(resource="u1") == "- Card: [CARD]"


async def test_lines_that_another_run_changed_meanwhile_stay() -> None:
    memory = Memory(InMemoryStore(), working_memory=True)
    await memory.update_working_memory("name: Ann\ncity: Bern", resource="u1")

    async def meanwhile(ctx: Any) -> None:
        await memory.update_working_memory("name: Ann\ncity: Oslo", resource="u1")

    agent, _, _ = remembering(
        Reply(tool_calls=[update(memory="name: Anna\ncity: Bern")]),
        "ok",
        memory=memory,
        input_processors=[hooked("m", {"process_input": meanwhile})],
    )
    await agent.generate("hi", memory=ON)
    assert await memory.working_memory(resource="u1") == "name: Anna\ncity: Oslo"


async def test_active_tools_leave_it_in() -> None:
    memory = Memory(InMemoryStore(), working_memory=True)
    agent, model, _ = remembering("ok", memory=memory)
    await agent.generate("hi", memory=ON, active_tools=[])
    assert [tool.name for tool in model.calls[0].tools] == ["update_working_memory"]


async def test_without_a_thread_there_is_none() -> None:
    memory = Memory(InMemoryStore(), working_memory=True)
    agent, model, _ = remembering("ok", memory=memory)
    await agent.generate("hi", request_context=RequestContext(resource_id="u1"))
    assert model.calls[0].tools == ()
    assert [m.role for m in model.prompts[0].messages] == ["system", "user"]


async def test_text_that_no_database_holds_is_made_one() -> None:
    memory = Memory(InMemoryStore(), working_memory=True)
    assert await memory.update_working_memory("a\0b \ud83d", resource="u1") == "ab ?"


async def test_by_hand_it_needs_an_owner_and_a_memory_that_has_one() -> None:
    with pytest.raises(ConfigurationError, match="this memory has no working memory"):
        await Memory(InMemoryStore()).working_memory(resource="u1")
    with pytest.raises(ConfigurationError, match="name whose working memory is meant"):
        await Memory(InMemoryStore(), working_memory=True).update_working_memory("x")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"scope": "user"}, "scope='user' is not allowed"),
        ({"template": 7}, "template is markdown text or a pydantic model class"),
        ({"template": dict}, "template is markdown text or a pydantic model class"),
    ],
)
def test_options_that_are_not_allowed(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        WorkingMemory(InMemoryStore(), **options)
