"""A workflow that runs on its own: data, records, events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from sluiceway import Agent, Processor, Workflow, step
from sluiceway.engine import RunEvent, RunStore, StepContext, StepRecord, merge, use_clock
from sluiceway.errors import (
    ConfigurationError,
    LimitExceeded,
    MergeConflict,
    RunError,
    StepError,
    StepTimeoutError,
    TripWire,
)
from sluiceway.models import ScriptedModel
from tests.support.workflows import Counting, FakeClock, Named

pytestmark = pytest.mark.anyio


def double(number: int) -> int:
    return 2 * number


async def increase(number: int) -> int:
    await anyio.lowlevel.checkpoint()
    return number + 1


async def test_data_goes_from_step_to_step() -> None:
    result = await Workflow("w").then(double).then(increase).commit().run(5)
    assert (result.status, result.output) == ("success", 11)
    assert (result.error, result.tripwire, result.suspended, result.state) == (None, None, (), {})


async def test_every_step_is_on_record() -> None:
    clock = FakeClock()
    with use_clock(clock):
        result = await Workflow("w").then(double).sleep(2).then(increase).commit().run(5)

    at = clock.start
    later = at + timedelta(seconds=2)
    assert result.steps == {
        "w › double": StepRecord("w › double", "double", "success", 5, 10, started=at, ended=at),
        "w › sleep[1]": StepRecord("w › sleep[1]", "sleep", "success", 10, 10, started=at, ended=later),
        "w › increase": StepRecord("w › increase", "increase", "success", 10, 11, started=later, ended=later),
    }


async def test_a_parallel_gives_its_outputs_by_id_in_list_order() -> None:
    slow = step(Named("slow", lambda n: n + 100, delay_s=0.01), id="slow")
    result = await Workflow("w").parallel([slow, double]).commit().run(1)
    assert list(result.output.items()) == [("slow", 101), ("double", 2)]


async def test_branches_do_not_see_what_a_sibling_does_to_its_data() -> None:
    def spoil(data: dict[str, Any]) -> Any:
        data["list"].append("spoilt")
        data["new"] = 1
        return data

    async def look(data: dict[str, Any]) -> Any:
        await anyio.sleep(0.01)
        return data

    given = {"list": [1]}
    result = await Workflow("w").parallel([spoil, look]).commit().run(given)
    assert result.output == {"spoil": {"list": [1, "spoilt"], "new": 1}, "look": {"list": [1]}}
    assert given == {"list": [1]}


async def test_maps_pick_and_merge() -> None:
    base = Workflow("w").parallel([double, step(lambda n: n, id="same")])
    assert (await base.map("same").commit().run(3)).output == 3
    assert (await base.map(merge.all()).commit().run(3)).output == 6
    assert (await base.map(lambda r, ctx: [*r, ctx.input]).commit().run(3)).output == ["double", "same", 3]
    conflict = await Workflow("w").parallel([double, increase]).map(merge.all()).commit().run(3)
    assert isinstance(conflict.error, StepError)
    assert isinstance(conflict.error.__cause__, MergeConflict)


async def test_a_map_that_fails_fails_the_run_with_its_place() -> None:
    result = await Workflow("w").then(double).map(lambda n: n / 0).commit().run(1)
    assert (result.status, str(result.error)) == ("failed", "w › map[1]: ZeroDivisionError: division by zero")


async def test_a_condition_that_fails_fails_the_run_with_its_place() -> None:
    result = await Workflow("w").branch([(lambda n: n / 0, double)]).commit().run(1)
    assert (result.status, str(result.error)) == (
        "failed",
        "w › branch[0]: ZeroDivisionError: division by zero",
    )


async def test_a_condition_may_be_async_and_may_take_the_context() -> None:
    async def odd(number: int, ctx: StepContext) -> bool:
        await anyio.lowlevel.checkpoint()
        return ctx.input % 2 == 1

    workflow = Workflow("w").branch([(odd, double)], default=increase).commit()
    assert (await workflow.run(3)).output == {"double": 6}
    assert (await workflow.run(4)).output == {"increase": 5}


async def test_foreach_gives_outputs_in_item_order_and_counts_from_one() -> None:
    async def work(item: int, ctx: StepContext) -> Any:
        await anyio.sleep(0.002 * (3 - item))
        return [item, ctx.iteration]

    result = await Workflow("w").foreach(work, concurrency=3).commit().run([0, 1, 2])
    assert result.output == [[0, 1], [1, 2], [2, 3]]
    assert list(result.steps) == [f"w › foreach[0] › work[{n}]" for n in range(3)]
    assert (await Workflow("w").foreach(work).commit().run([])).output == []


@pytest.mark.parametrize("data", [5, {"a": 1}, "text", None])
async def test_foreach_of_something_else_fails(data: Any) -> None:
    result = await Workflow("w").foreach(step(lambda x: x, id="x")).commit().run(data)
    assert str(result.error) == f"w › foreach[0]: foreach takes a list, not {type(data).__name__}"


async def test_foreach_takes_its_concurrency_from_a_function() -> None:
    result = await Workflow("w").foreach(double, concurrency=lambda items: 0).commit().run([1])
    assert str(result.error) == "w › foreach[0]: concurrency is a whole number from 1, not 0"


async def test_loops_go_on_with_their_own_output() -> None:
    seen: list[Any] = []

    def add(number: int, ctx: StepContext) -> int:
        seen.append((number, ctx.iteration))
        return number + ctx.iteration

    until = await Workflow("w").do_until(add, lambda n: n >= 6).commit().run(0)
    assert (until.output, seen) == (6, [(0, 1), (1, 2), (3, 3)])
    assert (await Workflow("w").do_while(add, lambda n, ctx: ctx.iteration < 2).commit().run(0)).output == 3
    assert until.steps["w › do_until[0] › add"].iteration == 3


async def test_a_loop_without_end_is_stopped() -> None:
    result = await Workflow("w").do_until(increase, lambda n: False, max_iterations=5).commit().run(0)
    assert isinstance(result.error, LimitExceeded)
    assert result.error.path == "w › do_until[0]"


async def test_results_are_those_of_the_workflow_around() -> None:
    look = step(lambda data, ctx: dict(ctx.results), id="look")
    inner = Workflow("inner").then(step(lambda d: "in", id="a")).then(look)
    result = await Workflow("w").then(double).parallel([inner, step(look, id="out")]).then(look).commit().run(1)
    assert result.steps["w › parallel[1] › inner › look"].output == {"a": "in"}
    assert result.steps["w › parallel[1] › out"].output == {"double": 2, "inner": {"a": "in"}}
    assert result.output == {"double": 2, "inner": {"a": "in"}, "out": {"double": 2, "inner": {"a": "in"}}}


async def test_the_results_of_a_foreach_are_its_list() -> None:
    workflow = Workflow("w").foreach(double).do_until(step(sum, id="total"), lambda d: True)
    result = await workflow.then(step(lambda d, ctx: dict(ctx.results), id="look")).commit().run([1, 2])
    assert result.output == {"double": [2, 4], "total": 6}


async def test_results_cannot_be_written() -> None:
    def write(data: Any, ctx: StepContext) -> None:
        ctx.results["x"] = 1  # pyright: ignore[reportIndexIssue]

    assert "TypeError" in str((await Workflow("w").then(write).commit().run(1)).error)


class Order(BaseModel):
    total: int


@dataclass
class Tally:
    seen: list[str] = field(default_factory=list[str])


async def test_input_output_and_state_have_types() -> None:
    def work(order: Order, ctx: StepContext) -> str:
        ctx.state.seen.append("work")
        return str(order.total)

    workflow = Workflow("w", input=Order, output=int, state=Tally).then(work).commit()
    result = await workflow.run({"total": 7})
    assert (result.output, result.state) == (7, Tally(["work"]))
    assert (await workflow.run({"total": 8})).state == Tally(["work"]), "a state of its own per run"


async def test_what_does_not_fit_the_workflow_fails_the_run() -> None:
    workflow = Workflow("w", input=Order).then(step(lambda o: o.total, id="t")).commit()
    result = await workflow.run({"total": "many"})
    assert (result.status, result.steps) == ("failed", {})
    assert str(result.error).startswith("w: the input does not fit: total: Input should be a valid integer")
    result = await Workflow("w", output=int).then(step(lambda d: "x", id="t")).commit().run(1)
    assert str(result.error).startswith("w: the output does not fit: value: Input should be a valid integer")


async def test_a_nested_workflow_is_a_step() -> None:
    inner = Workflow("inner").then(double).then(increase)
    result = await Workflow("w").then(inner).then(step(inner, id="again")).commit().run(1)
    assert result.output == 7
    assert list(result.steps) == [
        "w › inner",
        "w › inner › double",
        "w › inner › increase",
        "w › again",
        "w › again › double",
        "w › again › increase",
    ]


async def test_a_retried_workflow_runs_its_steps_anew() -> None:
    ran = Counting()
    tries = 0

    def flaky(data: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError("net")
        return data

    inner = Workflow("inner").then(ran.step("first")).then(flaky)
    with use_clock(FakeClock()):
        result = await Workflow("w").then(step(inner, retries=2)).commit().run("x")
    assert (result.output, ran.runs["first"], result.steps["w › inner"].attempt) == ("x", 3, 3)


async def test_a_timeout_fails_the_run_and_ends_the_step() -> None:
    slow = Named("slow", lambda d: d, delay_s=5)
    with anyio.fail_after(2):
        result = await Workflow("w").then(step(slow, timeout=0.01)).commit().run(1)
    assert isinstance(result.error, StepTimeoutError)
    assert (str(result.error), slow.cancelled) == ("w › slow: took longer than its timeout of 0.01 s", True)


async def test_on_error_continue_goes_on_with_what_came_in() -> None:
    def fail(data: Any) -> None:
        raise ValueError("kaput")

    result = await Workflow("w").then(step(fail, on_error="continue")).then(double).commit().run(4)
    assert (result.status, result.output) == ("success", 8)


async def test_on_error_block_ends_the_run_as_a_tripwire() -> None:
    def fail(data: Any) -> None:
        raise ValueError("kaput")

    result = await Workflow("w").then(step(fail, on_error="block")).commit().run(4)
    assert result.status == "tripwire"
    assert result.tripwire is not None
    assert (result.tripwire.reason, result.tripwire.path) == (
        "w › fail: could not be run (ValueError)",
        "w › fail",
    )


async def test_an_error_keeps_its_cause_and_names_its_run() -> None:
    error = KeyError("k")

    def fail(data: Any) -> None:
        raise error

    result = await Workflow("w").then(Workflow("inner").then(fail)).commit().run(1)
    assert isinstance(result.error, StepError)
    assert (result.error.step_id, result.error.path, result.error.run_id) == (
        "fail",
        "w › inner › fail",
        result.run_id,
    )
    assert result.error.__cause__ is error


async def test_a_workflow_with_processors_says_how_to_run_it() -> None:
    committed = Workflow("w").then(Processor.of("p", process_input=lambda ctx: None)).commit()
    for call in (committed.run, committed.stream):
        with pytest.raises(ConfigurationError, match=r"'w' has processors \(w › processor:p\).*w\.run_on"):
            await call("x")  # pyright: ignore[reportGeneralTypeIssues]


async def test_only_a_step_can_suspend() -> None:
    result = await Workflow("w").then(double).map(lambda n, ctx: ctx.suspend()).commit().run(1)
    assert (result.status, result.suspended) == ("failed", ())
    assert "only a step can suspend, not a map or a condition" in str(result.error)


async def test_a_step_that_ends_the_program_ends_it() -> None:
    class Stop(BaseException):
        pass

    def stop(data: Any) -> None:
        raise Stop

    with pytest.raises(Stop):
        await Workflow("w").parallel([stop, double]).commit().run(1)


@pytest.mark.parametrize("kind", ["suspend", "trip", "fail"])
async def test_a_step_with_tasks_of_its_own_ends_like_any_other(kind: str, tmp_path: Path) -> None:
    """What a task of it raises is seen through the group around it."""

    async def work(data: Any, ctx: StepContext) -> None:
        async def inside() -> None:
            if kind == "suspend":
                ctx.suspend("why")
            if kind == "trip":
                raise TripWire("no", processor_id="p")
            raise ValueError("kaput")

        async with anyio.create_task_group() as group, anyio.create_task_group() as inner:
            group.start_soon(anyio.sleep, 5)
            inner.start_soon(inside)

    result = await Workflow("w").parallel([work, double]).commit().run(1, store=RunStore(tmp_path / "r.db"))

    assert result.status == {"suspend": "suspended", "trip": "tripwire", "fail": "failed"}[kind]
    assert [waits.payload for waits in result.suspended] == (["why"] if kind == "suspend" else [])
    if result.tripwire is not None:
        assert (result.tripwire.reason, result.tripwire.path) == ("no", "w › parallel[0] › work")


async def test_runs_know_nothing_of_each_other() -> None:
    async def keep(data: int, ctx: StepContext) -> Any:
        ctx.state["mine"] = data
        await anyio.sleep(0.001 * (data % 3))
        return [ctx.state["mine"], ctx.input]

    workflow = Workflow("w").then(keep).commit()
    outputs: dict[int, Any] = {}

    async def one(number: int) -> None:
        outputs[number] = (await workflow.run(number)).output

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(one, number)
    assert outputs == {number: [number, number] for number in range(50)}


# events


async def events_of(workflow: Any, data: Any) -> list[RunEvent]:
    async with workflow.commit().stream(data) as events:
        return [event async for event in events]


def told(events: list[RunEvent]) -> list[tuple[Any, ...]]:
    return [(event.type, event.path, event.status, event.data) for event in events]


async def test_a_stream_tells_what_happens() -> None:
    async def work(number: int, ctx: StepContext) -> int:
        await ctx.emit("half")
        ctx.emit({"done": True})
        await ctx.writer.custom("data-x", 7, transient=True)
        return number + 1

    events = await events_of(Workflow("w").then(work), 1)
    assert told(events) == [
        ("run-start", "w", None, 1),
        ("step-start", "w › work", None, 1),
        ("step-output", "w › work", None, "half"),
        ("step-output", "w › work", None, {"done": True}),
        ("step-output", "w › work", None, {"type": "data-x", "data": 7, "transient": True}),
        ("step-finish", "w › work", "success", 2),
        ("run-finish", "w", "success", 2),
    ]
    assert len({event.run_id for event in events}) == 1


async def test_a_stream_tells_failures_and_suspensions() -> None:
    def fail(data: Any) -> None:
        raise ValueError("kaput")

    assert told(await events_of(Workflow("w").then(fail), 1))[2:] == [
        ("step-finish", "w › fail", "failed", None),
        ("run-finish", "w", "failed", None),
    ]


async def test_a_data_chunk_has_its_prefix() -> None:
    async def work(data: Any, ctx: StepContext) -> None:
        await ctx.writer.custom("x", 1)

    assert "begins with 'data-', not 'x'" in str((await Workflow("w").then(work).commit().run(1)).error)


async def test_a_slow_reader_holds_the_run_back() -> None:
    sent = 0

    async def work(data: Any, ctx: StepContext) -> None:
        nonlocal sent
        for _ in range(500):
            await ctx.emit(sent)
            sent += 1

    async with Workflow("w").then(work).commit().stream(1) as events:
        await anyio.sleep(0.05)
        assert sent <= 64
        count = sum([1 async for event in events if event.type == "step-output"])
    assert (sent, count) == (500, 500)


async def test_the_result_reads_what_is_left() -> None:
    async with Workflow("w").then(double).commit().stream(2) as events:
        assert (await anext(events)).type == "run-start"
        result = await events.result()
        assert result.output == 4
        assert (await events.result()) is result
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_a_run_that_cannot_begin_says_so_to_the_reader(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.db")
    await store.claim_new("r", "w")
    async with Workflow("w").then(double).commit().stream(1, run_id="r", store=store) as events:
        assert (await anext(events)).type == "run-start"
        for _ in range(2):
            with pytest.raises(RunError, match="'r' was already resumed or started"):
                await events.result()


async def test_leaving_early_ends_the_steps() -> None:
    slow = Named("slow", lambda d: d, delay_s=5)
    with anyio.fail_after(2):
        async with Workflow("w").then(slow).commit().stream(1) as events:
            async for event in events:
                if event.type == "step-start":
                    break
    assert slow.cancelled
    with pytest.raises(RunError, match="left before it had ended"):
        await events.result()


async def test_the_readers_own_error_leaves_unchanged() -> None:
    error = KeyError("mine")

    async def read() -> None:
        async with Workflow("w").then(Named("slow", None, delay_s=5)).commit().stream(1) as events:
            async for _ in events:
                raise error

    with pytest.raises(KeyError) as caught:
        await read()
    assert caught.value is error


async def test_a_stream_is_used_once_and_inside_its_block() -> None:
    events = Workflow("w").then(double).commit().stream(1)
    with pytest.raises(RunError, match="enter the stream first"):
        await anext(events)
    async with events:
        pass
    with pytest.raises(RunError, match="used once"):
        async with events:
            pass


async def test_cancelling_before_the_first_event_cancels_the_run() -> None:
    ran = Counting()
    async with Workflow("w").then(Named("slow", None, delay_s=5)).then(ran.step("a")).commit().stream(1) as events:
        events.cancel()
        with anyio.fail_after(2):
            result = await events.result()
    assert (result.status, ran.runs) == ("cancelled", {})


async def test_a_guarded_agent_is_a_step_like_any_other() -> None:
    def upper(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text":
                    part.text = part.text.upper()

    model = ScriptedModel(["fine"])
    agent = Agent(id="guarded", model=model, input_processors=[Processor.of("up", process_input=upper)])
    result = await Workflow("w").foreach(agent, concurrency=2).commit().run(["a", "b"])
    assert result.output == ["fine", "fine"]
    assert sorted(p.messages[-1].text for p in model.prompts) == ["A", "B"]
