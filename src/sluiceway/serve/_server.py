"""`Server`: a service behind uvicorn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio

from sluiceway.errors import ConfigurationError
from sluiceway.serve._app import ASGIApp, asgi_app, missing
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._service import Service

__all__ = ["Server"]

_LAST_WORDS_S: Final = 3.0
"""How long a client has to take what it is told when its answer is cut."""


class Server:
    """Serves agents: Chat Completions, Messages, and a page.

    Args:
        things: Agents; a workflow, a processor or a list of these becomes an agent in front of
            the server behind, or of an echo.
        options: How it behaves; None: the defaults.

    Raises:
        ConfigurationError: Nothing to serve, two agents of one id, or an option that cannot work.

    Examples:
        >>> from sluiceway import Agent
        >>> Server([Agent(id="echo", model="echo/echo")]).options.port
        8000
    """

    def __init__(self, things: Sequence[object], options: ServeOptions | None = None) -> None:
        self.options = options or ServeOptions()
        self.service = Service(list(things), self.options)
        self._running: Any = None

    def app(self) -> ASGIApp:
        """Return the ASGI application, for a server of one's own.

        Raises:
            ConfigurationError: The extra `serve` is not installed.
        """
        return asgi_app(self.service)

    def run(self, started: Callable[[str], None] | None = None) -> None:
        """Serve until a signal to end; then answers that have begun may be finished.

        Args:
            started: Called with the address when requests are taken.

        Raises:
            ConfigurationError: The extra `serve` is not installed, or the address cannot be used.
        """
        anyio.run(self.serve, started)

    async def serve(self, started: Callable[[str], None] | None = None) -> None:
        """Do what `run` does, inside of an asyncio program.

        Args:
            started: Called with the address when requests are taken.

        Raises:
            ConfigurationError: The extra `serve` is not installed, or the address cannot be used.
        """
        server = self._running = self._uvicorn(started)
        try:
            await server.serve()
        except SystemExit as error:
            # How uvicorn says that it could not start; it has logged why.
            raise ConfigurationError(
                f"the server could not start on {self.options.host}:{self.options.port}; is the port taken?"
            ) from error

    def stop(self) -> None:
        """Take no more requests, let answers that have begun be finished, and end. From any thread."""
        if self._running is not None:
            self._running.should_exit = True

    def _uvicorn(self, started: Callable[[str], None] | None) -> Any:
        try:
            import uvicorn
        except ImportError as error:
            raise missing(error) from error
        options, service = self.options, self.service

        class Serving(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets)
                if started is not None and self.started:
                    port = self.servers[0].sockets[0].getsockname()[1]
                    host = f"[{options.host}]" if ":" in options.host else options.host
                    started(f"http://{host}:{port}")

            async def shutdown(self, sockets: Any = None) -> None:
                service.closing.set()  # what has no end of its own ends now
                async with anyio.create_task_group() as group:
                    group.start_soon(service.cut_after, options.shutdown_s)
                    await super().shutdown(sockets)
                    group.cancel_scope.cancel()

        config = uvicorn.Config(
            self.app(),
            host=options.host.strip("[]"),
            port=options.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(options.shutdown_s + _LAST_WORDS_S),
        )
        return Serving(config)
