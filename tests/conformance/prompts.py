"""Compare prompts: number, order, roles and contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluiceway.messages import PromptReasoning, PromptText, PromptToolCall, PromptToolResult
from tests.conformance.values import compact, same

__all__ = ["prompt_faults"]


def prompt_faults(wanted: Sequence[Sequence[Mapping[str, Any]]], prompts: Sequence[Any]) -> Iterator[str]:
    """Compare what each call of the model was given."""
    if len(wanted) != len(prompts):
        yield f"prompts: {len(prompts)}, not {len(wanted)}"
    for place, (expect, prompt) in enumerate(zip(wanted, prompts, strict=False)):
        roles = [message.role for message in prompt.messages]
        if roles != [message["role"] for message in expect]:
            yield f"prompt {place}: roles {roles}, not {[message['role'] for message in expect]}"
            continue
        for at, (want, message) in enumerate(zip(expect, prompt.messages, strict=True)):
            if not message_agrees(want, message):
                yield f"prompt {place}[{at}]: {compact(shown(message))}, not {compact(want)}"


def message_agrees(want: Mapping[str, Any], message: Any) -> bool:
    """Whether one message of a prompt is what a case asks for."""
    if "parts" in want:
        contents = message.content
        return len(contents) == len(want["parts"]) and all(
            content_agrees(part, content) for part, content in zip(want["parts"], contents, strict=True)
        )
    if not all(isinstance(content, PromptText) for content in message.content):
        return False
    text = "".join(content.text for content in message.content)
    return want["contains"] in text if "contains" in want else text == want["text"]


def content_agrees(want: Mapping[str, Any], content: Any) -> bool:
    """Whether one piece of a prompt message is what a case asks for."""
    got = shown_content(content)
    output = want.get("output")
    if isinstance(output, Mapping) and "error_contains" in output:
        return (
            isinstance(content, PromptToolResult)
            and same({**got, "output": output}, want)
            and output["error_contains"] in compact(content.output)
        )
    return same(got, want)


def shown_content(content: Any) -> dict[str, Any]:
    """Return a piece of a prompt message in the form that cases use."""
    match content:
        case PromptText():
            return {"text": content.text}
        case PromptReasoning():
            return {"reasoning": content.text}
        case PromptToolCall():
            return {"tool_call": content.tool_name, "id": content.tool_call_id, "args": dict(content.args)}
        case PromptToolResult():
            return {"tool_result": content.tool_name, "id": content.tool_call_id, "output": content.output}
        case _:
            return {"type": type(content).__name__}


def shown(message: Any) -> dict[str, Any]:
    """Return a prompt message in the form that cases use."""
    return {"role": message.role, "parts": [shown_content(content) for content in message.content]}
