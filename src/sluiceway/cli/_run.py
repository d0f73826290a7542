"""`sluiceway run`."""

from __future__ import annotations

import sys
from typing import Annotated, Protocol

import anyio
import typer
from rich.console import Console

from sluiceway.agent import Agent, CallOptions
from sluiceway.cli._json import JsonLines
from sluiceway.cli._load import load_agent
from sluiceway.cli._show import RunView
from sluiceway.engine import Result
from sluiceway.errors import ConfigurationError, SluicewayError
from sluiceway.messages import Chunk
from sluiceway.models import route
from sluiceway.processors import HookEvent, StepOverrides

__all__ = ["run"]

EXIT_TRIPWIRE = 3
EXIT_ERROR = 1


class View(Protocol):
    """Whoever shows a run."""

    def hook(self, event: HookEvent) -> None: ...
    def chunk(self, chunk: Chunk) -> None: ...
    def result(self, result: Result) -> None: ...
    def error(self, error: BaseException) -> None: ...


def run(
    target: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="A Python file with an agent or a workflow.")],
    text: Annotated[str, typer.Argument(help="What to say to it; - reads standard input.")],
    *,
    model: Annotated[str | None, typer.Option(help="Another model, such as openai/gpt-5-mini.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a tree.")] = False,
) -> None:
    """Run an agent, or a workflow in front of an echo, and show what every hook did.

    Exit code 0: answered. 3: a tripwire. 1: an error.
    """
    agent = load_agent(target)
    said = sys.stdin.read() if text == "-" else text
    if not said.strip():
        raise ConfigurationError("there is nothing to say: the text is empty")
    options: CallOptions = {}
    if model is not None:
        chosen = route(model)
        options["prepare_step"] = lambda _: StepOverrides(model=chosen)
    if as_json:
        code = anyio.run(_run, agent, said, options, JsonLines(sys.stdout))
    else:
        with RunView(Console(), agent.id) as view:
            code = anyio.run(_run, agent, said, options, view)
    raise typer.Exit(code)


async def _run(agent: Agent, text: str, options: CallOptions, view: View) -> int:
    options["observer"] = view.hook
    try:
        async with agent, agent.stream(text, **options) as stream:
            async for chunk in stream:
                view.chunk(chunk)
            result = await stream.result()
    except SluicewayError as error:
        view.error(error)
        return EXIT_ERROR
    view.result(result)
    return EXIT_TRIPWIRE if result.tripwire is not None else 0
