"""The hooks, which list runs which, and the three kinds of processor as protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "ALL_HOOKS",
    "HOOKS_OF",
    "ErrorProcessor",
    "HookName",
    "InputProcessor",
    "ListKind",
    "OutputProcessor",
    "hook_of",
    "hooks_of",
]

HookName: TypeAlias = Literal[
    "process_input",
    "process_input_step",
    "process_llm_request",
    "process_output_stream",
    "finish_output_stream",
    "process_llm_response",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
    "process_api_error",
]
"""The names of the hooks."""
ListKind: TypeAlias = Literal["input", "output", "error"]
"""The lists of an agent."""

ALL_HOOKS: Final[tuple[HookName, ...]] = (
    "process_input",
    "process_input_step",
    "process_llm_request",
    "process_output_stream",
    "finish_output_stream",
    "process_llm_response",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
    "process_api_error",
)
"""The hooks, in the order of a run."""
HOOKS_OF: Final[dict[ListKind, tuple[HookName, ...]]] = {
    "input": (
        "process_input",
        "process_input_step",
        "process_llm_request",
        "process_llm_response",
        "process_api_error",
    ),
    "output": (
        "process_output_stream",
        "finish_output_stream",
        "process_output_step",
        "process_tool_result",
        "process_output_result",
        "process_api_error",
    ),
    "error": ("process_api_error",),
}
"""The hooks that a list runs, in the order of a run."""


def hook_of(processor: object, hook: HookName) -> Callable[[Any], Any] | None:
    """Return the hook of that name, or None where the processor does not have it."""
    method = getattr(processor, hook, None)
    return method if callable(method) else None


def hooks_of(processor: object) -> tuple[HookName, ...]:
    """Return the hooks that a processor has, in the order of a run.

    Args:
        processor: Any object.
    """
    return tuple(hook for hook in ALL_HOOKS if hook_of(processor, hook) is not None)


@runtime_checkable
class InputProcessor(Protocol):
    """Anything with an `id` and at least one hook of the input list.

    The hooks are optional each, which a protocol cannot say, so only `id` is asked for here;
    a list checks the rest when it is built.
    """

    @property
    def id(self) -> str:
        """Unique within a list."""
        ...


@runtime_checkable
class OutputProcessor(Protocol):
    """Anything with an `id` and at least one hook of the output list."""

    @property
    def id(self) -> str:
        """Unique within a list."""
        ...


@runtime_checkable
class ErrorProcessor(Protocol):
    """Anything with an `id` and `process_api_error`."""

    @property
    def id(self) -> str:
        """Unique within a list."""
        ...

    def process_api_error(self, ctx: Any, /) -> Any:
        """See `ApiErrorContext`."""
        ...
