"""SW106, SW107, SW110, SW111: what of a processor takes effect where it stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sluiceway.graphs._sketch import Node
from sluiceway.graphs.rules._rule import Rule, View
from sluiceway.processors import ALL_HOOKS, HOOKS_OF

__all__ = ["ASKS_WITHOUT_BUDGET", "CHECKED_AFTER_DELIVERY", "FAILS_OPEN", "HOOK_NEVER_RUNS"]


def _idle(view: View) -> Iterator[tuple[Node, str, str]]:
    """A built-in has hooks for both lists and is put where it is wanted; one's own is written for its place."""
    ran: defaultdict[str | None, set[str]] = defaultdict(set)
    for node in view.sketch.nodes.values():
        ran[node.step_id].update(view.hooks(node))
    for node in view.sketch.nodes.values():
        kind = view.list_of(node)
        if not kind or node.step_id is None or ("built-in" in node.facts and "hooks-given" not in node.facts):
            continue
        idle = [hook for hook in ALL_HOOKS if hook in node.hooks and hook not in ran[node.step_id]]
        if idle:
            lists = [name for name, hooks in HOOKS_OF.items() if idle[0] in hooks]
            yield (
                node,
                f"its hook {idle[0]} never runs: a list of {kind} processors does not run it",
                f"List it in {' or '.join(f'{name}_processors' for name in lists)} too, or leave the hook out",
            )


HOOK_NEVER_RUNS = Rule("SW106", "hook-never-runs", "warning", "A hook that the list does not run.", _idle)


def _no_budget(view: View) -> Iterator[tuple[Node, str, str]]:
    if view.sketch.root.kind != "agent":
        return
    groups = view.sketch.groups.values()
    if any("budget" in group.facts for group in groups):
        return
    for node in view.processors:
        kind = view.list_of(node)
        if "asks-again" in node.facts and "PrefillErrorHandler" not in node.classes and kind != "error":
            yield (
                node,
                "it asks the model again, but the agent has no budget for that, so it ends the run instead",
                "Give the agent max_processor_retries=, such as 2",
            )


ASKS_WITHOUT_BUDGET = Rule(
    "SW107",
    "asks-without-budget",
    "warning",
    "A processor asks the model again, and the agent has no budget for it.",
    _no_budget,
)


def _fails_open(view: View) -> Iterator[tuple[Node, str, str]]:
    for node in view.processors:
        declared = [e for hook in view.hooks(node) if (e := view.effects(node, hook)) is not None]
        aborts = any(e.aborts for e in declared) if declared else "aborts" in node.facts
        redacts = "redacts" in node.facts
        if node.on_error == "continue" and (aborts or redacts):
            yield (
                node,
                "it guards, and on_error='continue' lets everything through unchecked when it fails",
                "Use on_error='block', or put SW110 into ignore= if that is what is wanted",
            )


FAILS_OPEN = Rule("SW110", "fails-open", "warning", "A guardrail lets everything through when it fails.", _fails_open)


def _too_late(view: View) -> Iterator[tuple[Node, str, str]]:
    for node in view.processors:
        hooks = view.hooks(node)
        late = [h for h in ("process_output_step", "process_output_result") if h in hooks]
        streams = {"process_output_stream", "finish_output_stream"} & set(hooks)
        if view.list_of(node) != "output" or not late or streams:
            continue
        effects = view.effects(node, late[0])
        judges = "aborts" in node.facts if effects is None else effects.aborts and "messages" in effects.reads
        if judges and "asks-again" not in node.facts:
            yield (
                node,
                f"it may stop an answer in {late[0]}, when a stream has delivered the text already",
                (
                    "Give it process_output_stream, or call the agent with hold='step'; put SW111 into ignore= where "
                    "only generate() is used"
                ),
            )


CHECKED_AFTER_DELIVERY = Rule(
    "SW111",
    "checked-after-delivery",
    "note",
    "An answer is checked only after a stream has delivered it.",
    _too_late,
)
