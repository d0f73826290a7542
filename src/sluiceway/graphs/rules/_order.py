"""SW103, SW104, SW105, SW109: the order of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sluiceway.graphs._sketch import Node
from sluiceway.graphs.rules._rule import Rule, View

__all__ = ["HEAVY_ON_EVERY_CHUNK", "LEAK_BEFORE_REDACTION", "LIMIT_BEFORE_FILTER", "MEMORY_AFTER_GUARD"]

_SAME_SIZE: Final = {"ProviderHistoryCompat", "ResponseCache", "TokenLimiter", "TokenLimiterProcessor"}
"""Classes that write the prompt and leave its size as it is."""
_MEMORY: Final = {"MessageHistory", "SemanticRecall", "WorkingMemory"}


def _leaks(view: View) -> Iterator[tuple[Node, str, str]]:
    redactors = [node for node in view.processors if "redacts" in node.facts]
    told: set[tuple[str, str]] = set()
    for sender in view.processors:
        for redactor in redactors:
            if redactor is sender or not view.before(sender, redactor) or (sender.id, redactor.id) in told:
                continue
            for hook in view.hooks(sender):
                sent, taken = view.effects(sender, hook), view.effects(redactor, hook)
                if sent is not None and sent.external and taken is not None and taken.writes - {"state"}:
                    told.add((sender.id, redactor.id))
                    yield (
                        redactor,
                        (
                            f"{sender.step_id!r} stands before it in {hook} and sends the text to another service, "
                            "with all that this takes out"
                        ),
                        f"Put it before {sender.step_id!r}",
                    )
                    break


LEAK_BEFORE_REDACTION = Rule(
    "SW103",
    "leak-before-redaction",
    "error",
    "A redactor stands behind a step that sends the text to another service.",
    _leaks,
)


def _limits(view: View) -> Iterator[tuple[Node, str, str]]:
    hook = "process_llm_request"
    nodes = view.ordered(view.processors, hook)
    for limiter in nodes:
        if not {"TokenLimiter", "TokenLimiterProcessor"} & set(limiter.classes):
            continue
        for other in nodes:
            effects = view.effects(other, hook)
            writes = "ToolCallFilter" in other.classes or (effects is not None and "prompt" in effects.writes)
            if writes and not _SAME_SIZE & set(other.classes) and view.before(limiter, other):
                yield (
                    limiter,
                    (
                        f"it cuts the prompt before {other.step_id!r} changes it: messages are lost that would have "
                        "fitted, or the prompt grows past the limit again"
                    ),
                    f"Put it behind {other.step_id!r}, last of all that changes the prompt",
                )
                break


LIMIT_BEFORE_FILTER = Rule(
    "SW104",
    "limit-before-filter",
    "warning",
    "A token limiter stands before what changes the size of the prompt.",
    _limits,
)


def _heavy(view: View) -> Iterator[tuple[Node, str, str]]:
    hook = "process_output_stream"
    nodes = view.ordered(view.processors, hook)
    batches = [node for node in nodes if "BatchPartsProcessor" in node.classes]
    for node in nodes:
        effects = view.effects(node, hook)
        if effects is None or not effects.external or "windowed" in node.facts:
            continue
        if not any(view.before(batch, node) for batch in batches):
            yield (
                node,
                "it asks another service about every chunk of the stream, a few characters each",
                "Put BatchPartsProcessor before it, or look at windows of text inside of it",
            )


HEAVY_ON_EVERY_CHUNK = Rule(
    "SW105",
    "heavy-on-every-chunk",
    "warning",
    "A check that waits for another service runs on every chunk.",
    _heavy,
)


def _late_memory(view: View) -> Iterator[tuple[Node, str, str]]:
    hook = "process_input"
    nodes = view.ordered(view.processors, hook)
    for memory in nodes:
        if not _MEMORY & set(memory.classes):
            continue
        for guard in nodes:
            if _MEMORY & set(guard.classes) or _hides(view, guard, memory, hook):
                continue
            if _judges(view, guard, hook) and view.before(guard, memory):
                yield (
                    memory,
                    f"{guard.step_id!r} stands before it and does not see the history that it loads",
                    f"Put it before {guard.step_id!r}, or give the agent memory=, which comes first",
                )
                break


def _hides(view: View, guard: Node, memory: Node, hook: str) -> bool:
    """Whether a redactor stands before memory that sends the text to another service, as SW103 asks for."""
    sends = view.effects(memory, hook)
    return "redacts" in guard.facts and sends is not None and sends.external


def _judges(view: View, node: Node, hook: str) -> bool:
    effects = view.effects(node, hook)
    return "aborts" in node.facts if effects is None else effects.aborts


MEMORY_AFTER_GUARD = Rule(
    "SW109",
    "memory-after-guard",
    "warning",
    "Memory is loaded behind a guardrail that has to see the history.",
    _late_memory,
)
