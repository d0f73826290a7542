"""Laws of `concurrency="auto"` and `overlap`: whatever runs beside what, the outcome is that of list order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import Agent, Processor, Workflow, tool
from sluiceway.engine import Result
from sluiceway.errors import SluicewayError
from sluiceway.messages import Chunk
from sluiceway.models import ScriptedModel
from sluiceway.processors import Effects, HookEvent, LLMRequest, StepOverrides
from tests.support.processors import hooked

EXAMPLES = 200 if settings().max_examples <= 200 else 5000

INPUT = ("process_input", "process_input_step", "process_llm_request", "process_llm_response")
OUTPUT = ("process_output_step", "process_tool_result", "process_output_result")


@dataclass(frozen=True)
class Move:
    """What a hook does in one call: first waits, then one thing after the other.

    Args:
        waits: How many turns of the event loop, before and after what it does.
        does: Of `warn`, `data`, `accept`, `abort`, `retry`, `fail`, `edit`, `signal`, `override`.
    """

    waits: int
    does: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A processor: whether it writes, whether it is external, and its moves, hook by hook."""

    writes: bool
    external: bool
    hooks: Mapping[str, Sequence[Move]]
    on_error: str = "raise"


CHECKS = ("warn", "data", "accept", "abort", "retry", "fail")
WRITES = (*CHECKS, "edit", "signal", "override")
RARE = ("abort", "retry", "fail")


def moves(does: Sequence[str]) -> st.SearchStrategy[Move]:
    """Moves; one that ends something comes last, and seldom."""
    mild = st.lists(st.sampled_from([one for one in does if one not in RARE]), max_size=2)
    end = st.one_of(st.none(), st.none(), st.none(), st.sampled_from(RARE))
    return st.builds(
        lambda waits, first, last: Move(waits, (*first, *([last] if last else []))), st.integers(0, 3), mild, end
    )


def plans(hooks: Sequence[str]) -> st.SearchStrategy[Plan]:
    """Processors of a list; most of them are checks that wait."""

    def of(writes: bool) -> st.SearchStrategy[Plan]:
        moved = st.lists(moves(WRITES if writes else CHECKS), min_size=1, max_size=2)
        return st.builds(
            Plan,
            writes=st.just(writes),
            external=st.sampled_from([True, True, False]),
            hooks=st.dictionaries(st.sampled_from(hooks), moved, min_size=1, max_size=3),
            on_error=st.sampled_from(["raise", "raise", "block", "continue"]),
        )

    return st.sampled_from([False, False, True]).flatmap(of)


@dataclass
class Told:
    """What processors noticed on the way."""

    violations: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    accepted: list[str] = field(default_factory=list[str])
    events: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


def made(plan: Plan, id: str, told: Told) -> Processor:  # noqa: A002
    """Return the processor of a plan."""
    hooks = {name: _hook(name, moved, id, told) for name, moved in plan.hooks.items()}
    effects = None if plan.writes else Effects(reads=("messages",), external=plan.external)
    return hooked(
        id,
        hooks,
        effects=effects,
        on_violation=lambda violation: told.violations.append((violation.processor_id, violation.message)),
        on_error=plan.on_error,
    )


def _hook(name: str, moved: Sequence[Move], id: str, told: Told) -> Callable[[Any], Any]:  # noqa: A002
    async def run(ctx: Any) -> Any:
        number = ctx.attempt_state.get(name, 0) + ctx.retry_count + (ctx.step_number or 0)
        ctx.attempt_state[name] = number + 1
        move = moved[number % len(moved)]
        # Data that is written while checks are put off joins the reply later: a signal may stand before it.
        seen = "|".join(sorted(message.text for message in ctx.messages if message.text))
        for _ in range(move.waits):
            await anyio.lowlevel.checkpoint()
        returned: Any = None
        for one in move.does:
            returned = await _do(one, ctx, name, f"{id} in {name} saw {seen}", told) or returned
            if move.waits > 2:
                await anyio.lowlevel.checkpoint()
        return returned

    return run


async def _do(what: str, ctx: Any, hook: str, note: str, told: Told) -> Any:
    if what == "warn":
        ctx.warn(note)
    elif what == "data":
        await ctx.writer.custom("data-note", note)
    elif what == "accept":
        ctx.on_step_accepted(lambda step: told.accepted.append(f"{note}: {step.step_number}"))
    elif what in RARE:
        _end(what, ctx, note)
    else:
        return await _write(what, ctx, hook, note)
    return None


def _end(what: str, ctx: Any, note: str) -> None:
    if what == "fail":
        raise ValueError(note)
    ctx.abort(note, retry=what == "retry")


async def _write(what: str, ctx: Any, hook: str, note: str) -> Any:
    if what == "edit":
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text":
                    part.text += "."
    elif what == "signal":
        await ctx.send_signal(note)
    elif hook == "process_llm_request":
        return LLMRequest(prompt=ctx.prompt.map_text(lambda text: text + "!"))
    elif hook == "process_input_step":
        return StepOverrides(model_settings={"temperature": 1})
    return None


@dataclass
class Outcome:
    """All that can be seen of a run, tokens aside: a call that overlaps and is in vain is paid for."""

    chunks: list[tuple[str, Any]]
    result: Any
    error: Any
    told: Told
    prompts: list[list[str]]


def _plain(chunk: Chunk) -> tuple[str, Any]:
    payload = {
        k: v for k, v in chunk.payload.items() if k not in ("usage", "response", "message_id", "error", "message")
    }
    return chunk.type, repr(payload)


def _of_result(result: Result) -> Any:
    trip = result.tripwire
    return (
        result.text,
        result.finish_reason,
        [(step.text, step.finish_reason, [c.tool_call_id for c in step.tool_calls]) for step in result.steps],
        None if trip is None else (trip.reason, trip.processor_id, trip.path, trip.retry, trip.retry_count),
        [[repr(part.type) for part in message.parts] for message in result.response.messages],
        [(entry.processor_id, entry.hook, entry.status, repr(entry.detail)) for entry in _without_ids(result.audit)],
    )


def _without_ids(audit: Sequence[Any]) -> list[Any]:
    return [
        entry if entry.status != "edited" else type(entry)(entry.processor_id, entry.hook, "edited") for entry in audit
    ]


class Stateless:
    """A model whose answer depends on its prompt alone: a call that was in vain does not shift the next."""

    provider = model_id = "stateless"
    structured = True

    def __init__(self) -> None:
        self.prompts: list[Any] = []

    def stream(self, request: Any) -> Any:
        """Ask for the tool, and answer when there is its result."""
        self.prompts.append(request.prompt)
        answered = any(message.role == "tool" for message in request.prompt.messages)
        asks = {"tool_calls": [{"id": "c", "name": "lookup", "args": {}}]}
        return ScriptedModel([["an ", "answer"] if answered else asks]).stream(request)


async def outcome(inputs: Sequence[Plan], outputs: Sequence[Plan], nested: bool, **options: Any) -> Outcome:
    """Run the chain and return what can be seen of it."""
    told = Told()

    @tool
    def lookup() -> str:
        """Look something up."""
        return "found"

    listed: list[Any] = [made(plan, f"in-{number}", told) for number, plan in enumerate(inputs)]
    if nested and listed:
        chain = Workflow("nested")
        for processor in listed:
            chain = chain.then(processor)
        listed = [chain]
    model = Stateless()
    agent = Agent(
        id="a",
        model=model,
        tools=[lookup],
        input_processors=listed,
        output_processors=[made(plan, f"out-{number}", told) for number, plan in enumerate(outputs)],
        max_processor_retries=2,
        **options,
    )

    def observe(event: HookEvent) -> None:
        told.events.append((event.hook, event.processor_id, event.step_number, event.attempt, event.outcome))

    chunks: list[Chunk] = []
    result = error = None
    async with agent.stream("hello", observer=observe) as stream:
        chunks.extend([chunk async for chunk in stream])
        try:
            result = _of_result(await stream.result())
        except SluicewayError as raised:
            error = (type(raised), str(raised), getattr(raised, "processor_id", None))
    prompts = [sorted(message.text for message in prompt.messages) for prompt in model.prompts]
    return Outcome([_plain(chunk) for chunk in chunks], result, error, told, prompts)


@settings(max_examples=EXAMPLES)
@given(
    st.sampled_from(["asyncio", "trio"]),
    st.lists(plans(INPUT), max_size=5),
    st.lists(plans(OUTPUT), max_size=3),
    st.booleans(),
    st.sampled_from([{"concurrency": "auto"}, {"overlap": True}, {"concurrency": "auto", "overlap": True}]),
)
def test_the_outcome_is_that_of_list_order(
    backend: str, inputs: list[Plan], outputs: list[Plan], nested: bool, options: dict[str, Any]
) -> None:
    """Same chunks, result, error, violations, audit, accepted steps, observer's events."""

    async def both() -> tuple[Outcome, Outcome]:
        return await outcome(inputs, outputs, nested), await outcome(inputs, outputs, nested, **options)

    plain, beside = anyio.run(both, backend=backend)

    if options.get("overlap"):  # may have asked the model in vain
        asked = iter(beside.prompts)
        assert all(prompt in asked for prompt in plain.prompts)
        beside.prompts = plain.prompts
    assert beside == plain
