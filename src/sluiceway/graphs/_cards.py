"""What is written on the box of a node, and how large the box is for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sluiceway.graphs._measure import Text, fit
from sluiceway.graphs._sketch import Group, Node, NodeRun

__all__ = [
    "CHIP_SIZE",
    "Card",
    "Chip",
    "Tone",
    "card_of",
    "effect_words",
    "hook_words",
    "option_words",
    "run_chips",
    "title_of",
]

Tone: TypeAlias = Literal["plain", "good", "warn", "bad", "info"]
_CHANGES: Final[Mapping[str, Tone]] = {"added": "good", "removed": "bad", "moved": "info", "changed": "warn"}
Shape: TypeAlias = Literal["card", "pill", "dot"]

TITLE_SIZE: Final = 13.0
SUB_SIZE: Final = 11.0
CHIP_SIZE: Final = 10.0
_ROOM: Final = 214.0
_CHIP_ROOM: Final = 236.0
_CHIP_GAP: Final = 5.0
_DOTS: Final = {
    "start": 20.0, "end": 20.0, "fork": 22.0, "join": 22.0, "branch": 28.0, "loop": 30.0, "foreach": 28.0,
}  # fmt: skip
_HOOKS: Final = {
    "process_input": "input",
    "process_input_step": "step",
    "process_llm_request": "request",
    "process_output_stream": "stream",
    "finish_output_stream": "stream",
    "process_llm_response": "response",
    "process_output_step": "output step",
    "process_tool_result": "tool result",
    "process_output_result": "result",
    "process_api_error": "api error",
}
_WORDS: Final = {
    "function": "function", "agent": "agent", "tool": "tool", "step": "step", "model": "model",
    "dynamic": "per request",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chip:
    """A small label on a box."""

    text: Text
    tone: Tone
    width: float


@dataclass(frozen=True, slots=True)
class Card:
    """A node as it is drawn.

    Args:
        node: The node.
        shape: What it looks like.
        w: Its width.
        h: Its height.
        title: What it is called.
        sub: A second line, or None.
        chips: Rows of small labels.
    """

    node: Node
    shape: Shape
    w: float
    h: float
    title: Text
    sub: Text | None = None
    chips: tuple[tuple[Chip, ...], ...] = ()


def card_of(node: Node, hooks: Sequence[str]) -> Card:
    """Return how a node is drawn.

    Args:
        node: The node.
        hooks: The hooks that it runs in at this place.
    """
    if node.kind in _DOTS:
        size = _DOTS[node.kind]
        return Card(node, "dot", size, size, fit(node.label, SUB_SIZE, _ROOM))
    if node.kind in ("map", "sleep"):
        title = fit(node.label, SUB_SIZE, _ROOM)
        rows = _rows(run_chips(node.run))
        wide = max(title.width + 40, *(_row_width(row) + 20 for row in rows), 64)
        return Card(node, "pill", _up(wide), 30.0 + 20 * len(rows), title, chips=rows)
    title = fit(node.label, TITLE_SIZE, _ROOM, bold=True)
    words = hook_words(hooks) or _WORDS.get(node.kind, "")
    sub = fit(words, SUB_SIZE, _ROOM) if words else None
    rows = _rows([*effect_words(node, hooks), *option_words(node), *run_chips(node.run)])
    text = max(title.width, sub.width if sub else 0)
    wide = max(text + 60, *(_row_width(row) + 24 for row in rows), 128)
    high = (46.0 if sub else 40.0) + 20 * len(rows) + (4 if rows else 0)
    return Card(node, "card", _up(wide), high, title, sub, rows)


def _up(value: float) -> float:
    return float(-(-value // 2) * 2)


def _rows(chips: Sequence[tuple[str, Tone]]) -> tuple[tuple[Chip, ...], ...]:
    rows: list[list[Chip]] = []
    used = 0.0
    for word, tone in chips:
        text = fit(word, CHIP_SIZE, _CHIP_ROOM - 12)
        chip = Chip(text, tone, text.width + 12)
        if not rows or used + _CHIP_GAP + chip.width > _CHIP_ROOM:
            rows.append([])
            used = -_CHIP_GAP
        rows[-1].append(chip)
        used += _CHIP_GAP + chip.width
    return tuple(tuple(row) for row in rows)


def _row_width(row: tuple[Chip, ...]) -> float:
    return sum(chip.width for chip in row) + _CHIP_GAP * (len(row) - 1)


def hook_words(hooks: Sequence[str]) -> str:
    """Return hooks as people read them, each once."""
    return " · ".join(dict.fromkeys(_HOOKS.get(hook, hook) for hook in hooks))


def effect_words(node: Node, hooks: Sequence[str]) -> list[tuple[str, Tone]]:
    """Return what a processor declares to do in these hooks."""
    declared = [effects for hook, effects in (node.effects or {}).items() if hook in hooks]
    words: list[tuple[str, Tone]] = []
    if any(effects.writes - {"state"} for effects in declared):
        words.append(("redacts" if "redacts" in node.facts else "edits", "info"))
    if any(effects.aborts for effects in declared):
        words.append(("may block", "warn"))
    if any(effects.external for effects in declared):
        words.append(("external", "plain"))
    return words


def option_words(node: Node) -> list[tuple[str, Tone]]:
    """Return how a step is run, where it was given options."""
    words: list[tuple[str, Tone]] = []
    if node.timeout_s is not None:
        words.append((f"timeout {node.timeout_s:g} s", "plain"))
    if node.retries:
        words.append((f"retries {node.retries}", "plain"))
    if node.on_error:
        words.append((f"on error: {node.on_error}", "plain"))
    if node.change:
        words.append((node.change, _CHANGES[node.change]))
    return words


def run_chips(run: NodeRun | None) -> list[tuple[str, Tone]]:
    """Return what became of a step in a run."""
    if run is None:
        return []
    if run.status == "skipped":
        return [("skipped", "plain")]
    chips: list[tuple[str, Tone]] = []
    if run.status in ("tripwire", "error", "suspended", "cancelled"):
        chips.append((run.status, "bad" if run.status in ("tripwire", "error") else "warn"))
    if run.total_ms is not None:
        times = f"{run.calls}× · " if run.calls > 1 else ""
        chips.append((times + _ms(run.total_ms), "plain"))
    elif run.calls > 1:
        chips.append((f"{run.calls}×", "plain"))
    if run.own_ms is not None and run.total_ms is not None and run.total_ms - run.own_ms > 0.05:
        chips.append((f"own {_ms(run.own_ms)}", "plain"))
    if run.edits:
        chips.append((f"{run.edits} edit{'s' if run.edits > 1 else ''}", "info"))
    if run.warnings:
        chips.append((f"{run.warnings} warning{'s' if run.warnings > 1 else ''}", "warn"))
    return chips


def title_of(group: Group) -> str:
    """Return the title of a group: its name, options, and what became of it in a run."""
    words = [group.label]
    if group.timeout_s is not None:
        words.append(f"timeout {group.timeout_s:g} s")
    if group.retries:
        words.append(f"retries {group.retries}")
    if group.on_error:
        words.append(f"on error: {group.on_error}")
    if group.change:
        words.append(group.change)
    words += [word for word, _ in run_chips(group.run)]
    return " · ".join(word for word in words if word)


def _ms(value: float) -> str:
    if value >= 1000:
        return f"{value / 1000:.3g} s"
    return f"{value:.3g} ms" if value >= 0.1 else f"{value * 1000:.0f} µs"
