"""A run that waits for an answer, is stored, and goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from sluiceway import RequestContext, Workflow, step
from sluiceway.engine import RunStore, StepContext, Suspension, merge
from sluiceway.errors import LimitExceeded, RunError, SnapshotError, StepTimeoutError, StorageError
from tests.support.workflows import Counting, asks

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.db")


class Order(BaseModel):
    day: date
    total: int


@dataclass
class Tally:
    count: int = 0


def make_order(data: Any) -> Order:
    return Order(day=date(2030, 1, 2), total=data)


async def test_finished_steps_do_not_run_again(store: RunStore) -> None:
    ran = Counting()
    inner = Workflow("inner").then(ran.step("c")).then(asks())
    workflow = (
        Workflow("w")
        .then(ran.step("a", lambda d: d + 1))
        .parallel([ran.step("b"), inner])
        .map("inner")
        .then(ran.step("d"))
        .commit()
    )
    first = await workflow.run(1, store=store)
    assert first.suspended == (Suspension("w › parallel[1] › inner › ask", "ask", 2),)

    result = await workflow.resume(first.run_id, data="yes", store=store)

    assert (result.output, ran.runs) == ("yes", {"a": 1, "b": 1, "c": 1, "d": 1})
    assert {path: record.status for path, record in result.steps.items()} == dict.fromkeys(
        [
            "w › a",
            "w › parallel[1] › b",
            "w › parallel[1] › inner",
            "w › parallel[1] › inner › c",
            "w › parallel[1] › inner › ask",
            "w › d",
        ],
        "success",
    )


async def test_a_pause_a_choice_and_a_finished_loop_are_not_run_again(store: RunStore) -> None:
    asked: list[str] = []
    workflow = (
        Workflow("w")
        .sleep(0.001)
        .branch([(lambda d: asked.append("if") or True, step(lambda d: d + 1, id="up"))])
        .map("up")
        .do_until(step(lambda d: d * 2, id="twice"), lambda d: asked.append("until") or d > 5)
        .then(asks(reply=lambda data, answer: [data, answer]))
        .commit()
    )
    first = await workflow.run(1, store=store)
    slept = first.steps["w › sleep[0]"]

    result = await workflow.resume(first.run_id, data=0, store=store)

    assert result.output == [8, 0]
    assert asked == ["if", "until", "until"]
    assert result.steps["w › sleep[0]"] == slept


async def test_both_branches_of_a_parallel_wait_for_their_answers(store: RunStore) -> None:
    workflow = Workflow("w").parallel([asks("a"), asks("b")]).commit()
    first = await workflow.run("q", store=store)
    assert [s.step_id for s in first.suspended] == ["a", "b"]

    with pytest.raises(RunError, match=r"several steps wait, say which with step=: w › parallel\[0\] › a, "):
        await workflow.resume(first.run_id, data=1, store=store)
    with pytest.raises(RunError, match="no step 'c' waits; there wait"):
        await workflow.resume(first.run_id, step="c", data=1, store=store)
    second = await workflow.resume(first.run_id, step="b", data=2, store=store)
    assert [(second.status, s.path, s.payload) for s in second.suspended] == [("suspended", "w › parallel[0] › a", "q")]

    last = await workflow.resume(first.run_id, data=1, store=store)
    assert last.output == {"a": 1, "b": 2}


async def test_items_of_a_nested_foreach_are_named_by_their_place(store: RunStore) -> None:
    workflow = Workflow("w").foreach(Workflow("row").foreach(asks())).commit()
    first = await workflow.run([[1, 2], [3]], store=store)
    places = [s.path for s in first.suspended]
    assert places == [f"w › foreach[0] › row › foreach[0] › ask{at}" for at in ("[0][0]", "[0][1]", "[1][0]")]

    with pytest.raises(RunError, match=r"index 0 is not clear; .*ask\[0\]\[0\], .*ask\[1\]\[0\]"):
        await workflow.resume(first.run_id, index=0, data="x", store=store)
    for place, answer in zip(places, "abc", strict=True):
        result = await workflow.resume(first.run_id, step=place, data=answer, store=store)
    assert result.output == [["a", "b"], ["c"]]  # pyright: ignore[reportPossiblyUnboundVariable]


@pytest.mark.parametrize(
    ("index", "data", "said"),
    [
        ([0, 0], [1, 2], "no index is given twice"),
        ([0, 1], [1], "data is a list of as many answers"),
        ([0, 1], "ab", "data is a list of as many answers"),
        (5, 1, "index 5 does not wait; there wait: w › foreach"),
    ],
)
async def test_indices_that_cannot_be_are_refused(store: RunStore, index: Any, data: Any, said: str) -> None:
    """And the run waits on as before."""
    workflow = Workflow("w").foreach(asks()).commit()
    run_id = (await workflow.run([1, 2], store=store)).run_id
    with pytest.raises(RunError, match=said):
        await workflow.resume(run_id, index=index, data=data, store=store)
    assert (await workflow.resume(run_id, index=[0, 1], data=[1, 2], store=store)).output == [1, 2]


async def test_data_of_declared_types_comes_back_as_it_was(store: RunStore) -> None:
    def later(order: Order, ctx: StepContext) -> Any:
        if not ctx.resumed:
            ctx.state.count += 1
            ctx.suspend(order)
        return [order, ctx.results["make_order"], ctx.state, ctx.input]

    workflow = Workflow("w", input=int, state=Tally).then(make_order).then(later).commit()
    first = await workflow.run(3, store=store)
    order = Order(day=date(2030, 1, 2), total=3)
    assert first.suspended[0].payload == order

    result = await workflow.resume(first.run_id, store=store)

    assert result.output == [order, order, Tally(1), 3]
    assert (await RunStore(store.path).load(first.run_id)) is not None


async def test_a_payload_is_shown_as_json_once_it_was_stored(store: RunStore) -> None:
    workflow = Workflow("w").then(make_order).then(asks()).commit()
    run_id = (await workflow.run(3, store=store)).run_id
    assert (await workflow.load(run_id, store=store)).suspended[0].payload == {"day": "2030-01-02", "total": 3}


async def test_tuples_come_back_as_lists(store: RunStore) -> None:
    workflow = Workflow("w").then(step(lambda d: (1, (2,)), id="t")).then(asks(reply=lambda d, a: d)).commit()
    run_id = (await workflow.run(0, store=store)).run_id
    assert (await workflow.resume(run_id, store=store)).output == [1, [2]]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "w › bad: the output is a object, which is not JSON"),
        ({"deep": [Order(day=date(2030, 1, 1), total=1)]}, "w › bad: the output.deep[0] is a Order"),
        ({"at": date(2030, 1, 1)}, "w › bad: the output.at is a date"),
        ({1: "x"}, "the key 1 of w › bad: the output is a int"),
        ({1, 2}, "w › bad: the output is a set"),
    ],
)
async def test_what_would_not_come_back_as_it_was_is_an_error_when_it_suspends(
    store: RunStore, value: Any, said: str
) -> None:
    """The text names the place and the fix, and nothing is stored as suspended."""
    workflow = Workflow("w").then(step(lambda d: value, id="bad")).then(asks()).commit()
    result = await workflow.run(0, run_id="r", store=store)
    assert (result.status, result.suspended) == ("failed", ())
    assert isinstance(result.error, SnapshotError)
    assert said in str(result.error)
    assert "annotate what the step returns" in str(result.error)
    loaded = await workflow.load("r", store=store)
    assert (loaded.status, str(loaded.error)) == ("failed", str(result.error))


async def test_a_payload_that_is_no_json_is_an_error(store: RunStore) -> None:
    workflow = Workflow("w").then(step(lambda d, ctx: ctx.suspend(object()), id="ask")).commit()
    result = await workflow.run(0, store=store)
    assert "w › ask: the payload is not JSON" in str(result.error)


@pytest.mark.parametrize("text", ["\ud800", "nul \0 nul", "é𝄞", "x" * 1_000_000])
async def test_any_text_survives(store: RunStore, text: str) -> None:
    workflow = Workflow("w").then(step(lambda d: d, id="same")).then(asks(reply=lambda d, a: d)).commit()
    run_id = (await workflow.run(text, store=store)).run_id
    assert (await workflow.resume(run_id, store=store)).output == text


async def test_data_nested_too_deep_is_an_error_not_a_crash(store: RunStore) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    workflow = Workflow("w").then(step(lambda d: deep, id="deep")).then(step(lambda d, ctx: ctx.suspend(), id="a"))
    result = await workflow.commit().run(0, store=store)
    assert (result.status, str(result.error)) == ("failed", "w: the data is nested too deep to be stored")


async def test_a_snapshot_grows_with_the_data_and_not_with_the_steps(store: RunStore) -> None:
    """What passes many steps is stored once."""
    sizes: list[int] = []
    for length in (10, 20):
        workflow = Workflow("w")
        for number in range(length):
            workflow = workflow.then(step(lambda d: d, id=f"s{number}"))
        committed = workflow.then(step(lambda d, ctx: ctx.suspend(), id="ask")).commit()
        run_id = (await committed.run("x" * 50_000, store=store)).run_id
        stored = await store.load(run_id)
        assert stored is not None
        sizes.append(len(stored.document or ""))
    assert sizes[0] < 60_000
    assert sizes[1] - sizes[0] < 10_000


async def test_copies_for_branches_are_stored_once(store: RunStore) -> None:
    look = [step(lambda d: None, id=f"s{number}") for number in range(20)]
    workflow = Workflow("w").parallel([*look, asks(reply=lambda d, a: d)]).commit()
    run_id = (await workflow.run({"text": "x" * 50_000}, store=store)).run_id
    stored = await store.load(run_id)
    assert stored is not None
    assert len(stored.document or "") < 120_000, "the input and the payload"


async def test_what_comes_back_is_nobody_elses(store: RunStore) -> None:
    """Equal data is stored once, and yet a step that writes to it changes nothing else."""

    def spoil(data: dict[str, Any], ctx: StepContext) -> Any:
        if not ctx.resumed:
            ctx.suspend()
        data["spoilt"] = True
        ctx.state["spoilt"] = "too"
        return [data, ctx.input, dict(ctx.state)]

    workflow = Workflow("w").then(step(lambda d: {}, id="empty")).then(spoil).commit()
    run_id = (await workflow.run({}, store=store)).run_id
    result = await workflow.resume(run_id, store=store)
    assert result.output == [{"spoilt": True}, {}, {"spoilt": "too"}]


async def test_a_snapshot_grows_with_the_items(store: RunStore) -> None:
    sizes: list[int] = []
    workflow = Workflow("w").foreach(asks()).commit()
    for count in (200, 400):
        run_id = (await workflow.run([f"item {n}" for n in range(count)], store=store)).run_id
        stored = await store.load(run_id)
        assert stored is not None
        sizes.append(len(stored.document or ""))
    assert sizes[1] / sizes[0] < 2.1


async def test_a_changed_graph_is_refused_and_says_what_changed(store: RunStore) -> None:
    run_id = (await Workflow("w").then(asks("a")).commit().run(0, store=store)).run_id

    changed = Workflow("w").then(step(lambda d: d, id="new")).then(asks("b")).commit()
    with pytest.raises(SnapshotError) as caught:
        await changed.resume(run_id, data=1, store=store)
    assert f"workflow 'w' has changed since run {run_id!r} was suspended (gone: w › a; new: w › new, w › b)" in str(
        caught.value
    )
    swapped = Workflow("w").parallel([asks("a"), asks("b")]).map(merge.pick("a"))
    run_id = (await swapped.commit().run(0, store=store)).run_id
    other = Workflow("w").parallel([asks("b"), asks("a")]).map(merge.pick("a"))
    with pytest.raises(SnapshotError, match="same steps, put together otherwise"):
        await other.commit().resume(run_id, step="a", data=1, store=store)
    assert (await other.commit().load(run_id, store=store)).status == "suspended"
    assert (await swapped.commit().resume(run_id, step="a", data=1, store=store)).status == "suspended"


async def test_a_run_of_another_workflow_is_refused(store: RunStore) -> None:
    run_id = (await Workflow("w").then(asks()).commit().run(0, store=store)).run_id
    with pytest.raises(SnapshotError, match=f"run '{run_id}' belongs to workflow 'w', not 'v'"):
        await Workflow("v").then(asks()).commit().resume(run_id, data=1, store=store)


@pytest.mark.parametrize("document", ["", "{}", "not json", '{"format": 99}', "[1]"])
async def test_a_damaged_snapshot_is_refused(store: RunStore, document: str) -> None:
    await store.save("r", "w", "suspended", document)
    workflow = Workflow("w").then(asks()).commit()
    for call in (workflow.load("r", store=store), workflow.resume("r", data=1, store=store)):
        with pytest.raises(SnapshotError, match="run 'r' is stored in a form that cannot be read"):
            await call
    assert (await store.load("r")) is not None


async def test_a_snapshot_of_a_newer_version_is_refused(store: RunStore) -> None:
    workflow = Workflow("w").then(asks()).commit()
    run_id = (await workflow.run(0, store=store)).run_id
    stored = await store.load(run_id)
    assert stored is not None
    document = json.loads(stored.document or "") | {"format": 2}
    await store.save("new", "w", "suspended", json.dumps(document))
    with pytest.raises(SnapshotError, match=r"stored by a newer version \(format 2\)"):
        await workflow.resume("new", data=1, store=store)


async def test_an_unknown_run_is_an_error(store: RunStore) -> None:
    workflow = Workflow("w").then(asks()).commit()
    for call in (workflow.load("none", store=store), workflow.resume("none", store=store)):
        with pytest.raises(RunError, match="there is no run 'none' in"):
            await call


async def test_a_secret_in_the_data_is_not_stored(store: RunStore) -> None:
    """Rather an error than a token in a file."""
    leak = step(lambda d, ctx: {"header": f"Bearer {ctx.request_context['token']}"}, id="leak")
    workflow = Workflow("w").then(leak).then(asks()).commit()
    context = RequestContext()
    context.set("token", 's3cret-"quoted"', secret=True)
    result = await workflow.run(0, run_id="r", store=store, request_context=context)
    assert result.status == "failed"
    assert "holds the value of the secret 'token' of the request context" in str(result.error)
    stored = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert b"s3cret" not in stored


async def test_a_secret_in_an_error_is_not_stored(store: RunStore) -> None:
    def fail(data: Any, ctx: StepContext) -> None:
        raise ValueError(f"401 for {ctx.request_context['token']}")

    context = RequestContext({"token_public": "p"})
    context.set("token", "s3cret-value", secret=True)
    await Workflow("w").then(fail).commit().run(0, run_id="r", store=store, request_context=context)
    loaded = await Workflow("w").then(fail).commit().load("r", store=store)
    assert str(loaded.error) == "w › fail: ValueError: 401 for [secret]"


async def test_an_error_comes_back_from_the_store_as_what_it_was(store: RunStore) -> None:
    loop = Workflow("w").do_until(step(lambda d: d, id="s"), lambda d: False, max_iterations=2).commit()
    slow = Workflow("v").then(step(anyio.sleep, id="s", timeout=0.01)).commit()
    for workflow, data, kind in [(loop, 1, LimitExceeded), (slow, 5, StepTimeoutError)]:
        ended = await workflow.run(data, run_id=workflow.id, store=store)
        loaded = (await workflow.load(workflow.id, store=store)).error
        assert isinstance(ended.error, kind)
        assert isinstance(loaded, kind)
        assert (str(loaded), loaded.path) == (str(ended.error), ended.error.path)


async def test_values_given_at_the_resume_are_added(store: RunStore) -> None:
    look = step(lambda d, ctx: ctx.suspend() if not ctx.resumed else dict(ctx.request_context), id="look")
    workflow = Workflow("w").then(look).commit()
    run_id = (await workflow.run(0, store=store, request_context={"a": 1, "b": 2})).run_id
    result = await workflow.resume(run_id, store=store, request_context={"b": 3, "password": "x"})
    assert result.output == {"a": 1, "b": 3, "password": "x"}


async def test_a_run_without_a_store_uses_the_default_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    finished = await Workflow("w").then(step(lambda d: d, id="s")).commit().run(0)
    assert finished.status == "success"
    assert await RunStore().list() == [], "a run that ends without a name is not stored"

    workflow = Workflow("w").then(asks()).commit()
    run_id = (await workflow.run(0)).run_id
    assert (await workflow.resume(run_id, data="x")).output == "x"
    assert [run.run_id for run in await RunStore().list()] == [run_id]


async def test_two_runs_of_one_name_do_not_both_run(store: RunStore) -> None:
    ran = Counting()

    async def slow(data: Any) -> Any:
        await anyio.sleep(0.02)
        return data

    workflow = Workflow("w").then(ran.step("a")).then(slow).commit()
    outcomes: list[str] = []

    async def one() -> None:
        try:
            outcomes.append((await workflow.run(1, run_id="r", store=store)).status)
        except RunError as error:
            outcomes.append(str(error))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
    assert sorted(outcomes) == ["run 'r' was already resumed or started, and is being worked on", "success"]
    assert ran.runs == {"a": 1}
    assert (await workflow.run(99, run_id="r", store=store)).output == 1


async def test_a_run_that_was_cut_off_can_be_seen_and_begun_again(store: RunStore) -> None:
    claim = await store.claim_new("r", "w")
    workflow = Workflow("w").then(step(lambda d: d, id="s")).commit()
    assert (await workflow.load("r", store=store)).status == "running"
    await store.release(claim)  # pyright: ignore[reportArgumentType]
    assert (await workflow.run(1, run_id="r", store=store)).output == 1


class FullDisk(RunStore):
    """A store that can be read and claimed, but not written to the end."""

    async def save(self, *args: Any, **kwargs: Any) -> None:
        raise StorageError("there is no space left on the disk")


async def test_a_store_that_cannot_be_written_leaves_the_run_as_it_was(store: RunStore) -> None:
    workflow = Workflow("w").then(asks("a")).then(asks("b")).commit()
    run_id = (await workflow.run(0, store=store)).run_id
    before = await store.load(run_id)

    with pytest.raises(StorageError, match="no space left"):
        await workflow.resume(run_id, data=1, store=FullDisk(store.path))
    with pytest.raises(StorageError, match="no space left"):
        await workflow.run(0, run_id="other", store=FullDisk(store.path))

    assert await store.load(run_id) == before
    assert await store.load("other") is None
    assert (await workflow.resume(run_id, data=1, store=store)).status == "suspended"


async def test_a_held_store_serves_many_steps(store: RunStore) -> None:
    async with store:
        workflow = Workflow("w").then(asks("a")).then(asks("b")).commit()
        run_id = (await workflow.run(0, store=store)).run_id
        assert (await workflow.resume(run_id, data=1, store=store)).status == "suspended"
        assert (await workflow.resume(run_id, data=2, store=store)).output == 2


async def test_a_resumed_step_may_fail_and_be_tried_again_with_its_answer(store: RunStore) -> None:
    tries: list[Any] = []

    def ask(data: Any, ctx: StepContext) -> Any:
        if not ctx.resumed:
            ctx.suspend()
        tries.append((ctx.attempt, ctx.resume_data))
        if len(tries) < 2:
            raise OSError("net")
        return ctx.resume_data

    workflow = Workflow("w").then(step(ask, retries=1)).commit()
    run_id = (await workflow.run(0, store=store)).run_id
    assert (await workflow.resume(run_id, data="x", store=store)).output == "x"
    assert tries == [(1, "x"), (2, "x")]
