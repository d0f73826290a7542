"""What is known of a step without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType
from typing import Final, cast

from sluiceway.engine import Call, Step
from sluiceway.graphs._sketch import Node, NodeKind
from sluiceway.graphs._source import codes_of
from sluiceway.processors import ALL_HOOKS, Effects, Processor, ProcessorStep
from sluiceway.steps import AgentStep, FunctionStep, ToolStep

__all__ = ["HOOKS_OF_FUNCTIONS", "call_node", "effects_of", "facts_of"]

HOOKS_OF_FUNCTIONS: Final = ("process_input", "process_output_result")
"""Where a function, agent or tool runs in a list, unless it is told otherwise."""

_REDACTING: Final = ("redact", "mask", "scrub", "anonymi", "pseudonymi")
_RESTORING: Final = "PlaceholderRestorer"
"""It edits as a redactor does, and puts back what one took out."""
_WINDOW: Final = ("window_chars", "buffer_size", "batch_size")
_WINDOWED: Final = "TextGuard"
"""What all guardrails of the library are that ask about a stream: of its text they see windows."""


def call_node(call: Call, identity: str, *, in_hooks: bool) -> Node:
    """Return the node of a step.

    Args:
        call: The step in its plan.
        identity: The id of the node.
        in_hooks: Whether it runs in hooks, not in a run of its own.
    """
    step, options = call.step, call.options
    kind = _kind(step)
    thing = _thing(step)
    hooks: tuple[str, ...] = ()
    if isinstance(step, ProcessorStep):
        hooks = step.hooks
    elif in_hooks:
        chosen = cast("frozenset[str] | None", getattr(step, "hooks", None))
        hooks = HOOKS_OF_FUNCTIONS if chosen is None else tuple(h for h in ALL_HOOKS if h in chosen)
    given = ("hooks-given",) if options.hooks is not None else ()
    on_error = options.on_error or getattr(thing, "on_error", None)
    return Node(
        identity,
        kind,
        step.id,
        step_id=step.id,
        hooks=hooks,
        effects=effects_of(thing, hooks) if kind == "processor" else None,
        timeout_s=options.timeout_s,
        retries=options.retries,
        on_error=None if on_error in (None, "raise") else str(on_error),
        ignore=options.ignore,
        classes=_classes(thing) if kind == "processor" else (),
        facts=(*(facts_of(thing) if kind == "processor" else ()), *given),
        description=_description(thing, kind),
    )


def _kind(step: Step) -> NodeKind:
    if isinstance(step, ProcessorStep):
        return "processor"
    if isinstance(step, FunctionStep):
        return "function"
    if isinstance(step, AgentStep):
        return "agent"
    return "tool" if isinstance(step, ToolStep) else "step"


def _thing(step: Step) -> object:
    """Return what the step was made of; of a processor of which only some hooks are seen, itself."""
    for name in ("processor", "fn", "agent", "tool", "thing"):
        found = getattr(step, name, None)
        if found is not None:
            return getattr(found, "_processor", found)
    return step


def _description(thing: object, kind: NodeKind) -> str:
    """Return the first line of what a step says of itself."""
    text: object = getattr(thing, "description", "")
    if not text and kind not in ("agent", "tool") and type(thing) is not Processor:
        text = getattr(thing, "__doc__", None)
    return text.strip().split("\n", 1)[0] if isinstance(text, str) else ""


def _classes(thing: object) -> tuple[str, ...]:
    names = [cls.__name__ for cls in type(thing).__mro__ if cls not in Processor.__mro__]
    return tuple(names)


def effects_of(thing: object, hooks: tuple[str, ...]) -> Mapping[str, Effects] | None:
    """Return what a processor declares for each of its hooks, or None where it declares nothing."""
    declared: object = getattr(thing, "effects", None)
    if isinstance(declared, Effects):
        return dict.fromkeys(hooks, declared)
    if isinstance(declared, Mapping):
        by_hook = cast("Mapping[str, Effects]", declared)
        return {hook: by_hook[hook] for hook in hooks if hook in by_hook}
    return None


def facts_of(thing: object) -> tuple[str, ...]:
    """Return what else is known of a processor, from its options, its name and its code.

    - `built-in`: it comes with the library.
    - `memory`: it loads or saves conversations.
    - `redacts`: it takes out what others should not see.
    - `hooks-given`: which of its hooks run was said where it was put.
    - `windowed`: in a stream it looks at pieces of a size of its own.
    - `aborts`: its code aborts.
    - `asks-again`: its code asks the model again.
    """
    facts: list[str] = []
    if type(thing).__module__.startswith("sluiceway.") and type(thing) is not Processor:
        facts.append("built-in")
    if type(thing).__module__.startswith("sluiceway.memory"):
        facts.append("memory")
    if _redacts(thing):
        facts.append("redacts")
    if _WINDOWED in _classes(thing) or any(isinstance(getattr(thing, name, None), int) for name in _WINDOW):
        facts.append("windowed")
    names, words = _used(thing)
    if "abort" in names or "TripWire" in names:
        facts.append("aborts")
    if ("abort" in names and "retry" in words) or "Retry" in names:
        facts.append("asks-again")
    return tuple(facts)


def _redacts(thing: object) -> bool:
    if _RESTORING in _classes(thing):
        return False
    strategy = getattr(thing, "strategy", None)
    if isinstance(strategy, str):
        return strategy == "redact"
    name = f"{getattr(thing, 'id', '')} {type(thing).__name__}".lower()
    return any(word in name for word in _REDACTING)


def _used(thing: object) -> tuple[set[str], set[str]]:
    """Return the names that a processor's own code uses, and the words of its keyword arguments."""
    names: set[str] = set()
    words: set[str] = set()
    for function in _functions(thing):
        for code in codes_of(function):
            names.update(code.co_names)
            for value in cast("tuple[object, ...]", code.co_consts):
                if isinstance(value, tuple):
                    words.update(w for w in cast("tuple[object, ...]", value) if isinstance(w, str))
    return names, words


def _functions(thing: object) -> Iterator[object]:
    for cls in type(thing).__mro__:
        if cls not in (object, Processor):
            yield from vars(cls).values()
    for value in list(getattr(thing, "__dict__", {}).values()):
        if isinstance(value, FunctionType):
            yield value
        elif isinstance(value, MethodType):
            yield from _judged(value.__self__)


def _judged(owner: object) -> Iterator[object]:
    """Give the function of a `@guard`, which stands behind the hooks that were made for it."""
    judge = getattr(owner, "judge", None) or getattr(owner, "_judge", None)
    fn = getattr(judge, "fn", None)
    if fn is not None:
        yield fn
