"""What one call of an agent works with: options resolved, lists planned."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TypedDict, cast

from sluiceway.agent._delivery import Hold
from sluiceway.engine import Plan
from sluiceway.errors import ConfigurationError
from sluiceway.memory import MemoryRun
from sluiceway.messages import SystemMessage
from sluiceway.models import Model, route
from sluiceway.processors import Chain, Concurrency, ListKind, Observer, compile_chain
from sluiceway.tools import RequestContext, Tool

__all__ = [
    "CallOptions",
    "ChainCache",
    "Setup",
    "StopWhen",
    "check_count",
    "check_models",
    "checked_options",
    "resolve_models",
    "resolved",
    "system_messages",
]

StopWhen = Callable[[Any], Any]

_CACHED_CHAINS = 32


class CallOptions(TypedDict, total=False):
    """What a call of an agent may say; what is left out or None is left to the agent.

    Attributes:
        request_context: Values for processors, tools and functions of the agent; a
            `RequestContext` or a mapping.
        memory: `{"thread": ..., "resource": ..., "read_only": False}`.
        input_processors: In place of the agent's, for this call.
        output_processors: Likewise.
        error_processors: Likewise.
        max_processor_retries: In place of the agent's.
        max_steps: In place of the agent's.
        stop_when: In place of the agent's.
        prepare_step: Called before each step, after the input processors; returns what
            `process_input_step` may.
        model_settings: Such as `{"temperature": 0}`.
        provider_options: What goes to a provider as it is, by provider name.
        tool_choice: `auto`, `none`, `required`, or the name of a tool.
        active_tools: Names of the tools that are offered; None offers all.
        structured_output: The pydantic model or JSON schema of the answer.
        instructions: In place of the agent's.
        hold: `step` delivers a step only when it is accepted, `run` only after the last hook;
            what is streamed is then what is stored. `none`, the default, delivers at once.
        observer: Called with a `HookEvent` for every hook that ran.
    """

    request_context: RequestContext | Mapping[str, Any] | None
    memory: Mapping[str, Any] | None
    input_processors: Sequence[object] | None
    output_processors: Sequence[object] | None
    error_processors: Sequence[object] | None
    max_processor_retries: int | None
    max_steps: int | None
    stop_when: StopWhen | None
    prepare_step: Callable[[Any], Any] | None
    model_settings: Mapping[str, Any] | None
    provider_options: Mapping[str, Any] | None
    tool_choice: Any
    active_tools: Sequence[str] | None
    structured_output: Any
    instructions: Any
    hold: Hold | None
    observer: Observer | None


_OPTIONS: Final = frozenset(CallOptions.__annotations__)


def checked_options(options: CallOptions) -> CallOptions:
    """Return the options of a call.

    Raises:
        ConfigurationError: One that does not exist, or a value that is not allowed.
    """
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise ConfigurationError(f"there is no option {unknown[0]!r}; a call takes: {', '.join(sorted(_OPTIONS))}")
    context = options.get("request_context")
    if context is not None and not isinstance(context, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"request_context must be a RequestContext or a mapping, not {type(context).__name__}")
    check_count("max_processor_retries", options.get("max_processor_retries"), 0)
    check_count("max_steps", options.get("max_steps"), 1)
    hold = options.get("hold")
    if hold not in (None, "none", "step", "run"):
        raise ConfigurationError(f"hold={hold!r} is not allowed; give 'none', 'step' or 'run'")
    return options


def check_count(name: str, value: object, least: int) -> None:
    """Refuse a count that is no whole number, or too small.

    Raises:
        ConfigurationError: Names the option and what is allowed.
    """
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{name}={value!r} is not allowed; give a whole number from {least}")


@dataclass(frozen=True, slots=True)
class Setup:
    """A call, resolved: nothing in here is a function of the request context any more."""

    agent: Any
    request_context: RequestContext
    input: Chain
    output: Chain
    error: Chain
    models: tuple[Model, ...]
    tools: Mapping[str, Tool]
    instructions: tuple[SystemMessage, ...]
    max_processor_retries: int | None
    max_steps: int
    stop_when: StopWhen | None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hold: Hold = "none"
    observer: Observer | None = None
    overlap: bool = False
    """Whether input checks that write nothing run while the model answers already."""
    memory: MemoryRun | None = None
    """The thread that the call goes on with, or None where it names none."""

    @property
    def chains(self) -> tuple[Chain, Chain, Chain]:
        """The lists in the order in which api-error hooks run: error, input, output."""
        return self.error, self.input, self.output

    def error_entries(self) -> tuple[Plan, ...]:
        """Return what runs at an api error: each processor once, over all three lists."""
        seen: set[int] = set()
        entries: list[Plan] = []
        for chain in self.chains:
            for entry in chain.entries("process_api_error"):
                owner = _owner(entry)
                if owner is not None and owner in seen:
                    continue
                if owner is not None:
                    seen.add(owner)
                entries.append(entry)
        return tuple(entries)


def _owner(entry: Plan) -> int | None:
    processor = getattr(getattr(entry[0], "step", None), "processor", None)
    return None if processor is None else id(processor)


class ChainCache:
    """Plans by the objects they are made of, the last 32, so that a list given per call costs nothing."""

    __slots__ = ("_chains", "_concurrency", "_lock")

    def __init__(self, concurrency: Concurrency | None = None) -> None:
        self._concurrency: Concurrency | None = concurrency
        self._lock = Lock()  # generate_sync may be called from several threads
        self._chains: OrderedDict[tuple[ListKind, tuple[int, ...]], tuple[tuple[object, ...], Chain]] = OrderedDict()

    def chain(self, items: Iterable[object], kind: ListKind) -> Chain:
        """Return the plan of a list; the list's objects are kept, so that their ids stay theirs.

        Raises:
            ConfigurationError: See `compile_chain`.
        """
        if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            return compile_chain(items, kind, concurrency=self._concurrency)
        listed = tuple(items)
        key = (kind, tuple(map(id, listed)))
        with self._lock:
            known = self._chains.get(key)
            if known is not None:
                self._chains.move_to_end(key)
                return known[1]
        chain = compile_chain(listed, kind, concurrency=self._concurrency)
        with self._lock:
            self._chains[key] = (listed, chain)
            if len(self._chains) > _CACHED_CHAINS:
                self._chains.popitem(last=False)
        return chain


def check_models(chains: Iterable[Chain], models: Sequence[Model]) -> None:
    """Let every processor that works with the agent's own model look at it.

    Raises:
        ConfigurationError: The model cannot do what a processor needs of it.
    """
    for chain in chains:
        for step in chain.processors:
            check = getattr(step.processor, "check_models", None)
            if check is not None:
                check(models)


async def resolved(value: Any, context: RequestContext) -> Any:
    """Return a value, or what a function of the request context makes of it."""
    if callable(value) and not hasattr(value, "stream") and not isinstance(value, (type, Tool)):
        value = value(context)
        if hasattr(value, "__await__"):
            value = await value
    return value


def resolve_models(model: Any) -> tuple[Model, ...]:
    """Return the models that a `model=` stands for, first choice first.

    Raises:
        ConfigurationError: Nothing, or something that is no model.
    """
    if model is None:
        raise ConfigurationError("the agent has no model; give model='openai/gpt-5-mini', 'echo/echo' or an object")
    listed = cast("Sequence[Any]", model) if isinstance(model, (list, tuple)) else (model,)
    if not listed:
        raise ConfigurationError("model=[] names no model")
    return tuple(_routed(one) for one in listed)


def _routed(model: Any) -> Model:
    if not isinstance(model, str) and not hasattr(model, "stream"):
        raise ConfigurationError(
            f"a model is a text such as 'openai/gpt-5-mini' or an object with stream(); got {type(model).__name__}"
        )
    return route(model)


def system_messages(instructions: Any) -> tuple[SystemMessage, ...]:
    """Return instructions as system messages.

    Raises:
        ConfigurationError: Something that is neither text nor a system message.
    """
    if instructions is None or instructions == "":
        return ()
    if isinstance(instructions, SystemMessage):
        return (instructions,)
    if isinstance(instructions, str):
        return (SystemMessage(instructions),)
    if isinstance(instructions, Sequence):
        items = cast("Sequence[Any]", instructions)
        return tuple(m for item in items for m in system_messages(item))
    raise ConfigurationError(f"instructions must be text, not {type(instructions).__name__}")
