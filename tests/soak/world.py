"""The agents that all runs share, and a model that does what the fate of its run says."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from sluiceway import Agent, Processor, Workflow, guard, step
from sluiceway.engine import merge
from sluiceway.memory import Memory, SQLiteStore
from sluiceway.messages import Chunk, Usage
from sluiceway.models import ModelRequest, ScriptedModel
from sluiceway.processors import (
    Effects,
    InMemoryCache,
    PIIDetector,
    PromptInjectionDetector,
    ResponseCache,
    StreamErrorRetryProcessor,
    UnicodeNormalizer,
    Violation,
)
from sluiceway.processors.guardrails import CostGuardProcessor, Price, SQLiteLedger
from tests.soak.fates import SECRET, Fate

__all__ = ["Calls", "Logs", "World"]


@dataclass
class Calls:
    """What models saw of one run.

    Args:
        opened: Calls that were answered, at least in part.
        closed: Those that were ended.
        refused: Calls that were refused before anything was sent.
        said: What the provider said that each call took, as far as the end of the answer was read.
        inputs: How often the run began.
    """

    opened: int = 0
    closed: int = 0
    refused: int = 0
    said: list[Usage] = field(default_factory=list[Usage])
    inputs: int = 0


class SoakModel(ScriptedModel):
    """Plays the replies of a fate, and keeps books of what was read of them."""

    def __init__(self, fate: Fate, world: World) -> None:
        super().__init__(list(fate.replies), max_retries=fate.number % 2)
        self.fate = fate
        self.world = world

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        calls = self.world.calls_of(self.fate, request.run_id)
        for message in request.prompt.messages:
            self.world.look(self.fate, "a prompt", repr(message))
        opened = False
        try:
            async with super().stream(request) as chunks:
                opened = True
                calls.opened += 1
                noted = self._noted(chunks, calls)
                try:
                    yield noted
                finally:
                    await noted.aclose()
        finally:
            calls.closed += opened
            calls.refused += not opened

    @staticmethod
    async def _noted(chunks: AsyncIterator[Chunk], calls: Calls) -> AsyncGenerator[Chunk]:
        async for chunk in chunks:
            if chunk.type == "finish" and chunk.get("usage") is not None:
                calls.said.append(chunk.get("usage"))
            yield chunk


class Faulty(Processor):
    """Does in one hook, once per run, what the fate says."""

    def __init__(self, world: World, hook: str) -> None:
        super().__init__(f"faulty-{hook}")
        self.world = world
        self.hook = hook
        setattr(self, hook, self.act)

    async def act(self, ctx: Any) -> Any:
        fate: Fate = ctx.request_context["fate"]
        if self.hook == "process_input":
            self.world.calls_of(fate, ctx.run_id).inputs += 1
        passed = ctx.part if self.hook == "process_output_stream" else None
        does = fate.faults.get(self.hook)
        if does is None or ctx.state.get("done"):
            return passed
        ctx.state["done"] = True
        if does == "raise":
            raise ZeroDivisionError("planted by the soak")
        if does in ("abort", "retry"):
            ctx.abort("planted by the soak", retry=does == "retry")
        if does == "slow":
            await anyio.sleep(0.002)
        return passed


class Stuck(Processor):
    """A check that for some never ends, and so runs into its time limit."""

    effects = Effects(reads=("messages",), external=True)

    async def process_input(self, ctx: Any) -> None:
        if ctx.request_context["fate"].number % 50 == 7:
            await anyio.sleep(60)


@guard("output", id="no-shouting")
def _no_shouting(text: str) -> bool:
    return "SHOUT" not in text


class Logs(logging.Handler):
    """Everything that is logged while runs go on."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: Counter[str] = Counter()
        self.leaks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        self.lines[str(record.msg)] += 1
        if SECRET.search(text):
            self.leaks.append(text)


class World:
    """What all runs share.

    Args:
        folder: Where its databases are.
        redacting: Whether addresses are to be kept out of everything.

    Attributes:
        calls: Run id to what the models saw of it.
        runs: Number of a run to its ids; one that was begun more than once has several.
        leaks: Where something was that must not be there.
    """

    def __init__(self, folder: Path, *, redacting: bool = True) -> None:
        self.redacting = redacting
        self.memory_file = folder / "memory.db"
        self.ledger_file = folder / "costs.db"
        self.store = SQLiteStore(self.memory_file, busy_s=60)
        self.ledger = SQLiteLedger(self.ledger_file)
        self.cache = InMemoryCache()
        self.calls: dict[str, Calls] = {}
        self.runs: dict[int, set[str]] = {}
        self.leaks: list[str] = []
        self.violations = 0
        self.agents = [self._agent(flavour) for flavour in range(3)]

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Keep the databases open, as a service does."""
        async with self.store, self.ledger:
            yield
        await self.store.aclose()
        await self.ledger.aclose()

    def calls_of(self, fate: Fate, run_id: str) -> Calls:
        """Return what models saw of a run."""
        self.runs.setdefault(fate.number, set()).add(run_id)
        return self.calls.setdefault(run_id, Calls())

    def look(self, fate: Fate, where: str, text: str) -> None:
        """Note a secret where there may be none."""
        found = SECRET.search(text)
        if found is not None:
            self.leaks.append(f"{fate.mark}: {found.group()!r} in {where}: {text[:300]!r}")

    def _told(self, violation: Violation) -> None:
        self.violations += 1
        if SECRET.search(f"{violation.message} {violation.detail!r}"):
            self.leaks.append(f"in a violation of {violation.processor_id}: {violation!r}")

    def _agent(self, flavour: int) -> Agent:
        redact = PIIDetector(on_violation=self._told) if self.redacting else Processor.of("none", process_input=_watch)
        watch = Processor.of("watch", process_input=_watch, effects=Effects(reads=("messages",)))
        checks = (
            Workflow("checks")
            .parallel(
                [
                    UnicodeNormalizer(),
                    step(Stuck("stuck"), timeout=0.05, on_error="block"),
                    watch,
                ]
            )
            .map(merge.all())
        )
        return Agent(
            id=f"soak-{flavour}",
            instructions="Answer.",
            model=lambda context: SoakModel(context["fate"], self),
            tools=[lookup, slow, failing],
            input_processors=[
                Faulty(self, "process_input"),
                redact,
                PromptInjectionDetector(on_violation=self._told),
                checks,
                Faulty(self, "process_input_step"),
                CostGuardProcessor(
                    max_cost=1e9,
                    ledger=self.ledger,
                    on_unknown_price=Price(1.0, 2.0),
                    reserve_usd=0.01 * flavour or None,
                ),
                ResponseCache(cache=self.cache, wait_s=5),
            ],
            output_processors=[
                *([redact] if self.redacting else []),
                _no_shouting,
                Faulty(self, "process_output_stream"),
                Faulty(self, "process_output_step"),
                Faulty(self, "process_tool_result"),
                Faulty(self, "process_output_result"),
            ],
            error_processors=[StreamErrorRetryProcessor()],
            memory=Memory(self.store, thread_wait_s=120),
            max_processor_retries=2,
            max_steps=4,
            concurrency="auto" if flavour == 1 else None,
            overlap=flavour == 2,
        )


def _watch(ctx: Any) -> None:
    ctx.warn("watched")


async def lookup(query: str) -> str:
    """Look something up."""
    return f"found for {query}"


async def slow(query: str) -> dict[str, list[str]]:
    """Take a while."""
    await anyio.sleep(0.002)
    return {"found": [query]}


def failing(query: str) -> str:
    """Fail, and say what was asked for."""
    raise OSError(f"the database is down, it cannot tell of {query}")
