"""Laws about whole runs: what a failure lets through, what a cancellation leaves, what runs share."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import anyio
import anyio.lowlevel

from sluiceway.agent import Agent
from sluiceway.engine import Result
from sluiceway.errors import ConfigurationError, SluicewayError
from sluiceway.memory import InMemoryStore, Memory
from sluiceway.messages import Chunk
from sluiceway.models import ScriptedModel
from sluiceway.processors import HOOKS_OF, HookName, Processor, hooks_of
from sluiceway.testing._cancel import CancelAt
from sluiceway.testing._chunks import block_texts
from sluiceway.testing._law import EXAMPLES, broken, hold, hooks_under_test, named, subjects
from sluiceway.testing._outcome import Outcome, Subject, Trial, is_workflow, lists_for
from sluiceway.testing._running import Backend, run_blocking
from sluiceway.testing._source import Generator, Source
from sluiceway.testing._texts import checked_texts, make_cut, text_from

__all__ = ["assert_cancel_safe", "assert_fails_closed", "assert_state_isolated"]

_THREAD: dict[str, Any] = {"thread": "t1", "resource": "u1"}
_INPUT = frozenset(HOOKS_OF["input"]) - {"process_api_error"}


def assert_state_isolated(
    processor: object, texts: Iterable[str] | None = None, *, examples: int = EXAMPLES, backend: Backend = "asyncio"
) -> None:
    """A run gives the same alone, after another one, and while another one is going on.

    Args:
        processor: A processor or workflow. It is copied for each case where that can be done.
        texts: The texts in what it is run on; None: made up.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: Something gets from one run into another.
    """

    def wrong(pair: _Pair) -> str | None:
        item = _fresh(processor)

        async def ran() -> tuple[Outcome, Outcome, Outcome]:
            alone, _ = await trial.run([_fresh(processor)], pair.subject)
            beside: list[Outcome] = []

            async def go_on() -> None:
                beside.append((await trial.run([item], pair.subject))[0])

            async with anyio.create_task_group() as group:
                group.start_soon(trial.run, [item], pair.others[0])
                group.start_soon(go_on)
            for other in pair.others:
                await trial.run([item], other)
            after, _ = await trial.run([item], pair.subject)
            return alone, beside[0], after

        alone, beside, after = run_blocking(ran, backend)
        if alone != after:
            return broken(alone, after, than="alone:", as_="after another run:")
        return None if alone == beside else broken(alone, beside, than="alone:", as_="beside another run:")

    for hook in hooks_under_test("isolated state", [processor]):
        make, trial = _pairs(subjects(hook, texts)), Trial()
        hold(f"isolated state ({hook})", named(processor), make, wrong, examples, trial)


def _pairs(make: Generator[Subject]) -> Generator[_Pair]:
    # Several others, so that what shows in every second or third run does not stay hidden.
    return lambda source: _Pair(make(source), tuple(source.many(make, 1, 3)))


@dataclass(frozen=True)
class _Pair:
    subject: Subject
    others: tuple[Subject, ...]

    def __str__(self) -> str:
        runs = "the other run is" if len(self.others) == 1 else f"{len(self.others)} other runs are"
        return f"{self.subject}\n  {runs} on {' and '.join(map(str, self.others))}"


def _fresh(processor: object) -> object:
    """Return a copy, or the thing itself where it cannot be copied."""
    try:
        return copy.deepcopy(processor)
    except (TypeError, AttributeError, RecursionError):
        return processor


# -- failures


class _Failing:
    """A processor of which one call of a hook fails, after it has done its work."""

    process_data_parts = False
    effects = None

    def __init__(self, inner: Any, hook: HookName, at: int) -> None:
        self.id: str = inner.id
        self.on_error = getattr(inner, "on_error", "raise")
        self.inner = inner
        self.left = at
        self.failed = False
        self.cleared: list[str] = []
        """The text of each chunk that it let through before."""
        for name in hooks_of(inner):
            setattr(self, name, self._hook(name, hook))

    def _hook(self, name: HookName, failing: HookName) -> Any:
        async def run(ctx: Any) -> Any:
            result = getattr(self.inner, name)(ctx)
            if hasattr(result, "__await__"):
                result = await result
            if name == failing and not self.failed:
                self.left -= 1
                if self.left < 0:
                    self.failed = True
                    raise RuntimeError("planted by the law")
            if name in ("process_output_stream", "finish_output_stream") and not self.failed:
                self.cleared += [chunk.text for chunk in _chunks(result)]
            return result

        return run


def _chunks(result: Any) -> Sequence[Chunk]:
    if result is None:
        return ()
    return (result,) if isinstance(result, Chunk) else cast("Sequence[Chunk]", tuple(result))


@dataclass(frozen=True)
class _Fault:
    hook: HookName
    at: int
    deltas: tuple[str, ...]
    said: str

    def __str__(self) -> str:
        return f"{self.hook} failing at call {self.at + 1}, user {self.said!r}, answer {list(self.deltas)!r}"


def assert_fails_closed(
    processor: object, texts: Iterable[str] | None = None, *, examples: int = EXAMPLES, backend: Backend = "asyncio"
) -> None:
    """When a hook raises, the run ends: nothing uncleared is delivered, no model called after, nothing stored.

    A call of each hook is made to fail in turn, in an agent with a memory.

    Args:
        processor: A processor.
        texts: What the user says and the model answers; None: made up.
        examples: How many cases are tried.
        backend: The event loop.

    Raises:
        AssertionError: Something got through, as with `on_error="continue"`.
    """
    if is_workflow(processor):
        raise ConfigurationError(
            f"failing closed: {named(processor)} is a workflow; try the law on the processors in it"
        )
    text = text_from(checked_texts(texts))
    never_called: set[HookName] = {"process_api_error", "process_tool_result"}  # no refusals and no tools here
    hooks: tuple[HookName, ...] = tuple(hook for hook in hooks_of(processor) if hook not in never_called)
    if not hooks:
        hooks_under_test("failing closed", [processor], ())

    def make(source: Source) -> _Fault:
        deltas = make_cut(source, text(source)) or ["ok"]
        return _Fault(source.pick(hooks), source.integer(0, 2), tuple(deltas), text(source) or "hello")

    def wrong(fault: _Fault) -> str | None:
        return run_blocking(lambda: _let_through(_Failing(processor, fault.hook, fault.at), fault), backend)

    hold("failing closed", named(processor), make, wrong, examples)


async def _let_through(failing: _Failing, fault: _Fault) -> str | None:
    store = InMemoryStore()
    model = ScriptedModel([list(fault.deltas)])
    ran = await _run(failing, model, store, fault.said)
    if not failing.failed:
        return None  # the call that should have failed was never made
    if ran.result is not None and ran.result.tripwire is None:
        return f"the run ended as if nothing had failed, with {ran.result.text!r}"
    if fault.hook in ("process_input", "process_input_step", "process_llm_request") and model.calls:
        return "the model was called after the failure"
    cleared = "".join(failing.cleared)
    if fault.hook.endswith("output_stream") and not cleared.startswith(ran.text):
        return f"delivered: {ran.text!r}; cleared before the failure: {cleared!r}"
    stored = await store.newest(_THREAD["thread"])
    return f"stored after the failure: {[row.document for row in stored]!r}" if stored else None


@dataclass
class _Ran:
    text: str
    result: Result | None
    error: SluicewayError | None = None


def _agent(processor: Any, model: ScriptedModel, store: InMemoryStore) -> Agent:
    if is_workflow(processor):
        lists = lists_for(processor)
        before, behind = ([processor] if kind in lists else [] for kind in ("input", "output"))
    else:
        hooks = hooks_of(processor)
        before = [processor] if any(hook in _INPUT for hook in hooks) else []
        behind = [processor] if any(hook not in _INPUT for hook in hooks) else []
    return Agent(id="tested", model=model, input_processors=before, output_processors=behind, memory=Memory(store))


async def _run(processor: Any, model: ScriptedModel, store: InMemoryStore, said: str) -> _Ran:
    async with _agent(processor, model, store).stream(said, memory=_THREAD) as stream:
        text = "".join(block_texts([chunk async for chunk in stream]).values())
        try:
            return _Ran(text, await stream.result())
        except SluicewayError as error:
            return _Ran(text, None, error)


# -- cancellation


@dataclass(frozen=True)
class _Cancelled:
    at: int
    deltas: tuple[str, ...]

    def __str__(self) -> str:
        return f"cancelled at wait {self.at} of a run that answers {list(self.deltas)!r}"


def assert_cancel_safe(
    processor: Processor | object,
    texts: Iterable[str] | None = None,
    *,
    examples: int = EXAMPLES,
    backend: Backend = "asyncio",
) -> None:
    """Cancelled at any await point, a run stores nothing, leaves no task, and the next run is as if it had not been.

    Args:
        processor: A processor.
        texts: What the model answers; None: made up.
        examples: How many cases are tried.
        backend: The event loop.

    Raises:
        AssertionError: Something stays behind, or the cancellation is swallowed.
    """
    text = text_from(checked_texts(texts))

    def make(source: Source) -> _Cancelled:
        return _Cancelled(source.integer(1, 40), tuple(make_cut(source, text(source)) or ["ok"]))

    def wrong(case: _Cancelled) -> str | None:
        return run_blocking(lambda: _left_behind(processor, case), backend)

    hold("safe to cancel", named(processor), make, wrong, examples)


async def _left_behind(processor: object, case: _Cancelled) -> str | None:
    def model() -> ScriptedModel:
        return ScriptedModel([list(case.deltas)])

    expected = await _run(_fresh(processor), model(), InMemoryStore(), "hello")
    if expected.error is not None:
        return f"also where nobody cancels it, the run ends with {type(expected.error).__name__}: {expected.error}"
    item, store = _fresh(processor), InMemoryStore()
    before = len(anyio.get_running_tasks())
    with anyio.CancelScope() as scope:
        awaited = CancelAt(_run(item, model(), store, "hello"), scope, case.at)
        await awaited
        if scope.cancel_called and case.at < awaited.waits - 2:
            return "the cancellation was swallowed: the run went on to its end"
    if not scope.cancelled_caught:
        return None
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    if len(anyio.get_running_tasks()) > before:
        return f"tasks left: {[task.name for task in anyio.get_running_tasks()][before:]!r}"
    if rows := await store.newest(_THREAD["thread"]):
        return f"stored by the cancelled run: {[row.document for row in rows]!r}"
    again = await _run(item, model(), store, "hello")
    if (again.text, _ended(again)) != (expected.text, _ended(expected)):
        return broken(expected.text, again.text, than="never cancelled:", as_="the run after:")
    return None


def _ended(ran: _Ran) -> str:
    if ran.result is None:
        return "error"
    return "tripwire" if ran.result.tripwire is not None else ran.result.text
