"""What functions, agents, tools and objects become."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from sluiceway import Agent, Processor, RequestContext, Tool, ToolContext, Workflow, step, tool
from sluiceway.engine import PLAIN, StepContext, StepOptions, WorkflowResult
from sluiceway.errors import ConfigurationError, GraphError, StepError
from sluiceway.models import Reply, ScriptedModel
from sluiceway.steps import AgentStep, CustomStep, FunctionStep, ToolStep, as_step, takes_context

pytestmark = pytest.mark.anyio


async def run(thing: Any, data: Any, **context: Any) -> WorkflowResult:
    return await Workflow("w").then(thing).commit().run(data, request_context=context)


def failure(result: WorkflowResult) -> str:
    assert result.status == "failed", result
    return str(result.error)


# `step`


def test_step_gives_a_name_and_options() -> None:
    def fn(data: Any) -> Any:
        return data

    made = step(fn, id="x", hooks=["a"], timeout=2, retries=3, on_error="block", thread=True, ignore=["r1"])
    assert (made.thing, made.id) == (fn, "x")
    assert made.options == StepOptions(frozenset({"a"}), 2, 3, "block", True, ("r1",))


def test_step_decorates_with_and_without_parentheses() -> None:
    @step
    def one(x: int) -> int:
        return x + 1

    @step(retries=2)
    def two(x: int) -> int:
        return x + 2

    assert (one(1), two(1)) == (2, 3)
    assert (one.options, two.options.retries) == (PLAIN, 2)
    assert [node.path for node in Workflow("w").then(one).then(two).commit().plan] == ["w › one", "w › two"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"id": ""}, "id='' must be a text"),
        ({"timeout": 0}, "timeout=0 must be more than 0 seconds"),
        ({"timeout": -1.5}, "timeout=-1.5 must be more"),
        ({"retries": -1}, "retries=-1 must be a whole number"),
        ({"retries": 1.5}, "retries=1.5 must be a whole number"),
        ({"on_error": "ignore"}, "on_error='ignore' must be one of raise, block, continue"),
        ({"hooks": "process_input"}, "hooks='process_input' must be a list"),
    ],
)
def test_step_refuses_what_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        step(lambda data: data, **options)


def test_options_around_options_win_and_the_rest_stays() -> None:
    inner = step(lambda data: data, id="in", retries=2)
    assert as_step(step(inner, id="out"), "w", inside="w")[2].retries == 2
    made, kind, options = as_step(step(inner, timeout=3), "w", inside="w")
    assert (made.id, kind, options.retries, options.timeout_s) == ("in", "function", 0, 3)


# what a thing is taken for


class Doubles:
    id = "doubles"

    async def run(self, data: int, ctx: StepContext) -> int:
        return 2 * data


def test_things_are_taken_for_what_they_are() -> None:
    def fn(data: Any) -> Any:
        return data

    class Callable_:
        def __call__(self, data: Any) -> Any:
            return data

    agent = Agent(id="agent", model=ScriptedModel(["hi"]))
    things = [
        Processor.of("p", process_input=lambda ctx: None),
        fn,
        Callable_(),
        tool(fn),
        agent,
        Doubles(),
    ]
    made = [as_step(thing, "w", inside="w") for thing in things]
    assert [(s.key, kind) for s, kind, _ in made] == [
        ("processor:p", "processor"),
        ("fn", "function"),
        ("Callable_", "function"),
        ("fn", "tool"),
        ("agent", "agent"),
        ("doubles", "step"),
    ]
    assert [type(s) for s, _, _ in made[1:]] == [FunctionStep, FunctionStep, ToolStep, AgentStep, CustomStep]


@pytest.mark.parametrize("thing", [7, None, "text", [], SimpleNamespace(id="x"), object()])
def test_nothing_else_is_a_step(thing: Any) -> None:
    with pytest.raises(GraphError, match=r"^here: .* is not a step"):
        as_step(thing, "here", inside="w")


# functions


@pytest.mark.parametrize(
    ("fn", "takes"),
    [
        (lambda data: 0, False),
        (lambda: 0, False),
        (lambda data, ctx: 0, True),
        (lambda data, anything: 0, True),
        (lambda data, ctx=None: 0, True),
        (lambda data, flag=False: 0, False),
        (lambda *args: 0, False),
        (len, False),
    ],
)
def test_a_function_of_two_takes_the_context(fn: Any, takes: bool) -> None:
    assert takes_context(fn) is takes


async def test_functions_of_none_one_and_two() -> None:
    async def both(data: str, ctx: StepContext) -> str:
        return f"{data} in {ctx.path}"

    def none() -> str:
        return "x"

    result = await Workflow("w").then(none).then(both).commit().run("ignored")
    assert result.output == "x in w › both"


class Order(BaseModel):
    total: int


@dataclass
class Point:
    x: int


async def test_what_is_annotated_is_checked_and_converted() -> None:
    def total(order: Order) -> int:
        return order.total

    def point(data: Any) -> Point:
        return Point(int(data))

    assert (await run(total, {"total": "7"})).output == 7
    assert (await run(point, "3")).output == Point(3)


async def test_data_that_does_not_fit_fails_the_step_without_showing_it() -> None:
    runs: list[Any] = []

    def total(order: Order) -> int:
        runs.append(order)
        return order.total

    result = await run(step(total, retries=3), {"total": "hidden"})
    assert failure(result) == (
        "w › total: the input does not fit: total: Input should be a valid integer, "
        "unable to parse string as an integer"
    )
    assert runs == []
    assert isinstance(result.error, StepError)
    assert (result.error.retryable, result.steps["w › total"].attempt) == (False, 1)


async def test_an_output_that_does_not_fit_fails_the_step() -> None:
    def wrong(data: Any) -> int:
        return data

    assert failure(await run(wrong, "abc")).startswith("w › wrong: the output does not fit: value: Input")


async def test_an_annotation_that_cannot_be_read_is_not_checked() -> None:
    def odd(data: "Nowhere") -> "Nowhere":  # noqa: F821, UP037  # pyright: ignore[reportUndefinedVariable]
        return data

    assert (await run(odd, 1)).output == 1


async def test_a_plain_function_moves_to_a_thread_if_told_to() -> None:
    import threading

    def where(data: Any) -> bool:
        return threading.current_thread() is threading.main_thread()

    assert (await run(step(where, id="here"), 0)).output is True
    assert (await run(step(where, id="there", thread=True), 0)).output is False


async def test_an_object_with_run_is_a_step_with_its_types() -> None:
    assert (await run(Doubles(), "4")).output == 8
    assert failure(await run(step(Doubles(), id="d2"), "x")).startswith("w › d2: the input does not fit")


# agents


async def test_an_agent_gets_the_text_and_gives_its_answer() -> None:
    model = ScriptedModel([Reply(text="hello")])
    agent = Agent(id="talker", model=model)
    assert (await run(agent, "hi")).output == "hello"
    assert (await run(agent, {"text": "hi"})).output == "hello"
    assert (await run(agent, {"role": "user", "content": "hi"})).output == "hello"
    assert [[m.text for m in prompt.messages if m.role == "user"] for prompt in model.prompts] == [["hi"]] * 3


async def test_an_agent_that_trips_ends_the_run_as_a_tripwire() -> None:
    guard = Processor.of("guard", process_input=lambda ctx: ctx.abort("no", metadata={"k": 1}))
    after: list[Any] = []
    agent = Agent(id="talker", model=ScriptedModel(["x"]), input_processors=[guard])

    result = await Workflow("w").then(agent).then(step(after.append, id="after")).commit().run("hi")

    assert (result.status, result.output, result.error, after) == ("tripwire", None, None, [])
    assert result.tripwire is not None
    assert (result.tripwire.reason, result.tripwire.processor_id, result.tripwire.metadata) == (
        "no",
        "guard",
        {"k": 1},
    )
    assert result.steps["w › talker"].status == "tripwire"


async def test_an_agent_sees_the_request_context() -> None:
    seen: list[Any] = []
    guard = Processor.of("look", process_input=lambda ctx: seen.append(ctx.request_context["plan"]))
    await run(Agent(id="a", model=ScriptedModel(["x"]), input_processors=[guard]), "hi", plan="free")
    assert seen == ["free"]


# tools


def weather(city: str, days: int = 1) -> str:
    """Say what the weather is like."""
    return f"{city} {days}"


async def test_a_tool_gets_a_dict_or_its_one_required_argument() -> None:
    made = tool(weather)
    assert (await run(made, "Rome")).output == "Rome 1"
    assert (await run(made, {"city": "Rome", "days": 3})).output == "Rome 3"


async def test_a_tool_gets_the_run() -> None:
    def who(q: str, ctx: ToolContext) -> Any:
        return (ctx.request_context["plan"], ctx.run_id.startswith("run_"))

    assert (await run(tool(who), "x", plan="free")).output == ("free", True)


async def test_arguments_that_do_not_fit_fail_the_step_once() -> None:
    result = await run(step(tool(weather), retries=2), {"town": "Rome"})
    assert failure(result).startswith("w › weather: tool 'weather': arguments do not fit")
    assert result.steps["w › weather"].attempt == 1


async def test_a_tool_of_several_arguments_says_that_it_needs_a_dict() -> None:
    both = Tool("both", "d", {"type": "object", "required": ["a", "b"]}, lambda a, b: a)
    assert "takes the arguments a, b; map the data to a dict of them before it" in failure(await run(both, "x"))


# in an agent's list


async def test_functions_and_tools_work_on_the_call_of_a_hook() -> None:
    seen: list[Any] = []

    def note(call: Any, ctx: Any) -> Any:
        seen.append((call.hook, call.text, ctx.run_id.startswith("run_")))
        return call.replace(text=call.text.upper())

    def shout(text: str) -> str:
        return text + "!"

    calls: dict[str, Any] = {}
    workflow = (
        Workflow("w")
        .then(note)
        .parallel([tool(shout), step(lambda call: call, id="same")])
        .map(lambda results: results["same"].replace(text=results["shout"]))
    )
    model = ScriptedModel(["ok"])
    agent = Agent(id="a", model=model, input_processors=[workflow])
    with anyio.fail_after(5):
        await agent.generate("hi")
    assert seen == [("process_input", "hi", True)]
    assert [m.text for m in model.prompts[0].messages if m.role == "user"] == ["HI!"]
    assert calls == {}


async def test_a_secret_is_no_part_of_what_a_context_shows() -> None:
    context = RequestContext({"plan": "free"})
    context.set("token", "s3cret", secret=True)
    shown: list[str] = []
    await (
        Workflow("w")
        .then(step(lambda d, ctx: shown.append(repr(ctx.request_context)), id="f"))
        .commit()
        .run(1, request_context=context)
    )
    assert "s3cret" not in shown[0]
