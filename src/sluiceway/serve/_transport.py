"""What stands in the place of the network inside of a guarded official client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import partial
from threading import Thread
from typing import Any, Final, Self

import anyio
from anyio.from_thread import BlockingPortal, BlockingPortalProvider

from sluiceway.agent import Agent
from sluiceway.engine import Owned, loop_is_running
from sluiceway.errors import ConfigurationError, SluicewayError
from sluiceway.serve._answering import Answering, Call, Hold
from sluiceway.serve._guarding import call_options
from sluiceway.serve._refusal import Refusal, refusal_of
from sluiceway.serve._relay import Relay, library_of, make_stream
from sluiceway.serve._wire import Wire, compact

__all__ = ["AsyncGuard", "SyncGuard"]

_EVENTS: Final = "text/event-stream; charset=utf-8"


class _Guard:
    """Answers the requests of one API by an agent; see `AsyncGuard` and `SyncGuard`.

    Args:
        client: The HTTP client that the guarded client had.
        agent: Whose lists guard.
        wire: The API.
        path: How its path ends.
        hold: When text is delivered.
    """

    def __init__(self, client: Any, agent: Agent, wire: Wire, path: str, hold: Hold) -> None:
        self._client = client
        self._agent = agent
        self._wire = wire
        self._path = path
        self._hold: Hold = hold
        self._library = library_of(client)

    def _guarded(self, request: Any) -> bool:
        """Whether a request is one to guard; one that only asks for what is known is passed on.

        Raises:
            ConfigurationError: It is neither, and nothing may pass unguarded.
        """
        if request.url.path.endswith(self._path) and request.method == "POST":
            return True
        if request.method in ("GET", "HEAD"):
            return False
        raise ConfigurationError(
            f"{request.method} {request.url.path} is not guarded: only {self._path} is; "
            "use the client itself for anything else"
        )

    async def _answer(self, request: Any, stack: AsyncExitStack) -> tuple[int, Any, Any]:
        """Return status, headers and body: bytes, or an `Answering` that has been opened."""
        relay = Relay(self._client, request)
        try:
            ask = self._wire.ask(await _content(request))
            options = call_options(ask, relay.model(ask, self._wire), guarding=True)
            call = Call(self._agent, ask, self._wire, options, hold=self._hold, own_key=True)
            answering = await stack.enter_async_context(Answering(call))
            headers = {"x-request-id": answering.run_id, "request-id": answering.run_id}
            if ask.stream:
                await answering.open()
                return 200, {"content-type": _EVENTS, **headers}, answering
            body = compact(await answering.whole())
        except (SluicewayError, Refusal) as error:
            return self._no_answer(error, relay)
        return 200, {"content-type": "application/json", **headers}, body

    def _no_answer(self, error: Exception, relay: Relay) -> tuple[int, Any, bytes]:
        """Return what the server itself said, where it was the server that refused."""
        refusal = refusal_of(error, own_key=True)
        if refusal.code == "model_error":
            if relay.failed is not None:
                raise relay.failed
            if relay.refused is not None:
                return relay.refused
        headers = {"content-type": "application/json", **refusal.headers}
        return refusal.status, headers, compact(self._wire.fault(refusal))

    def _response(self, status: int, headers: Any, body: Any) -> Any:
        kind = {"content": body} if isinstance(body, bytes) else {"stream": body}
        return self._library.Response(status, headers=headers, **kind)


class AsyncGuard(_Guard):
    """For an asynchronous client, on asyncio and trio."""

    def __init__(self, client: Any, agent: Agent, wire: Wire, path: str, hold: Hold) -> None:
        super().__init__(client, agent, wire, path, hold)
        self._open: set[Owned] = set()
        """Held here, as in `SyncGuard`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    async def handle_async_request(self, request: Any) -> Any:
        """Answer a request of the official client."""
        if not self._guarded(request):
            return await self._client.send(request, stream=True)
        stack = AsyncExitStack()
        try:
            status, headers, body = await self._answer(request, stack)
        except BaseException:
            await stack.aclose()
            raise
        if isinstance(body, bytes):
            await stack.aclose()
        else:
            pieces = _Pieces(body, stack.aclose, self._open)
            body = make_stream(self._library, pieces, pieces.aclose, sync=False)
        return self._response(status, headers, body)

    async def aclose(self) -> None:
        """Leave the user's client open."""


class _Pieces:
    """What an asynchronous client reads; a task of its own ends it, also where it is dropped unread."""

    def __init__(self, answering: Answering, close: Callable[[], Awaitable[None]], held: set[Owned]) -> None:
        self._answering = answering
        self._owned = owned = Owned()

        async def keep() -> None:
            held.add(owned)
            try:
                await anyio.sleep_forever()
            finally:
                held.discard(owned)
                with anyio.CancelScope(shield=True), suppress(SluicewayError):
                    await close()

        owned.start(keep)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._answering)

    def __del__(self) -> None:
        self._owned.forget()

    async def aclose(self) -> None:
        """End it."""
        self._owned.cancel()
        await self._owned.join()


class SyncGuard(_Guard):
    """For a synchronous client: runs go on in a thread with an event loop, which ends with the last of them."""

    def __init__(self, client: Any, agent: Agent, wire: Wire, path: str, hold: Hold) -> None:
        super().__init__(client, agent, wire, path, hold)
        self._portals = BlockingPortalProvider()
        self._open: set[Answering] = set()
        """Held here, so that a stream that is dropped unread ends in order and not piece by piece as garbage."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def handle_request(self, request: Any) -> Any:
        """Answer a request of the official client."""
        if not self._guarded(request):
            return self._client.send(request, stream=True)
        threads = ExitStack()
        with threads:
            portal = threads.enter_context(self._portals)
            stack = AsyncExitStack()
            threads.callback(portal.call, stack.aclose)
            status, headers, body = portal.call(self._answer, request, stack)
            if isinstance(body, Answering):
                self._open.add(body)
                threads.callback(self._open.discard, body)
                end = partial(_ended, threads.pop_all().close)
                body = make_stream(self._library, _pieces(portal, body, end), end, sync=True)
            return self._response(status, headers, body)

    def close(self) -> None:
        """Leave the user's client open."""


def _pieces(portal: BlockingPortal, answering: Answering, close: Callable[[], None]) -> Iterator[bytes]:
    try:
        while (piece := portal.call(_next, answering)) is not None:
            yield piece
    finally:
        close()


def _ended(close: Callable[[], None]) -> None:
    """Close; what was dropped unread may be found as garbage in the loop's own thread, which cannot wait for itself."""
    if not loop_is_running():
        close()
        return
    with suppress(RuntimeError):  # the interpreter ends, and everything with it
        Thread(target=close).start()


async def _next(answering: Answering) -> bytes | None:
    return await anext(answering, None)


async def _content(request: Any) -> bytes:
    if hasattr(request.stream, "__aiter__"):
        return await request.aread()
    return request.read()
