"""What a review of the engine found: cancellations from inside, claims, preferred branches."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from sluiceway import Agent, RequestContext, Workflow, step
from sluiceway.engine import RunStore, merge
from sluiceway.errors import RunError, TripWire
from sluiceway.messages import Message, TextPart
from sluiceway.models import ScriptedModel
from sluiceway.processors import Effects, Processor, run_on_many

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]  # trio cancels no other way


async def cut_off() -> None:
    """Wait for something that somebody else cancels, as a client whose pool is closed does."""
    task = asyncio.ensure_future(asyncio.sleep(5))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


class CutOff(Processor):
    """A check that is cut off before it knows."""

    effects = Effects(external=True)

    async def process_input(self, ctx: Any) -> None:
        """Never come to an answer."""
        await cut_off()


class Fine(Processor):
    """A check that passes."""

    effects = Effects(external=True)

    async def process_input(self, ctx: Any) -> None:
        """Wait and pass."""
        await asyncio.sleep(0.001)


def side_by_side(**options: Any) -> dict[str, Any]:
    """Return what gives an agent both checks in a `parallel`."""
    both = Workflow("both").parallel([CutOff("cut-off"), Fine("fine")], **options)
    return {"input_processors": [both.map("processor:fine").commit()]}


@pytest.mark.parametrize(
    "options",
    [
        {"input_processors": [CutOff("cut-off"), Fine("fine")]},
        {"input_processors": [CutOff("cut-off"), Fine("fine")], "concurrency": "auto"},
        {"input_processors": [Fine("fine"), CutOff("cut-off")], "concurrency": "auto"},
        {"input_processors": [CutOff("cut-off")], "overlap": True},
        {"input_processors": [CutOff("cut-off"), Fine("fine")], "overlap": True},
        side_by_side(),
        side_by_side(wait="all"),
    ],
    ids=["list", "auto", "auto-last", "overlap", "overlap-two", "parallel", "parallel-all"],
)
async def test_a_check_that_was_cut_off_has_not_passed(options: dict[str, Any]) -> None:
    agent = Agent(id="a", model=ScriptedModel(["fine"]), **options)
    with pytest.raises(asyncio.CancelledError):
        await agent.generate("go")


@pytest.mark.parametrize("kind", ["then", "parallel", "foreach"])
async def test_a_step_that_was_cut_off_is_no_success(kind: str) -> None:
    async def ask(data: Any) -> Any:
        await cut_off()

    async def same(data: Any) -> Any:
        return data

    workflows = {
        "then": Workflow("w").then(ask),
        "parallel": Workflow("w").parallel([ask, same]),
        "foreach": Workflow("w").foreach(ask),
    }
    with pytest.raises(asyncio.CancelledError):
        await workflows[kind].commit().run([1, 2])


async def test_of_many_subjects_one_that_was_cut_off_gives_no_call() -> None:
    calls = run_on_many([CutOff("cut-off")], ["go"])
    with pytest.raises(asyncio.CancelledError):
        await anext(calls)


@pytest.mark.parametrize("suspended", [False, True], ids=["start", "resume"])
async def test_a_task_cancelled_while_it_claims_a_run_leaves_no_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suspended: bool
) -> None:
    async def ask(data: Any, ctx: Any) -> Any:
        return data if ctx.resumed else ctx.suspend()

    store = RunStore(tmp_path / "runs.db")
    workflow = Workflow("w").then(ask).commit()
    if suspended:
        assert (await workflow.run(1, run_id="r", store=store)).status == "suspended"
    database = store._db
    inside, go_on = threading.Event(), threading.Event()
    run = type(database)._run

    def slowly(self: Any, work: Any, begin: str) -> Any:
        def held(connection: Any) -> Any:
            done = work(connection)
            if not inside.is_set():
                inside.set()
                go_on.wait(5)
            return done

        return run(self, held, begin)

    monkeypatch.setattr(type(database), "_run", slowly)
    again = workflow.resume("r", data=1, store=store) if suspended else workflow.run(1, run_id="r", store=store)
    task = asyncio.ensure_future(again)
    assert await asyncio.to_thread(inside.wait, 5)
    task.cancel()
    asyncio.get_running_loop().call_later(0.02, go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await store.list()
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        rows = connection.execute("SELECT status, claim FROM runs").fetchall()
    connection.close()
    assert rows == ([("suspended", None)] if suspended else [])


async def test_the_preferred_branch_wins_wherever_it_stands() -> None:
    branches = {"a": 1, "b": 2, "c": 3}
    outputs: list[Any] = []
    for keys in permutations(branches):
        steps = [step(lambda data, key=key: branches[key], id=key) for key in keys]
        result = await Workflow("w").parallel(steps).map(merge.prefer("c")).commit().run(0)
        outputs.append(result.output)
    assert outputs == [3] * 6


@pytest.mark.parametrize("keys", list(permutations(["redact", "more", "less"])), ids="-".join)
async def test_what_was_redacted_does_not_come_back_with_other_parts(keys: tuple[str, ...]) -> None:
    """The preferred branch has another list of parts; what is left of them stays redacted."""

    def redact(ctx: Any) -> None:
        ctx.messages[-1].parts[0].edit(2, 8, "[R]", redact=True)

    def more(ctx: Any) -> None:
        ctx.messages[-1].parts.append(TextPart("more"))

    def less(ctx: Any) -> None:
        parts = ctx.messages[-1].parts
        parts[0].edit(9, 14, "[T]", redact=True)
        del parts[1]

    hooks = {"redact": redact, "more": more, "less": less}
    branches = [Processor.of(key, process_input=hooks[key]) for key in keys]
    workflow = Workflow("w").parallel(branches).map(merge.prefer("processor:more")).commit()
    call = await workflow.run_on(Message(parts=[TextPart("a secret token"), TextPart("end")]))
    assert [getattr(part, "text", None) for part in call.messages[-1].parts] == ["a [R] [T]", "end", "more"]


@pytest.mark.parametrize("index", [True, "0", [0, "x"], [0.5], {0: 1}], ids=repr)
async def test_an_index_that_is_none_is_refused(index: Any) -> None:
    async def ask(data: Any, ctx: Any) -> Any:
        return data if ctx.resumed else ctx.suspend()

    store = RunStore.in_memory()
    workflow = Workflow("w").foreach(ask).commit()
    await workflow.run([1, 2], run_id="r", store=store)
    with pytest.raises(RunError, match="neither a whole number nor a list of them"):
        await workflow.resume("r", index=index, data=["a", "b"], store=store)
    await store.aclose()


HIDDEN = "sesame-opens-it"


class Login(BaseModel):
    """A secret in a model."""

    word: str


@dataclass
class Key:
    """A secret in a dataclass."""

    word: str


def ring() -> dict[str, Any]:
    """Return a secret that holds itself."""
    one: dict[str, Any] = {"word": HIDDEN}
    one["again"] = one
    return one


SECRETS = {
    "text": HIDDEN,
    "bytes": HIDDEN.encode(),
    "secret-str": SecretStr(HIDDEN),
    "frozenset": frozenset({HIDDEN}),
    "model": Login(word=HIDDEN),
    "dataclass": Key(HIDDEN),
    "ring": ring(),
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("where", ["payload", "state", "error", "tripwire", "output"])
async def test_a_secret_of_any_kind_is_never_stored(tmp_path: Path, kind: str, where: str) -> None:
    async def tell(data: Any, ctx: Any) -> Any:
        if where == "payload":
            ctx.suspend({"word": HIDDEN})
        if where == "state":
            ctx.state["word"] = HIDDEN
            ctx.suspend()
        if where == "error":
            raise ValueError(HIDDEN)
        if where == "tripwire":
            raise TripWire(HIDDEN, processor_id="p", metadata={"word": [HIDDEN]})
        return HIDDEN

    path = tmp_path / "runs.db"
    context = RequestContext()
    context.set("login", SECRETS[kind], secret=True)
    run = Workflow("w").then(tell).commit().run(1, run_id="r", store=RunStore(path), request_context=context)
    result = await run
    with sqlite3.connect(path) as connection:
        stored = str(connection.execute("SELECT * FROM runs").fetchall())
    connection.close()
    assert HIDDEN not in stored
    assert result.status == ("tripwire" if where == "tripwire" else "failed")


async def test_a_number_that_is_secret_is_never_stored(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    context = RequestContext()
    context.set("pin", 907_406_331, secret=True)

    def tell(data: Any, ctx: Any) -> Any:
        if data == "trip":
            raise TripWire("no", metadata={"pin": ctx.request_context["pin"]})
        ctx.suspend({"pin": ctx.request_context["pin"]})

    workflow, store = Workflow("w").then(tell).commit(), RunStore(path)
    runs = [await workflow.run(how, run_id=how, store=store, request_context=context) for how in ("trip", "suspend")]
    assert [run.status for run in runs] == ["tripwire", "failed"]
    assert b"907406331" not in path.read_bytes()
