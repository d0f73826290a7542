"""A run in the terminal: a tree of its hooks that grows, the answer as it streams, the verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text
from rich.tree import Tree

from sluiceway.engine import Result
from sluiceway.messages import Chunk, ListEdit
from sluiceway.processors import HookEvent

__all__ = ["RunView", "printable"]

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKS: Final = {
    "passed": ("✓", "green"),
    "edited": ("✎", "yellow"),
    "tripwire": ("✋", "bold red"),
    "error": ("✗", "bold red"),
}


def printable(text: str) -> str:
    """Return a text that cannot steer a terminal: control characters become `�`."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


class RunView:
    """Shows a run while it goes on. Use it with `with`.

    Args:
        console: Where to.
        title: The agent's id.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._tree = Tree(Text(printable(title), style="bold"), guide_style="dim")
        self._groups: dict[tuple[int | None, int, str], Tree] = {}
        self._answer = Text()
        self._end: RenderableType | None = None
        self._live = Live(self._view(), console=console, refresh_per_second=12, vertical_overflow="visible")

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.update(self._view())
        self._live.__exit__(kind, error, traceback)
        if not self._console.is_terminal:
            self._console.print()

    def hook(self, event: HookEvent) -> None:
        """Add what a hook did."""
        self._group(event).add(_line(event))
        self._live.update(self._view())

    def chunk(self, chunk: Chunk) -> None:
        """Add what reached the client."""
        kind = chunk.type
        if kind == "text-delta":
            self._answer.append(printable(chunk.text))
        elif kind == "tool-call":
            self._answer.append(f"\n→ {printable(str(chunk.get('tool_name')))}\n", style="cyan")
        elif kind == "tool-error":
            self._answer.append(f"\n✗ {printable(str(chunk.get('error')))}\n", style="red")
        elif kind == "step-finish" and chunk.get("reason") == "retry":
            self._answer = Text("(asked again)\n", style="dim")
        self._live.update(self._view())

    def result(self, result: Result) -> None:
        """Show how it ended."""
        used = f"{result.usage.input_tokens} + {result.usage.output_tokens} tokens"
        if result.tripwire is not None:
            trip = result.tripwire
            self._answer = Text()
            self._end = Panel(
                Text.assemble((printable(trip.reason), "bold"), f"\n{printable(trip.path or trip.processor_id or '')}"),
                title="tripwire",
                border_style="red",
                expand=False,
            )
            return
        note = " · edited after it was streamed" if result.edited_after_stream else ""
        self._end = Text(f"{result.finish_reason} · {len(result.steps)} step(s) · {used}{note}", style="dim")

    def error(self, error: BaseException) -> None:
        """Show what it failed with."""
        self._end = Panel(Text(printable(str(error))), title=type(error).__name__, border_style="red", expand=False)

    def _group(self, event: HookEvent) -> Tree:
        key = (event.step_number, event.attempt, event.hook)
        group = self._groups.get(key)
        if group is None:
            where = "" if event.step_number is None else f"step {event.step_number} · "
            again = f" (try {event.attempt + 1})" if event.attempt else ""
            group = self._tree.add(Text.assemble((where, "dim"), (event.hook, "cyan"), (again, "yellow")))
            self._groups[key] = group
        return group

    def _view(self) -> RenderableType:
        parts: list[RenderableType] = [self._tree]
        if self._answer.plain:
            parts.append(Panel(self._answer, title="answer", border_style="blue", expand=False))
        if self._end is not None:
            parts.append(self._end)
        return Group(*parts)


def _line(event: HookEvent) -> Text:
    mark, style = _MARKS[event.outcome]
    calls = f" ×{event.calls}" if event.calls > 1 else ""
    line = Text.assemble((f"{mark} ", style), printable(event.path), (f"  {event.duration_ms:.2f} ms{calls}", "dim"))
    changed = _changed(event.edits) or (f"{event.changed_chunks} chunk(s) changed" if event.changed_chunks else "")
    if changed:
        line.append(f"  {changed}", style="yellow")
    for violation in event.violations:
        line.append(f"  ⚠ {printable(violation.message)}", style="magenta")
    return line


def _changed(edits: Sequence[ListEdit]) -> str:
    spans = [f"{edit.start}+{edit.end - edit.start}→{edit.length}" for edit in edits if edit.action == "edit"]
    other = sorted({edit.action for edit in edits if edit.action != "edit"})
    return ", ".join([*(f"at {span}" for span in spans[:4]), *(["…"] if len(spans) > 4 else []), *other])
