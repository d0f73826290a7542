"""Workflows in an agent's lists: options of their steps, nesting, every kind of entry."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Processor, Workflow, step
from sluiceway.engine import merge, use_clock
from sluiceway.errors import GraphError, ProcessorError, StepError
from tests.support.runs import make_agent
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio


def appends(name: str, text: str, *, fails: int = 0, delay_s: float = 0) -> Processor:
    """Return a processor that appends to the input, and fails behind that for so many tries."""
    tries = 0

    async def run(ctx: Any) -> None:
        nonlocal tries
        tries += 1
        await anyio.sleep(delay_s)
        for message in ctx.messages:
            for part in message.parts:
                part.edit(len(part.text), len(part.text), text)
        if tries <= fails:
            raise OSError("net")

    return Processor.of(name, process_input=run)


async def prompt_with(workflow: Workflow, said: str = "hi") -> str:
    agent, model = make_agent("ok", input_processors=[workflow])
    await agent.generate(said)
    return model.prompts[0].messages[-1].text


async def test_a_processor_that_is_tried_again_starts_from_the_messages_as_they_were() -> None:
    clock = FakeClock()
    with use_clock(clock):
        prompt = await prompt_with(Workflow("w").then(step(appends("a", "!", fails=2), retries=2)))
    assert (prompt, len(clock.slept)) == ("hi!", 2)


async def test_a_step_that_may_fail_leaves_the_messages_as_they_were() -> None:
    workflow = Workflow("w").then(step(appends("a", "!", fails=1), on_error="continue")).then(appends("b", "?"))
    assert await prompt_with(workflow) == "hi?"


async def test_a_step_that_may_not_fail_blocks() -> None:
    workflow = Workflow("w").then(step(appends("a", "!", fails=1), on_error="block"))
    agent, model = make_agent("never", input_processors=[workflow])
    result = await agent.generate("hi")
    assert result.tripwire is not None
    assert (result.tripwire.processor_id, result.tripwire.path) == ("a", "w › processor:a")
    assert model.calls == []


async def test_a_step_that_takes_too_long_ends_the_call() -> None:
    workflow = Workflow("w").then(step(appends("slow", "!", delay_s=5), timeout=0.01))
    agent, model = make_agent("never", input_processors=[workflow])
    with anyio.fail_after(2), pytest.raises(Exception, match=r"took longer than its timeout of 0\.01 s"):
        await agent.generate("hi")
    assert model.calls == []


async def test_all_violations_are_known_when_all_may_finish() -> None:
    def stops(name: str, delay_s: float) -> Processor:
        async def run(ctx: Any) -> None:
            await anyio.sleep(delay_s)
            ctx.abort(f"{name} says no")

        return Processor.of(name, process_input=run)

    noted: list[str] = []
    guards = [stops("a", 0.01), stops("b", 0)]
    for guard in guards:
        guard.on_violation = lambda violation: noted.append(violation.message)
    agent, _ = make_agent("never", input_processors=[Workflow("w").parallel(guards, wait="all")])

    result = await agent.generate("hi")

    assert result.tripwire is not None
    assert result.tripwire.processor_id == "a"
    assert noted == ["b says no", "a says no"]


async def test_workflows_in_branches_of_workflows_merge_level_by_level() -> None:
    inner = Workflow("inner").parallel([appends("a", "A"), Processor.of("look", process_input=lambda ctx: None)])
    outer = Workflow("outer").parallel([inner, Workflow("chain").then(step(appends("c", ""), id="c"))])
    assert await prompt_with(outer.then(appends("d", "D"))) == "hiAD"


async def test_a_map_gets_the_output_of_the_workflow_before_it() -> None:
    seen: list[Any] = []
    inner = Workflow("inner").parallel([appends("a", "A"), Processor.of("look", process_input=lambda ctx: None)])
    outer = Workflow("outer").then(inner).map(lambda call: seen.append(call.text) or call)
    assert await prompt_with(outer) == "hiA"
    assert seen == ["hiA"]


async def test_a_branch_picks_by_what_the_call_says() -> None:
    workflow = Workflow("w").branch(
        [(lambda call: "secret" in call.text, appends("s", " [s]"))], default=appends("d", " [d]")
    )
    assert await prompt_with(workflow, "a secret") == "a secret [s]"
    assert await prompt_with(workflow, "plain") == "plain [d]"


async def test_prefer_settles_a_conflict() -> None:
    workflow = Workflow("w").parallel([appends("a", "A"), appends("b", "B")]).map(merge.prefer("processor:b"))
    assert await prompt_with(workflow) == "hiB"


async def test_foreach_runs_per_message_and_joins_in_order() -> None:
    seen: list[list[str]] = []

    async def mark(ctx: Any) -> None:
        seen.append([message.text for message in ctx.messages])
        await anyio.sleep(0.01 if ctx.messages[0].text == "one" else 0)
        for message in ctx.messages:
            for part in message.parts:
                part.text = f"<{part.text}>"

    workflow = Workflow("w").foreach(Processor.of("mark", process_input=mark), concurrency=2)
    agent, model = make_agent("ok", input_processors=[workflow])
    await agent.generate(["one", {"role": "assistant", "content": "two"}, "three"])

    assert [m.text for m in model.prompts[0].messages[1:]] == ["<one>", "<two>", "<three>"]
    assert sorted(seen) == [["one"], ["three"], ["two"]]


async def test_foreach_with_a_picky_body_gets_the_text_of_each_message() -> None:
    body = Workflow("body").branch([(lambda call: "!" in call.text, appends("loud", " LOUD"))])
    agent, model = make_agent("ok", input_processors=[Workflow("w").foreach(body)])
    await agent.generate(["quiet", "loud!"])
    assert [m.text for m in model.prompts[0].messages[1:]] == ["quiet", "loud! LOUD"]


async def test_a_loop_repeats_a_processor() -> None:
    workflow = Workflow("w").do_until(appends("a", "!"), lambda call: call.text.endswith("!!!"))
    assert await prompt_with(workflow) == "hi!!!"


async def test_a_processor_runs_in_the_hooks_it_is_given_only() -> None:
    ran: list[str] = []
    both = Processor.of(
        "both",
        process_input=lambda ctx: ran.append("input"),
        process_input_step=lambda ctx: ran.append("step"),
    )
    agent, _ = make_agent("ok", input_processors=[Workflow("w").then(step(both, hooks=["process_input_step"]))])
    await agent.generate("hi")
    assert ran == ["step"]


async def test_a_plain_hook_can_move_to_a_thread() -> None:
    import threading

    where: list[bool] = []
    look = Processor.of(
        "look", process_input=lambda ctx: where.append(threading.current_thread() is threading.main_thread())
    )
    await prompt_with(Workflow("w").then(look).then(step(look, id="again", thread=True)))
    assert where == [True, False]


def boom(*anything: Any) -> Any:
    raise ValueError("kaput")


FAULTS = {
    "w › map[1]": Workflow("w").parallel([appends("a", "A")]).map(boom),
    "w › branch[0]": Workflow("w").branch([(boom, appends("a", "A"))]),
    "w › boom": Workflow("w").then(boom),
    "w › foreach[0]": Workflow("w").foreach(appends("a", "A"), concurrency=boom),
    "w › do_until[0]": Workflow("w").do_until(appends("a", "A"), boom),
    "w › parallel[0] › boom": Workflow("w").parallel([appends("a", "A"), step(boom, timeout=5)]),
}


@pytest.mark.parametrize("path", FAULTS)
async def test_what_is_no_processor_fails_with_its_place_too(path: str) -> None:
    agent, model = make_agent("never", input_processors=[FAULTS[path]])
    with pytest.raises(StepError) as caught:
        await agent.generate("hi")
    assert (str(caught.value), caught.value.path) == (f"{path}: ValueError: kaput", path)
    assert isinstance(caught.value.__cause__, ValueError)
    assert model.calls == []


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        (Workflow("w").then(step(lambda call: None, id="f")), "w › f: gives NoneType, not HookCall"),
        (Workflow("w").then(appends("a", "A")).map(lambda call: call.text), "w › map[1]: gives str, not HookCall"),
        (Workflow("w").parallel([appends("a", "A")]).map(lambda results: results), "w › map[1]: gives dict, not"),
    ],
)
async def test_what_returns_something_else_than_the_call_is_told_to(workflow: Workflow, said: str) -> None:
    agent, _ = make_agent("never", input_processors=[workflow])
    with pytest.raises(StepError) as caught:
        await agent.generate("hi")
    assert str(caught.value).startswith(said)


async def test_a_failure_in_a_nested_branch_has_its_whole_path() -> None:
    inner = Workflow("inner").then(appends("a", "A", fails=9))
    agent, _ = make_agent("never", input_processors=[Workflow("outer").parallel([inner, appends("b", "B")])])
    with pytest.raises(ProcessorError) as caught:
        await agent.generate("hi")
    assert caught.value.path == "outer › parallel[0] › inner › processor:a"


def test_options_of_a_nested_workflow_are_refused_when_the_agent_is_built() -> None:
    inner = step(Workflow("inner").then(appends("a", "A")), retries=2)
    with pytest.raises(GraphError, match="outer › inner: timeout, retries and on_error of a workflow are for runs"):
        make_agent("x", input_processors=[Workflow("outer").then(inner)])


def test_a_fault_in_an_open_workflow_comes_up_when_the_agent_is_built() -> None:
    with pytest.raises(GraphError, match=r"w › map\[1\]: .*no branch has the key 'b'; write 'processor:b'"):
        make_agent("x", input_processors=[Workflow("w").parallel([appends("b", "B")]).map("b")])
