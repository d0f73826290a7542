"""`StructuredOutputProcessor`: makes an object of an answer."""

# pyright: reportPrivateUsage=false
# Built-in processors know the run that they are part of.

from __future__ import annotations

import copy
import logging
from typing import Any, Final, Literal, TypeAlias

from sluiceway._types import MISSING
from sluiceway.engine import Result
from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.messages import Chunk, MessageList, StepStartPart, TextPart
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import OutputResultContext, OutputStepContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.context._options import checked_one_of
from sluiceway.processors.context._structured_value import Misfit, Shape, Value, partial_value
from sluiceway.processors.context._structuring import Structuring

__all__ = ["ErrorStrategy", "StructuredOutputProcessor"]

log: Final = logging.getLogger("sluiceway")

ErrorStrategy: TypeAlias = Literal["strict", "warn", "fallback"]

_GROWN: Final = 64
"""A text is read again when it has grown by this fraction, so that reading stays proportional to it."""


class StructuredOutputProcessor(Processor):
    """Makes an object of the answer: `result.object`, and `object` chunks on the stream.

    While the answer comes, its object so far goes out as `object` chunks with `final` false;
    when the answer is accepted, the object goes out once with `final` true. An answer that
    does not fit asks for a retry, with what is wrong as the reason. Steps that call tools are
    not looked at; a run that ends in a call of a client's tool has no object.

    Without `model` the agent's own model is asked for the shape. With `model` the agent's
    answer is free text, and that model makes the object of it; it is asked again, with what is
    wrong, as often as the step may still be retried.

    `structured_output=` of a call adds one of these, unless the list has one; that one has to be of the same shape.

    Args:
        schema: A pydantic model or another type that pydantic takes, or a JSON schema.
        model: The model that makes the object of the agent's text; None: the agent's own.
        error_strategy: What happens to an answer that does not fit when no retry is left:
            `strict` aborts with `path` and `reason` in the metadata, `warn` goes on without an
            object, `fallback` with `fallback_value`.
        fallback_value: For `fallback`.
        instructions: What `model` is told besides the shape.
        id: The id.

    Raises:
        ConfigurationError: An option that is not allowed, or a model that cannot answer
            structured requests.
    """

    def __init__(
        self,
        schema: Any,
        *,
        model: Any = None,
        error_strategy: ErrorStrategy = "strict",
        fallback_value: Any = MISSING,
        instructions: str | None = None,
        id: str = "structured-output",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        checked_one_of(id, "error_strategy", error_strategy, ("strict", "warn", "fallback"))
        if (error_strategy == "fallback") != (fallback_value is not MISSING):
            raise ConfigurationError(f"{id}: error_strategy='fallback' and fallback_value go together")
        self._shape = Shape(schema)
        self.error_strategy: ErrorStrategy = error_strategy
        self.fallback_value = fallback_value
        self._structuring = None if model is None else Structuring(id, model, self._shape, instructions)
        stream = Effects(reads=("chunk", "state"), writes=("chunk", "state"), aborts=False)
        strict = error_strategy == "strict"
        self.effects = {
            "process_output_stream": stream,
            "process_output_step": Effects(
                reads=("messages",), writes=("state",), external=self._structuring is not None
            ),
            "process_output_result": Effects(reads=("state",), writes=("state",), aborts=strict),
        }

    @property
    def schema(self) -> Any:
        """The shape of the object."""
        return self._shape.wanted

    @property
    def requested(self) -> Any:
        """The shape that the agent's own model is asked for; None where another model makes it."""
        return self._shape.wanted if self._structuring is None else None

    # --- the stream

    def process_output_stream(self, ctx: StreamContext) -> Chunk | list[Chunk]:
        """Send the object as far as it has come, and the whole of it when its step is accepted."""
        part = ctx.part
        if part.type == "text-delta":
            return part if self._structuring is not None else self._grown(ctx, part)
        if part.type == "step-finish":
            value = ctx.attempt_state.get("value")
            if isinstance(value, Value) and "sent" not in ctx.attempt_state:
                ctx.attempt_state["sent"] = True
                ctx.state["sent"] = value
                return [Chunk("object", {"object": value.plain, "final": True}, part.run_id), part]
        return part

    def _grown(self, ctx: StreamContext, part: Chunk) -> Chunk | list[Chunk]:
        state = ctx.attempt_state
        texts: list[str] = state.setdefault("texts", [])
        texts.append(part.text)
        state["length"] = length = state.get("length", 0) + len(part.text)
        if length < state.get("next", 0):
            return part
        text = "".join(texts)
        state["texts"] = [text]
        state["next"] = length + max(1, length // _GROWN)
        value = partial_value(text)
        if value is None or value == state.get("partial", MISSING):
            return part
        state["partial"] = value
        return [part, Chunk("object", {"object": value, "final": False}, part.run_id)]

    # --- the step

    async def process_output_step(self, ctx: OutputStepContext) -> None:
        """Check the answer; ask for another where it does not fit."""
        if any(not call.provider_executed for call in ctx.tool_calls):
            return
        found = await self._made(ctx)
        if (
            isinstance(found, Misfit)
            and self._structuring is None
            and (self.error_strategy == "strict" or ctx._scope.links.retries_left())
        ):
            self._abort(ctx, found, retry=True)
        if isinstance(found, Misfit):
            found = self._instead(ctx, found)
        ctx.attempt_state["value"] = found
        ctx.state["checked"] = True

    async def _made(self, ctx: OutputStepContext) -> Value | Misfit:
        text = _step_text(ctx.message_list)
        if self._structuring is None:
            return self._shape.parse(text)
        links = ctx._scope.links
        try:
            return await self._structuring.make(text, links, ctx.run_id)
        except ModelError as error:
            if self.error_strategy == "strict":
                raise
            log.warning("%s: the structuring model failed: %s", self.id, error)
            return Misfit("", f"the structuring model failed: {error}")

    def _instead(self, ctx: OutputStepContext | OutputResultContext, misfit: Misfit) -> Value | None:
        """Return what stands in for an object that nobody could make."""
        if self.error_strategy == "strict":
            self._abort(ctx, misfit, retry=False)
        ctx.warn(f"the answer is not what was asked for: {misfit.text}", {"path": misfit.path, "reason": misfit.reason})
        if self.error_strategy == "fallback":
            # A copy for each run: what a caller does to the object is not in the next one.
            return Value(copy.deepcopy(self.fallback_value), copy.deepcopy(self.fallback_value))
        return None

    def _abort(self, ctx: OutputStepContext | OutputResultContext, misfit: Misfit, *, retry: bool) -> None:
        ctx.abort(
            f"the answer is not the JSON that was asked for: {misfit.text}. Answer with that JSON and nothing else.",
            retry=retry,
            metadata={"path": misfit.path, "reason": misfit.reason},
        )

    # --- the end

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Make the object of the result what the type makes of it."""
        links = ctx._scope.links
        if "checked" not in ctx.state:
            if _waits_for_client(ctx.result):
                return
            value = self._instead(ctx, Misfit("", "the run ended without an answer"))
            links.object = MISSING if value is None else value.made
            return
        sent: Value | None = ctx.state.get("sent")
        if sent is None or links.object is MISSING:  # none was made, or a processor dropped it
            return
        if links.object == sent.plain:
            links.object = sent.made
            return
        made = self._shape.check(links.object)  # a processor has edited it on its way out
        if isinstance(made, Misfit):
            detail = {"path": made.path, "reason": made.reason}
            ctx.warn(f"the object no longer fits after an edit: {made.text}", detail)
        else:
            links.object = made.made


def _waits_for_client(result: Result) -> bool:
    """Whether a run has ended, as it should, in a call that the client answers."""
    if result.finish_reason != "tool-calls" or not result.steps:
        return False
    last = result.steps[-1]
    done = {outcome.tool_call_id for outcome in last.tool_results}
    return any(not call.provider_executed and call.tool_call_id not in done for call in last.tool_calls)


def _step_text(messages: MessageList) -> str:
    """Return the text of the step at work, as it will be stored."""
    reply = next((m for m in reversed(messages.response) if m.role == "assistant"), None)
    texts: list[str] = []
    for part in reversed(reply.parts if reply is not None else ()):
        if isinstance(part, StepStartPart):
            break
        if isinstance(part, TextPart):
            texts.append(part.text)
    return "".join(reversed(texts))
