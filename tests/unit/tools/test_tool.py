"""Tool, tool and as_tools: what a model may ask to be run."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError, MessageError, TripWire
from sluiceway.tools import RequestContext, Tool, ToolContext, as_tools, tool

EMPTY = {"type": "object", "properties": {}}


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


async def whoami(greeting: str, ctx: ToolContext) -> str:
    """Say who calls."""
    await ctx.writer.custom("data-seen", greeting)
    return f"{greeting} {ctx.request_context['user']} {ctx.run_id} {ctx.tool_call_id}"


class Speaker:
    """An agent, for all that a list of tools knows."""

    def as_tool(self) -> Tool:
        return Tool("speaker", "Speaks.", EMPTY, lambda: "hi")


class Writer:
    def __init__(self) -> None:
        self.sent: list[tuple[str, object, bool]] = []

    async def custom(self, type: str, data: object, transient: bool = False) -> None:  # noqa: A002
        self.sent.append((type, data, transient))


def test_a_function_becomes_a_tool_by_its_name_docstring_and_signature() -> None:
    made = tool(add)
    assert (made.name, made.description, made.run) == ("add", "Add two numbers.", add)
    assert made.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "integer", "default": 1, "description": "The second."},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_the_decorator_takes_another_name_description_and_output() -> None:
    @tool(name="plus", description="Adds.", to_model_output=str)
    def added(a: int, b: int) -> int:
        """Not this."""
        return a + b

    assert (added.name, added.description, added.to_model_output) == ("plus", "Adds.", str)


@pytest.mark.anyio
async def test_arguments_are_converted_to_the_annotated_types() -> None:
    assert await tool(add).call({"a": "41"}) == 42


@pytest.mark.anyio
async def test_a_tool_with_a_schema_gets_its_arguments_as_they_are() -> None:
    seen: list[dict[str, Any]] = []

    def run(**args: Any) -> str:
        seen.append(args)
        return "ran"

    made = Tool("any", "Takes anything.", {"type": "object"}, run)
    assert await made.call({"a": "41", "b-c": [1]}) == "ran"
    assert seen == [{"a": "41", "b-c": [1]}]


@pytest.mark.anyio
async def test_a_parameter_annotated_tool_context_is_filled_in_and_not_in_the_schema() -> None:
    writer = Writer()
    context = ToolContext(RequestContext({"user": "ann"}), writer, "run-1", "call-1")
    made = tool(whoami)
    assert list(made.parameters["properties"]) == ["greeting"]
    assert await made.call({"greeting": "hello"}, context) == "hello ann run-1 call-1"
    assert writer.sent == [("data-seen", "hello", False)]


@pytest.mark.anyio
async def test_the_context_is_filled_in_beside_a_given_schema_and_where_it_is_optional() -> None:
    def run(q: str, context: ToolContext | None = None) -> str:
        assert context is not None
        return f"{q} {context.run_id}"

    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    for made in (Tool("ask", "", schema, run), Tool("ask", "", None, run)):
        assert list(made.parameters["properties"]) == ["q"]
        assert await made.call({"q": "why"}, ToolContext(run_id="r")) == "why r"


@pytest.mark.anyio
@pytest.mark.parametrize("made", [tool(whoami), Tool("whoami", "", {"type": "object"}, whoami)])
async def test_a_model_cannot_give_the_context(made: Tool) -> None:
    with pytest.raises(MessageError) as caught:
        await made.call({"greeting": "x", "ctx": {"run_id": "forged"}})
    assert str(caught.value) == "tool 'whoami': arguments do not fit: ctx: not for a model to give"


@pytest.mark.anyio
async def test_a_plain_function_runs_in_a_worker_thread_and_an_async_one_does_not() -> None:
    async def where_async() -> int:
        return threading.get_ident()

    here = threading.get_ident()
    assert await Tool("where", run=threading.get_ident, parameters=EMPTY).call({}) != here
    assert await tool(where_async).call({}) == here


@pytest.mark.anyio
async def test_what_can_be_awaited_is_awaited() -> None:
    class Adder:
        async def __call__(self, a: int) -> int:
            return a + 1

    assert await Tool("partial", run=functools.partial(whoami_of, "x")).call({"b": "y"}) == "xy"
    assert await Tool("object", run=Adder()).call({"a": "1"}) == 2
    assert await Tool("lambda", run=lambda: whoami_of("x", "z")).call({}) == "xz"


async def whoami_of(a: str, b: str) -> str:
    return a + b


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ValueError("boom"), TripWire("stop here"), StopIteration("odd")])
async def test_what_a_function_raises_comes_out_as_it_is(error: BaseException) -> None:
    def sync() -> None:
        raise error

    async def waiting() -> None:
        raise error

    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    for run in (sync, waiting):
        with pytest.raises(expected):
            await tool(run).call({})


@pytest.mark.anyio
async def test_a_tool_of_the_client_cannot_be_called() -> None:
    made = Tool("ask_user", "Asks the user.", EMPTY)
    assert made.run is None
    with pytest.raises(ConfigurationError, match="'ask_user' is run by the client"):
        await made.call({})


@pytest.mark.anyio
async def test_a_call_that_fits_the_schema_but_not_the_function_says_so() -> None:
    made = Tool("ask", "", {"type": "object"}, lambda q: q)
    with pytest.raises(MessageError) as caught:
        await made.call({"w": 1})
    assert str(caught.value) == "tool 'ask': arguments do not fit: missing a required argument: 'q'"


def test_a_tool_cannot_be_changed() -> None:
    made = tool(add)
    with pytest.raises(AttributeError):
        made.name = "other"
    with pytest.raises(TypeError):
        made.parameters["x"] = 1  # type: ignore[index]
    assert made.name == "add"


def test_as_tools_takes_functions_tools_and_agents_in_order() -> None:
    made = Tool("made", "", EMPTY)
    tools = as_tools([add, made, Speaker()])
    assert list(tools) == ["add", "made", "speaker"]
    assert tools["made"] is made
    assert as_tools(None) == {}
    assert as_tools(tools) == tools


def test_a_mapping_of_tools_names_its_functions() -> None:
    assert {name: item.name for name, item in as_tools({"plus": add}).items()} == {"plus": "plus"}


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([add, add], "two tools are named 'add'; give one of them another name with tool(name=...)"),
        ([7], "no tool can be made of int; pass a function or a Tool"),
        ("add", "tools are a list of functions and tools, not str"),
        (add, "tools are a list of functions and tools, not function"),
        ({"plus": tool(add)}, "the tool under 'plus' is named 'add'; use one name"),
    ],
)
def test_what_is_no_list_of_tools_is_named(items: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        as_tools(items)
    assert str(caught.value) == text


def positional(a: int, /) -> None: ...
def spread(*a: int) -> None: ...
def untyped_for_json(a: threading.Lock) -> None: ...


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Tool(""), "a tool needs a name, not ''"),
        (lambda: Tool("x", run=3), "tool 'x': `run` is a function or None, not int"),  # type: ignore[arg-type]
        (lambda: Tool("x", "", {"type": "wrong"}), "tool 'x': `parameters` is no JSON schema: at type"),
        (lambda: tool(positional), "tool 'positional': parameter 'a' cannot be given by name"),
        (lambda: tool(spread), "tool 'spread': parameter 'a' cannot be given by name"),
        (lambda: tool(untyped_for_json), "tool 'untyped_for_json': no JSON schema for its parameters"),
    ],
)
def test_a_tool_that_cannot_work_is_refused_when_it_is_made(make: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value).startswith(text)
