"""The workflows behind the stored sample snapshots, and the writer of the samples.

`python -m tests.support.snapshots` writes those that are not there yet. One that is there is
never written again: it stands for what people have in their stores.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel

from sluiceway import Agent, RequestContext, Workflow, step
from sluiceway.engine import RunStore, use_clock
from sluiceway.graphs import CommittedWorkflow
from sluiceway.models import ScriptedModel
from tests.support.workflows import FakeClock, asks

FOLDER = Path(__file__).parents[1] / "data" / "snapshots"


class Order(BaseModel):
    """A type of its own, with a value that JSON does not have."""

    day: date
    total: int


@dataclass
class Tally:
    """A typed state."""

    seen: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Sample:
    """A workflow that was suspended, how it goes on, and what it has to give."""

    build: Callable[[], Workflow]
    data: Any
    resume: dict[str, Any]
    output: Any


def make_order(total: int) -> Order:
    """Return a typed value."""
    return Order(day=date(2030, 1, 2), total=total)


def approve(order: Order, ctx: Any) -> str:
    """Wait with a typed input and state."""
    ctx.state.seen.append("approve")
    if not ctx.resumed:
        ctx.suspend({"total": order.total})
    return f"{order.day} {order.total} {ctx.resume_data} {ctx.state.seen}"


def _then() -> Workflow:
    return Workflow("then").then(step(lambda d: [*d, "é"], id="first")).then(asks(reply=lambda d, a: [d, a]))


def _typed() -> Workflow:
    return Workflow("typed", input=int, output=str, state=Tally).then(make_order).then(approve)


def _parallel() -> Workflow:
    inner = Workflow("inner").then(step(lambda d: d + 1, id="up")).then(asks("b"))
    return Workflow("parallel").parallel([asks("a"), inner, step(lambda d: d * 2, id="c")])


def _foreach() -> Workflow:
    return Workflow("foreach").foreach(asks(reply=lambda d, a: f"{d}{a}"), concurrency=len).map("".join)


def _loop() -> Workflow:
    return Workflow("loop").do_until(asks(reply=lambda d, a: d + a), lambda total: total > 5)


def _branch() -> Workflow:
    arms = [(lambda d: d > 10, step(lambda d: d, id="big"))]
    return Workflow("branch").sleep(2).branch(arms, default=asks("small"))


def _agent() -> Workflow:
    agent = Agent(id="writer", model=ScriptedModel(["a draft"]))
    return Workflow("agent").then(agent).then(asks("review", reply=lambda d, a: f"{d}: {a}"))


SAMPLES = {
    "then": Sample(_then, [1, None, {"x": 1.5}], {"data": False}, [[1, None, {"x": 1.5}, "é"], False]),
    "typed": Sample(_typed, 7, {"data": "yes"}, "2030-01-02 7 yes ['approve', 'approve']"),
    "parallel": Sample(_parallel, 3, {"step": "a", "data": 0}, None),
    "foreach": Sample(_foreach, ["p", "q"], {"index": [1, 0], "data": ["B", "A"]}, "pAqB"),
    "loop": Sample(_loop, 5, {"data": 1}, 6),
    "branch": Sample(_branch, 3, {"data": ""}, {"small": ""}),
    "agent": Sample(_agent, "write", {"data": "fine"}, "a draft: fine"),
}


async def write(sample: Sample, store: RunStore) -> tuple[CommittedWorkflow, str]:
    """Suspend a sample's workflow and return what is stored of it."""
    workflow = sample.build().commit()
    context = RequestContext({"plan": "free"}, resource_id="u1", thread_id="t1")
    context.set("token", "never stored", secret=True)
    with use_clock(FakeClock()):
        await workflow.run(sample.data, run_id="sample", store=store, request_context=context)
    stored = await store.load("sample")
    assert stored is not None
    assert stored.document is not None
    return workflow, stored.document


async def main() -> None:
    """Write the samples that are not there yet."""
    for name, sample in SAMPLES.items():
        path = FOLDER / f"format-1-{name}.json"
        if not path.exists():
            async with RunStore.in_memory() as store:
                _, document = await write(sample, store)
                await store.aclose()
            path.write_text(json.dumps(json.loads(document), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    anyio.run(main)
