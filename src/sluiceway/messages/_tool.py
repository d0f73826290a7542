"""A tool call of a message, and what came of it."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from sluiceway._types import MISSING, Missing
from sluiceway.errors import MessageError
from sluiceway.messages._box import Box
from sluiceway.messages._part import Noted, Part

__all__ = ["ToolPart", "ToolState"]

ToolState: TypeAlias = Literal["call", "result", "error"]
"""Whether a tool call waits, has its result, or failed."""

_STATES: Final = ("call", "result", "error")


class ToolPart(Part):
    """A tool call and, once there, its result or error.

    `args`, `result` and `model_output` may be changed in place; the revision notices.

    Args:
        tool_name: The tool.
        tool_call_id: The id of this call.
        args: What it is called with, by parameter.
        state: `call` until it is answered, then `result` or `error`.
        result: What the tool returned.
        error: The text of the error.
        model_output: What the model sees in place of the result.
        provider_executed: Whether the provider runs it, not this program.
        provider_metadata: What providers attached, by provider.

    Raises:
        MessageError: A name or id that is no str, or an unknown state.
    """

    __slots__ = (
        "_args",
        "_error",
        "_model_output",
        "_provider_executed",
        "_result",
        "_state_name",
        "_tool_call_id",
        "_tool_name",
    )

    type = "tool"
    tool_name = Noted[str]()
    tool_call_id = Noted[str]()
    error = Noted["str | None"]()
    provider_executed = Noted[bool]()

    def __init__(
        self,
        tool_name: str,
        tool_call_id: str,
        args: Mapping[str, Any] | None = None,
        state: ToolState = "call",
        result: Any = None,
        *,
        error: str | None = None,
        model_output: Any | Missing = MISSING,
        provider_executed: bool = False,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(tool_name, str) or not isinstance(tool_call_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MessageError("The tool_name and the tool_call_id of a tool part are str.")
        super().__init__(provider_metadata)
        self._tool_name = tool_name
        self._tool_call_id = tool_call_id
        self._args = Box.of({} if args is None else args)
        self._result = Box.of(result)
        self._model_output = Box.of(model_output) if model_output is not MISSING else None
        self._state_name: ToolState = _checked(state)
        self._error = error
        self._provider_executed = provider_executed

    @property
    def args(self) -> Any:
        """The arguments, usually a dict; may be changed in place."""
        return self._args.get()

    @args.setter
    def args(self, value: Any) -> None:
        if self._args.set(value):
            self._note("args")

    @property
    def result(self) -> Any:
        """What the tool returned; may be changed in place. A change drops `model_output`."""
        return self._result.get()

    @result.setter
    def result(self, value: Any) -> None:
        if self._result.set(value):
            self._model_output = None
            self._note("result")

    @property
    def model_output(self) -> Any:
        """What the model sees in place of the result, or `MISSING`."""
        return MISSING if self._model_output is None else self._model_output.get()

    @model_output.setter
    def model_output(self, value: Any) -> None:
        if value is MISSING:
            changed, self._model_output = self._model_output is not None, None
        else:
            changed = self._model_output is None or self._model_output.set(value)
            self._model_output = self._model_output or Box.of(value)
        if changed:
            self._note("model_output")

    @property
    def state(self) -> ToolState:
        """`call`, `result` or `error`."""
        return self._state_name

    @state.setter
    def state(self, value: ToolState) -> None:
        if value != self._state_name:
            self._state_name = _checked(value)
            self._note("state")

    def set_result(self, result: Any, model_output: Any | Missing = MISSING) -> None:
        """Take the result of the call.

        Args:
            result: What the tool returned.
            model_output: What the model is sent in its place; left out: the result.
        """
        self._result = Box.of(result)
        self._model_output = None if model_output is MISSING else Box.of(model_output)
        self._state_name = "result"
        self._error = None
        self._revision += 1

    def set_error(self, text: str) -> None:
        """Take the text of the error that the call ended in."""
        self._result = Box(None)
        self._model_output = None
        self._state_name = "error"
        self._error = text
        self._revision += 1

    def _sync(self) -> None:
        super()._sync()
        if self._args.sync():
            self._note("args")
        if self._model_output is not None and self._model_output.sync():
            self._note("model_output")
        if self._result.sync():
            self._model_output = None  # made from the result as it was: it may hold what was taken out
            self._note("result")

    def _state(self) -> tuple[Any, ...]:
        self._sync()
        return (
            self._tool_name,
            self._tool_call_id,
            self._state_name,
            self._args.state(),
            self._result.state(),
            MISSING if self._model_output is None else self._model_output.state(),
            self._error,
            self._provider_executed,
            self._meta_state(),
        )

    def _load(self, state: tuple[Any, ...]) -> None:
        self._tool_name, self._tool_call_id, self._state_name, args, result, output = state[:6]
        self._error, self._provider_executed, meta = state[6:]
        self._args = Box(args)
        self._result = Box(result)
        self._model_output = None if output is MISSING else Box(output)
        self._load_meta(meta)

    def __repr__(self) -> str:
        return f"ToolPart({self._tool_name!r}, {self._tool_call_id!r}, state={self._state_name!r})"


def _checked(state: ToolState) -> ToolState:
    if state not in _STATES:
        raise MessageError(f"The state of a tool part is one of call, result and error, not {state!r}.")
    return state
