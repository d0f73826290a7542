"""Processors, chains and workflows made of a closed set of behaviours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sluiceway.graphs import Workflow
from sluiceway.processors import Effects, ListKind, Processor
from sluiceway.testing._source import Source

__all__ = ["BEHAVIOURS", "behaving", "make_chain", "make_processor", "make_workflow"]

_WRITES: Final[Mapping[str, Callable[[str], str]]] = {
    "upper": str.upper,
    "digits": lambda text: "".join("#" if one.isdigit() else one for one in text),
    "spaces": lambda text: text.replace(" ", "_"),
    "at-signs": lambda text: text.replace("@", "(at)"),
}
"""Edits that look at one character at a time, so that no cut of a stream changes what they do."""

BEHAVIOURS: Final[tuple[str, ...]] = ("pass", "warn", *_WRITES, "block", "hold")
"""What the processors of the strategies do: nothing; report; edit; end the run at `THE END`; hold a block back."""


def behaving(behaviour: str, kind: ListKind = "input", *, id: str | None = None) -> Processor:  # noqa: A002
    """Return a processor with one of `BEHAVIOURS`.

    Args:
        behaviour: One of `BEHAVIOURS`.
        kind: For which list: `input` has `process_input`; `output` the stream and result hooks.
        id: Its id; None: the behaviour.
    """
    does = _Behaviour(behaviour)
    name = behaviour if id is None else id
    effects = None if behaviour in _WRITES else Effects(reads=("messages", "chunk"))
    if kind == "input":
        return Processor.of(name, process_input=does.on_messages, effects=effects)
    if kind == "error":
        return Processor.of(name, process_api_error=does.on_error, effects=effects)
    return Processor.of(
        name,
        process_output_stream=does.on_chunk,
        finish_output_stream=does.on_end,
        process_output_result=does.on_messages,
        effects=effects,
    )


class _Behaviour:
    def __init__(self, name: str) -> None:
        self.name = name
        self.edit = _WRITES.get(name)

    def on_messages(self, ctx: Any) -> None:
        if self.name == "warn":
            ctx.warn("looked at it")
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text":
                    self._look(ctx, part.text)
                    if self.edit is not None and part.text != self.edit(part.text):
                        part.text = self.edit(part.text)

    def on_error(self, ctx: Any) -> None:
        if self.name == "warn":
            ctx.warn("looked at it")

    def _look(self, ctx: Any, text: str) -> None:
        if self.name == "block" and "THE END" in text:
            ctx.abort("it ended")

    def on_chunk(self, ctx: Any) -> Any:
        part = ctx.part
        if part.type == "text-delta":
            if self.edit is not None:
                return part.replace(text=self.edit(part.text))
            if self.name in ("block", "hold"):
                return self._held(ctx, part)
        if part.type == "text-end" and self.name in ("block", "hold"):
            return [*self._freed(ctx), part]
        return part

    def _held(self, ctx: Any, part: Any) -> None:
        ctx.holding = True
        texts = ctx.attempt_state
        block = str(part.get("id"))
        texts[block] = texts.get(block, "") + part.text
        self._look(ctx, texts[block])

    def _freed(self, ctx: Any) -> list[Any]:
        return ctx.release(int(ctx.holding)) if ctx.holding else []

    def on_end(self, ctx: Any) -> Any:
        out: list[Any] = []
        for block in ctx.held_blocks:
            text = ctx.attempt_state.get(block, "")
            out.extend(ctx.release(len(text), block=block))
        return out


def make_processor(source: Source, kind: ListKind = "input", *, number: int = 0) -> Processor:
    """Return a processor whose id names what it does."""
    behaviour = source.pick(BEHAVIOURS)
    return behaving(behaviour, kind, id=f"{behaviour}-{number}")


def make_chain(source: Source, kind: ListKind = "input", *, most: int = 4) -> list[Processor]:
    """Return a list of processors with ids of their own."""
    behaviours = source.many(lambda one: one.pick(BEHAVIOURS), 1, most)
    return [behaving(behaviour, kind, id=f"{behaviour}-{number}") for number, behaviour in enumerate(behaviours)]


def make_workflow(source: Source, kind: ListKind = "input") -> Workflow:
    """Return an open workflow of up to three entries."""
    made = Workflow("generated")
    for entry in range(source.integer(1, 3)):
        how = source.pick(("then", "parallel", "branch"))
        base = entry * 10
        if how == "then":
            made = made.then(make_processor(source, kind, number=base))
        elif how == "parallel":
            # Only one of them writes, so that the merge is never a conflict.
            checks = [behaving("warn", kind, id=f"warn-{base + place}") for place in range(1, source.integer(1, 2) + 1)]
            made = made.parallel([make_processor(source, kind, number=base), *checks])
        else:
            arms = [(_is_long, make_processor(source, kind, number=base))]
            made = made.branch(arms, default=make_processor(source, kind, number=base + 1))
    return made


def _is_long(call: Any) -> bool:
    return len(call.text) > 20
