"""One run of a workflow on its own: walks the plan, keeps a record of each step."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from sluiceway._types import MISSING
from sluiceway.engine._clock import clock
from sluiceway.engine._context import EventSink, StepContext, Suspend
from sluiceway.engine._fan import Outcome, fan_out, raise_first, unwrapped
from sluiceway.engine._merge import Merge
from sluiceway.engine._plan import (
    Arm,
    Call,
    Choice,
    Condition,
    ForEach,
    Loop,
    Map,
    Node,
    Parallel,
    Plan,
    Sleep,
    Sub,
    nodes,
)
from sluiceway.engine._records import EventType, StepRecord
from sluiceway.engine._retry import guarded, located
from sluiceway.engine._step import PLAIN, Data, StepOptions, can_fork
from sluiceway.errors import (
    ConfigurationError,
    LimitExceeded,
    RunError,
    StepError,
    TripWire,
)
from sluiceway.tools import RequestContext

__all__ = ["Events", "Flow", "Indices", "Positions", "Progress", "Waiting", "isolated", "position"]

T = TypeVar("T")
Indices = tuple[int, ...]

_WAITING: Final = object()


class Waiting(BaseException):
    """A step below waits to be resumed."""


class Events(EventSink):
    """Where a run's events go, as the run itself sees it."""

    async def step(self, type: EventType, record: StepRecord) -> None:  # noqa: A002
        """Take what happened to a step."""


def position(path: str, indices: Indices) -> str:
    """Return where a step stands, items of a `foreach` counted."""
    return path + "".join(f"[{index}]" for index in indices)


class Positions(Generic[T]):
    """One thing per place of a run: a path, and an index for each `foreach` around it."""

    __slots__ = ("_by_path",)

    def __init__(self) -> None:
        self._by_path: dict[str, dict[Indices, T]] = {}

    def get(self, path: str, indices: Indices) -> T | None:
        """Return what is there, or None."""
        there = self._by_path.get(path)
        return None if there is None else there.get(indices)

    def put(self, path: str, indices: Indices, value: T) -> None:
        """Put something there; it counts as the newest."""
        there = self._by_path.setdefault(path, {})
        there.pop(indices, None)
        there[indices] = value

    def drop(self, path: str, indices: Indices) -> None:
        """Forget what is there and in all items below."""
        there = self._by_path.get(path)
        if there is None:
            return
        depth = len(indices)
        if len(next(iter(there), ())) == depth:
            there.pop(indices, None)
            return
        for key in [key for key in there if key[:depth] == indices]:
            del there[key]

    def items(self) -> Iterator[tuple[str, Indices, T]]:
        """Give everything with its place."""
        for path, there in self._by_path.items():
            for indices, value in there.items():
                yield path, indices, value


@dataclass(slots=True)
class Progress:
    """How far a loop has come: the iteration it is in, what went into it, whether it was the last."""

    iteration: int
    data: Data
    done: bool = False


@dataclass(slots=True)
class _Frame:
    """Where the walk is: which results are seen, which items of `foreach` are run."""

    results: MutableMapping[str, Data]
    indices: Indices = ()
    iteration: int = 1


@dataclass(slots=True)
class Flow:
    """The state of one run, and the walk over its plan.

    What has been finished before (see the records) is not run again. A step that was
    suspended runs only if there is an answer for it.

    Args:
        run_id: The run.
        input: What it was started with.
        state: The run's state.
        request_context: The request it serves.
        events: Where events go, or None.
    """

    run_id: str
    input: Data
    state: Any
    request_context: RequestContext
    events: Events | None = None
    records: Positions[StepRecord] = field(default_factory=Positions[StepRecord])
    choices: Positions[str] = field(default_factory=Positions[str])
    loops: Positions[Progress] = field(default_factory=Positions[Progress])
    limits: Positions[int] = field(default_factory=Positions[int])
    answers: dict[tuple[str, Indices], Data] = field(default_factory=dict[tuple[str, Indices], Data])

    async def run(self, plan: Plan, data: Data) -> Data:
        """Walk the whole plan.

        Raises:
            Waiting: At least one step waits to be resumed; all others that could run have.
            TripWire: A step aborted.
            RunError: A step failed.
        """
        return await self._walk(plan, data, _Frame({}))

    async def _walk(self, plan: Plan, data: Data, frame: _Frame) -> Data:
        base: Data = MISSING
        skipped = False
        for node in plan:
            match node:
                case Map():
                    data = data if skipped else await self._map(node, base, data, frame)
                    base, skipped = MISSING, False
                case Parallel():
                    base, skipped = data, False
                    data = await self._parallel(node, data, frame)
                case Choice():
                    base = data
                    arm = await self._choose(node, data, frame)
                    skipped = arm is None
                    if arm is not None:
                        data = {arm.key: await self._walk(arm.plan, data, frame)}
                case _:
                    base, skipped = MISSING, False
                    data = await self._node(node, data, frame)
        return data

    async def _node(self, node: Node, data: Data, frame: _Frame) -> Data:
        match node:
            case Call():
                output = await self._recorded(node, node.step.id, node.options, data, frame)
                frame.results[node.step.key] = output
                return output
            case Sub():
                output = await self._recorded(node, node.id, node.options, data, frame)
                frame.results[node.id] = output
                return output
            case Loop():
                return await self._loop(node, data, frame)
            case ForEach():
                return await self._for_each(node, data, frame)
            case Sleep():
                return await self._recorded(node, "sleep", PLAIN, data, frame)
            case _:
                return await self._walk((node,), data, frame)

    async def _recorded(
        self, node: Call | Sub | Sleep, step_id: str, options: StepOptions, data: Data, frame: _Frame
    ) -> Data:
        place = (node.path, frame.indices)
        known = self.records.get(*place)
        if known is not None and known.status == "success":
            return known.output
        inner = isinstance(node, Sub)
        if known is not None and not inner and known.status == "suspended" and place not in self.answers:
            raise Waiting
        await checkpoint_if_cancelled()  # no more than that: branches start in list order
        if known is None or not inner:
            known = StepRecord(position(*place), step_id, input=data, started=clock().now())
            known.iteration = frame.iteration
            self.records.put(*place, known)
            await self._tell("step-start", known)
        record = known
        try:
            record.output = await self._run(node, record, options, data, frame)
        except BaseException as error:
            raised = await self._ended(record, unwrapped(error))
            if raised is error:
                raise
            raise raised from (None if isinstance(raised, Waiting) else error)
        record.status, record.ended = "success", clock().now()
        await self._tell("step-finish", record)
        return record.output

    async def _run(
        self, node: Call | Sub | Sleep, record: StepRecord, options: StepOptions, data: Data, frame: _Frame
    ) -> Data:
        if isinstance(node, Sleep):
            await clock().sleep(node.seconds)
            return data
        answered = (node.path, frame.indices) in self.answers
        answer: Data = self.answers.pop((node.path, frame.indices), None)

        async def attempt(number: int) -> Data:
            record.attempt = number
            if isinstance(node, Sub):
                if number > 1:
                    self._forget(node.plan, frame.indices)
                return await self._walk(node.plan, data, _Frame({}, frame.indices, frame.iteration))
            ctx = self._context(node.path, record.step_id, frame)
            ctx.attempt, ctx.resumed, ctx.resume_data = number, answered, answer
            return await node.step.run(data, ctx)

        if options.bare:
            return await attempt(1)
        return await guarded(attempt, options, path=record.path, run_id=self.run_id, unchanged=data)

    async def _ended(self, record: StepRecord, error: BaseException) -> BaseException:
        """Book how a step ended that did not succeed, and return what is to be raised."""
        raised = error
        if isinstance(error, Suspend):
            record.status, record.payload = "suspended", error.payload
            raised = Waiting()
        elif isinstance(error, Waiting):
            record.status = "suspended"
        elif isinstance(error, TripWire):
            record.status = "tripwire"
            error.path = error.path or record.path
        elif isinstance(error, Exception):
            record.status = "failed"
            record.error = raised = self._failure(record.step_id, record.path, error)
        else:
            record.status = "cancelled"
        if record.status != "suspended":
            record.ended = clock().now()
        if not isinstance(error, Waiting) and record.status != "cancelled":
            await self._tell("step-suspended" if record.status == "suspended" else "step-finish", record)
        return raised

    def _failure(self, step_id: str, path: str, error: Exception) -> RunError:
        if isinstance(error, StepError | LimitExceeded) or (isinstance(error, RunError) and error.path == path):
            return error
        wrapped = located(error, path=path, step_id=step_id, run_id=self.run_id)
        wrapped.__cause__ = error
        return wrapped

    async def _tell(self, type: EventType, record: StepRecord) -> None:  # noqa: A002
        if self.events is not None:
            await self.events.step(type, record)

    def _context(self, path: str, step_id: str, frame: _Frame) -> StepContext:
        return StepContext(
            run_id=self.run_id,
            path=position(path, frame.indices),
            step_id=step_id,
            input=self.input,
            state=self.state,
            results=MappingProxyType(frame.results),
            request_context=self.request_context,
            iteration=frame.iteration,
            sink=self.events,
        )

    async def _ask(self, fn: Condition, path: str, data: Data, frame: _Frame) -> Data:
        """Call a map or condition."""
        try:
            answer = fn(data, self._context(path, path, frame))
            return await cast("Any", answer) if isawaitable(answer) else answer
        except Suspend:
            message = "only a step can suspend, not a map or a condition; put it into a step before"
            refused = ConfigurationError(message)
            raise self._failure(path, position(path, frame.indices), refused) from refused
        except Exception as error:
            raise self._failure(path, position(path, frame.indices), error) from error

    async def _map(self, node: Map, base: Data, data: Data, frame: _Frame) -> Data:
        fn = node.fn
        if isinstance(fn, Merge):
            given = None if base is MISSING else base
            return await self._ask(lambda outputs, _: fn.merge(given, outputs), node.path, data, frame)
        return await self._ask(fn, node.path, data, frame)

    async def _choose(self, node: Choice, data: Data, frame: _Frame) -> Arm | None:
        known = self.choices.get(node.path, frame.indices)
        if known is not None:
            arms = (*node.arms, *((node.default,) if node.default else ()))
            return next((arm for arm in arms if arm.key == known), None)
        chosen = node.default
        for arm in node.arms:
            if arm.condition is None or await self._ask(arm.condition, node.path, data, frame):
                chosen = arm
                break
        self.choices.put(node.path, frame.indices, "" if chosen is None else chosen.key)
        return chosen

    async def _parallel(self, node: Parallel, data: Data, frame: _Frame) -> Data:
        walks = [partial(self._waiting, arm.plan, isolated(data), frame) for arm in node.branches]
        outcomes = await fan_out(walks, wait=node.wait)
        self._settle(outcomes, [arm.key for arm in node.branches])
        return {arm.key: outcome.value for arm, outcome in zip(node.branches, outcomes, strict=True)}

    async def _waiting(self, plan: Plan, data: Data, frame: _Frame) -> Data:
        """Walk one branch; that it waits is no reason for the others to stop."""
        try:
            return await self._walk(plan, data, frame)
        except Waiting:
            return _WAITING

    @staticmethod
    def _settle(outcomes: list[Outcome], names: list[str]) -> None:
        raise_first(outcomes, names)
        if any(outcome.value is _WAITING for outcome in outcomes):
            raise Waiting

    async def _for_each(self, node: ForEach, data: Data, frame: _Frame) -> Data:
        if not isinstance(data, list | tuple):
            message = f"{position(node.path, frame.indices)}: foreach takes a list, not {type(data).__name__}"
            raise StepError(message, step_id="foreach", run_id=self.run_id, path=node.path, retryable=False)
        items = list(cast("list[Data]", data))
        limit = self.limits.get(node.path, frame.indices)
        if limit is None:
            limit = await self._limit(node, data, frame)
            self.limits.put(node.path, frame.indices, limit)
        walks = [partial(self._waiting, node.body, item, self._item(frame, index)) for index, item in enumerate(items)]
        outcomes = await fan_out(walks, limit=limit)
        self._settle(outcomes, [f"{node.path}[{index}]" for index in range(len(items))])
        outputs = [outcome.value for outcome in outcomes]
        frame.results[_key(node.body[0])] = outputs
        return outputs

    @staticmethod
    def _item(frame: _Frame, index: int) -> _Frame:
        return _Frame(ChainMap({}, frame.results), (*frame.indices, index), index + 1)

    async def _limit(self, node: ForEach, data: Data, frame: _Frame) -> int:
        asked = node.concurrency
        limit = asked if isinstance(asked, int) else await self._ask(asked, node.path, data, frame)
        if not isinstance(limit, int) or limit < 1:
            message = f"{node.path}: concurrency is a whole number from 1, not {limit!r}"
            raise StepError(message, step_id="foreach", run_id=self.run_id, path=node.path, retryable=False)
        return limit

    async def _loop(self, node: Loop, data: Data, frame: _Frame) -> Data:
        progress = self.loops.get(node.path, frame.indices) or Progress(1, data)
        self.loops.put(node.path, frame.indices, progress)
        while True:
            inside = _Frame(frame.results, frame.indices, progress.iteration)
            output = await self._walk(node.body, progress.data, inside)
            if not progress.done:
                answer = await self._ask(node.condition, node.path, output, inside)
                progress.done = bool(answer) == node.until
            if progress.done:
                return output
            if progress.iteration >= node.max_iterations:
                message = f"{node.path}: has not ended after {node.max_iterations} iterations (max_iterations)"
                raise LimitExceeded(message, run_id=self.run_id, path=node.path)
            self._forget(node.body, frame.indices)
            progress.iteration += 1
            progress.data = output
            await checkpoint()

    def _forget(self, plan: Plan, indices: Indices) -> None:
        for node in nodes(plan):
            for memory in (self.records, self.choices, self.loops, self.limits):
                memory.drop(node.path, indices)


def _key(node: Node) -> str:
    """Return what the output of a step goes by in `ctx.results`."""
    return node.step.key if isinstance(node, Call) else node.id if isinstance(node, Sub) else node.path


def isolated(data: Data) -> Data:
    """Return data that a branch may write to: plain containers are copied, forkable data forks."""
    kind = cast("type[Any]", type(data))
    if kind is dict:
        return {key: isolated(value) for key, value in data.items()}
    if kind is list:
        return [isolated(value) for value in data]
    if kind is tuple:
        return tuple(isolated(value) for value in data)
    if kind is set:
        return set(data)
    return data.fork() if can_fork(data) else data
