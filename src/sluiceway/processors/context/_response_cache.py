"""`ResponseCache`: answers a request that was answered before without asking the model."""

# pyright: reportPrivateUsage=false
# Built-in processors know the run that they are part of.

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote

import anyio

from sluiceway._types import MISSING, Missing
from sluiceway.engine import StepResult
from sluiceway.errors import ConfigurationError, MessageError
from sluiceway.messages import Chunk
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import RequestHookContext, ResponseContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import LLMRequest
from sluiceway.processors.context._cache_key import CacheInputs, build_response_cache_key
from sluiceway.processors.context._cache_values import decoded, encoded, processed_chunks, with_results
from sluiceway.processors.context._caches import Cache, InMemoryCache
from sluiceway.processors.context._called import call_own_async
from sluiceway.processors.context._flights import Flights
from sluiceway.processors.context._options import checked_flag, checked_one_of, checked_seconds, refusal
from sluiceway.tools import RequestContext

__all__ = ["CacheKey", "ResponseCache"]

log: Final = logging.getLogger("sluiceway")

T = TypeVar("T")

CacheKey: TypeAlias = "str | Callable[[CacheInputs], str | Awaitable[str]]"
"""A key that gets the step's number appended, or a function whose value is used as it is."""

_CALL: Final = "sluiceway.response_cache"
"""The name in the request context under which a call says how it is cached."""


class ResponseCache(Processor):
    """Answers a request that was answered before from a cache, without asking the model.

    An answer is written when its step has been accepted: complete, its tools done, no tripwire
    and no retry. It is replayed with the results of its tools, which do not run again, and
    passes all hooks like a live one. A cache that fails, is slow or holds rubbish is a miss.
    Of two calls at once with one key one asks the model; a retry always does.

    Put it last, so that it sees the prompt as it is sent.

    Args:
        cache: An `InMemoryCache`, a `RedisCache`, or anything with `get(key)` and
            `set(key, value, seconds)`, sync or async; None: an `InMemoryCache` of its own.
        ttl: Seconds for which an answer is kept; None: as long as the cache likes.
        scope: Whose answers are shared: a text, None for everybody's, or a function of the
            request context. Left out: those of one resource id; a call without one is cached
            only where it tells nothing of its caller, in an empty request context and no thread.
        key: None: a digest of all that is sent. A text gets scope and step number added; a
            function gets the `CacheInputs`, and its value is used as it is.
        bust: Whether the cache is written but not read.
        agent_id: In place of the agent's own in the key, so that agents can share.
        store: `raw` keeps the model's own answer, which the guards see again on a replay;
            `processed` keeps only what was delivered.
        timeout_s: Seconds after which a cache's `get` or `set` is given up.
        wait_s: Seconds for which a call waits for another with its key, before it asks itself.
        id: The id.

    Raises:
        ConfigurationError: An option that is not allowed.
    """

    def __init__(
        self,
        cache: Cache | None = None,
        *,
        ttl: float | None = 300,
        scope: str | Callable[[RequestContext], str | None] | Missing | None = MISSING,
        key: CacheKey | None = None,
        bust: bool = False,
        agent_id: str | None = None,
        store: Literal["raw", "processed"] = "raw",
        timeout_s: float = 2.0,
        wait_s: float = 30.0,
        id: str = "response-cache",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        if cache is not None and not (callable(getattr(cache, "get", None)) and callable(getattr(cache, "set", None))):
            raise refusal(id, "cache", cache, "an object with get(key) and set(key, value, seconds)")
        if ttl is not None and not checked_seconds(id, "ttl", ttl):
            raise refusal(id, "ttl", ttl, "a number of seconds above 0, or None")
        if agent_id is not None and (not isinstance(agent_id, str) or not agent_id):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refusal(id, "agent_id", agent_id, "a text that is not empty, or None")
        checked_one_of(id, "store", store, ("raw", "processed"))
        self.cache: Cache = InMemoryCache() if cache is None else cache
        self.ttl = ttl
        self.store = store
        self.agent_id = agent_id
        self.timeout_s = checked_seconds(id, "timeout_s", timeout_s)
        self.wait_s = checked_seconds(id, "wait_s", wait_s)
        self._options = _checked(id, {"key": key, "scope": scope, "bust": bust})
        self._flights = Flights()
        self._told = False
        external = not isinstance(self.cache, InMemoryCache)
        self.effects = {
            "process_llm_request": Effects(
                reads=("prompt", "overrides", "context"), writes=("prompt", "state"), aborts=False, external=external
            ),
            "process_llm_response": Effects(
                reads=("chunk", "state"), writes=("state",), aborts=False, external=external
            ),
        }

    @staticmethod
    def context(
        *,
        key: CacheKey | Missing | None = MISSING,
        scope: str | Callable[[RequestContext], str | None] | Missing | None = MISSING,
        bust: bool | Missing = MISSING,
    ) -> RequestContext:
        """Return a request context that says how one call is cached; what is left out stays as it is.

        Args:
            key: A text, or a function of what the answer depends on.
            scope: Who shares it; None: everybody.
            bust: Whether a kept answer is passed over, and the new one kept.

        Examples:
            >>> ResponseCache.context(bust=True)["sluiceway.response_cache"]
            {'bust': True}
        """
        made = RequestContext()
        ResponseCache.apply_context(made, key=key, scope=scope, bust=bust)
        return made

    @staticmethod
    def apply_context(
        ctx: RequestContext | MutableMapping[str, Any],
        *,
        key: CacheKey | Missing | None = MISSING,
        scope: str | Callable[[RequestContext], str | None] | Missing | None = MISSING,
        bust: bool | Missing = MISSING,
    ) -> None:
        """Say in a request context, or the dict that becomes one, how its call is cached.

        Args:
            ctx: The request context, or a dict.
            key: As for `context`; what is left out stays as it is.
            scope: Likewise.
            bust: Likewise.
        """
        given = {"key": key, "scope": scope, "bust": bust}
        options = _checked("ResponseCache.context", {name: v for name, v in given.items() if v is not MISSING})
        if isinstance(ctx, RequestContext):
            ctx.set(_CALL, options)
        else:
            ctx[_CALL] = options

    # --- the hooks

    async def process_llm_request(self, ctx: RequestHookContext) -> LLMRequest | None:
        """Replay the answer that was given before, if there is one."""
        options = {**self._options, **cast("Mapping[str, Any]", ctx.request_context.get(_CALL) or {})}
        key = await self._key(ctx, options)
        if key is None:
            return None
        ctx.attempt_state["key"] = key
        if not options["bust"] and not ctx.retry_count:
            chunks = await self._found(key, ctx.run_id)
            if chunks is not None:
                return LLMRequest(response=chunks)
        ctx._scope.links.ends.append(self._flights.begin(key, ctx.run_id))
        return None

    async def _found(self, key: str, run_id: str) -> Sequence[Chunk] | None:
        """Return what is kept under a key, waiting for calls that are about to write it."""
        until_s = anyio.current_time() + self.wait_s
        while True:
            flight = self._flights.of(key)
            left_s = until_s - anyio.current_time()
            if flight is not None and flight.owner != run_id and left_s > 0:
                await flight.wait(left_s)
                continue
            chunks = await self._read(key)
            begun = self._flights.of(key)  # perhaps while this one was reading
            if chunks is not None or begun is flight or begun is None:
                return chunks

    def process_llm_response(self, ctx: ResponseContext) -> None:
        """Have the answer written when its step is accepted."""
        key = ctx.attempt_state.get("key")
        if key is None or ctx.from_cache:
            return
        raw = list(ctx.chunks)

        async def accepted(step: StepResult) -> None:
            chunks = with_results(raw, step) if self.store == "raw" else processed_chunks(step, raw)
            if chunks is not None:
                await self._write(key, chunks)

        ctx.on_step_accepted(accepted)

    # --- the key

    async def _key(self, ctx: RequestHookContext, options: Mapping[str, Any]) -> str | None:
        """Return the key of the request, or None where nobody can say whose answers it may share."""
        key = options["key"]
        scope = self._scope_of(ctx.request_context, options["scope"])
        if scope is MISSING:
            if not callable(key):
                self._tell_once()
                return None
            scope = None  # the function's value is all of the key
        inputs = self._inputs(ctx, scope)
        if isinstance(key, str):
            return f"{'' if scope is None else quote(scope, safe='') + ':'}{key}:{inputs.step_number}"
        if key is None:
            return build_response_cache_key(inputs)

        def failed(error: Exception) -> str:
            log.warning("%s: the key function raised; the default key is used", self.id, exc_info=error)
            return build_response_cache_key(inputs)

        made: Any = await call_own_async(lambda: key(inputs), failed)
        if isinstance(made, str) and made:
            return made
        log.warning("%s: the key function returned no text; the default key is used", self.id)
        return build_response_cache_key(inputs)

    def _scope_of(self, context: RequestContext, scope: Any) -> str | Missing | None:
        """Return whose answers the call shares: None for everybody's, `MISSING` where that is not known."""
        if callable(scope):
            scope = scope(context)
            if scope is not None and not isinstance(scope, str):
                raise ConfigurationError(f"{self.id}: the scope function returned a {type(scope).__name__}, not a text")
        if scope is not MISSING:
            return cast("str | None", scope)
        if context.resource_id is not None:
            return context.resource_id
        anonymous = context.thread_id is None and all(name == _CALL for name in context)
        return None if anonymous else MISSING

    def _tell_once(self) -> None:
        if not self._told:
            self._told = True
            log.warning(
                "%s: a call has a thread or a request context but no resource id, so that nobody can say whose answers "
                "it may share; it is not cached. Give it a resource, or the cache scope=None to share with everybody",
                self.id,
            )

    def _inputs(self, ctx: RequestHookContext, scope: str | None) -> CacheInputs:
        model, active = ctx.model, ctx.active_tools
        address = getattr(model, "base_url", None)
        return CacheInputs(
            agent_id=self.agent_id or (None if ctx.agent is None else ctx.agent.id),
            step_number=ctx.step_number or 0,
            scope=scope,
            model=(model.provider, model.model_id, *([address] if isinstance(address, str) else ())),
            prompt=ctx.prompt,
            tools=tuple(tool for name, tool in ctx.tools.items() if active is None or name in active),
            tool_choice=ctx.tool_choice,
            model_settings=ctx.model_settings,
            provider_options=ctx.provider_options,
            structured_output=ctx.structured_output,
        )

    # --- the cache

    async def _read(self, key: str) -> Sequence[Chunk] | None:
        cache = self.cache
        value = await self._asked(lambda: cache.get(key), "read")
        if value is None:
            return None
        try:
            return decoded(value)
        except MessageError as error:
            log.warning("%s: %s; the model is asked", self.id, error)
            return None

    async def _write(self, key: str, chunks: Sequence[Chunk]) -> None:
        try:
            value = encoded(chunks)
        except MessageError as error:
            log.info("%s: %s", self.id, error)
            return
        cache, ttl_s = self.cache, self.ttl
        await self._asked(lambda: cache.set(key, value, ttl_s), "written")

    async def _asked(self, ask: Callable[[], Any], what: str) -> Any:
        def failed(error: Exception) -> Any:
            log.warning("%s: the cache could not be %s; the run goes on without", self.id, what, exc_info=error)

        with anyio.move_on_after(self.timeout_s) as waiting:
            return await call_own_async(ask, failed)
        if waiting.cancelled_caught:
            log.warning("%s: the cache was not %s within %s s; the run goes on without", self.id, what, self.timeout_s)
        return None


def _checked(owner: str, options: dict[str, Any]) -> dict[str, Any]:
    if "bust" in options:
        checked_flag(owner, "bust", options["bust"])
    key = options.get("key")
    if key is not None and not callable(key) and (not isinstance(key, str) or not key):
        raise refusal(owner, "key", key, "a text that is not empty, a function of the CacheInputs, or None")
    scope = options.get("scope")
    if scope is not None and scope is not MISSING and not callable(scope) and not isinstance(scope, str):
        raise refusal(owner, "scope", scope, "a text, a function of the request context, or None")
    return options
