"""A run as JSON: what a store keeps of it, and how it comes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import datetime
from typing import Any, Final, cast

from pydantic import BaseModel, Field, SecretBytes, SecretStr, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from sluiceway._types import JSON, MISSING
from sluiceway.engine._flow import Flow, Indices, Progress, isolated, position
from sluiceway.engine._plan import Call, Choice, Loop, nodes
from sluiceway.engine._records import RunStatus, StepRecord, StepStatus, WorkflowResult
from sluiceway.engine._results import Tripped
from sluiceway.engine._spec import FlowSpec
from sluiceway.engine._step import Data
from sluiceway.engine._typed import TypeCheck, fault, plain_json
from sluiceway.errors import LimitExceeded, RunError, SnapshotError, StepError, StepTimeoutError
from sluiceway.tools import RequestContext

__all__ = ["Restored", "dump_run", "load_run"]

FORMAT: Final = 1
_KNOWN: Final[dict[str, type[RunError]]] = {
    kind.__name__: kind for kind in (LimitExceeded, SnapshotError, StepTimeoutError)
}
"""Errors that come back as what they were; all others as a `StepError` with their text."""
_INPUT: Final = "$input"
_OUTPUT: Final = "$output"
_STATE: Final = "$state"


class _Value(BaseModel):
    """A value, stored once however often it is used, and where its type is declared."""

    v: Any
    t: str | None = None


class _Error(BaseModel):
    type: str
    message: str
    path: str | None = None
    step_id: str | None = None
    retryable: bool = False


class _Step(BaseModel):
    path: str
    at: list[int] = Field(default_factory=list[int])
    id: str
    status: StepStatus
    input: int | None = None
    output: int | None = None
    payload: Any = None
    error: _Error | None = None
    started: datetime | None = None
    ended: datetime | None = None
    attempt: int = 1
    iteration: int = 1


class _Place(BaseModel):
    path: str
    at: list[int] = Field(default_factory=list[int])


class _Choice(_Place):
    value: str


class _Limit(_Place):
    # One of 0 would let nothing run, and so wait for ever.
    value: int = Field(ge=1)


class _Loop(_Limit):
    data: int | None = None
    done: bool = False


class _Tripwire(BaseModel):
    reason: str
    processor_id: str | None = None
    path: str | None = None
    retry: bool = False
    retry_count: int = 0
    metadata: dict[str, Any] | None = None


class _Run(BaseModel):
    """The whole of it. Later formats only add to this one."""

    format: int
    workflow: str
    fingerprint: str
    nodes: list[str]
    status: RunStatus
    values: list[_Value]
    input: int | None
    state: int | None
    output: int | None = None
    error: _Error | None = None
    tripwire: _Tripwire | None = None
    context: dict[str, Any] = Field(default_factory=dict[str, Any])
    resource_id: str | None = None
    thread_id: str | None = None
    steps: list[_Step] = Field(default_factory=list[_Step])
    choices: list[_Choice] = Field(default_factory=list[_Choice])
    loops: list[_Loop] = Field(default_factory=list[_Loop])
    limits: list[_Limit] = Field(default_factory=list[_Limit])


@dataclass(slots=True)
class Restored:
    """A stored run, come back."""

    flow: Flow
    result: WorkflowResult
    fingerprint: str
    nodes: tuple[str, ...]


def dump_run(spec: FlowSpec, flow: Flow, result: WorkflowResult) -> str:
    """Return a run as JSON text. Its size grows with the data, each value being stored once.

    Raises:
        SnapshotError: Something in it is not JSON, or holds a secret of the request context.
    """
    try:
        text = json.dumps(_Writer(spec, flow).run(result))
    except RecursionError:
        raise SnapshotError(f"{spec.id}: the data is nested too deep to be stored") from None
    leak = _leak(text, flow.request_context)
    if leak is not None:
        raise SnapshotError(
            f"{spec.id}: the data of the run holds the value of the secret {leak!r} of the request context, "
            "which is never stored; read it from ctx.request_context where it is needed"
        )
    return text


class _Writer:
    def __init__(self, spec: FlowSpec, flow: Flow) -> None:
        self.spec = spec
        self.flow = flow
        self.values: list[JSON] = []
        self.known: dict[int, int] = {}
        self.texts: dict[str, int] = {}
        self.types = _types(spec)
        self.secrets = tuple(_secrets(flow.request_context))

    def run(self, result: WorkflowResult) -> JSON:
        flow, spec = self.flow, self.spec
        given = self._typed(flow.input, _INPUT, f"{spec.id}: the input")
        state = self._typed(flow.state, _STATE, f"{spec.id}: the state")
        # Outputs first: an input is mostly the output of the step before, with its type.
        outputs = {
            record.path: self._typed(record.output, path, f"{record.path}: the output")
            for path, _, record in flow.records.items()
            if record.status == "success"
        }
        output = None
        if result.status == "success":
            output = self._typed(result.output, _OUTPUT, f"{spec.id}: the output")
        return {
            "format": FORMAT,
            "workflow": spec.id,
            "fingerprint": spec.fingerprint,
            "nodes": list(spec.nodes),
            "status": result.status,
            "input": given,
            "state": state,
            "output": output,
            "error": self._error(result.error),
            "tripwire": self._tripwire(result.tripwire),
            "context": plain_json(flow.request_context.public(), f"{spec.id}: the request context"),
            "resource_id": flow.request_context.resource_id,
            "thread_id": flow.request_context.thread_id,
            "steps": [self._step(path, at, record, outputs) for path, at, record in flow.records.items()],
            "choices": [_place(path, at, key) for path, at, key in flow.choices.items()],
            "loops": [
                _place(path, at, loop.iteration)
                | {"data": self._typed(loop.data, path, f"{path}: the data"), "done": loop.done}
                for path, at, loop in flow.loops.items()
            ],
            "limits": [_place(path, at, limit) for path, at, limit in flow.limits.items()],
            "values": self.values,
        }

    def _typed(self, value: Data, kind: str, where: str) -> int:
        known = self.known.get(id(value))
        if known is not None:
            return known
        check = self.types.get(kind)
        if check is None or value is None:
            return self._put(value, {"v": plain_json(value, where)})
        try:
            stored = plain_json(check.dump(value), where)
        except (ValueError, PydanticSerializationError, TypeError) as error:
            raise SnapshotError(f"{where} cannot be stored as {check.declared!r}: {error}") from error
        return self._put(value, {"v": stored, "t": kind})

    def _put(self, value: Data, stored: JSON) -> int:
        text = json.dumps(stored)
        index = self.texts.setdefault(text, len(self.values))
        if index == len(self.values):
            self.values.append(stored)
        self.known[id(value)] = index
        return index

    def _step(self, path: str, at: Indices, record: StepRecord, outputs: Mapping[str, int]) -> JSON:
        try:
            payload = to_jsonable_python(record.payload)
        except PydanticSerializationError as error:
            raise SnapshotError(f"{record.path}: the payload is not JSON: {error}") from error
        return {
            "path": path,
            "at": list(at),
            "id": record.step_id,
            "status": record.status,
            "input": self._input(record, path),
            "output": outputs.get(record.path),
            "payload": payload,
            "error": self._error(record.error),
            "started": record.started and record.started.isoformat(),
            "ended": record.ended and record.ended.isoformat(),
            "attempt": record.attempt,
            "iteration": record.iteration,
        }

    def _input(self, record: StepRecord, path: str) -> int | None:
        """Inputs are only for people: a resumed run computes them anew. So they may be left out."""
        if record.input is MISSING:
            return None
        try:
            return self._typed(record.input, f"{path}$input", "the input")
        except SnapshotError:
            return None

    def _error(self, error: BaseException | None) -> JSON:
        if error is None:
            return None
        return {
            "type": type(error).__name__,
            "message": self._masked(str(error)),
            "path": getattr(error, "path", None),
            "step_id": getattr(error, "step_id", None),
            "retryable": getattr(error, "retryable", False),
        }

    def _tripwire(self, tripwire: Tripped | None) -> JSON:
        if tripwire is None:
            return None
        stored: dict[str, JSON] = to_jsonable_python(asdict(tripwire), fallback=repr)
        return self._masked(stored)

    def _masked(self, value: Any) -> Any:
        """Return texts that are for people without what is secret in them."""
        if isinstance(value, str):
            for _, secret in self.secrets:
                value = value.replace(secret, "[secret]")
            return value
        if isinstance(value, list):
            return [self._masked(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {self._masked(key): self._masked(item) for key, item in items}
        hidden = isinstance(value, int) and any(secret == str(value) for _, secret in self.secrets)
        return "[secret]" if hidden else value


def _place(path: str, at: Indices, value: int | str) -> dict[str, JSON]:
    return {"path": path, "at": list(at), "value": value}


def load_run(spec: FlowSpec, run_id: str, text: str) -> Restored:
    """Return a run from its JSON text.

    Raises:
        SnapshotError: The text is no run of this workflow that can be read.
    """
    try:
        stored = _Run.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        said = fault(error) if isinstance(error, ValidationError) else str(error)
        raise SnapshotError(f"run {run_id!r} is stored in a form that cannot be read: {said}") from None
    if stored.format > FORMAT:
        raise SnapshotError(f"run {run_id!r} was stored by a newer version (format {stored.format})")
    if stored.workflow != spec.id:
        raise SnapshotError(f"run {run_id!r} belongs to workflow {stored.workflow!r}, not {spec.id!r}")
    reader = _Reader(spec, run_id, stored)
    reader.check()
    try:
        return reader.run()
    except RecursionError:
        raise SnapshotError(f"run {run_id!r}: the data is nested too deep to be restored", run_id=run_id) from None


@dataclass(slots=True)
class _Reader:
    spec: FlowSpec
    run_id: str
    stored: _Run
    shared: dict[int, Data] = field(default_factory=dict[int, Data])

    def damaged(self, what: str) -> SnapshotError:
        return SnapshotError(f"run {self.run_id!r} is damaged: {what}; start it anew", run_id=self.run_id)

    def check(self) -> None:
        """Refuse what would be passed over in silence, so that a step ran again or an arm not at all."""
        stored = self.stored
        if stored.status == "suspended" and not any(step.status == "suspended" for step in stored.steps):
            raise self.damaged("it is stored as suspended, and no step of it waits")
        if stored.fingerprint != self.spec.fingerprint:
            return
        known = {node.path: node for node in nodes(self.spec.plan)}
        for place in (*stored.steps, *stored.choices, *stored.loops, *stored.limits):
            if place.path not in known:
                raise self.damaged(f"there is no {place.path!r} in workflow {self.spec.id!r}")
        for choice in stored.choices:
            node = known[choice.path]
            arms = (*node.arms, node.default) if isinstance(node, Choice) else ()
            if choice.value not in {"", *(arm.key for arm in arms if arm is not None)}:
                raise self.damaged(f"{choice.path} has no branch {choice.value!r}")

    def run(self) -> Restored:
        stored = self.stored
        # A changed graph is refused by whoever resumes; reading the result needs no types of it.
        types = _types(self.spec) if stored.fingerprint == self.spec.fingerprint else {}
        context = RequestContext(stored.context, resource_id=stored.resource_id, thread_id=stored.thread_id)
        flow = Flow(self.run_id, self._value(stored.input, types), self._value(stored.state, types), context)
        for step in stored.steps:
            flow.records.put(step.path, tuple(step.at), self._record(step, types))
        for place in stored.choices:
            flow.choices.put(place.path, tuple(place.at), place.value)
        for place in stored.loops:
            progress = Progress(place.value, self._value(place.data, types), place.done)
            flow.loops.put(place.path, tuple(place.at), progress)
        for place in stored.limits:
            flow.limits.put(place.path, tuple(place.at), place.value)
        result = WorkflowResult(
            self.run_id,
            stored.status,
            output=self._value(stored.output, types),
            error=self._error(stored.error),
            tripwire=None if stored.tripwire is None else Tripped(**stored.tripwire.model_dump()),
            steps={record.path: record for _, _, record in flow.records.items()},
            state=flow.state,
        )
        return Restored(flow, result, stored.fingerprint, tuple(stored.nodes))

    def _value(self, index: int | None, types: Mapping[str, TypeCheck]) -> Data:
        """Return a value that nobody else has: steps may write to what they are given."""
        if index is None:
            return None
        if not 0 <= index < len(self.stored.values):
            raise self.damaged(f"its value {index} is missing")
        value = self.stored.values[index]
        check = None if value.t is None else types.get(value.t)
        if check is None:
            return isolated(value.v)
        try:
            return check.load(value.v)
        except ValueError as error:
            message = f"run {self.run_id!r}: {value.t} no longer fits its type: {error}"
            raise SnapshotError(message) from error

    def _input(self, index: int | None, types: Mapping[str, TypeCheck]) -> Data:
        """Return the input of a step, which is only for people and may be shared."""
        if index is None:
            return MISSING
        if index not in self.shared:
            self.shared[index] = self._value(index, types)
        return self.shared[index]

    def _record(self, step: _Step, types: Mapping[str, TypeCheck]) -> StepRecord:
        return StepRecord(
            position(step.path, tuple(step.at)),
            step.id,
            status=step.status,
            input=self._input(step.input, types),
            output=self._value(step.output, types),
            error=self._error(step.error),
            payload=step.payload,
            started=step.started,
            ended=step.ended,
            attempt=step.attempt,
            iteration=step.iteration,
        )

    def _error(self, error: _Error | None) -> RunError | None:
        if error is None:
            return None
        if error.type in _KNOWN:
            return _KNOWN[error.type](error.message, run_id=self.run_id, path=error.path)
        return StepError(
            error.message,
            step_id=error.step_id or self.spec.id,
            run_id=self.run_id,
            path=error.path,
            retryable=error.retryable,
        )


def _types(spec: FlowSpec) -> dict[str, TypeCheck]:
    types: dict[str, TypeCheck | None] = {_INPUT: spec.input, _OUTPUT: spec.output, _STATE: spec.state}
    for node in nodes(spec.plan):
        if isinstance(node, Call):
            types[node.path] = getattr(node.step, "output", None)
            types[f"{node.path}$input"] = getattr(node.step, "input", None)
        elif isinstance(node, Loop) and isinstance(last := node.body[-1], Call):
            types[node.path] = getattr(last.step, "output", None)
    return {kind: check for kind, check in types.items() if check is not None}


def _secrets(context: RequestContext) -> Iterator[tuple[str, str]]:
    """Give every text that must not be stored, with the name it is a secret under."""
    for name in context.secrets:
        seen: dict[int, Any] = {}
        waiting: list[Any] = [context[name]]
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen[id(value)] = value
            text = _secret_text(value)
            if text is None:
                waiting.extend(_inside(value))
            elif len(text) >= 4:
                yield name, text


def _secret_text(value: object) -> str | None:
    """Return a secret as it would be found in JSON, or None where it is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="ignore")
    # A short number is part of many others, such as a time of day.
    return str(value) if isinstance(value, int) and abs(value) >= 10**6 else None


def _inside(value: Any) -> Iterable[Any]:
    """Return what a secret that is no text is made of."""
    if isinstance(value, SecretStr | SecretBytes):
        return (value.get_secret_value(),)
    if isinstance(value, Mapping):
        return cast("Mapping[Any, Any]", value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast("Iterable[Any]", value)
    if isinstance(value, BaseModel):
        return vars(value).values()
    if is_dataclass(value):
        return (getattr(value, each.name, None) for each in fields(value))
    return ()


def _leak(text: str, context: RequestContext) -> str | None:
    for name, secret in _secrets(context):
        if json.dumps(secret)[1:-1] in text:
            return name
    return None
