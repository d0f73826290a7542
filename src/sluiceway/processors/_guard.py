"""`guard`: a plain function of a text as a processor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk, Message
from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import HookContext, InputContext, OutputResultContext, ToolResultContext
from sluiceway.processors._held import block_key
from sluiceway.processors._results import Allow, Block, Retry, Rewrite
from sluiceway.processors._stream_context import StreamContext

__all__ = ["Surface", "guard"]

Surface: TypeAlias = Literal["input", "output", "tool-result"]
GuardFunction: TypeAlias = Callable[..., Any]

_SURFACES: Final = ("input", "output", "tool-result")


def guard(
    *surfaces: Surface,
    id: str | None = None,  # noqa: A002 - the field's own name
    on_violation: OnViolation | None = None,
    on_error: OnError = "raise",
) -> Callable[[GuardFunction], Processor]:
    """Turn a function of a text into a processor.

    The function is sync or async and may take the hook's context as a second parameter. It
    returns True, None or `Allow()` to pass the text, False or `Block(reason)` to end the run,
    `Rewrite(text)` to replace it, `Retry(reason)` to ask the model again. On `output` each
    block of text is held until it is whole, so nothing of a blocked text is delivered.

    Args:
        surfaces: Any of `input`, `output`, `tool-result`.
        id: The processor's id; None takes the function's name, with `-` for `_`.
        on_violation: Called when it blocks.
        on_error: What an exception in the function does.

    Raises:
        ConfigurationError: No surface, or one that does not exist.

    Examples:
        >>> @guard("input", "output")
        ... def no_shouting(text):
        ...     return not text.isupper()
        >>> no_shouting.id
        'no-shouting'
    """
    unknown = [surface for surface in surfaces if surface not in _SURFACES]
    if unknown or not surfaces:
        got = repr(unknown[0]) if unknown and not callable(unknown[0]) else "none"
        raise ConfigurationError(f"@guard(...) takes any of 'input', 'output', 'tool-result'; got {got}")

    def make(fn: GuardFunction) -> Processor:
        name = id or getattr(fn, "__name__", "guard").replace("_", "-")
        judge = _Judge(fn, _wants_context(fn))
        hooks = _Hooks(judge)
        on = frozenset(surfaces)
        made = Processor.of(
            name,
            process_input=hooks.on_input if "input" in on else None,
            process_output_stream=hooks.on_chunk if "output" in on else None,
            finish_output_stream=hooks.on_end if "output" in on else None,
            process_output_result=hooks.on_result if "output" in on else None,
            process_tool_result=hooks.on_tool_result if "tool-result" in on else None,
            on_violation=on_violation,
            on_error=on_error,
        )
        made.description = inspect.getdoc(fn) or ""
        return made

    return make


def _wants_context(fn: GuardFunction) -> bool:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1


@dataclass(frozen=True, slots=True)
class _Judge:
    fn: GuardFunction
    wants_context: bool

    async def __call__(self, text: str, ctx: HookContext) -> str:
        """Return the text that goes on.

        Raises:
            TripWire: The function blocks it, or asks for another answer.
        """
        verdict = self.fn(text, ctx) if self.wants_context else self.fn(text)
        if inspect.isawaitable(verdict):
            verdict = await verdict
        return _text_of(verdict, text, ctx)


def _text_of(verdict: Any, text: str, ctx: HookContext) -> str:
    match verdict:
        case True | None | Allow():
            return text
        case Rewrite(new):
            return new
        case False:
            ctx.abort()
        case Block(reason, metadata):
            ctx.abort(reason, metadata=metadata)
        case Retry(reason):
            ctx.abort(reason, retry=True)
        case _:
            pass
    raise ConfigurationError(
        f"a guard returned {type(verdict).__name__}; it may return True, False, None, "
        "Allow(), Block(...), Rewrite(...) or Retry(...)"
    )


@dataclass(frozen=True, slots=True)
class _Hooks:
    """The hooks of a guard."""

    judge: _Judge

    async def on_input(self, ctx: InputContext) -> None:
        await self._messages(ctx, [m for m in ctx.messages if m.role == "user"])

    async def on_result(self, ctx: OutputResultContext) -> None:
        seen = cast("set[str]", ctx.state.get("seen", set[str]()))
        await self._messages(ctx, [m for m in ctx.messages if m.role == "assistant"], seen)

    async def _messages(self, ctx: HookContext, messages: Sequence[Message], seen: Any = ()) -> None:
        for message in messages:
            for part in message.text_parts:
                if part.text not in seen:
                    text = await self.judge(part.text, ctx)
                    if text != part.text:
                        part.text = text

    async def on_chunk(self, ctx: StreamContext) -> Any:
        part = ctx.part
        if part.type == "text-delta":
            ctx.holding = True
            blocks = ctx.attempt_state.setdefault("blocks", {})
            blocks.setdefault(block_key(part), []).append(part.text)
            return None
        if part.type == "text-end":
            return [*await self._release(ctx, block_key(part)), part]
        if part.type in ("tool-call", "tool-result", "step-finish"):
            return [*await self.on_end(ctx), part]
        return part

    async def on_end(self, ctx: StreamContext) -> list[Chunk]:
        out: list[Chunk] = []
        for block in list(ctx.attempt_state.get("blocks", {})):
            out.extend(await self._release(ctx, block))
        return out

    async def _release(self, ctx: StreamContext, block: str) -> list[Chunk]:
        deltas = ctx.attempt_state.get("blocks", {}).pop(block, [])
        if not deltas:
            return []
        text = "".join(deltas)
        new = await self.judge(text, ctx)
        ctx.state.setdefault("seen", set()).add(new)
        return ctx.release(len(text), [] if new == text else [(0, len(text), new)], block=block)

    async def on_tool_result(self, ctx: ToolResultContext) -> None:
        result = ctx.result
        if isinstance(result, str):
            text = await self.judge(result, ctx)
            if text != result:
                ctx.message_list.update_tool_result(ctx.tool_call_id, text)
            return
        as_text = str(result)
        text = await self.judge(as_text, ctx)
        if text != as_text:
            ctx.message_list.update_tool_result(ctx.tool_call_id, text)
