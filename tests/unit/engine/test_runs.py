"""What errors, events and waiting steps of a run say about where they come from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from sluiceway import RequestContext, Workflow, step
from sluiceway.engine import Claim, RunEvent, RunStore, StepContext, Suspension, Tripped, WorkflowResult
from sluiceway.engine._flow import Positions
from sluiceway.errors import ConfigurationError, LimitExceeded, RunError, SnapshotError, StepError, TripWire
from tests.support.workflows import Board, Named, asks

pytestmark = pytest.mark.anyio


def double(number: int) -> int:
    return 2 * number


def text(data: Any) -> str:
    return f"text {data}"


def suspends(data: Any, ctx: StepContext) -> Any:
    ctx.suspend(data)


async def failed(workflow: Workflow, data: Any) -> RunError:
    result = await workflow.commit().run(data, run_id="r", store=RunStore.in_memory())
    assert (result.status, result.run_id) == ("failed", "r")
    assert isinstance(result.error, RunError)
    return result.error


def said(error: RunError) -> tuple[Any, ...]:
    assert isinstance(error, StepError)
    return (error.step_id, error.run_id, error.path, error.retryable)


@pytest.mark.parametrize(
    ("options", "given", "which"), [({"input": int}, "x", "input"), ({"output": int}, 1, "output")]
)
async def test_data_that_do_not_fit_the_workflow(options: dict[str, Any], given: Any, which: str) -> None:
    error = await failed(Workflow("w", **options).then(text), given)
    assert str(error).startswith(f"w: the {which} does not fit: ")
    assert said(error) == ("w", "r", "w", False)


async def test_a_foreach_of_what_is_no_list() -> None:
    error = await failed(Workflow("w").foreach(double), "ab")
    assert str(error) == "w › foreach[0]: foreach takes a list, not str"
    assert said(error) == ("foreach", "r", "w › foreach[0]", False)


async def test_a_foreach_without_a_limit() -> None:
    error = await failed(Workflow("w").foreach(double, concurrency=lambda data, ctx: 0), [1])
    assert str(error) == "w › foreach[0]: concurrency is a whole number from 1, not 0"
    assert said(error) == ("foreach", "r", "w › foreach[0]", False)


async def test_a_loop_that_does_not_end() -> None:
    error = await failed(Workflow("w").do_while(double, lambda data, ctx: True, max_iterations=3), 1)
    assert isinstance(error, LimitExceeded)
    assert str(error) == "w › do_while[0]: has not ended after 3 iterations (max_iterations)"
    assert (error.run_id, error.path) == ("r", "w › do_while[0]")


async def test_a_map_that_suspends() -> None:
    error = await failed(Workflow("w").then(double).map(suspends), 1)
    assert isinstance(error.__cause__, ConfigurationError)
    assert "only a step can suspend, not a map or a condition" in str(error)
    assert said(error) == ("w › map[1]", "r", "w › map[1]", False)


async def test_a_condition_that_fails_in_an_item() -> None:
    def broken(data: Any, ctx: StepContext) -> bool:
        raise KeyError("no")

    inner = Workflow("inner").branch([(broken, double)])
    error = await failed(Workflow("w").foreach(inner), [1])
    assert said(error) == ("w › foreach[0] › inner › branch[0]", "r", "w › foreach[0] › inner › branch[0][0]", True)


async def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.db")
    with pytest.raises(RunError) as caught:
        await Workflow("w").then(double).commit().load("r", store=store)
    assert str(caught.value).startswith(f"there is no run 'r' in {store.path}")
    assert caught.value.run_id == "r"


async def test_every_event_says_which_step_it_is_about() -> None:
    async def work(number: int, ctx: StepContext) -> int:
        await ctx.emit("half")
        return number + 1

    async with Workflow("w").then(work).then(asks()).commit().stream(1, run_id="r", store=RunStore.in_memory()) as run:
        events = [event async for event in run]
    assert events == [
        RunEvent("run-start", "r", "w", data=1),
        RunEvent("step-start", "r", "w › work", "work", None, 1),
        RunEvent("step-output", "r", "w › work", "work", None, "half"),
        RunEvent("step-finish", "r", "w › work", "work", "success", 2),
        RunEvent("step-start", "r", "w › ask", "ask", None, 2),
        RunEvent("step-suspended", "r", "w › ask", "ask", "suspended", 2),
        RunEvent("run-finish", "r", "w", None, "suspended", None),
    ]


async def test_items_that_wait_say_which_they_are() -> None:
    store = RunStore.in_memory()
    result = await Workflow("w").foreach(asks()).commit().run(["a", "b"], run_id="r", store=store)
    assert result.suspended == (
        Suspension("w › foreach[0] › ask[0]", "ask", "a", 0),
        Suspension("w › foreach[0] › ask[1]", "ask", "b", 1),
    )
    await store.aclose()


async def test_an_error_that_was_stored_says_the_same_again() -> None:
    def breaks(data: Any) -> Any:
        raise KeyError("no")

    store = RunStore.in_memory()
    workflow = Workflow("w").then(double).then(breaks).commit()
    first = await workflow.run(1, run_id="r", store=store)
    again = await workflow.load("r", store=store)
    assert isinstance(first.error, StepError)
    assert isinstance(again.error, StepError)
    assert said(again.error) == said(first.error) == ("breaks", "r", "w › breaks", True)
    assert str(again.error) == str(first.error)
    await store.aclose()


async def test_a_long_step_keeps_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is renewed while it works."""
    renewed: list[Claim] = []
    twice = anyio.Event()

    class Watched(RunStore):
        async def renew(self, claim: Claim) -> None:
            renewed.append(claim)
            await super().renew(claim)
            if len(renewed) == 2:
                twice.set()

    async def work(data: Any) -> Any:
        with anyio.fail_after(5):
            await twice.wait()
        return data

    monkeypatch.setattr("sluiceway.engine._runs.LEASE_S", 0.003)
    store = Watched(":memory:")
    result = await Workflow("w").then(work).commit().run(1, run_id="r", store=store)
    assert result.status == "success"
    assert {claim.run_id for claim in renewed} == {"r"}
    await store.aclose()


@pytest.mark.parametrize(
    ("output", "status"), [("ecret-9", "suspended"), ("secret-", "suspended"), ("secret-9", "failed")]
)
async def test_what_is_almost_a_secret_may_be_stored(output: str, status: str) -> None:
    context = RequestContext()
    context.set("token", "secret-9", secret=True)
    store = RunStore.in_memory()
    workflow = Workflow("w").then(asks()).commit()
    result = await workflow.run(output, run_id="r", store=store, request_context=context)
    assert result.status == status
    await store.aclose()


def test_a_place_that_is_put_again_counts_as_the_newest() -> None:
    places = Positions[int]()
    for index, value in (((0,), 1), ((1,), 2), ((0,), 3)):
        places.put("a", index, value)
    assert list(places.items()) == [("a", (1,), 2), ("a", (0,), 3)]


async def test_a_cancelled_run_keeps_its_id() -> None:
    async with Workflow("w").then(Named("slow", None, delay_s=5)).commit().stream(1) as run:
        async for event in run:
            if event.type == "step-start":
                run.cancel()
        result = await run.result()
    assert (result.run_id, result.status) == (run.run_id, "cancelled")


@pytest.mark.parametrize("given", [({"n": [1]}, [2]), {1, 2}, [{"n": (1, [2])}]])
async def test_a_branch_gets_containers_of_its_own(given: Any) -> None:
    seen: list[Any] = []
    steps = [step(Named(name, seen.append), id=name) for name in ("a", "b")]
    result = await Workflow("w").parallel(steps).commit().run(given)
    assert result.output == {"a": given, "b": given}
    assert [type(value) for value in seen] == [type(given)] * 2
    assert not {id(value) for value in containers(seen)} & {id(value) for value in containers([given])}


def containers(values: Any) -> list[Any]:
    """The containers in these that could be written to."""
    found: list[Any] = []
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, dict | list | set):
            found.append(value)
        if isinstance(value, dict | list | tuple):
            found += containers(value)
    return found


def kept(result: WorkflowResult) -> dict[str, Any]:
    """What is to be the same when a run is loaded again; errors by what they say."""
    fields = {one.name: getattr(result, one.name) for one in dataclasses.fields(result)}
    steps = {path: dataclasses.replace(record, error=None) for path, record in result.steps.items()}
    errors = {path: spoken(record.error) for path, record in result.steps.items()}
    return fields | {"steps": steps, "errors": errors, "error": spoken(result.error)}


def spoken(error: BaseException | None) -> Any:
    if error is None:
        return None
    return (
        type(error),
        str(error),
        *(getattr(error, name, None) for name in ("step_id", "run_id", "path", "retryable")),
    )


def breaks(data: Any) -> Any:
    raise KeyError("no")


def trips(data: Any) -> Any:
    raise TripWire("no", processor_id="p", retry=True, metadata={"n": [1], "set": {1}})


def once(data: Any, ctx: StepContext) -> bool:
    return ctx.iteration < 2


@pytest.mark.parametrize(
    "workflow",
    [
        Workflow("w").then(double),
        Workflow("w").then(double).then(breaks),
        Workflow("w").foreach(breaks),
        Workflow("w").do_while(double, lambda data, ctx: True, max_iterations=2),
        Workflow("w").do_while(double, once).then(asks()),
        Workflow("w").parallel([double, asks()]),
        Workflow("w").branch([(once, double)]).then(asks()),
    ],
)
async def test_a_run_that_was_stored_comes_back_whole(workflow: Workflow) -> None:
    store = RunStore.in_memory()
    committed = workflow.commit()
    first = await committed.run([1] if "foreach" in str(workflow.definition) else 1, run_id="r", store=store)
    assert kept(await committed.load("r", store=store)) == kept(first)
    await store.aclose()


async def test_a_trip_that_was_stored_comes_back_without_secrets() -> None:
    context = RequestContext()
    context.set("token", "secret-9", secret=True)
    context.set("number", 1234567, secret=True)

    def leaks(data: Any) -> Any:
        raise TripWire(
            "no secret-9", processor_id="p", metadata={"secret-9": ["secret-9", 1234567, 7], "odd": {double}}
        )

    store = RunStore.in_memory()
    workflow = Workflow("w").then(leaks).commit()
    first = await workflow.run(1, run_id="r", store=store, request_context=context)
    again = await workflow.load("r", store=store)
    assert (first.status, again.status) == ("tripwire", "tripwire")
    assert first.tripwire is not None
    assert again.tripwire is not None
    assert (again.tripwire.reason, again.tripwire.processor_id) == ("no [secret]", "p")
    assert again.tripwire.path == first.tripwire.path == "w › leaks"
    assert again.tripwire.metadata == {"[secret]": ["[secret]", "[secret]", 7], "odd": [repr(double)]}
    await store.aclose()


async def test_a_secret_in_the_data_says_where_to_read_it_instead() -> None:
    context = RequestContext()
    context.set("token", "secret-9", secret=True)
    store = RunStore.in_memory()
    result = await Workflow("w").then(asks()).commit().run("secret-9", run_id="r", store=store, request_context=context)
    assert isinstance(result.error, SnapshotError)
    assert "'token'" in str(result.error)
    assert str(result.error).endswith("which is never stored; read it from ctx.request_context where it is needed")
    assert "secret-9" not in str(result.error)
    await store.aclose()


async def test_what_is_no_json_says_what_to_do() -> None:
    store = RunStore.in_memory()
    result = await Workflow("w").then(asks()).commit().run({"at": [{1}]}, run_id="r", store=store)
    assert isinstance(result.error, SnapshotError)
    assert str(result.error) == (
        "w: the input.at[0] is a set, which is not JSON and would not come back as it was; annotate what the step "
        "returns, so that it is stored and restored as that type, or map it to plain data"
    )
    await store.aclose()


async def test_what_does_not_fit_is_said_without_the_data() -> None:
    workflow = Workflow("w", input=dict[str, int]).then(text).commit()
    result = await workflow.run({"a": "secret"})
    assert str(result.error) == (
        "w: the input does not fit: a: Input should be a valid integer, unable to parse string as an integer"
    )


async def test_how_many_items_run_at_once_is_asked_once() -> None:
    asked: list[Any] = []

    def how_many(data: Any, ctx: StepContext) -> int:
        asked.append(data)
        return 2

    store = RunStore.in_memory()
    workflow = Workflow("w").foreach(asks(), concurrency=how_many).commit()
    await workflow.run([1, 2], run_id="r", store=store)
    result = await workflow.resume("r", index=[0, 1], data=["a", "b"], store=store)
    assert (result.output, asked) == (["a", "b"], [[1, 2]])
    await store.aclose()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "other"}, "no step 'other' waits; there wait: w › foreach[0] › ask[0], w › foreach[0] › ask[1]"),
        ({}, "several items wait, say which with index=: 0, 1"),
        ({"index": True}, "index=True is neither a whole number nor a list of them"),
        ({"index": [0, "1"]}, "index=[0, '1'] is neither a whole number nor a list of them"),
        ({"index": 7}, "index 7 does not wait; there wait: w › foreach[0] › ask[0], w › foreach[0] › ask[1]"),
        (
            {"index": [0, 0], "data": ["a", "b"]},
            "with index=[0, 0] data is a list of as many answers, and no index is given twice",
        ),
        (
            {"index": [0, 1], "data": ["a"]},
            "with index=[0, 1] data is a list of as many answers, and no index is given twice",
        ),
    ],
)
async def test_an_answer_to_no_step_in_particular(options: dict[str, Any], message: str) -> None:
    store = RunStore.in_memory()
    workflow = Workflow("w").foreach(asks()).commit()
    await workflow.run([1, 2], run_id="r", store=store)
    with pytest.raises(RunError) as caught:
        await workflow.resume("r", store=store, **options)
    assert (str(caught.value), caught.value.run_id) == (f"run 'r': {message}", "r")
    await store.aclose()


async def test_a_workflow_that_has_changed_says_what() -> None:
    store = RunStore.in_memory()
    await Workflow("w").then(double).then(asks()).commit().run(1, run_id="r", store=store)
    with pytest.raises(SnapshotError) as caught:
        await Workflow("w").then(asks()).then(text).commit().resume("r", store=store)
    assert str(caught.value) == (
        "workflow 'w' has changed since run 'r' was suspended (gone: w › double; new: w › text); "
        "finish the run with the workflow it was begun with, or start it anew"
    )
    assert (caught.value.run_id, caught.value.path) == ("r", "w")
    await store.aclose()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "is stored in a form that cannot be read: Expecting property name"),
        ('{"format": "one"}', "is stored in a form that cannot be read: format: Input should be a valid integer"),
        ("[" * 100_000, "is stored in a form that cannot be read: maximum recursion depth exceeded"),
    ],
    ids=["no JSON", "no format", "too deep"],
)
async def test_what_is_stored_and_no_run(document: str, said: str) -> None:
    store = RunStore.in_memory()
    await store.save("r", "w", "suspended", document)
    with pytest.raises(SnapshotError) as caught:
        await Workflow("w").then(asks()).commit().load("r", store=store)
    assert str(caught.value).startswith(f"run 'r' {said}")
    assert "http" not in str(caught.value)
    await store.aclose()


async def test_a_state_that_cannot_be_stored_says_so() -> None:
    def writes(data: Any, ctx: StepContext) -> Any:
        ctx.state["seen"] = {1}
        return data

    store = RunStore.in_memory()
    result = await Workflow("w").then(writes).then(asks()).commit().run(1, run_id="r", store=store)
    assert isinstance(result.error, SnapshotError)
    assert str(result.error).startswith("w: the state.seen is a set, which is not JSON")
    await store.aclose()


async def test_an_answer_where_several_steps_wait() -> None:
    store = RunStore.in_memory()
    workflow = Workflow("w").parallel([asks("a"), asks("b")]).commit()
    await workflow.run(1, run_id="r", store=store)
    with pytest.raises(RunError) as caught:
        await workflow.resume("r", store=store, data="yes")
    assert (str(caught.value), caught.value.run_id) == (
        "run 'r': several steps wait, say which with step=: w › parallel[0] › a, w › parallel[0] › b",
        "r",
    )
    await store.aclose()


@pytest.mark.parametrize("index", [-2, 0, 1])
async def test_a_step_that_is_no_item_has_no_index(index: int) -> None:
    store = RunStore.in_memory()
    workflow = Workflow("w").then(asks()).commit()
    await workflow.run(1, run_id="r", store=store)
    with pytest.raises(RunError, match=f"index {index} does not wait; there wait: w › ask"):
        await workflow.resume("r", store=store, index=index, data="yes")
    await store.aclose()


async def test_a_trip_keeps_all_it_says() -> None:
    tripped = (await Workflow("w").then(trips).commit().run(1)).tripwire
    assert tripped == Tripped("no", "p", path="w › trips", retry=True, retry_count=0, metadata={"n": [1], "set": {1}})


async def test_a_branch_gets_a_fork_of_data_that_fork() -> None:
    given = Board(x=1)
    steps = [step(Named(name, lambda board, name=name: board.fields.update({name: True})), id=name) for name in "ab"]
    result = await Workflow("w").parallel(steps).commit().run(given)
    assert {key: board.fields for key, board in result.output.items()} == {
        "a": {"x": 1, "a": True},
        "b": {"x": 1, "b": True},
    }
    assert given.fields == {"x": 1}


async def test_an_output_of_nothing_comes_back_as_nothing() -> None:
    def nothing(data: Any) -> Any:
        return [None, data][0]

    store = RunStore.in_memory()
    workflow = Workflow("w").then(text).then(nothing).then(asks()).commit()
    await workflow.run(1, run_id="r", store=store)
    again = await workflow.load("r", store=store)
    assert [record.output for record in again.steps.values()] == ["text 1", None, None]
    assert (again.steps["w › ask"].input, again.steps["w › ask"].payload) == (None, None)
    await store.aclose()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.update(steps=[]), "it is stored as suspended, and no step of it waits"),
        (lambda run: run.update(input=len(run["values"])), "its value {n} is missing"),
        (lambda run: run.update(input=-1), "its value -1 is missing"),
        (lambda run: run["choices"][0].update(value="other"), "w › branch[0] has no branch 'other'"),
        (lambda run: run["choices"][0].update(path="w › gone"), "there is no 'w › gone' in workflow 'w'"),
    ],
)
async def test_a_damaged_run_says_what_is_wrong_with_it(change: Callable[[dict[str, Any]], None], said: str) -> None:
    store = RunStore.in_memory()
    workflow = Workflow("w").branch([(once, double)]).then(asks()).commit()
    await workflow.run(1, run_id="r", store=store)
    stored = await store.load("r")
    assert stored is not None
    run = json.loads(stored.document or "")
    change(run)
    other = RunStore.in_memory()
    await other.save("r", "w", "suspended", json.dumps(run))
    with pytest.raises(SnapshotError) as caught:
        await workflow.load("r", store=other)
    said = said.format(n=len(run["values"]))
    assert (str(caught.value), caught.value.run_id) == (f"run 'r' is damaged: {said}; start it anew", "r")
    await store.aclose()
    await other.aclose()
