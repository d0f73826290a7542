"""What each hook's context holds, and what a hook may return."""

from __future__ import annotations

import threading
from typing import Any

import anyio.lowlevel
import pytest

from sluiceway import Processor, RequestContext, Workflow, step
from sluiceway.errors import ModelError
from sluiceway.messages import Usage
from sluiceway.models import Reply
from sluiceway.processors import Retry, StepOverrides
from tests.support.processors import INPUT_HOOKS, OUTPUT_HOOKS, hooked, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent

pytestmark = pytest.mark.anyio

ALL = [*INPUT_HOOKS, *OUTPUT_HOOKS, "process_api_error"]


def two_steps(**options: Any) -> Any:
    """Return an agent that meets an error, calls a tool, and answers."""
    return make_agent(
        Reply(error="busy"),
        Reply(text="look", reasoning="hm", tool_calls=[calls_tool("t", {"q": 1})], usage=Usage(5, 7)),
        Reply(text="done", usage=Usage(2, 3)),
        tools=[tool_named("t")],
        max_processor_retries=1,
        **options,
    )[0]


@each_entry
@pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a workflow"])
async def test_every_context_has_what_all_have_in_common(entry: Entry, inside: bool) -> None:
    """Messages, state, the request, the agent, the run, the place in the list."""
    seen: dict[str, dict[str, Any]] = {}
    request = RequestContext({"plan": "free"})

    def note(hook: str) -> Any:
        async def run(ctx: Any) -> Any:
            ctx.state["x"] = ctx.attempt_state["y"] = 1
            seen[hook] = {
                "request": ctx.request_context is request,
                "agent": ctx.agent.id,
                "run": bool(ctx.run_id),
                "index": ctx.processor_index,
                "list": len(ctx.message_list.all) >= len(ctx.messages),
                "system": [message.text for message in ctx.system_messages],
                "retries": ctx.retry_count,
            }
            ctx.span.set_attribute("k", 1)
            if hook == "process_api_error":
                return Retry()
            return ctx.part if hook == "process_output_stream" else None

        return run

    watch = hooked("watch", {hook: note(hook) for hook in ALL})
    placed: Any = Workflow("w").then(watch).commit() if inside else watch
    idle = Processor.of("idle", process_input=lambda ctx: None, process_output_result=lambda ctx: None)
    agent = two_steps(input_processors=[idle, placed], output_processors=[idle, placed])

    await by(entry, agent, "hi", request_context=request)

    common = {"request": True, "agent": "tested", "run": True, "index": 1, "list": True, "system": ["sys"]}
    assert seen == {hook: {**common, "retries": 1 if hook == "process_tool_result" else 0} for hook in ALL}


@each_entry
async def test_the_fields_of_each_hook(entry: Entry) -> None:
    """The extra fields of each context, over an error, a tool step and an answer."""
    seen: list[tuple[str, Any]] = []

    def steps(ctx: Any) -> list[str]:
        return [f"{step.step_number}:{step.text}:{len(step.tool_results)}" for step in ctx.steps]

    front = Processor.of(
        "front",
        process_input_step=lambda ctx: seen.append(
            ("step", (ctx.step_number, steps(ctx), ctx.model.model_id, list(ctx.tools), ctx.max_steps))
        ),
        process_llm_response=lambda ctx: seen.append(("response", (ctx.step_number, steps(ctx)))),
        process_api_error=lambda ctx: seen.append(("error", (str(ctx.error), ctx.step_number))) or Retry(),
    )
    back = Processor.of(
        "back",
        process_output_step=lambda ctx: seen.append(
            (
                "output",
                (
                    ctx.step_number,
                    steps(ctx),
                    ctx.text,
                    [(call.tool_name, call.tool_call_id, dict(call.args)) for call in ctx.tool_calls],
                    ctx.finish_reason,
                    ctx.usage,
                ),
            )
        ),
        process_tool_result=lambda ctx: seen.append(
            (
                "tool",
                (
                    ctx.tool_name,
                    ctx.tool_call_id,
                    dict(ctx.args),
                    ctx.result,
                    ctx.provider_executed,
                    steps(ctx),
                ),
            )
        ),
        process_output_result=lambda ctx: seen.append(("result", (ctx.result.text, ctx.result.finish_reason))),
    )

    await by(entry, two_steps(input_processors=[front], output_processors=[back]), "hi")

    assert seen == [
        ("step", (0, [], "scripted", ["t"], 5)),
        ("error", ("busy", 0)),
        ("step", (0, [], "scripted", ["t"], 5)),
        ("response", (0, ["0:look:0"])),
        ("output", (0, ["0:look:0"], "look", [("t", "c1", {"q": 1})], "tool-calls", Usage(5, 7, 12))),
        ("tool", ("t", "c1", {"q": 1}, 1, False, [])),
        ("step", (1, ["0:look:1"], "scripted", ["t"], 5)),
        ("response", (1, ["0:look:1", "1:done:0"])),
        ("output", (1, ["0:look:1", "1:done:0"], "done", [], "stop", Usage(2, 3, 5))),
        ("result", ("lookdone", "stop")),
    ]


async def test_the_error_hook_has_the_error_itself() -> None:
    """Not only its text."""
    seen: list[Any] = []
    agent, _ = make_agent(
        Reply(error={"status": 503, "message": "busy"}),
        error_processors=[Processor.of("e", process_api_error=lambda ctx: seen.append(ctx.error))],
    )

    ran = await collect(agent, "hi")

    assert seen == [ran.error]
    assert isinstance(seen[0], ModelError)


async def test_step_overrides_replace_whole_values_and_chain() -> None:
    """A later processor sees what an earlier one chose; what is not given stays."""
    seen: list[Any] = []

    def second(ctx: Any) -> StepOverrides:
        seen.append((list(ctx.tools), ctx.active_tools, ctx.tool_choice, dict(ctx.model_settings), ctx.max_steps))
        return StepOverrides(model_settings={"top_p": 1}, max_steps=1)

    first = StepOverrides(tools=[tool_named("u"), tool_named("v")], active_tools=["v"], tool_choice="required")
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("v")]),
        "never",
        tools=[tool_named("t")],
        input_processors=[
            Processor.of("a", process_input_step=lambda ctx: first),
            Processor.of("b", process_input_step=second),
        ],
    )

    ran = await collect(agent, "hi", model_settings={"temperature": 0}, provider_options={"p": {"x": 1}})

    assert seen == [(["u", "v"], ["v"], "required", {"temperature": 0}, 5)]
    (call,) = model.calls
    assert ([t.name for t in call.tools], call.tool_choice) == (["v"], "required")
    assert (dict(call.settings), dict(call.provider_options)) == ({"top_p": 1}, {"p": {"x": 1}})
    assert ran.result.finish_reason == "tool-calls"
    assert [chunk.payload["result"] for chunk in ran.of("tool-result")] == [1]


class Accepting(Processor):
    """Asks in every hook of a step to be told when the step is accepted."""

    def __init__(self, *, waits: bool) -> None:
        super().__init__("accepting")
        self.waits = waits
        self.told: list[tuple[str, int, list[Any]]] = []

    def ask(self, ctx: Any, name: str) -> None:
        """Register a callback."""

        def note(step: Any) -> None:
            self.told.append((name, step.step_number, [outcome.result for outcome in step.tool_results]))

        async def note_waiting(step: Any) -> None:
            await anyio.lowlevel.checkpoint()
            note(step)

        ctx.on_step_accepted(note_waiting if self.waits else note)

    def process_input_step(self, ctx: Any) -> None:
        self.ask(ctx, "step")

    def process_output_step(self, ctx: Any) -> None:
        self.ask(ctx, "output")
        if ctx.text == "bad":
            ctx.abort("no", retry=True)


@each_entry
@pytest.mark.parametrize("waits", [False, True], ids=["def", "async def"])
async def test_accepted_steps_are_told_after_their_tools(entry: Entry, waits: bool) -> None:
    """With the tools' results; a rejected attempt is not told, though it asked."""
    accepting = Accepting(waits=waits)
    agent, _ = make_agent(
        "bad",
        Reply(text="look", tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t", 7)],
        input_processors=[accepting],
        output_processors=[accepting],
        max_processor_retries=1,
    )

    await by(entry, agent, "hi")

    assert accepting.told == [("step", 0, [7]), ("output", 0, [7]), ("step", 1, []), ("output", 1, [])]


@each_entry
@pytest.mark.parametrize("end", ["tripped", "failed", "refused"])
async def test_a_step_that_does_not_count_is_not_told(entry: Entry, end: str) -> None:
    """Neither a tripped, nor a failed, nor a refused one."""
    accepting = Accepting(waits=False)

    def breaks(ctx: Any) -> None:
        if end == "tripped":
            ctx.abort("no")
        raise ValueError("kaput")

    agent, _ = make_agent(
        Reply(error="no") if end == "refused" else "x",
        input_processors=[accepting],
        output_processors=[accepting, Processor.of("breaks", process_output_step=breaks)],
    )

    await by(entry, agent, "hi")

    assert accepting.told == []


@each_entry
async def test_on_usage_is_told_of_every_model_call(entry: Entry) -> None:
    """Of rejected, failed and accepted ones, each once for each processor."""

    class Booking(Processor):
        def __init__(self) -> None:
            super().__init__("booking")
            self.booked: list[Usage] = []

        def process_input(self, ctx: Any) -> None: ...

        def process_output_step(self, ctx: Any) -> None:
            if ctx.text == "bad":
                ctx.abort("no", retry=True)

        async def on_usage(self, usage: Usage, ctx: Any) -> None:
            await anyio.lowlevel.checkpoint()
            self.booked.append(usage)

    booking = Booking()
    agent, _ = make_agent(
        Reply(text="bad", usage=Usage(5, 7)),
        Reply(text="good", usage=Usage(2, 3)),
        input_processors=[booking],
        output_processors=[booking],
        max_processor_retries=1,
    )

    await by(entry, agent, "hi")

    assert booking.booked == [Usage(5, 7, 12), Usage(2, 3, 5)]


@each_entry
async def test_a_result_hook_sees_what_the_one_before_made_of_the_result(entry: Entry) -> None:
    """Replacements chain in list order."""
    seen: list[Any] = []

    def adding(name: str) -> Processor:
        def run(ctx: Any) -> None:
            seen.append(ctx.result)
            ctx.message_list.update_tool_result(ctx.tool_call_id, f"{ctx.result}{name}")

        return Processor.of(name, process_tool_result=run)

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("t")]),
        "done",
        tools=[tool_named("t", "x")],
        output_processors=[adding("a"), adding("b")],
    )

    ran = await by(entry, agent, "hi")

    assert seen == ["x", "xa"]
    assert ran.result.steps[0].tool_results[0].result == "xab"


@each_entry
async def test_a_hook_can_be_moved_to_a_thread(entry: Entry) -> None:
    """With `step(p, thread=True)`; others run where the reader reads."""
    threads: dict[str, bool] = {}
    here = threading.get_ident()

    def noting_thread(name: str) -> Processor:
        def run(ctx: Any) -> Any:
            threads[name] = threading.get_ident() == here
            return getattr(ctx, "part", None)

        return Processor.of(name, process_input=run, process_output_stream=run)

    plain, moved = noting_thread("plain"), noting_thread("moved")
    flow = Workflow("w").then(step(moved, thread=True)).then(plain).commit()
    agent, _ = make_agent("ok", input_processors=[flow], output_processors=[flow])

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "ok"
    assert threads == {"plain": True, "moved": False}
