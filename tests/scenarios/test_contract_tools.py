"""Tools: functions, `Tool` objects, the client's tools, agents."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, RequestContext, Tool, ToolContext, tool
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import StepOverrides
from tests.support.processors import noting, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, parts_of

pytestmark = pytest.mark.anyio


def last(model: ScriptedModel) -> str:
    """Return the last line of the last prompt."""
    return lines(model.prompts[-1])[-1]


@each_entry
async def test_a_function_is_a_tool_with_a_schema(entry: Entry) -> None:
    """Name, description and parameters come from the function; arguments are converted to its types."""
    got: list[Any] = []

    def lookup(city: str, days: int = 3) -> dict[str, Any]:
        """Say what the weather will be.

        Args:
            city: Where.
            days: How far ahead.
        """
        got.append((city, days))
        return {"city": city, "days": days}

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("lookup", {"city": "Oslo", "days": "5"})]), "done", tools=[lookup]
    )

    await by(entry, agent, "hi")

    (offered,) = model.calls[0].tools
    assert (offered.name, offered.description) == ("lookup", "Say what the weather will be.")
    assert offered.parameters["properties"]["city"] == {"type": "string", "description": "Where."} | {
        key: value for key, value in offered.parameters["properties"]["city"].items() if key == "title"
    }
    assert offered.parameters["required"] == ["city"]
    assert got == [("Oslo", 5)]
    assert last(model) == 'tool: c1 -> {"city":"Oslo","days":5}'


@each_entry
async def test_a_tool_context_is_filled_in_and_not_in_the_schema(entry: Entry) -> None:
    """The tool knows the request, the run and its call; the model knows nothing of it."""
    seen: list[Any] = []

    @tool
    async def whoami(question: str, ctx: ToolContext) -> str:
        """Say who asks."""
        seen.append((ctx.request_context["user"], ctx.tool_call_id, bool(ctx.run_id)))
        return question

    agent, model = make_agent(Reply(tool_calls=[calls_tool("whoami", {"question": "?"})]), "done", tools=[whoami])

    await by(entry, agent, "hi", request_context=RequestContext({"user": "ann"}))

    assert seen == [("ann", "c1", True)]
    assert list(model.calls[0].tools[0].parameters["properties"]) == ["question"]


@each_entry
async def test_calls_of_one_step_run_side_by_side(entry: Entry) -> None:
    """Two tools that wait for each other both end."""
    one, two = anyio.Event(), anyio.Event()

    async def first() -> str:
        """Wait for the second."""
        one.set()
        await two.wait()
        return "a"

    async def second() -> str:
        """Wait for the first."""
        two.set()
        await one.wait()
        return "b"

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("first", id="c1"), calls_tool("second", id="c2")]),
        "done",
        tools=[first, second],
    )

    with anyio.fail_after(5):
        await by(entry, agent, "hi")

    assert last(model) == 'tool: c1 -> "a" + c2 -> "b"'


@each_entry
async def test_a_plain_function_runs_in_a_thread(entry: Entry) -> None:
    """So that it may block: two of them can wait for each other."""
    barrier = threading.Barrier(2, timeout=5)

    def meet() -> bool:
        """Meet the other call."""
        barrier.wait()
        return True

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("meet", id="c1"), calls_tool("meet", id="c2")]), "done", tools=[meet]
    )

    await by(entry, agent, "hi")

    assert last(model) == "tool: c1 -> true + c2 -> true"


BAD_CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": (calls_tool("nope"), "nope"),
    "a missing argument": (calls_tool("strict"), "n"),
    "a wrong type": (calls_tool("strict", {"n": "many"}), "n"),
    "an argument too many": (calls_tool("strict", {"n": 1, "m": 2}), "m"),
    "not by the schema": (calls_tool("schema", {"n": "x"}), "n"),
}


@each_entry
@pytest.mark.parametrize("name", BAD_CALLS)
async def test_a_call_that_cannot_be_made_is_a_tool_error(entry: Entry, name: str) -> None:
    """The model is told what is wrong and may try again; the tool and the result hook do not run."""
    trace: list[str] = []

    async def strict(n: int) -> int:
        """Take a number."""
        trace.append("ran")
        return n

    async def run(**args: Any) -> int:
        trace.append("ran")
        return 1

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    call, said = BAD_CALLS[name]
    agent, model = make_agent(
        Reply(tool_calls=[call]),
        "sorry",
        tools=[strict, Tool("schema", "", schema, run)],
        output_processors=[noting("o", trace, "process_tool_result")],
    )

    ran = await by(entry, agent, "hi")

    assert (trace, ran.result.text, len(model.calls)) == ([], "sorry", 2)
    assert last(model).startswith("tool: c1 !! ")
    assert said in last(model)
    assert parts_of(ran.result)[0][0] == f"tool:{call['name']}:error"
    if entry == "stream":
        (error,) = ran.of("tool-error")
        assert (error.payload["tool_call_id"], said in str(error.payload["error"])) == ("c1", True)


@each_entry
async def test_a_tool_that_is_not_offered_in_a_step_is_unknown_in_it(entry: Entry) -> None:
    """A model that asks for it all the same gets an error, not a result."""
    trace: list[str] = []
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("hidden")]),
        "sorry",
        tools=[tool_named("hidden", trace=trace), tool_named("open")],
    )

    ran = await by(entry, agent, "hi", active_tools=["open"])

    assert (trace, ran.result.text) == ([], "sorry")
    assert last(model).startswith("tool: c1 !! ")


@each_entry
async def test_a_tool_that_raises_is_told_to_the_model(entry: Entry) -> None:
    """The other calls of the step go on, and the loop too."""
    trace: list[str] = []
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("bad", id="c1"), calls_tool("good", id="c2")]),
        "done",
        tools=[tool_named("bad", RuntimeError("disk on fire")), tool_named("good", 2)],
        output_processors=[noting("o", trace, "process_tool_result")],
    )

    ran = await by(entry, agent, "hi")

    assert trace == ["o.process_tool_result"]
    assert "disk on fire" in last(model)
    assert last(model).endswith("+ c2 -> 2")
    outcomes = ran.result.steps[0].tool_results
    assert [(o.tool_call_id, o.result, bool(o.error)) for o in outcomes] == [
        ("c1", None, True),
        ("c2", 2, False),
    ]
    if entry == "stream":
        assert [chunk.type for chunk in ran.of("tool-error", "tool-result")] == ["tool-error", "tool-result"]


@each_entry
async def test_a_clients_tool_ends_the_loop_with_its_call(entry: Entry) -> None:
    """And the result that the client sends next joins the call."""
    agent, model = make_agent(
        Reply(text="one moment", tool_calls=[calls_tool("where", {"who": "ann"})]),
        "in Oslo",
        tools=[Tool("where", "Ask the browser.", {"type": "object"})],
    )

    first = await by(entry, agent, "hi")
    reply = first.result.response.messages[0]
    second = await by(entry, agent, ["hi", reply, {"role": "tool", "tool_call_id": "c1", "content": "Oslo"}])

    assert (first.result.finish_reason, first.result.text) == ("tool-calls", "one moment")
    assert [(c.tool_name, dict(c.args)) for c in first.result.steps[0].tool_calls] == [("where", {"who": "ann"})]
    assert parts_of(first.result) == [["text:one moment", "tool:where:call"]]
    assert len(model.calls) == 2
    assert lines(model.prompts[1])[1:] == [
        "user: hi",
        'assistant: one moment + where({"who":"ann"})#c1',
        'tool: c1 -> "Oslo"',
    ]
    assert second.result.text == "in Oslo"


@each_entry
async def test_a_clients_tool_beside_an_own_one_lets_the_own_one_run(entry: Entry) -> None:
    """The own result is there when the client's comes."""
    trace: list[str] = []
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("mine", id="c1"), calls_tool("theirs", id="c2")]),
        "never",
        tools=[tool_named("mine", trace=trace), Tool("theirs", "", {"type": "object"})],
    )

    ran = await by(entry, agent, "hi")

    assert (trace, len(model.calls), ran.result.finish_reason) == (["tool:mine"], 1, "tool-calls")
    assert parts_of(ran.result) == [["tool:mine:result", "tool:theirs:call"]]


def helper(*replies: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
    """Return an agent to be used as a tool."""
    model = ScriptedModel(replies)
    return Agent(id="helper", description="Knows things.", model=model, **options), model


@each_entry
async def test_an_agent_is_a_tool_whose_result_is_its_text(entry: Entry) -> None:
    """It gets the request context; none of its chunks reaches the reader."""
    seen: list[Any] = []
    sub, asked = helper(
        Reply(text="inner ", tool_calls=[calls_tool("t")]),
        "answer",
        tools=[tool_named("t")],
        input_processors=[Processor.of("p", process_input=lambda ctx: seen.append(ctx.request_context["user"]))],
    )
    (argument,) = sub.as_tool().parameters["required"]
    agent, model = make_agent(Reply(tool_calls=[calls_tool("helper", {argument: "what?"})]), "done", tools=[sub])

    ran = await by(entry, agent, "hi", request_context={"user": "ann"})

    assert last(model) == 'tool: c1 -> "inner answer"'
    assert (model.calls[0].tools[0].name, model.calls[0].tools[0].description) == ("helper", "Knows things.")
    assert lines(asked.prompts[0]) == ["user: what?"]
    assert seen == ["ann"]
    if entry == "stream":
        assert ran.emitted == "done"
        assert {chunk.run_id for chunk in ran.chunks} == {ran.chunks[0].run_id}


@each_entry
async def test_a_tripwire_of_a_sub_agent_is_a_tool_error(entry: Entry) -> None:
    """The reason reaches the asking model; the asking agent goes on."""
    guard = Processor.of("guard", process_input=lambda ctx: ctx.abort("not about that"))
    sub, asked = helper("never", input_processors=[guard])
    (argument,) = sub.as_tool().parameters["required"]
    agent, model = make_agent(Reply(tool_calls=[calls_tool("helper", {argument: "?"})]), "sorry", tools=[sub])

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, ran.result.tripwire, len(asked.calls)) == ("sorry", None, 0)
    assert last(model).startswith("tool: c1 !! ")
    assert "not about that" in last(model)


@each_entry
async def test_a_failing_sub_agent_is_a_tool_error(entry: Entry) -> None:
    """Its model's failure is one of a tool."""
    sub, _ = helper(Reply(error="provider is down"))
    (argument,) = sub.as_tool().parameters["required"]
    agent, model = make_agent(Reply(tool_calls=[calls_tool("helper", {argument: "?"})]), "sorry", tools=[sub])

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, ran.error) == ("sorry", None)
    assert "provider is down" in last(model)


@each_entry
async def test_a_model_output_is_for_the_model_alone(entry: Entry) -> None:
    """Reader and hooks get the result, the prompt the short form."""
    seen: list[Any] = []

    async def rows() -> list[int]:
        return list(range(100))

    table = Tool("rows", "", {"type": "object"}, rows, lambda result: f"{len(result)} rows")
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("rows")]),
        "done",
        tools=[table],
        output_processors=[Processor.of("p", process_tool_result=lambda ctx: seen.append(len(ctx.result)))],
    )

    ran = await by(entry, agent, "hi")

    assert (seen, last(model)) == ([100], 'tool: c1 -> "100 rows"')
    assert len(ran.result.steps[0].tool_results[0].result) == 100


@each_entry
async def test_a_replaced_result_is_what_the_model_output_is_made_of(entry: Entry) -> None:
    """A redacted result does not come back through the short form."""

    async def rows() -> list[str]:
        return ["secret"]

    table = Tool("rows", "", {"type": "object"}, rows, lambda result: f"rows: {result[0]}")
    redact = Processor.of(
        "p", process_tool_result=lambda ctx: ctx.message_list.update_tool_result(ctx.tool_call_id, ["***"])
    )
    agent, model = make_agent(Reply(tool_calls=[calls_tool("rows")]), "done", tools=[table], output_processors=[redact])

    await by(entry, agent, "hi")

    assert "secret" not in last(model)
    assert "***" in last(model)


@each_entry
async def test_a_call_continues_the_loop_whatever_the_reason_says(entry: Entry) -> None:
    """`stop` with a tool call is a tool call."""
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("t")], finish_reason="stop"), "done", tools=[tool_named("t")]
    )

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, len(model.calls)) == ("done", 2)


async def test_tools_are_handed_on_by_a_step_hook_and_can_be_run() -> None:
    """Whatever is offered in a step can be executed in it."""
    trace: list[str] = []
    extra = tool_named("extra", 3, trace=trace)
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("extra")]),
        "done",
        tools=[tool_named("t")],
        input_processors=[
            Processor.of("p", process_input_step=lambda ctx: StepOverrides(tools=[*ctx.tools.values(), extra]))
        ],
    )

    ran = await collect(agent, "hi")

    assert [t.name for t in model.calls[0].tools] == ["t", "extra"]
    assert (trace, ran.of("tool-result")[0].payload["result"]) == (["tool:extra"], 3)
