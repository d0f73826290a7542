"""The agent: its options, the options of a call, functions of the request context, many calls at once."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Message, Processor, RequestContext
from sluiceway.errors import ConfigurationError, MessageError, SluicewayError
from sluiceway.models import EchoModel, Reply, ScriptedModel
from sluiceway.processors import Retry
from tests.support.processors import noting, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent

anyio_test = pytest.mark.anyio


@pytest.mark.parametrize("named", [{"id": "support"}, {"name": "support"}, {"id": "support", "name": "Help"}])
def test_an_id_or_a_name_is_enough(named: dict[str, Any]) -> None:
    """The name stands in for the id."""
    assert Agent(**named, model=ScriptedModel(["ok"])).id == "support"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a"}, "model"),
        ({"id": "a", "model": []}, "model"),
        ({"id": "a", "model": 5}, "model"),
        ({"id": "a", "model": "nowhere/x"}, "nowhere"),
        ({"id": "a", "model": ScriptedModel(["x"]), "max_steps": 0}, "max_steps"),
        ({"id": "a", "model": ScriptedModel(["x"]), "max_steps": "five"}, "max_steps"),
        ({"id": "a", "model": ScriptedModel(["x"]), "max_processor_retries": -1}, "max_processor_retries"),
        ({"id": "a", "model": ScriptedModel(["x"]), "tools": [5]}, "tool"),
        ({"id": "a", "model": ScriptedModel(["x"]), "tools": [tool_named("t"), tool_named("t")]}, "'t'"),
        ({"id": "a", "model": ScriptedModel(["x"]), "instructions": 5}, "instructions"),
        ({"id": "a", "model": ScriptedModel(["x"]), "input_processors": 5}, "input_processors"),
        ({"id": "a", "model": ScriptedModel(["x"]), "memory": 5}, "memory"),
    ],
)
def test_an_option_that_cannot_work_is_refused_at_construction(options: dict[str, Any], said: str) -> None:
    """The error names the option or the value."""
    with pytest.raises(ConfigurationError, match=said):
        Agent(**options)


@anyio_test
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"max_processor_retries": -1}, "max_processor_retries"),
        ({"hold": "always"}, "hold"),
        ({"temprature": 1}, "temprature"),
        ({"input_processors": [5]}, "input_processors"),
        ({"request_context": 5}, "request_context|mapping"),
    ],
)
@each_entry
async def test_an_option_of_a_call_that_cannot_work_is_refused(
    entry: Entry, options: dict[str, Any], said: str
) -> None:
    """Before anything runs, with the name of the option."""
    agent, model = make_agent("ok", tools=[tool_named("t")])

    call = agent.generate("hi", **options) if entry == "generate" else collect(agent, "hi", **options)
    with pytest.raises(ConfigurationError, match=said):
        await call
    assert len(model.calls) == 0


@anyio_test
@each_entry
async def test_everything_may_depend_on_the_request(entry: Entry) -> None:
    """Instructions, model, tools and lists as functions of the request context."""
    trace: list[str] = []
    models = {plan: ScriptedModel([Reply(tool_calls=[calls_tool("t")]), plan]) for plan in ("free", "paid")}

    async def model(context: RequestContext) -> ScriptedModel:
        await anyio.lowlevel.checkpoint()
        return models[context["plan"]]

    def tools(context: RequestContext) -> list[Any]:
        return [tool_named("t", f"for {context['plan']}")]

    def processors(context: RequestContext) -> list[Processor]:
        return [noting(f"in-{context['plan']}", trace, "process_input")]

    def outputs(context: RequestContext) -> list[Processor]:
        return [noting(f"out-{context['plan']}", trace, "process_output_result")]

    agent = Agent(
        id="a",
        instructions=lambda context: f"plan {context['plan']}",
        model=model,
        tools=tools,
        input_processors=processors,
        output_processors=outputs,
        error_processors=lambda context: [],
    )

    for plan in ("free", "paid"):
        ran = await by(entry, agent, "hi", request_context={"plan": plan})
        assert ran.result.text == plan
        assert lines(models[plan].prompts[1]) == [
            f"system: plan {plan}",
            "user: hi",
            "assistant: t({})#c1",
            f'tool: c1 -> "for {plan}"',
        ]
    assert [entry_.split(".")[0] for entry_ in trace] == ["in-free", "out-free", "in-paid", "out-paid"]


@anyio_test
@each_entry
async def test_lists_of_a_call_replace_the_agents_for_that_call(entry: Entry) -> None:
    """Each list alone; the next call has the agent's again; an empty list is a list."""
    trace: list[str] = []
    agent, _ = make_agent(
        "ok",
        input_processors=[noting("agent-in", trace, "process_input")],
        output_processors=[noting("agent-out", trace, "process_output_result")],
    )

    await by(entry, agent, "hi", input_processors=[noting("call-in", trace, "process_input")])
    await by(entry, agent, "hi", output_processors=[])
    await by(entry, agent, "hi")

    assert [entry_.split(".")[0] for entry_ in trace] == [
        "call-in",
        "agent-out",
        "agent-in",
        "agent-in",
        "agent-out",
    ]


@anyio_test
@each_entry
async def test_an_error_list_of_a_call_replaces_the_agents(entry: Entry) -> None:
    """The agent's error processors are not asked then."""
    trace: list[str] = []

    def handler(name: str) -> Processor:
        def run(ctx: Any) -> Retry:
            trace.append(name)
            return Retry()

        return Processor.of(name, process_api_error=run)

    agent, _ = make_agent(Reply(error="no"), "ok", error_processors=[handler("agents")])

    ran = await by(entry, agent, "hi", error_processors=[handler("calls")])

    assert (trace, ran.result.text) == (["calls"], "ok")


@anyio_test
@each_entry
async def test_options_of_a_call_win_over_the_agents(entry: Entry) -> None:
    """Instructions, limits, stop condition; settings and options reach the model."""
    agent, model = make_agent(
        Reply(tool_calls=[{"name": "t", "args": {}}]),
        tools=[tool_named("t"), tool_named("u")],
        max_steps=4,
        stop_when=lambda steps: len(steps) == 3,
    )

    long = await by(entry, agent, "hi")
    short = await by(
        entry,
        agent,
        "hi",
        instructions="other",
        max_steps=2,
        stop_when=lambda steps: False,
        model_settings={"temperature": 0.5},
        provider_options={"scripted": {"k": 1}},
        tool_choice="required",
        active_tools=["t"],
    )

    assert (len(long.result.steps), len(short.result.steps)) == (3, 2)
    call = model.calls[-1]
    assert lines(call.prompt)[0] == "system: other"
    assert (dict(call.settings), dict(call.provider_options)) == (
        {"temperature": 0.5},
        {"scripted": {"k": 1}},
    )
    assert (call.tool_choice, [t.name for t in call.tools]) == ("required", ["t"])


@anyio_test
@each_entry
async def test_what_a_call_takes(entry: Entry) -> None:
    """A text, a dict, a message, or a list of these."""
    agent, model = make_agent("ok")
    inputs: list[tuple[Any, list[str]]] = [
        ("hi", ["user: hi"]),
        ({"role": "user", "content": "hi"}, ["user: hi"]),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, ["user: hi"]),
        (Message("hi"), ["user: hi"]),
        (["a", Message("b"), {"role": "assistant", "content": "c"}], ["user: a", "user: b", "assistant: c"]),
        ([{"role": "system", "content": "s"}, "hi"], ["system: s", "user: hi"]),
    ]

    for said, expected in inputs:
        await by(entry, agent, said)
        assert lines(model.prompts[-1]) == ["system: sys", *expected]


@anyio_test
@each_entry
@pytest.mark.parametrize("said", [[], None, 5, [5], {"content": "x"}, {"role": "wizard", "content": "x"}, [[]]])
async def test_input_that_is_no_message_is_refused(entry: Entry, said: Any) -> None:
    """With an error that is about the message, before the model is called."""
    agent, model = make_agent("ok")

    call = agent.generate(said) if entry == "generate" else collect(agent, said)
    with pytest.raises(MessageError):
        await call
    assert len(model.calls) == 0


@anyio_test
@each_entry
async def test_the_input_is_not_changed_by_a_call(entry: Entry) -> None:
    """A processor that edits in place edits the run's copy, not the caller's message."""

    def shout(ctx: Any) -> None:
        for message in ctx.messages:
            message.parts[0].text = "CHANGED"
            message.metadata["changed"] = True

    mine = Message("hi")
    chat = {"role": "user", "content": [{"type": "text", "text": "there"}]}
    agent, model = make_agent("ok", input_processors=[Processor.of("p", process_input=shout)])

    await by(entry, agent, [mine, chat])

    assert lines(model.prompts[0])[1:] == ["user: CHANGED", "user: CHANGED"]
    assert (mine.text, dict(mine.metadata or {})) == ("hi", {})
    assert chat == {"role": "user", "content": [{"type": "text", "text": "there"}]}


def test_generate_sync_is_for_scripts() -> None:
    """It runs the call to its end, and raises what `generate` raises."""
    good, _ = make_agent("ok")
    bad, _ = make_agent(Reply(error="no"))

    assert good.generate_sync("hi").text == "ok"
    with pytest.raises(SluicewayError, match="no"):
        bad.generate_sync("hi", max_steps=1)


def test_generate_sync_works_where_a_loop_runs() -> None:
    """As in a notebook: in a thread of its own."""
    threads: list[bool] = []
    here = threading.get_ident()
    watch = Processor.of("p", process_input=lambda ctx: threads.append(threading.get_ident() == here))
    agent, _ = make_agent("ok", input_processors=[watch])

    async def cell() -> str:
        return agent.generate_sync("hi").text

    assert asyncio.run(cell()) == "ok"
    assert threads == [False]


@anyio_test
async def test_a_thousand_tasks_see_only_their_own() -> None:
    """One agent, many calls at once: texts, contexts and states stay apart."""
    seen: dict[str, str] = {}

    async def note(ctx: Any) -> None:
        ctx.state["who"] = ctx.request_context["who"]
        await anyio.lowlevel.checkpoint()

    def end(ctx: Any) -> None:
        seen[ctx.state["who"]] = ctx.result.text

    processor = Processor.of("p", process_input=note, process_output_result=end)
    agent = Agent(id="a", model=EchoModel(), input_processors=[processor], output_processors=[processor])

    async def call(number: int) -> None:
        await agent.generate(f"text {number}", request_context={"who": str(number)})

    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(call, number)

    assert seen == {str(number): f"text {number}" for number in range(1000)}


@anyio_test
@each_entry
async def test_a_secret_of_the_request_is_readable_and_never_shown(entry: Entry) -> None:
    """Hooks can use it; no repr and no error has it."""
    used: list[str] = []

    def use(ctx: Any) -> None:
        used.append(ctx.request_context["token"])
        raise ValueError(f"cannot work with {ctx.request_context!r}")

    context = RequestContext({"plan": "free"})
    context.set("token", "s3cr3t-token", secret=True)
    agent, _ = make_agent("ok", input_processors=[Processor.of("p", process_input=use)])

    ran = await by(entry, agent, "hi", request_context=context)

    assert used == ["s3cr3t-token"]
    assert ran.error is not None
    shown = f"{ran.error!r} {ran.error.__cause__} {context!r} {[c.payload for c in ran.chunks]!r}"
    assert "plan" in shown
    assert "s3cr3t" not in shown


@anyio_test
async def test_a_processor_reads_and_sets_the_context_of_its_own_call() -> None:
    """What is set in one hook is there in the next, and for the caller."""
    context = RequestContext({"n": 1})
    read: list[int] = []
    agent, _ = make_agent(
        "ok",
        input_processors=[Processor.of("i", process_input=lambda ctx: ctx.request_context.set("n", 2))],
        output_processors=[Processor.of("o", process_output_result=lambda ctx: read.append(ctx.request_context["n"]))],
    )

    await agent.generate("hi", request_context=context)

    assert (read, context["n"]) == ([2], 2)


@anyio_test
async def test_a_stream_can_be_used_once_and_only_when_entered() -> None:
    """The errors say what to do."""
    agent, model = make_agent("ok")
    stream = agent.stream("hi")

    with pytest.raises(SluicewayError, match="async with"):
        await anext(stream)
    assert len(model.calls) == 0
    async with stream:
        await stream.result()
    with pytest.raises(SluicewayError, match="again"):
        await stream.__aenter__()
