"""`Agent`: a model in a loop, with processors around every part of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Self, TypeAlias, Unpack, cast

import anyio

from sluiceway.agent._run import Run
from sluiceway.agent._setup import (
    CallOptions,
    ChainCache,
    Setup,
    StopWhen,
    check_count,
    check_models,
    checked_options,
    resolve_models,
    resolved,
    system_messages,
)
from sluiceway.agent._stream import AgentStream
from sluiceway.agent._structured import Shapes, requested_shape, structuring
from sluiceway.engine import Result, loop_is_running
from sluiceway.errors import ConfigurationError, MessageError, RunError
from sluiceway.graphs import AgentParts, Drawn, Sketch, agent_graph
from sluiceway.memory import Memory, MemoryRun, remembers, request_context_for
from sluiceway.messages import Message, parse_input
from sluiceway.models import Holds, Model
from sluiceway.processors import Chain, Concurrency, ListKind, PrefillErrorHandler, PrepareStep
from sluiceway.tools import RequestContext, Tool, ToolContext, as_tools

__all__ = ["Agent", "AgentInput", "Processors"]

log: Final = logging.getLogger("sluiceway")

AgentInput: TypeAlias = "str | Message | Mapping[str, Any] | Sequence[str | Message | Mapping[str, Any]]"
"""What a call takes: a text, a message, a chat dict, or a list of these."""

Processors: TypeAlias = "Sequence[object] | Callable[[RequestContext], Any]"
"""A list of processors and workflows, or a function of the request context that returns one."""

_DEFAULT_RETRIES: Final = 10


class Agent(Drawn):
    """A model in a loop, with processors around every part of it.

    One agent serves any number of calls at once; it holds options, never the state of a call.

    Args:
        id: The agent's id; `name` stands in for it.
        name: For people.
        description: What it is for; what a model is told where the agent is a tool.
        instructions: The system message or messages, or a function of the request context.
        model: A text such as `openai/gpt-5-mini`, a `Model`, a list of these (each a fallback
            for the one before), or a function of the request context.
        tools: Functions, `Tool` objects and agents, or a function of the request context.
        input_processors: Run before the model, in order.
        output_processors: Run after it, in order.
        error_processors: Run when the provider refuses or breaks off.
        memory: Where conversations are kept.
        max_processor_retries: How often a step may be tried again; None: never, and 10 where
            `error_processors` are given.
        max_steps: How many steps a call may take.
        stop_when: Called with the steps so far; true ends the loop.
        prefill_recovery: Whether a refusal of a trailing assistant message is mended.
        concurrency: `auto` runs neighbours in a list side by side whose effects say that they
            wait for another service and write nothing, with the outcome of list order. None:
            one after the other.
        overlap: Whether checks before the model that write nothing run while it answers
            already. Nothing of the answer is looked at, delivered or run before they have
            passed; a call that one of them ends has been made, and is counted in `usage`.

    Raises:
        ConfigurationError: An option that cannot work; the text says which and why.

    Examples:
        >>> from sluiceway.models import ScriptedModel
        >>> Agent(id="hello", model=ScriptedModel(["Hi!"])).generate_sync("Hello").text
        'Hi!'
    """

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        name: str | None = None,
        description: str = "",
        instructions: Any = None,
        model: Any = None,
        tools: Any = None,
        input_processors: Processors | None = None,
        output_processors: Processors | None = None,
        error_processors: Processors | None = None,
        memory: Memory | None = None,
        max_processor_retries: int | None = None,
        max_steps: int = 5,
        stop_when: StopWhen | None = None,
        prefill_recovery: bool = True,
        concurrency: Concurrency | None = None,
        overlap: bool = False,
    ) -> None:
        named = id or name
        if not isinstance(named, str) or not named.strip():
            raise ConfigurationError("an agent needs an id (or a name): Agent(id='support', ...)")
        check_count("max_processor_retries", max_processor_retries, 0)
        check_count("max_steps", max_steps, 1)
        self.id = named
        self.name = name or named
        self.description = description
        self.max_processor_retries = max_processor_retries
        self.max_steps = max_steps
        self._instructions = instructions
        self._model = model
        self._tools = tools
        self._lists: dict[ListKind, Processors] = {
            "input": _listed(input_processors),
            "output": _listed(output_processors),
            "error": _listed(error_processors),
        }
        self._memory = memory
        self._stop_when = stop_when
        self._prefill = PrefillErrorHandler() if prefill_recovery else None
        self._overlap = overlap
        self._chains = ChainCache(concurrency)
        self._shapes = Shapes()
        self._holds = Holds()
        self._told = False
        self._check()

    def _check(self) -> None:
        if self._memory is not None and not isinstance(self._memory, Memory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"memory= takes a Memory, not {type(self._memory).__name__}")
        for kind, items in self._lists.items():
            if not callable(items):
                self._chain(kind, items)
        if self._model is not None and not _is_function(self._model):
            self._models: tuple[Model, ...] | None = resolve_models(self._model)
        else:
            self._models = None
            if self._model is None:
                resolve_models(None)
        if self._models is not None:
            chains = [self._chain(kind, items) for kind, items in self._lists.items() if not callable(items)]
            check_models(chains, self._models)
        if self._tools is None or not _is_function(self._tools):
            self._static_tools: dict[str, Tool] | None = as_tools(self._tools)
        else:
            self._static_tools = None
        if not callable(self._instructions):
            system_messages(self._instructions)

    # -- calls

    def stream(self, messages: AgentInput, **options: Unpack[CallOptions]) -> AgentStream:
        """Return the stream of a call; nothing happens before it is entered and read.

        Args:
            messages: A text, a message, a chat dict, or a list of these.
            options: See `CallOptions`.

        Raises:
            ConfigurationError: An option that cannot work (some only on entering the stream).
        """
        checked_options(options)
        return AgentStream(lambda: self._open(messages, options))

    async def generate(self, messages: AgentInput, **options: Unpack[CallOptions]) -> Result:
        """Run a call to its end and return the result. A tripwire is no error: see `result.tripwire`.

        Args:
            messages: A text, a message, a chat dict, or a list of these.
            options: See `CallOptions`; `hold` makes no difference here.

        Raises:
            ConfigurationError: An option that cannot work.
            MessageError: Messages that nothing can be made of.
            ProcessorError: A hook raised.
            MergeConflict: Branches of a `parallel` disagree.
            ModelError: The provider refused or broke off.
            StorageError: Memory could not be read or written.
        """
        checked_options(options)
        run = await self._open(messages, options)
        try:
            return await run.finish()
        finally:
            await run.close()

    def generate_sync(self, messages: AgentInput, **options: Unpack[CallOptions]) -> Result:
        """Do what `generate` does, for scripts and notebooks; in a thread of its own if a loop runs.

        Args:
            messages: A text, a message, a chat dict, or a list of these.
            options: See `CallOptions`.
        """

        async def run() -> Result:
            return await self.generate(messages, **options)

        if not loop_is_running():
            return anyio.run(run)
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(anyio.run, run).result()

    # -- as a part of something else

    @property
    def lists(self) -> Mapping[ListKind, Sequence[object] | None]:
        """The processors and workflows of its lists, with those it adds; None for a list made for each request."""
        return {kind: self._drawn(kind, items) for kind, items in self._lists.items()}

    def as_tool(self) -> Tool:
        """Return the agent as a tool: it is given a message, and its answer is the result."""

        async def run(message: str, context: ToolContext) -> str:
            result = await self.generate(message, request_context=context.request_context)
            if result.tripwire is not None:
                raise RunError(f"{self.id} stopped: {result.tripwire.reason}", run_id=result.run_id)
            return result.text

        return Tool(
            _tool_name(self.id),
            self.description or f"Ask the agent {self.name}.",
            {
                "type": "object",
                "properties": {"message": {"type": "string", "description": "What to ask."}},
                "required": ["message"],
                "additionalProperties": False,
            },
            run,
        )

    async def __aenter__(self) -> Self:
        self._holds.hold()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._holds.let_go()

    async def aclose(self) -> None:
        """Close the connections that `async with agent` keeps open between calls."""
        await self._holds.aclose()

    def _sketch(self) -> Sketch:
        errors = self._lists["error"]
        budget = self.max_processor_retries
        if budget is None and (callable(errors) or len(errors)):
            budget = _DEFAULT_RETRIES
        models = None if self._models is None else [f"{m.provider}/{m.model_id}" for m in self._models]
        tools = self._static_tools
        return agent_graph(
            AgentParts(
                self.id,
                description=self.description,
                lists={kind: self._drawn(kind, items) for kind, items in self._lists.items()},
                models=models,
                tools=None if tools is None else {tool.name: tool.description for tool in tools.values()},
                max_steps=self.max_steps,
                max_processor_retries=budget,
            )
        )

    def _drawn(self, kind: ListKind, items: Processors) -> Sequence[object] | None:
        return None if callable(items) else self._completed(kind, items)

    def __repr__(self) -> str:
        return f"<Agent {self.id!r}>"

    # -- setting up

    async def _open(self, messages: AgentInput, options: CallOptions) -> Run:
        parsed = parse_input(messages)
        if not parsed.messages and not parsed.tool_results:
            raise MessageError("there is no message to answer: give a text, a message or a list with at least one")
        if parsed.tool_results and self._memory is None:
            call_id = parsed.tool_results[0][0]
            raise MessageError(
                f"input: there is no call {call_id!r} for this tool result; "
                "send the assistant message with the call along, or give the agent a memory"
            )
        return Run(await self._setup(options), parsed)

    async def _setup(self, options: CallOptions) -> Setup:
        context = request_context_for(options.get("request_context"), options.get("memory"))
        models = self._models or resolve_models(await resolved(self._model, context))
        tools = self._static_tools
        if tools is None:
            tools = as_tools(await resolved(self._tools, context))
        given = options.get("instructions")
        instructions = await resolved(self._instructions if given is None else given, context)
        errors = await self._items("error", options.get("error_processors"), context)
        inputs = await self._items("input", options.get("input_processors"), context)
        chain = self._chain("input", inputs)
        prepare_step = options.get("prepare_step")
        if prepare_step is not None:
            chain = chain.followed_by(PrepareStep(prepare_step))
        output = await self._output(options, context)
        if options.get("memory") is not None and not remembers(chain, output):
            raise ConfigurationError(
                f"the call names a thread with memory=, but agent {self.id!r} has no memory; "
                "give it one: Agent(..., memory=Memory(...))"
            )
        check_models((chain, output), models)
        return Setup(
            agent=self,
            request_context=context,
            input=chain,
            output=output,
            error=self._chain("error", errors),
            models=models,
            tools=tools,
            instructions=system_messages(instructions),
            max_processor_retries=self._budget(options.get("max_processor_retries"), errors),
            max_steps=options.get("max_steps") or self.max_steps,
            stop_when=options.get("stop_when") or self._stop_when,
            overrides=_step_defaults(options, output),
            hold=options.get("hold") or "none",
            observer=options.get("observer"),
            overlap=self._overlap,
            memory=self._memory_run(options, context),
        )

    async def _output(self, options: CallOptions, context: RequestContext) -> Chain:
        items = await self._items("output", options.get("output_processors"), context)
        chain = self._chain("output", items)
        wanted = options.get("structured_output")
        if wanted is None or structuring(chain) is not None:
            return chain
        return self._chain("output", [*items, self._shapes.processor(wanted)])

    def _memory_run(self, options: CallOptions, context: RequestContext) -> MemoryRun | None:
        if context.thread_id is None:
            return None
        read_only = bool((options.get("memory") or {}).get("read_only"))
        if self._memory is None:
            return MemoryRun(context, read_only=read_only)
        return MemoryRun(context, read_only=read_only, wait_s=self._memory.thread_wait_s)

    def _placed(self, kind: ListKind, items: Any) -> Any:
        if self._memory is None or not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
            return items
        return self._memory.placed(kind, cast("Sequence[object]", items))

    async def _items(self, kind: ListKind, given: Sequence[object] | None, context: RequestContext) -> Sequence[object]:
        return _listed(await resolved(self._lists[kind] if given is None else given, context))

    def _chain(self, kind: ListKind, items: Any) -> Chain:
        return self._chains.chain(self._completed(kind, items), kind)

    def _completed(self, kind: ListKind, items: Any) -> Any:
        """Return a list with what the agent adds to it."""
        if kind == "error" and self._prefill is not None and isinstance(items, Sequence):
            listed = cast("Sequence[object]", items)
            if not any(getattr(item, "id", None) == self._prefill.id for item in listed):
                items = (self._prefill, *listed)
        return self._placed(kind, items)

    def _budget(self, given: int | None, errors: Sequence[object]) -> int | None:
        budget = self.max_processor_retries if given is None else given
        if budget is not None or not errors:
            return budget
        if not self._told:
            self._told = True
            log.warning(
                "agent %r has error_processors and no max_processor_retries: a step is tried again up to %d times",
                self.id,
                _DEFAULT_RETRIES,
            )
        return _DEFAULT_RETRIES


def _listed(items: Any) -> Any:
    """Return a list as a tuple, once: an iterator would be empty at its second use, and the agent unguarded."""
    if items is None:
        return ()
    if callable(items) or isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        return cast("Any", items)
    return tuple(cast("Iterable[object]", items))


def _is_function(value: Any) -> bool:
    return callable(value) and not hasattr(value, "stream") and not isinstance(value, (type, Tool))


def _step_defaults(options: CallOptions, output: Chain) -> dict[str, Any]:
    return {
        "active_tools": options.get("active_tools"),
        "tool_choice": options.get("tool_choice"),
        "model_settings": dict(options.get("model_settings") or {}),
        "provider_options": dict(options.get("provider_options") or {}),
        "structured_output": requested_shape(options.get("structured_output"), output),
    }


def _tool_name(id_: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", id_)
