"""`process_llm_request` and `process_llm_response`: what is sent, and what came back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sluiceway import Processor
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from sluiceway.processors import LLMRequest
from tests.support.models import deltas
from tests.support.processors import tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent

pytestmark = pytest.mark.anyio


def rewriting(id: str, old: str, new: str) -> Processor:  # noqa: A002
    """Return a request hook that changes text in the prompt."""

    def run(ctx: Any) -> LLMRequest:
        return LLMRequest(prompt=ctx.prompt.map_text(lambda text: text.replace(old, new)))

    return Processor.of(id, process_llm_request=run)


@each_entry
async def test_a_rewritten_prompt_is_for_this_call_only(entry: Entry) -> None:
    """Later request hooks get it; messages, reply, a later step and a later call do not have it."""
    seen: list[str] = []

    def note(ctx: Any) -> None:
        seen.append(ctx.messages[0].text)

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t")],
        input_processors=[
            rewriting("a", "hello", "hola"),
            rewriting("b", "hola", "ciao"),
            Processor.of("c", process_llm_request=note, process_llm_response=note),
        ],
    )

    await by(entry, agent, "hello")

    assert [lines(prompt)[1] for prompt in model.prompts] == ["user: ciao", "user: ciao"]
    assert seen == ["hello"] * 4


def replay(*chunks: Chunk, reason: str = "stop") -> Iterator[Chunk]:
    """Return an answer as an iterator that can be read once."""
    return iter([*chunks, Chunk("finish", {"reason": reason})])


@each_entry
async def test_a_replayed_answer_is_an_answer(entry: Entry) -> None:
    """It passes the output hooks, later request hooks do not run, the model is not called."""
    trace: list[str] = []

    def upper(ctx: Any) -> Any:
        part = ctx.part
        return part.replace(text=part.text.upper()) if part.type == "text-delta" else part

    def response(ctx: Any) -> None:
        trace.append(f"{ctx.from_cache} {''.join(chunk.text for chunk in ctx.chunks)}")

    agent, model = make_agent(
        "never",
        input_processors=[
            Processor.of(
                "cache",
                process_llm_request=lambda ctx: LLMRequest(response=replay(*deltas("from ", "cache"))),
                process_llm_response=response,
            ),
            Processor.of("late", process_llm_request=lambda ctx: trace.append("late")),
        ],
        output_processors=[Processor.of("upper", process_output_stream=upper)],
    )

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, len(model.calls)) == ("FROM CACHE", 0)
    assert trace == ["True from cache"]


@each_entry
@pytest.mark.parametrize("with_result", [True, False])
async def test_a_replayed_call_runs_its_tool_unless_its_result_came_along(entry: Entry, with_result: bool) -> None:
    """A result in the replay is the result; without one the tool runs."""
    trace: list[str] = []
    call = {"tool_call_id": "c1", "tool_name": "t", "args": {}}
    chunks = [Chunk("tool-call", call)]
    if with_result:
        chunks.append(Chunk("tool-result", {**call, "result": "old"}))

    def request(ctx: Any) -> Any:
        return LLMRequest(response=replay(*chunks, reason="tool-calls")) if ctx.step_number == 0 else None

    agent, model = make_agent(
        "done",
        tools=[tool_named("t", "new", trace=trace)],
        input_processors=[Processor.of("cache", process_llm_request=request)],
    )

    await by(entry, agent, "hi")

    assert trace == ([] if with_result else ["tool:t"])
    assert lines(model.prompts[0])[-1] == f'tool: c1 -> "{"old" if with_result else "new"}"'


@each_entry
async def test_the_response_hook_has_the_models_own_chunks(entry: Entry) -> None:
    """Raw, before the output processors, with the step it belongs to as the stream hooks left it."""
    seen: list[Any] = []

    def response(ctx: Any) -> None:
        raw = "".join(chunk.text for chunk in ctx.chunks)
        seen.append((raw, ctx.steps[-1].text, ctx.steps[-1].tool_results, ctx.step_number, ctx.from_cache))

    def mask(ctx: Any) -> Any:
        part = ctx.part
        return part.replace(text="***") if part.text == "secret" else part

    agent, model = make_agent(
        ["a ", "secret"],
        input_processors=[Processor.of("p", process_llm_response=response)],
        output_processors=[Processor.of("mask", process_output_stream=mask)],
    )

    await by(entry, agent, "hi")

    assert seen == [("a secret", "a ***", (), 0, False)]
    assert len(model.calls) == 1


async def test_the_response_hook_knows_request_and_model() -> None:
    """What was asked, and who answered."""
    seen: list[Any] = []
    watch = Processor.of("p", process_llm_response=lambda ctx: seen.append((ctx.request, ctx.model)))
    agent, model = make_agent("ok", input_processors=[watch])

    await collect(agent, "hi")

    ((request, answered_by),) = seen
    assert lines(request.prompt) == ["system: sys", "user: hi"]
    assert answered_by is model


async def test_the_request_hook_sees_what_the_step_hooks_chose() -> None:
    """Model, tools and settings of the step, read-only; each prompt message names its message."""
    seen: list[Any] = []

    def request(ctx: Any) -> None:
        seen.append(
            {
                "model": ctx.model.model_id,
                "tools": list(ctx.tools),
                "active_tools": ctx.active_tools,
                "tool_choice": ctx.tool_choice,
                "model_settings": dict(ctx.model_settings),
                "provider_options": dict(ctx.provider_options),
                "structured_output": ctx.structured_output,
            }
        )
        user = ctx.prompt.messages[-1]
        seen.append((user.role, user.message_id == ctx.messages[0].id, user.source))

    agent, _ = make_agent(
        "ok", tools=[tool_named("t")], input_processors=[Processor.of("p", process_llm_request=request)]
    )

    await collect(
        agent,
        "hi",
        model_settings={"temperature": 0},
        provider_options={"scripted": {"x": 1}},
        tool_choice="auto",
        active_tools=["t"],
    )

    assert seen == [
        {
            "model": "scripted",
            "tools": ["t"],
            "active_tools": ["t"],
            "tool_choice": "auto",
            "model_settings": {"temperature": 0},
            "provider_options": {"scripted": {"x": 1}},
            "structured_output": None,
        },
        ("user", True, "input"),
    ]
