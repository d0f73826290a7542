"""`Service`: what is answered under which path."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, Final, cast

import anyio

from sluiceway.errors import SluicewayError
from sluiceway.models import Model, OpenAIChat, list_models
from sluiceway.serve._answering import Answering, Call, Hold
from sluiceway.serve._ask import Ask
from sluiceway.serve._chat import Chat
from sluiceway.serve._entry import Entry
from sluiceway.serve._guarding import call_options, quirks_of
from sluiceway.serve._house import House, Served
from sluiceway.serve._http import Incoming, Outgoing, json_reply, refused
from sluiceway.serve._messages import Messages
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._refusal import Refusal, refusal_of
from sluiceway.serve._runs import RunLog
from sluiceway.serve._threads import memory_of
from sluiceway.serve._wire import Wire
from sluiceway.serve.page import Page

__all__ = ["Service", "wire_of"]

_CHAT: Final = Chat()
WIRES: Final[Mapping[str, Wire]] = {"/v1/chat/completions": _CHAT, "/v1/messages": Messages()}
_API: Final = frozenset({"v1", "completions", "messages", "models", "responses", "embeddings"})
"""How a path ends that is meant for the API, if with a wrong base URL: it is told so in the API's way."""


class Service:
    """Answers requests. Framework-free: `handled` takes a request and gives the response.

    Args:
        things: Agents, workflows and processors; see `House`.
        options: How it behaves.

    Raises:
        ConfigurationError: Nothing to serve, two agents of one id, or an address behind that is none.
    """

    def __init__(self, things: list[object], options: ServeOptions) -> None:
        self.options = options
        if options.upstream is not None:
            OpenAIChat("any", base_url=options.upstream, api_key="")  # says at once what is wrong with the address
        self.house = House(things, options)
        self.log = RunLog(options.kept_runs)
        self.running = 0
        self.closing = anyio.Event()
        self._answering: set[Answering] = set()
        self._entry = Entry(options)
        self._started = int(time.time())
        self._page = Page(self.house, self.log, options, self.closing)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Keep connections to models open meanwhile."""
        async with AsyncExitStack() as stack:
            for served in self.house.agents:
                await stack.enter_async_context(served.agent)
            yield

    @asynccontextmanager
    async def handled(self, incoming: Incoming) -> AsyncGenerator[Outgoing]:
        """Give the response to a request; leaving early gives up on it."""
        async with AsyncExitStack() as stack:
            try:
                outgoing = await self._outgoing(incoming, stack)
            except (Refusal, SluicewayError) as error:
                outgoing = refused(refusal_of(error), wire_of(incoming.path, incoming.headers))
            yield outgoing

    async def _outgoing(self, incoming: Incoming, stack: AsyncExitStack) -> Outgoing:
        self._entry.check_origin(incoming)
        wire = WIRES.get(incoming.path)
        if wire is None:
            return await self._plain(incoming)
        self._entry.check_key(incoming.headers)
        _check_method(incoming, "POST")
        _check_json(incoming)
        stack.enter_context(self._room())
        ask = wire.ask(incoming.body)
        answering = Answering(self._call(ask, wire, incoming))
        stack.enter_context(self._known(answering))
        await stack.enter_async_context(answering)
        headers = {"x-request-id": answering.run_id, "request-id": answering.run_id}
        if ask.stream:
            return Outgoing(200, answering, "text/event-stream; charset=utf-8", headers, wire)
        return json_reply(await answering.whole(), headers=headers)

    def _call(self, ask: Ask, wire: Wire, incoming: Incoming) -> Call:
        served = self._served(ask)
        model = self._upstream(ask, wire, incoming)
        options = self.options
        called = call_options(ask, model, guarding=served.guarding)
        memory = memory_of(incoming.headers, self._entry.owner(incoming.headers))
        if memory is not None:
            called["memory"] = memory
        return Call(
            served.agent,
            ask,
            wire,
            called,
            hold=cast("Hold", served.hold),
            timeout_s=options.timeout_s,
            log=self.log,
            show_values=options.show_values,
            own_key=options.upstream is not None and options.upstream_key is None and not options.keys,
        )

    def _served(self, ask: Ask) -> Served:
        served = self.house.named(ask.model)
        if served is None and self.options.upstream is not None:
            served = self.house.agents[0]  # the name is that of the model behind
        if served is None:
            names = ", ".join(served.agent.id for served in self.house.agents)
            raise Refusal(
                404, f"there is no model {ask.model!r}; there are: {names}", code="model_not_found", param="model"
            )
        return served

    def _upstream(self, ask: Ask, wire: Wire, incoming: Incoming) -> Model | None:
        if self.options.upstream is None:
            return None
        if wire is not _CHAT:
            ask.passed = {}  # fields of another API than that of the server behind
        return OpenAIChat(
            ask.model,
            provider="upstream",
            base_url=self.options.upstream,
            api_key=self._upstream_key(incoming),
            quirks=quirks_of(ask),
            max_retries=0,  # the client is told, and tries again itself
        )

    def _upstream_key(self, incoming: Incoming) -> str:
        options = self.options
        if options.upstream_key is not None or options.keys:
            return options.upstream_key or ""
        return incoming.headers.get("authorization", "").partition(" ")[2] or incoming.headers.get("x-api-key", "")

    @contextmanager
    def _room(self) -> Generator[None]:
        if self.running >= self.options.max_requests:
            raise Refusal(503, "too many requests at once", code="overloaded", retry=True, retry_after_s=1)
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    @contextmanager
    def _known(self, answering: Answering) -> Generator[None]:
        self._answering.add(answering)
        try:
            yield
        finally:
            self._answering.discard(answering)

    async def cut_after(self, seconds: float) -> None:
        """End what is still answered after so long a time; its clients are told to come again."""
        await anyio.sleep(seconds)
        for answering in self._answering:
            answering.cut(Refusal(503, "the server is ending", code="server_ending", retry=True))

    # -- the rest

    async def _plain(self, incoming: Incoming) -> Outgoing:
        path = incoming.path
        if path == "/health":
            _check_method(incoming, "GET", "HEAD")
            return json_reply({"status": "ok", "running": self.running})
        if path == "/v1/models" or path.startswith("/v1/models/"):
            self._entry.check_key(incoming.headers)
            _check_method(incoming, "GET", "HEAD")
            return await self._models(path.removeprefix("/v1/models").strip("/"), incoming)
        if self.options.has_page and not path.startswith("/v1/") and path.rpartition("/")[2] not in _API:
            try:
                self._entry.check_key(incoming.headers, page=True)
            except Refusal as refusal:
                return Outgoing(401, refusal.message.encode(), "text/plain; charset=utf-8", {
                    "www-authenticate": 'Basic realm="sluiceway", charset="UTF-8"'
                })  # fmt: skip
            if incoming.method == "POST":
                with self._room():
                    return await self._page.answer(incoming)
            return await self._page.answer(incoming)
        hint = "the paths of the API are " + " and ".join(WIRES)
        raise Refusal(404, f"there is nothing at {path}; {hint}", code="not_found", retry=False)

    async def _models(self, wanted: str, incoming: Incoming) -> Outgoing:
        if self.options.upstream is not None:
            models = await list_models(self.options.upstream, api_key=self._upstream_key(incoming))
        else:
            models = [_model(served.agent.id, self._started) for served in self.house.agents]
        if not wanted:
            return json_reply({"object": "list", "data": models, "has_more": False})
        found = next((model for model in models if model["id"] == wanted), None)
        if found is None:
            raise Refusal(404, f"there is no model {wanted!r}", code="model_not_found", param="model")
        return json_reply(found)


def wire_of(path: str, headers: Mapping[str, str]) -> Wire:
    """Return the API in whose shape a request is answered, also where there is nothing at its path."""
    found = WIRES.get(path)
    if found is not None:
        return found
    return WIRES["/v1/messages"] if "anthropic-version" in headers else _CHAT


def _model(id_: str, created: int) -> dict[str, Any]:
    """Return a model as both APIs describe one."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created))
    ours = {"id": id_, "object": "model", "created": created, "owned_by": "sluiceway"}
    return {**ours, "type": "model", "display_name": id_, "created_at": moment}


def _check_method(incoming: Incoming, *allowed: str) -> None:
    if incoming.method not in allowed:
        told = " and ".join(allowed)
        text = f"{incoming.path} takes {told}, not {incoming.method}"
        raise Refusal(405, text, code="method_not_allowed", retry=False, allow=", ".join(allowed))


def _check_json(incoming: Incoming) -> None:
    kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "the body must be JSON: Content-Type: application/json", code="unsupported_media_type")
