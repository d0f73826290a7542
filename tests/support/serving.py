"""A server on a free port of loopback, for as long as it is entered."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import anyio

from sluiceway.serve import ServeOptions, Server

__all__ = ["Serving"]


class Serving:
    """Serves things in a thread of its own.

    Attributes:
        address: Such as `http://127.0.0.1:40123`.
        server: What runs.
    """

    def __init__(self, things: Sequence[object], options: ServeOptions | None = None) -> None:
        self.server = Server(things, options or ServeOptions(port=0, shutdown_s=2))
        self.address = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=anyio.run, args=(self.server.serve, self._started), daemon=True)

    def _started(self, address: str) -> None:
        self.address = address
        self._ready.set()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.stop()
        self._thread.join(20)
        assert not self._thread.is_alive()
        assert self.server.service.running == 0
