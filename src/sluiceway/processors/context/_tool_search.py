"""`ToolSearchProcessor`: offers the model a search over many tools instead of all of them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast
from weakref import WeakValueDictionary

from sluiceway.errors import ConfigurationError, RunError
from sluiceway.messages import Message, ToolPart
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import InputStepContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import StepOverrides
from sluiceway.processors.context._bm25 import ToolIndex
from sluiceway.processors.context._called import call_own
from sluiceway.processors.context._loaded_tools import LoadedTools, Loads
from sluiceway.processors.context._options import (
    checked_count,
    checked_flag,
    checked_number,
    checked_one_of,
    checked_seconds,
    refusal,
)
from sluiceway.tools import RequestContext, Tool, ToolContext, as_tools

__all__ = ["Phase", "ToolFilter", "ToolSearchProcessor"]

log: Final = logging.getLogger("sluiceway")

Phase: TypeAlias = Literal["search", "load", "active"]
"""When a tool is asked for: it would be found, loaded, or offered to the model."""

ToolFilter: TypeAlias = Callable[[Tool, RequestContext, Phase], Any]
"""Says whether a tool may be found, loaded or offered; what raises means no."""

_SEARCH: Final = "search_tools"
_LOAD: Final = "load_tool"
_DESCRIPTION_CHARS: Final = 160
_SEARCH_OPTIONS: Final[dict[str, Any]] = {"top_k": 5, "min_score": 0, "auto_load": False}

_QUERY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}
_NAMES: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"names": {"type": ["array", "string"], "items": {"type": "string"}}},
    "required": ["names"],
}


class ToolSearchProcessor(Processor):
    """Offers two small tools, `search_tools` and `load_tool`, in place of many.

    What the model has loaded is offered from the next step on, behind the tools that were
    there, and stays loaded for the thread; without a thread, for the run. A search alone makes
    nothing callable. No two threads, users or runs without a thread see each other's loads.

    Args:
        tools: What can be found: functions, `Tool` objects and agents.
        search: `top_k` (5) tools at most, with a score of `min_score` (0) at least;
            `auto_load` (False) loads what is found at once, and there is no `load_tool`.
        storage: `in-memory` keeps loads in this object; `context` reads them from the calls
            of `load_tool` in the conversation, so that they survive the program.
        ttl: Seconds for which the loads of a thread are kept after their last use; 0: for ever.
        filter: Called with a tool, the request context and the phase `search`, `load` or
            `active`; what is not true, or raises, hides the tool.
        include_resolved_tools: Whether the tools that the step has anyway are put behind the
            search, too.
        id: The id.

    Raises:
        ConfigurationError: An option that is not allowed, or a tool named like one of the two.
    """

    def __init__(
        self,
        tools: Any = (),
        *,
        search: Mapping[str, Any] | None = None,
        storage: Literal["in-memory", "context"] = "in-memory",
        ttl: float = 3600,
        filter: ToolFilter | None = None,  # noqa: A002 - the option's own name
        include_resolved_tools: bool = False,
        id: str = "tool-search",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        self.top_k, self.min_score, self.auto_load = _search_options(id, search)
        checked_one_of(id, "storage", storage, ("in-memory", "context"))
        if filter is not None and (not callable(filter) or inspect.iscoroutinefunction(filter)):
            allowed = "a function of the tool, the request context and the phase that is not async, or None"
            raise refusal(id, "filter", filter, allowed)
        self.storage = storage
        self.ttl = checked_seconds(id, "ttl", ttl)
        self.include_resolved_tools = checked_flag(id, "include_resolved_tools", include_resolved_tools)
        self._filter = filter
        self._tools = as_tools(tools)
        self._meta = _meta_tools(self._run_search, None if self.auto_load else self._run_load)
        for name in self._meta:
            if name in self._tools:
                raise ConfigurationError(
                    f"{id}: a tool is named {name!r}, which this processor offers itself; rename it"
                )
        self._index = ToolIndex(self._tools.values())
        self._resolved: ToolIndex | None = None
        self._loaded = LoadedTools(self.ttl)
        self._sessions: WeakValueDictionary[str, _Session] = WeakValueDictionary()
        self.effects = Effects(reads=("messages", "overrides", "context"), writes=("overrides", "state"), aborts=False)

    # --- the step

    def process_input_step(self, ctx: InputStepContext) -> StepOverrides:
        """Offer the step's own tools, the search, and what is loaded."""
        own, active = dict(ctx.tools), ctx.active_tools
        session = self._session(ctx, {name: tool for name, tool in own.items() if active is None or name in active})
        if self.include_resolved_tools:
            own = {}
        ours = [*self._meta.values(), *self._active(session, ctx.request_context)]
        added = {tool.name: tool for tool in ours if tool.name not in own}
        if not active:  # None offers all; an empty list is somebody's wish for a step without tools
            return StepOverrides(tools={**own, **added})
        return StepOverrides(tools={**own, **added}, active_tools=[*(name for name in active if name in own), *added])

    def _session(self, ctx: InputStepContext, own: Mapping[str, Tool]) -> _Session:
        session: _Session | None = ctx.state.get("session")
        if session is None:
            session = ctx.state["session"] = self._sessions[ctx.run_id] = _Session(self._tools, self._index)
        if self.include_resolved_tools:
            session.tools = {**own, **self._tools}  # what the step may not use is not to be found either
            session.index = self._index_of(session.tools)
        if self.storage == "context":
            session.loads.add(_loaded_in(ctx.messages))
        else:
            session.loads = self._loaded.of(ctx.request_context) or session.loads
            # A call of this run that was replayed from a cache has loaded nothing yet.
            session.loads.add(_loaded_in(ctx.message_list.response))
        return session

    def _index_of(self, tools: Mapping[str, Tool]) -> ToolIndex:
        known = self._resolved
        if known is None or known.tools != tuple(tools.values()):
            known = self._resolved = ToolIndex(tools.values())
        return known

    def _active(self, session: _Session, context: RequestContext) -> list[Tool]:
        loaded = [session.tools[name] for name in session.loads.names if name in session.tools]
        return [tool for tool in loaded if self._allows(tool, context, "active")]

    def _allows(self, tool: Tool, context: RequestContext, phase: Phase) -> bool:
        fn = self._filter
        if fn is None:
            return True

        def hidden(error: Exception) -> bool:
            log.warning(
                "%s: the filter raised for tool %r (%s), which is hidden", self.id, tool.name, phase, exc_info=error
            )
            return False

        def asked() -> bool:
            answer = fn(tool, context, phase)
            if not inspect.isawaitable(answer):
                return bool(answer)
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError("a filter must not be async: its answer would always count as yes")

        return call_own(asked, hidden)

    # --- the two tools

    async def _run_search(self, query: str, context: ToolContext) -> dict[str, Any]:
        session = self._of_run(context)
        found = self._found(session, query, context.request_context)
        result: dict[str, Any] = {
            "tools": [{"name": tool.name, "description": _short(tool.description)} for tool in found]
        }
        if self.auto_load:
            result["loaded"] = self._load(session, [tool.name for tool in found], context.request_context)
        return result

    def _found(self, session: _Session, query: str, context: RequestContext) -> list[Tool]:
        wanted = self.top_k
        while True:
            ranked = session.index.search(query, wanted, self.min_score)
            allowed = [tool for tool, _ in ranked if self._allows(tool, context, "search")]
            if len(allowed) >= self.top_k or len(ranked) < wanted:
                return allowed[: self.top_k]
            wanted *= 4  # the filter hides many

    async def _run_load(self, names: Any, context: ToolContext) -> dict[str, Any]:
        session = self._of_run(context)
        wanted = list(dict.fromkeys([names] if isinstance(names, str) else cast("Iterable[str]", names)))
        loaded = self._load(session, wanted, context.request_context)
        missing = [name for name in wanted if name not in loaded]
        return {"loaded": loaded, **({"not_found": missing} if missing else {})}

    def _load(self, session: _Session, names: Sequence[str], context: RequestContext) -> list[str]:
        loaded = [n for n in names if n in session.tools and self._allows(session.tools[n], context, "load")]
        session.loads.add(loaded)
        return loaded

    def _of_run(self, context: ToolContext) -> _Session:
        session = self._sessions.get(context.run_id)
        if session is None:
            raise RunError(f"{self.id}: its tools can only be called in a run that offers them")
        return session

    # --- what is kept

    def clear_state(self, thread_id: str, resource_id: str | None = None) -> bool:
        """Forget what one thread has loaded; say whether there was anything.

        Args:
            thread_id: The thread.
            resource_id: Whose it is, as the request context says.
        """
        return self._loaded.clear((resource_id, thread_id)) > 0

    def clear_all_state(self) -> int:
        """Forget what all threads have loaded; return how many threads that were."""
        return self._loaded.clear()

    def state_stats(self) -> dict[str, int]:
        """Return how many `threads` are kept, and how many `loaded_tools` they have together."""
        return self._loaded.stats()

    def cleanup(self) -> int:
        """Forget threads that nobody has used for `ttl` seconds; return how many that were.

        It is done at every step anyway.
        """
        return self._loaded.cleanup()


class _Session:
    """What one run can find, and what it has loaded."""

    __slots__ = ("__weakref__", "index", "loads", "tools")

    def __init__(self, tools: Mapping[str, Tool], index: ToolIndex) -> None:
        self.tools = tools
        self.index = index
        self.loads = Loads()


def _meta_tools(search: Callable[..., Any], load: Callable[..., Any] | None) -> dict[str, Tool]:
    if load is None:
        text = "Find tools by words of what they do. What is found can be called from the next step on."
        return {_SEARCH: Tool(_SEARCH, text, _QUERY, search)}
    return {
        _SEARCH: Tool(_SEARCH, f"Find tools by words of what they do; then load them with {_LOAD}.", _QUERY, search),
        _LOAD: Tool(_LOAD, "Load tools by name; they can be called from the next step on.", _NAMES, load),
    }


def _short(description: str) -> str:
    first = description.strip().split("\n", 1)[0]
    return first if len(first) <= _DESCRIPTION_CHARS else first[: _DESCRIPTION_CHARS - 1] + "…"


def _loaded_in(messages: Iterable[Message]) -> Iterable[str]:
    """Return the names that the calls in a conversation have loaded, in order."""
    for message in messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if isinstance(part, ToolPart) and part.tool_name in (_SEARCH, _LOAD) and part.state == "result":
                result = part.result
                names = cast("Mapping[str, Any]", result).get("loaded") if isinstance(result, Mapping) else None
                if isinstance(names, list):
                    yield from (name for name in cast("list[Any]", names) if isinstance(name, str))


def _search_options(owner: str, given: Any) -> tuple[int, float, bool]:
    if given is not None and not isinstance(given, Mapping):
        raise refusal(owner, "search", given, "a mapping with some of 'top_k', 'min_score', 'auto_load'")
    options = {**_SEARCH_OPTIONS, **cast("Mapping[str, Any]", given or {})}
    unknown = next((name for name in options if name not in _SEARCH_OPTIONS), None)
    if unknown is not None:
        raise ConfigurationError(f"{owner}: search does not know {unknown!r}; give some of top_k, min_score, auto_load")
    top_k = checked_count(owner, "search['top_k']", options["top_k"], 1)
    min_score = checked_number(owner, "search['min_score']", options["min_score"])
    return top_k, min_score, checked_flag(owner, "search['auto_load']", options["auto_load"])
