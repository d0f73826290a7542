"""`Page`: what is at `/` and below."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl

import anyio

from sluiceway.serve._house import House, Listed, Served
from sluiceway.serve._http import Incoming, Outgoing
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._runs import RunLog
from sluiceway.serve.page._frame import asset, framed
from sluiceway.serve.page._html import el
from sluiceway.serve.page._trial import Attempt, try_workflow
from sluiceway.serve.page._views import Views

__all__ = ["Page"]

_MOST_WATCHERS: Final = 100


class Page:
    """Answers what a browser asks for.

    Args:
        house: What is served.
        log: The last runs.
        options: Of the server.
        closing: Set when the server ends.
    """

    def __init__(self, house: House, log: RunLog, options: ServeOptions, closing: anyio.Event) -> None:
        self._house = house
        self._log = log
        self._closing = closing
        self._timeout_s = options.timeout_s
        self._views = Views(house, log, options)

    async def answer(self, incoming: Incoming) -> Outgoing:
        """Return a page."""
        first, *rest = incoming.path.strip("/").split("/")
        if incoming.method == "POST":
            return await self._post([first, *rest], incoming)
        if incoming.method not in ("GET", "HEAD"):
            found = _problem(405, "That cannot be done", f"{incoming.method} is not known here.")
            return replace(found, headers={**found.headers, "allow": "GET, HEAD"})
        if (first, rest) == ("events", []):
            if self._log.watching >= _MOST_WATCHERS:
                raise Refusal(503, "too many follow the runs", code="overloaded", retry=True, retry_after_s=10)
            changes = b"" if incoming.method == "HEAD" else Changes(self._log, self._closing)
            return Outgoing(200, changes, "text/event-stream; charset=utf-8")
        if first == "assets" and len(rest) == 1 and (found := asset(rest[0])) is not None:
            return found
        return self._shown(first, rest) or _problem(404, "Nothing here", "There is no such page, or no longer.")

    def _shown(self, first: str, rest: list[str]) -> Outgoing | None:
        if not first:
            return self._views.home()
        if len(rest) != 1:
            return None
        if first == "runs":
            record = self._log.get(rest[0])
            return None if record is None else self._views.run(record)
        if first == "agents" and (served := self._agent(rest[0])) is not None:
            return self._views.agent(served)
        if first == "workflows" and (listed := self._workflow(rest[0])) is not None:
            return self._views.workflow(listed)
        return None

    async def _post(self, path: list[str], incoming: Incoming) -> Outgoing:
        listed = self._workflow(path[1]) if len(path) == 3 and (path[0], path[2]) == ("workflows", "try") else None
        if listed is None:
            return _problem(404, "Nothing here", "There is no such workflow.")
        attempt = _attempt(incoming)
        if not attempt.text.strip():
            return self._views.workflow(listed, attempt, problem="Write a text to try it on.")
        with anyio.move_on_after(self._timeout_s) as late:
            return self._views.trial(listed, attempt, await try_workflow(listed, attempt, self._log))
        assert late.cancelled_caught
        return self._views.workflow(listed, attempt, problem=f"It had not ended after {self._timeout_s:g} s.")

    def _agent(self, number: str) -> Served | None:
        return next((served for served in self._house.agents if str(served.number) == number), None)

    def _workflow(self, number: str) -> Listed | None:
        return next((listed for listed in self._house.workflows if str(listed.number) == number), None)


class Changes:
    """Server-sent events: which run has changed, until the reader or the server ends."""

    def __init__(self, log: RunLog, closing: anyio.Event) -> None:
        self._log = log
        self._closing = closing

    async def open(self) -> None:
        """Do nothing: there is a first piece at once."""

    async def pour(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send which run has changed, until the server ends."""
        async with anyio.create_task_group() as group:

            async def end() -> None:
                await self._closing.wait()
                group.cancel_scope.cancel()

            group.start_soon(end)
            with self._log.watch() as changes:
                await send(b"retry: 2000\n: hello\n\n")
                async for run_id in changes:
                    await send(b"data: " + json.dumps({"run": run_id}).encode() + b"\n\n")


def _attempt(incoming: Incoming) -> Attempt:
    kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refusal(415, "a form was expected", code="unsupported_media_type", retry=False)
    try:
        given = dict(parse_qsl(incoming.body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    except ValueError as error:
        raise Refusal(400, "the form has too many fields", code="invalid_body", retry=False) from error
    said = {name: given.get(name, "") for name in ("text", "answer", "tool", "error")}
    return Attempt(**said, texts="texts" in given)


def _problem(status: int, title: str, text: str) -> Outgoing:
    return framed(title, [el("h1", None, title), el("p", None, text), el("p", None, el("a", {"href": "/"}, "Home"))],
                  status=status)  # fmt: skip
