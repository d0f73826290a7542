"""Area O: workflows that run on their own."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from sluiceway import RequestContext, Workflow, step
from sluiceway.engine import RunStore, StepContext, merge, use_clock
from sluiceway.errors import ModelError, RunError
from tests.support.workflows import Counting, FakeClock, asks

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.db")


@pytest.mark.parametrize("value", [0, False, "", {}, [], None])
async def test_b224_falsy_results_are_results(value: Any) -> None:
    """The value itself comes out of `merge.first`, and no later branch is asked in its place."""
    workflow = (
        Workflow("w")
        .branch([(lambda data: True, step(lambda data: value, id="a"))], default=step(lambda data: "b", id="b"))
        .map(merge.first(["b", "a"]))
        .commit()
    )

    result = await workflow.run("x")

    assert (result.status, result.output) == ("success", value)
    assert type(result.output) is type(value)


async def test_b226_several_iterations_suspend_and_resume_in_any_order(store: RunStore) -> None:
    """Each gets its own answer, and those that wait keep their payload meanwhile."""
    workflow = Workflow("w").foreach(asks(reply=lambda item, answer: f"{item}-{answer}")).commit()

    first = await workflow.run(["a", "b", "c"], store=store)
    second = await workflow.resume(first.run_id, index=1, data="B", store=store)
    third = await workflow.resume(first.run_id, index=0, data="A", store=store)
    last = await workflow.resume(first.run_id, index=2, data="C", store=store)

    assert [r.status for r in (first, second, third, last)] == [
        "suspended",
        "suspended",
        "suspended",
        "success",
    ]
    assert [[(s.index, s.payload) for s in r.suspended] for r in (first, second, third)] == [
        [(0, "a"), (1, "b"), (2, "c")],
        [(0, "a"), (2, "c")],
        [(2, "c")],
    ]
    assert last.output == ["a-A", "b-B", "c-C"]


async def test_b227_a_resume_without_an_index_names_those_that_wait(store: RunStore) -> None:
    """One answer is never given to several items."""
    workflow = Workflow("w").foreach(asks()).commit()
    run_id = (await workflow.run([1, 2, 3], store=store)).run_id
    await workflow.resume(run_id, index=1, data="x", store=store)

    with pytest.raises(RunError, match=r"several items wait, say which with index=: 0, 2"):
        await workflow.resume(run_id, data="x", store=store)

    last = await workflow.resume(run_id, index=[2, 0], data=["two", "zero"], store=store)
    assert last.output == ["zero", "x", "two"]


async def test_b228_concurrency_holds_after_a_resume(store: RunStore) -> None:
    """Three at a time as before, and one that suspends again does not stop the others."""
    running = 0
    most: list[int] = []

    async def ask(item: int, ctx: StepContext) -> str:
        nonlocal running
        if not ctx.resumed:
            ctx.suspend(item)
        running += 1
        most.append(running)
        await anyio.sleep(0.02)
        running -= 1
        if item == 0 and ctx.resume_data == "again":
            ctx.suspend("once more")
        return f"{item}:{ctx.resume_data}"

    async def width(data: Any, ctx: StepContext) -> list[int]:
        ctx.state["width"] = 3
        return [0, 1, 2]

    workflow = Workflow("w").then(width).foreach(ask, concurrency=lambda data, ctx: ctx.state["width"]).commit()
    run_id = (await workflow.run(None, store=store)).run_id

    second = await workflow.resume(run_id, index=[0, 1, 2], data=["again", "b", "c"], store=store)

    assert max(most) == 3
    assert second.status == "suspended"
    assert [(s.index, s.payload) for s in second.suspended] == [(0, "once more")]
    last = await workflow.resume(run_id, index=0, data="a", store=store)
    assert last.output == ["0:a", "1:b", "2:c"]
    assert len(most) == 4, "the other two did not run again"


async def test_b231_an_error_after_a_resume_fails_the_run(store: RunStore) -> None:
    """Even while a sibling still waits."""

    def breaks(data: Any, ctx: StepContext) -> None:
        if not ctx.resumed:
            ctx.suspend()
        raise ValueError("kaput")

    workflow = Workflow("w").parallel([asks("a"), step(breaks, id="b")]).commit()
    run_id = (await workflow.run(1, store=store)).run_id

    result = await workflow.resume(run_id, step="b", data="x", store=store)

    assert result.status == "failed"
    assert isinstance(result.error, RunError)
    assert str(result.error) == "w › parallel[0] › b: ValueError: kaput"
    assert isinstance(result.error.__cause__, ValueError)
    assert (await workflow.load(run_id, store=store)).status == "failed"


async def test_b232_a_failing_branch_fails_the_run() -> None:
    """What comes after does not run; how the sibling ended is on record."""
    ran = Counting()

    async def ok(data: Any) -> str:
        await anyio.sleep(0.02)
        return "ok"

    async def bad(data: Any) -> None:
        raise ValueError("kaput")

    workflow = Workflow("w").parallel([ok, bad]).then(ran.step("after")).commit()

    result = await workflow.run(1)

    assert (result.status, str(result.error)) == ("failed", "w › parallel[0] › bad: ValueError: kaput")
    assert ran.runs == {}
    assert {path: record.status for path, record in result.steps.items()} == {
        "w › parallel[0] › ok": "cancelled",
        "w › parallel[0] › bad": "failed",
    }


async def test_b232_a_branch_that_may_finish_is_on_record_as_finished() -> None:
    async def ok(data: Any) -> str:
        await anyio.sleep(0.02)
        return "ok"

    def bad(data: Any) -> None:
        raise ValueError("kaput")

    result = await Workflow("w").parallel([ok, bad], wait="all").commit().run(1)

    assert (result.status, str(result.error)) == ("failed", "w › parallel[0] › bad: ValueError: kaput")
    assert result.steps["w › parallel[0] › ok"].output == "ok"


@pytest.mark.parametrize("slow", ["a", "b"])
async def test_b233_siblings_states_both_arrive(slow: str) -> None:
    """One state for all; of one key set twice the last write in time holds."""

    def setter(name: str, value: int) -> Any:
        async def set_it(data: Any, ctx: StepContext) -> None:
            if name == slow:
                await anyio.sleep(0.01)
            ctx.state[name] = value
            ctx.state["same"] = name

        return step(set_it, id=name)

    workflow = (
        Workflow("w")
        .parallel([setter("a", 1), setter("b", 2)])
        .then(step(lambda data, ctx: dict(ctx.state), id="read"))
        .commit()
    )

    result = await workflow.run(None)

    assert result.output == {"a": 1, "b": 2, "same": slow}
    assert result.state == result.output


async def test_b234_a_loop_asks_anew_each_round(store: RunStore) -> None:
    """An answer is used once."""
    seen: list[tuple[int, Any]] = []

    def ask(data: Any, ctx: StepContext) -> Any:
        seen.append((ctx.iteration, ctx.resume_data))
        if not ctx.resumed:
            ctx.suspend(f"round {ctx.iteration}")
        return ctx.resume_data

    workflow = Workflow("w").do_until(ask, lambda answer: answer == "two").commit()

    first = await workflow.run("zero", store=store)
    second = await workflow.resume(first.run_id, data="one", store=store)
    third = await workflow.resume(first.run_id, data="two", store=store)

    assert [r.status for r in (first, second, third)] == ["suspended", "suspended", "success"]
    assert [s.payload for s in (*first.suspended, *second.suspended)] == ["round 1", "round 2"]
    assert third.output == "two"
    assert seen == [(1, None), (1, "one"), (2, None), (2, "two")]


@pytest.mark.parametrize("kind", ["do_until", "do_while", "foreach", "nested"])
async def test_b236_cancelling_stops_loops(kind: str) -> None:
    """Also where the body ignores it: at most one more iteration, then `cancelled`."""
    iterations = 0
    third = anyio.Event()

    async def stubborn(data: Any) -> Any:
        nonlocal iterations
        iterations += 1
        if iterations == 3:
            third.set()
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.005)
        return data

    never, always = (lambda data: False), (lambda data: True)
    workflow = {
        "do_until": Workflow("w").do_until(stubborn, never),
        "do_while": Workflow("w").do_while(stubborn, always),
        "foreach": Workflow("w").foreach(stubborn),
        "nested": Workflow("w").then(Workflow("inner").do_until(stubborn, never)),
    }[kind].commit()

    async with workflow.stream(list(range(500))) as events:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await third.wait()
                events.cancel()

            group.start_soon(cancel)
            async for _ in events:
                pass
        result = await events.result()

    assert result.status == "cancelled"
    assert iterations in (3, 4)
    assert {record.status for record in result.steps.values()} <= {"success", "cancelled"}
    assert not [path for path, record in result.steps.items() if record.ended is None]


async def test_b237_of_two_resumes_one_wins(store: RunStore) -> None:
    """The other raises, and what follows runs once."""
    ran = Counting()

    async def slow(data: Any) -> Any:
        await anyio.sleep(0.02)
        return data

    workflow = Workflow("w").then(asks()).then(slow).then(ran.step("after")).commit()
    run_id = (await workflow.run(1, store=store)).run_id
    outcomes: list[str] = []

    async def resume(answer: str) -> None:
        try:
            outcomes.append((await workflow.resume(run_id, data=answer, store=store)).status)
        except RunError as error:
            outcomes.append(str(error))

    async with anyio.create_task_group() as group:
        group.start_soon(resume, "x")
        group.start_soon(resume, "y")

    assert sorted(o == "success" for o in outcomes) == [False, True]
    assert [o for o in outcomes if "already resumed" in o] != []
    assert ran.runs == {"after": 1}
    with pytest.raises(RunError, match="is not suspended but success; it was already resumed"):
        await workflow.resume(run_id, data="z", store=store)


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
async def test_b238_a_falsy_resume_value_is_a_value(store: RunStore, value: Any) -> None:
    workflow = Workflow("w").then(asks()).commit()
    run_id = (await workflow.run(1, store=store)).run_id

    result = await workflow.resume(run_id, data=value, store=store)

    assert (result.status, result.output) == ("success", value)
    assert type(result.output) is type(value)


async def test_b238_none_resumes_too_and_is_told_from_no_value_by_resumed(store: RunStore) -> None:
    workflow = Workflow("w").then(asks()).commit()
    run_id = (await workflow.run(1, store=store)).run_id

    result = await workflow.resume(run_id, store=store)

    assert (result.status, result.output) == ("success", None)


@pytest.mark.parametrize(("error", "runs"), [(ValueError("plain"), 6), (ModelError("final", retryable=False), 1)])
async def test_b239_retries_multiply_by_nesting_final_errors_are_final(error: Exception, runs: int) -> None:
    ran = Counting()

    def fail(data: Any) -> None:
        raise error

    inner = Workflow("inner").then(step(ran.step("bad", fail), retries=1))
    clock = FakeClock()

    with use_clock(clock):
        result = await Workflow("outer").then(step(inner, retries=2)).commit().run(1)

    assert (result.status, ran.runs["bad"]) == ("failed", runs)
    assert isinstance(result.error, RunError)
    assert result.error.__cause__ is error
    assert len(clock.slept) == runs - 1


async def test_b241_the_first_true_condition_runs_its_arm_and_only_that() -> None:
    ran = Counting()
    asked: list[str] = []

    def holds(name: str, answer: bool) -> Any:
        return lambda data: asked.append(name) or answer

    arms = [(holds(n, n in "bc"), ran.step(n, lambda data, n=n: f"{n}:{data}")) for n in "abc"]

    result = await Workflow("w").branch(arms).commit().run("x")

    assert (result.output, ran.runs, asked) == ({"b": "b:x"}, {"b": 1}, ["a", "b"])
    none = await Workflow("w").branch([(holds("no", False), ran.step("d"))]).then(ran.step("next")).commit().run("x")
    assert (none.status, none.output, ran.runs["d"], ran.runs["next"]) == ("success", "x", 0, 1)


async def test_b242_a_resume_value_does_not_replace_the_input(store: RunStore) -> None:
    seen: list[Any] = []

    def second(data: Any, ctx: StepContext) -> Any:
        seen.append((data, ctx.input, ctx.resume_data))
        if not ctx.resumed:
            ctx.suspend()
        return data

    workflow = (
        Workflow("w")
        .then(step(lambda data: [*data, 1], id="first"))
        .then(second)
        .then(step(lambda data, ctx: (data, ctx.input, ctx.resume_data, ctx.resumed), id="third"))
        .commit()
    )
    run_id = (await workflow.run([0], store=store)).run_id

    result = await workflow.resume(run_id, data="answer", store=store)

    assert seen == [([0, 1], [0], None), ([0, 1], [0], "answer")]
    assert result.output == ([0, 1], [0], None, False)


@pytest.mark.parametrize("kind", ["then", "loop", "foreach", "parallel", "branch", "nested"])
async def test_b243_context_and_ids_survive_a_resume(store: RunStore, kind: str) -> None:
    async def look(data: Any, ctx: StepContext) -> Any:
        if not ctx.resumed:
            ctx.suspend()
        await ctx.writer.custom("data-seen", 1)
        context = ctx.request_context
        return [context["plan"], context.resource_id, context.thread_id, ctx.run_id, ctx.step_id, ctx.input]

    workflow = {
        "then": Workflow("w").then(look),
        "loop": Workflow("w").do_until(look, lambda data: True),
        "foreach": Workflow("w").foreach(look).map(lambda outputs: outputs[0]),
        "parallel": Workflow("w").parallel([look]).map("look"),
        "branch": Workflow("w").branch([(lambda data: True, look)]).map("look"),
        "nested": Workflow("w").then(Workflow("inner").then(look)),
    }[kind].commit()
    context = RequestContext({"plan": "free"}, resource_id="u1", thread_id="t1")
    first = await workflow.run(["in"], store=store, request_context=context)
    assert first.status == "suspended", first.error

    result = await workflow.resume(first.run_id, data="go", store=store)

    assert result.output == ["free", "u1", "t1", first.run_id, "look", ["in"]]


async def test_b244_no_secret_is_in_a_snapshot(store: RunStore, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of it is in the file or a log; the run goes on with a fresh one."""
    caplog.set_level(logging.DEBUG)

    def call(data: Any, ctx: StepContext) -> Any:
        token = ctx.request_context.get("auth_token")
        if not ctx.resumed:
            ctx.suspend("approve?")
        return f"called with {token}"[:14] + str(len(token or ""))

    workflow = Workflow("w").then(call).commit()
    context = RequestContext({"auth_token": "tok-AAAA-1111", "plan": "free"})
    context.set("pin", "pin-2222-BBBB", secret=True)
    run_id = (await workflow.run("x", store=store, request_context=context)).run_id

    stored = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert b"free" in stored
    assert [s for s in (b"tok-AAAA-1111", b"pin-2222-BBBB") if s in stored] == []
    assert [s for s in ("tok-AAAA", "pin-2222") if s in caplog.text] == []
    result = await workflow.resume(run_id, data=True, store=store, request_context={"auth_token": "tok-fresh"})
    assert (result.status, result.output) == ("success", "called with to9")


@pytest.mark.parametrize("status", ["suspended", "cancelled", "success", "failed"])
async def test_b246_a_stored_run_knows_its_status(tmp_path: Path, status: str) -> None:
    """A new object says so from the store; what is finished does not run again."""
    ran = Counting()

    def build() -> Any:
        def work(data: Any, ctx: StepContext) -> Any:
            ran.runs["work"] += 1
            if status == "suspended":
                ctx.suspend("why")
            if status == "failed":
                raise ValueError("kaput")
            return data + 1

        async def wait(data: Any) -> Any:
            if status == "cancelled":
                await anyio.sleep_forever()
            return data

        return Workflow("w").then(work).then(wait).commit()

    async with build().stream(1, run_id="r1", store=RunStore(tmp_path / "runs.db")) as events:
        async for event in events:
            if status == "cancelled" and event.path == "w › wait":
                events.cancel()
        await events.result()
    ran.runs.clear()
    again, store = build(), RunStore(tmp_path / "runs.db")

    loaded = await again.load("r1", store=store)
    result = await again.run(1, run_id="r1", store=store)

    assert (loaded.status, result.status, result.output, ran.runs) == (
        status,
        status,
        2 if status == "success" else None,
        {},
    )
    assert str(result.error) == ("w › work: ValueError: kaput" if status == "failed" else "None")
    assert [s.payload for s in result.suspended] == (["why"] if status == "suspended" else [])
    await checkpoint()
