"""What a scripted processor can do in a hook."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluiceway.messages import Chunk, Message, SystemMessage, TextPart
from sluiceway.processors import InputResult, LLMRequest, Retry, StepOverrides
from tests.conformance.trace import Trace, line_of_messages
from tests.conformance.values import bare, compact

__all__ = ["ASYNC_OPS", "OPS", "Working", "text_seen", "when_holds"]

Op = Mapping[str, Any]


@dataclass(slots=True)
class Working:
    """One hook call: its context, and what the ops have made of it so far."""

    processor_id: str
    hook: str
    ctx: Any
    trace: Trace
    models: Mapping[str, Any]
    messages: list[Message] | None = None
    system: list[SystemMessage] | None = None
    overrides: dict[str, Any] = field(default_factory=dict[str, Any])
    chunk: Chunk | None = None
    answer: Any = None

    def current(self) -> list[Message]:
        """Return the messages as the ops before this one have left them."""
        return list(self.ctx.messages) if self.messages is None else self.messages

    def returned(self) -> Any:
        """Return what the hook returns."""
        if self.hook == "process_output_stream":
            return self.chunk
        if self.answer is not None:
            return self.answer
        if self.hook == "process_input" and self.system is not None:
            return InputResult(messages=self.current(), system_messages=self.system)
        if self.overrides:
            kept = {} if self.messages is None else {"messages": self.messages}
            return StepOverrides(**kept, **self.overrides)
        return self.messages


def text_seen(hook: str, ctx: Any) -> Iterable[str]:
    """Return the texts that `text_contains` looks at in this hook."""
    if hook == "process_output_stream":
        return [ctx.part.text]
    if hook == "process_output_step":
        return [ctx.text]
    if hook == "process_output_result":
        return [ctx.result.text]
    return [message.text for message in ctx.messages]


GUARDS: Mapping[str, Callable[[Any, str, Any], bool]] = {
    "retry_count_lt": lambda wanted, _, ctx: ctx.retry_count < wanted,
    "step": lambda wanted, _, ctx: ctx.step_number == wanted,
    "chunk_type": lambda wanted, _, ctx: ctx.part.type == wanted,
    "text_contains": lambda wanted, hook, ctx: any(wanted in text for text in text_seen(hook, ctx)),
    "tool": lambda wanted, _, ctx: ctx.tool_name == wanted,
    "error_contains": lambda wanted, _, ctx: wanted in str(ctx.error),
}


def when_holds(when: Mapping[str, Any], hook: str, ctx: Any) -> bool:
    """Whether every guard of an op holds."""
    return all(GUARDS[name](wanted, hook, ctx) for name, wanted in when.items())


def edit_texts(work: Working, op: Op, change: Callable[[str], str]) -> None:
    """Change the texts of the messages of a phase, on copies; in the stream that of a text delta."""
    if work.hook == "process_output_stream":
        if work.chunk is not None and work.chunk.type == "text-delta":
            work.chunk = work.chunk.replace(text=change(work.chunk.text))
        return
    role = op.get("role")
    work.messages = [edited(message, change) if role in (None, message.role) else message for message in work.current()]


def edited(message: Message, change: Callable[[str], str]) -> Message:
    """Return a copy of a message with other texts."""
    parts = [
        TextPart(change(part.text), provider_metadata=part.provider_metadata) if isinstance(part, TextPart) else part
        for part in message.parts
    ]
    return message.replace(parts=parts)


def append_text(work: Working, op: Op) -> None:
    edit_texts(work, op, lambda text: text + op["text"])


def replace_text(work: Working, op: Op) -> None:
    edit_texts(work, op, lambda text: text.replace(op["from"], op["to"]))


def upper(work: Working, op: Op) -> None:
    edit_texts(work, op, str.upper)


def edit_in_place(work: Working, op: Op) -> None:
    for message in work.ctx.messages:
        for part in message.parts:
            if isinstance(part, TextPart) and op["from"] in part.text:
                part.text = part.text.replace(op["from"], op["to"])


def drop_role(work: Working, op: Op) -> None:
    work.messages = [message for message in work.current() if message.role != op["role"]]


def return_messages(work: Working, op: Op) -> None:
    work.messages = work.current()


def return_empty(work: Working, op: Op) -> None:
    work.messages = []


def list_add(work: Working, op: Op) -> None:
    work.ctx.message_list.add({"role": op["role"], "content": op["text"]})
    if op.get("return_list"):
        work.answer = work.ctx.message_list


def list_remove_first(work: Working, op: Op) -> None:
    work.ctx.message_list.remove_by_ids([work.ctx.messages[0].id])
    if op.get("return_list"):
        work.answer = work.ctx.message_list


def system(work: Working, op: Op) -> None:
    work.system = [*(work.system or work.ctx.system_messages), SystemMessage(op["text"])]


def step_system(work: Working, op: Op) -> None:
    so_far = work.overrides.get("system_messages", work.ctx.system_messages)
    work.overrides["system_messages"] = [*so_far, SystemMessage(op["text"])]


def abort(work: Working, op: Op) -> None:
    work.ctx.abort(op["reason"], retry=op.get("retry", False), metadata=op.get("metadata"))


def throw(work: Working, op: Op) -> None:
    raise RuntimeError(op["message"])


def drop_chunk(work: Working, op: Op) -> None:
    work.chunk = None


async def custom(work: Working, op: Op) -> None:
    await work.ctx.writer.custom(op["type"], op.get("data"), transient=op.get("transient", False))


def set_model(work: Working, op: Op) -> None:
    work.overrides["model"] = work.models[op["model"]]


def tool_choice(work: Working, op: Op) -> None:
    work.overrides["tool_choice"] = op["value"]


def active_tools(work: Working, op: Op) -> None:
    work.overrides["active_tools"] = op["value"]


def rewrite_prompt(work: Working, op: Op) -> None:
    prompt = work.ctx.prompt.map_text(lambda text: text.replace(op["from"], op["to"]))
    work.answer = LLMRequest(prompt=prompt)


def respond(work: Working, op: Op) -> None:
    deltas = [Chunk("text-delta", {"id": "replay", "text": text}) for text in op["text"]]
    start, end = Chunk("text-start", {"id": "replay"}), Chunk("text-end", {"id": "replay"})
    work.answer = LLMRequest(response=[start, *deltas, end, Chunk("finish", {"reason": "stop"})])


def retry(work: Working, op: Op) -> None:
    work.answer = Retry()


def state_inc(work: Working, op: Op) -> None:
    work.ctx.state[op["key"]] = work.ctx.state.get(op["key"], 0) + 1


def note_state(work: Working, op: Op) -> None:
    key = op["key"]
    work.trace.append(f"{work.processor_id}.note:{key}={bare(work.ctx.state.get(key))}")


def note(work: Working, op: Op) -> None:
    value = NOTES[op["field"]](work.hook, work.ctx)
    work.trace.append(f"{work.processor_id}.note:{bare(value)}")


async def signal(work: Working, op: Op) -> None:
    await work.ctx.send_signal(op["contents"], attributes=op.get("attributes"), transient=op.get("transient", False))


def update_tool_result(work: Working, op: Op) -> None:
    work.ctx.message_list.update_tool_result(work.ctx.tool_call_id, op["result"])


def noted_text(hook: str, ctx: Any) -> str:
    return "".join(text_seen(hook, ctx))


NOTES: Mapping[str, Callable[[str, Any], Any]] = {
    "text": noted_text,
    "retry_count": lambda _, ctx: ctx.retry_count,
    "messages": lambda _, ctx: line_of_messages(ctx.messages),
    "result_text": lambda _, ctx: ctx.result.text,
    "finish_reason": lambda hook, ctx: (
        ctx.result.finish_reason if hook == "process_output_result" else ctx.finish_reason
    ),
    "tool_calls": lambda _, ctx: ",".join(call.tool_name for call in ctx.tool_calls),
    "from_cache": lambda _, ctx: ctx.from_cache,
    "error": lambda _, ctx: str(ctx.error),
    "tool_result": lambda _, ctx: compact(ctx.result),
    "system": lambda _, ctx: " / ".join(message.text for message in ctx.system_messages),
    "parts": lambda _, ctx: len(ctx.stream_parts),
}

OPS: Mapping[str, Callable[[Working, Op], Awaitable[None] | None]] = {
    "abort": abort,
    "active_tools": active_tools,
    "append_text": append_text,
    "custom": custom,
    "drop_chunk": drop_chunk,
    "drop_role": drop_role,
    "edit_in_place": edit_in_place,
    "list_add": list_add,
    "list_remove_first": list_remove_first,
    "note": note,
    "note_state": note_state,
    "replace_text": replace_text,
    "respond": respond,
    "retry": retry,
    "return_empty": return_empty,
    "return_messages": return_messages,
    "rewrite_prompt": rewrite_prompt,
    "set_model": set_model,
    "signal": signal,
    "state_inc": state_inc,
    "step_system": step_system,
    "system": system,
    "throw": throw,
    "tool_choice": tool_choice,
    "update_tool_result": update_tool_result,
    "upper": upper,
}
ASYNC_OPS = frozenset({"custom", "signal"})
