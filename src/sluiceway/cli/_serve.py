"""`sluiceway serve`."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer
from rich.console import Console

from sluiceway.cli._load import load_all
from sluiceway.errors import ConfigurationError
from sluiceway.serve import ServeOptions, Server

__all__ = ["serve"]

_KEYS = "SLUICEWAY_API_KEY"
_UPSTREAM_KEY = "SLUICEWAY_UPSTREAM_KEY"


def serve(
    target: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="A Python file with agents, or a workflow.")],
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    hold: Annotated[
        Literal["none", "step", "run"] | None,
        typer.Option(help="When text is delivered; by default after each step where it may be tried again."),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(help="Base URL of an OpenAI-compatible server that answers; its key: SLUICEWAY_UPSTREAM_KEY."),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A name it answers to besides localhost, as a proxy's; may be repeated."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--api-key", envvar=_KEYS, help="A key that clients have to send; may be repeated."),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="The largest request, in bytes.")] = 10 * 1024 * 1024,
    max_requests: Annotated[int, typer.Option(min=1, help="How many are answered at once.")] = 1000,
    timeout: Annotated[float, typer.Option(min=0.1, help="How long an answer may take, in seconds.")] = 600.0,
    grace: Annotated[float, typer.Option(min=0.1, help="How long answers may go on at the end, in seconds.")] = 30.0,
    page: Annotated[
        bool | None, typer.Option("--page/--no-page", help="The page at /; by default on a loopback address only.")
    ] = None,
    show_values: Annotated[bool, typer.Option("--show-values", help="Show on the page what was said.")] = False,
) -> None:
    """Serve agents: Chat Completions and Messages under /v1, and a page to watch them at /."""
    if not key and _KEYS in os.environ:
        raise ConfigurationError(f"{_KEYS} is set and holds no key; unset it if anyone is to be let in")
    options = ServeOptions(
        host=host,
        port=port,
        hold=hold,
        upstream=upstream,
        upstream_key=os.environ.get(_UPSTREAM_KEY),
        hosts=tuple(hosts or ()),
        keys=tuple(key or ()),
        max_body_bytes=max_body,
        max_requests=max_requests,
        timeout_s=timeout,
        shutdown_s=grace,
        page=page,
        show_values=show_values,
    )
    server = Server(load_all(target), options)
    console = Console(stderr=True, highlight=False)

    def started(address: str) -> None:
        names = ", ".join(served.agent.id for served in server.service.house.agents)
        console.print(f"{names} at {address}/v1" + (f", page at {address}/" if options.has_page else ""), markup=False)
        if not options.is_loopback and not options.keys:
            console.print("anyone who can reach this address can use it; set SLUICEWAY_API_KEY", style="yellow")

    server.run(started)
