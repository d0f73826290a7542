"""What a hook returned, put into effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from sluiceway._types import MISSING
from sluiceway.errors import ConfigurationError, MessageError
from sluiceway.messages import Chunk, Message, MessageList, Prompt, SystemMessage
from sluiceway.processors._call import HookCall
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import InputResult, LLMRequest, Retry, StepOverrides
from sluiceway.tools import as_tools

__all__ = ["apply_result"]


def apply_result(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    """Apply what the hook of `call` returned; it was given the messages `phase`.

    Raises:
        ConfigurationError: It returned something that this hook may not return.
        MessageError: It returned a message of a bad shape.
    """
    if result is not None:
        _APPLY[call.hook](call, phase, result)


def _messages(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    if isinstance(result, MessageList):
        if result is not call.message_list:
            raise ConfigurationError(
                "the hook returned another MessageList than the one it was given; "
                "return ctx.message_list, a list of messages, or None"
            )
        return
    if isinstance(result, (str, bytes, Message, SystemMessage)) or not isinstance(result, Sequence):
        raise ConfigurationError(
            f"the hook returned {type(result).__name__}; it may return a list of messages, ctx.message_list or None"
        )
    messages = cast("Sequence[Any]", result)
    odd = next((m for m in messages if not isinstance(m, (Message, str, Mapping, SystemMessage))), None)
    if odd is not None or any(m is None for m in messages):
        raise ConfigurationError(
            f"the hook returned a list with a {type(odd).__name__} in it; it may hold messages, texts and chat dicts"
        )
    if any(isinstance(m, SystemMessage) or _is_system(m) for m in messages):
        raise MessageError(
            "the hook returned a system message among the messages; "
            "system messages go to message_list.add_system or system_messages="
        )
    call.message_list.reconcile(phase, messages, output=call.of_output)


def _is_system(message: Any) -> bool:
    return isinstance(message, Mapping) and cast("Mapping[str, Any]", message).get("role") == "system"


def _input(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    if isinstance(result, InputResult):
        _given(call, phase, result.messages, result.system_messages)
        return
    _messages(call, phase, result)


def _step(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    if not isinstance(result, StepOverrides):
        _messages(call, phase, result)
        return
    _given(call, phase, result.messages, result.system_messages)
    if result.message_list is not MISSING:
        _messages(call, phase, result.message_list)
    given = result.given()
    _check_overrides(given)
    if "tools" in given:
        tools = given["tools"]
        values = list(cast("Mapping[str, Any]", tools).values()) if isinstance(tools, Mapping) else tools
        given["tools"] = as_tools(values or ())
    call.overrides.update(given)


def _given(call: HookCall, phase: Sequence[Message], messages: Any, system: Any) -> None:
    """Apply messages and system messages; None, as everywhere, means no change."""
    if messages is not MISSING and messages is not None:
        _messages(call, phase, messages)
    if system is not MISSING and system is not None:
        call.message_list.replace_system(system)


def _check_overrides(given: Mapping[str, Any]) -> None:
    for name in ("model_settings", "provider_options"):
        if name in given and not isinstance(given[name], Mapping):
            raise ConfigurationError(f"StepOverrides({name}=…) takes a mapping, not {type(given[name]).__name__}")
    active = given.get("active_tools")
    if active is not None and (isinstance(active, str) or not isinstance(active, Sequence)):
        raise ConfigurationError(f"StepOverrides(active_tools=…) takes a list of names, not {active!r}")
    steps = given.get("max_steps", 1)
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ConfigurationError(f"StepOverrides(max_steps={steps!r}): give a whole number from 1")


def _request(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    del phase
    if not isinstance(result, LLMRequest):
        raise ConfigurationError(
            f"process_llm_request returned {type(result).__name__}; it may return LLMRequest(...) or None"
        )
    if result.prompt is not None:
        if not isinstance(result.prompt, Prompt):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"LLMRequest(prompt=…) takes a Prompt, not {type(result.prompt).__name__}")
        call.prompt = result.prompt
    if result.response is not None:
        chunks = list(result.response)
        odd = next((chunk for chunk in chunks if not isinstance(chunk, Chunk)), None)  # pyright: ignore[reportUnnecessaryIsInstance]
        if odd is not None:
            raise ConfigurationError(f"LLMRequest(response=…) takes chunks, not {type(odd).__name__}")
        call.response = chunks


def _nothing(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    del phase
    raise ConfigurationError(f"{call.hook} returned {type(result).__name__}; it may return nothing but None")


def _output(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    # The documents' own examples return an empty list from these hooks to say "no change".
    if isinstance(result, (list, tuple)) and not result:
        return
    _messages(call, phase, result)


def _api_error(call: HookCall, phase: Sequence[Message], result: Any) -> None:
    del phase
    if not isinstance(result, Retry):
        raise ConfigurationError(f"process_api_error returned {type(result).__name__}; it may return Retry() or None")
    call.retry = result


_APPLY: Final[dict[HookName, Callable[[HookCall, Sequence[Message], Any], None]]] = {
    "process_input": _input,
    "process_input_step": _step,
    "process_llm_request": _request,
    "process_llm_response": _nothing,
    "process_output_step": _output,
    "process_tool_result": _output,
    "process_output_result": _messages,
    "process_api_error": _api_error,
}
