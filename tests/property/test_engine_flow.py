"""Laws of workflows that run on their own: what they give, and that waiting changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from sluiceway import Workflow, step
from sluiceway.engine import RunStore, StepContext, WorkflowResult

BACKENDS = st.sampled_from(["asyncio", "trio"])

# A workflow is drawn as nested tuples, so that it can be built and also just calculated:
# an `add` has a number, an `ask` only a name, all others have bodies.
Shape = tuple[Any, ...]


@dataclass
class Drawn:
    """Builds the workflow of a shape, and counts what its steps do."""

    runs: Counter[str] = field(default_factory=Counter[str])
    asked: Counter[str] = field(default_factory=Counter[str])
    turns: int = 0

    def workflow(self, name: str, shapes: list[Shape]) -> Workflow:
        made = Workflow(name)
        for shape in shapes:
            made = self.add(made, shape)
        return made

    def add(self, made: Workflow, shape: Shape) -> Workflow:
        match shape:
            case ("add", name, n):
                return made.then(self.adder(name, n))
            case ("ask", name):
                return made.then(self.asker(name))
            case ("par", name, one, two):
                arms = [self.workflow(f"{name}a", one), self.workflow(f"{name}b", two)]
                return made.parallel(arms).map(lambda outputs: sum(outputs.values()))
            case ("if", name, one, two):
                arms = [(lambda x: x % 2 == 0, self.workflow(f"{name}a", one))]
                picked = made.branch(arms, default=self.workflow(f"{name}b", two))
                return picked.map(lambda outputs: next(iter(outputs.values())))
            case ("each", name, width, body):
                items = made.map(lambda x: [x, x + 1, x + 2])
                return items.foreach(self.workflow(name, body), concurrency=width).map(sum)
            case ("loop", name, rounds, body):
                return made.do_until(self.workflow(name, body), lambda x, ctx: ctx.iteration >= rounds)
            case _:
                raise AssertionError(shape)

    def adder(self, name: str, n: int) -> Any:
        async def add(x: int) -> int:
            self.runs[name] += 1
            for _ in range(n % 3):
                await anyio.lowlevel.checkpoint()
            return 3 * x + n

        return step(add, id=name)

    def asker(self, name: str) -> Any:
        def ask(x: int, ctx: StepContext) -> int:
            if not ctx.resumed:
                ctx.suspend(x)
            self.asked[name] += 1
            return x + ctx.resume_data

        return step(ask, id=name)


def calculate(shapes: list[Shape], x: int, runs: Counter[str], asked: Counter[str]) -> int:
    """What a workflow has to give, and how often each of its steps has to run."""
    for shape in shapes:
        match shape:
            case ("add", name, n):
                runs[name] += 1
                x = 3 * x + n
            case ("ask", name):
                asked[name] += 1
                x += answer_to(x)
            case ("par", _, one, two):
                x = calculate(one, x, runs, asked) + calculate(two, x, runs, asked)
            case ("if", _, one, two):
                x = calculate(one if x % 2 == 0 else two, x, runs, asked)
            case ("each", _, _, body):
                x = sum(calculate(body, item, runs, asked) for item in (x, x + 1, x + 2))
            case ("loop", _, rounds, body):
                for _ in range(rounds):
                    x = calculate(body, x, runs, asked)
            case _:
                raise AssertionError(shape)
    return x


def answer_to(payload: int) -> int:
    return 7 - payload % 5 - payload


@st.composite
def shapes(draw: st.DrawFn, kinds: tuple[str, ...], names: Any = None, depth: int = 2) -> list[Shape]:
    names = names if names is not None else iter(f"n{n}" for n in range(10_000))
    nested = kinds + (("par", "if", "each", "loop") if depth else ())
    drawn: list[Shape] = []
    for _ in range(draw(st.integers(1, 3))):
        kind, name = draw(st.sampled_from(nested)), next(names)

        def body() -> list[Shape]:
            return draw(shapes(kinds, names, depth - 1))

        if kind == "add":
            drawn.append((kind, name, draw(st.integers(0, 9))))
        elif kind == "ask":
            drawn.append((kind, name))
        elif kind in ("par", "if"):
            drawn.append((kind, name, body(), body()))
        elif kind == "each":
            drawn.append((kind, name, draw(st.integers(1, 3)), body()))
        else:
            drawn.append((kind, name, draw(st.integers(1, 3)), body()))
    return drawn


@given(BACKENDS, shapes(("add",)), st.integers(-5, 5))
def test_a_workflow_gives_what_its_parts_say(backend: str, drawn: list[Shape], start: int) -> None:
    made, runs = Drawn(), Counter[str]()
    workflow = made.workflow("w", drawn).commit()

    result = anyio.run(workflow.run, start, backend=backend)

    assert (result.status, result.output) == ("success", calculate(drawn, start, runs, Counter()))
    assert made.runs == runs


@given(BACKENDS, shapes(("add", "ask")), st.integers(-5, 5), st.data())
def test_a_run_that_waits_ends_as_if_it_had_not(
    backend: str, drawn: list[Shape], start: int, data: st.DataObject
) -> None:
    """Answers in any order, each with a new object; every step runs once per visit."""
    made, runs, asked = Drawn(), Counter[str](), Counter[str]()
    wanted = calculate(drawn, start, runs, asked)

    async def play() -> WorkflowResult:
        store = RunStore.in_memory()
        try:
            result = await made.workflow("w", drawn).commit().run(start, run_id="r", store=store)
            while result.status == "suspended":
                waiting = data.draw(st.sampled_from(result.suspended))
                again = made.workflow("w", drawn).commit()
                result = await again.resume("r", step=waiting.path, data=answer_to(waiting.payload), store=store)
            return result
        finally:
            await store.aclose()

    result = anyio.run(play, backend=backend)

    assert (result.status, result.output) == ("success", wanted), result.error
    assert (made.runs, made.asked) == (runs, asked)
