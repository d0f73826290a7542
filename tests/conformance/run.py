"""Run a scenario through one entry point and note what can be seen from outside."""

from __future__ import annotations

from typing import Literal, TypeAlias

import anyio

from sluiceway.errors import SluicewayError, TripWire
from sluiceway.messages import Chunk
from tests.conformance.build import Bench, build_bench, call_options
from tests.conformance.compare import differences
from tests.conformance.load import Case, Turn
from tests.conformance.observed import Observed, SeenTurn

__all__ = ["BACKENDS", "ENTRIES", "Entry", "faults_of", "observe"]

Entry: TypeAlias = Literal["stream", "generate"]

ENTRIES: tuple[Entry, ...] = ("stream", "generate")
BACKENDS = ("asyncio", "trio")
LIMIT_S = 20


async def by_stream(bench: Bench, turn: Turn) -> SeenTurn:
    """Read a call chunk by chunk, then ask for its result."""
    chunks: list[Chunk] = []
    seen = SeenTurn(chunks=chunks)
    async with bench.agent.stream(turn.input, **call_options(turn.call, bench)) as stream:
        async for chunk in stream:
            chunks.append(chunk)  # noqa: PERF401 - those before an exception count
        try:
            seen.take(await stream.result())
        except SluicewayError as error:
            seen.error = error
    return seen


async def by_generate(bench: Bench, turn: Turn) -> SeenTurn:
    """Ask for the result of a call alone."""
    seen = SeenTurn()
    try:
        seen.take(await bench.agent.generate(turn.input, **call_options(turn.call, bench)))
    except SluicewayError as error:
        seen.error = error
    return seen


async def observe(case: Case, entry: Entry, bench: Bench | None = None) -> Observed:
    """Run a scenario with a fresh agent, or with the one given.

    Raises:
        TimeoutError: It hangs.
    """
    bench = bench or build_bench(case)
    call = by_stream if entry == "stream" else by_generate
    with anyio.fail_after(LIMIT_S):
        turns = [await call(bench, turn) for turn in case.turns]
    seen = Observed(
        hooks=bench.trace,
        prompts=list(bench.own_model.prompts),
        turns=turns,
        calls=list(bench.own_model.calls),
        other_models={name: len(m.calls) for name, m in bench.models.items() if name != "model"},
    )
    if bench.store is not None:
        from tests.conformance import memory  # only the cases that need storage may fail without it

        seen.stored = await memory.stored(bench.store)
    return seen


def faults_of(case: Case, entry: Entry, backend: str) -> list[str]:
    """Run a scenario and return how it differs from its outcome; nothing where it agrees.

    Whatever the library raises where it should not counts as one more difference.
    """
    try:
        seen = anyio.run(observe, case, entry, backend=backend)
    except (Exception, BaseExceptionGroup, TripWire) as error:  # noqa: BLE001 - all are differences
        return [f"{type(error).__name__}: {error}"]
    return differences(case, seen)
