"""The one argument of each hook."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, cast

from sluiceway.engine import AuditEntry, AuditStatus, Result, StepResult, ToolCall
from sluiceway.errors import ModelError, ProcessorError, TripWire
from sluiceway.messages import Chunk, Message, MessageList, Prompt, SystemMessage, Usage
from sluiceway.models import Model
from sluiceway.processors._call import HookCall
from sluiceway.processors._effects import Surface
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import Violation
from sluiceway.processors._scope import AgentRef, HookScope, Writer
from sluiceway.processors._span import Span, current_span
from sluiceway.tools import RequestContext, Tool

__all__ = [
    "CONTEXTS",
    "ApiErrorContext",
    "HookContext",
    "InputContext",
    "InputStepContext",
    "OutputResultContext",
    "OutputStepContext",
    "RequestHookContext",
    "ResponseContext",
    "Seat",
    "ToolResultContext",
]


class Seat(Protocol):
    """A processor's place in a list: what its contexts need to know of it."""

    @property
    def processor(self) -> object: ...
    @property
    def id(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def barred(self) -> Mapping[HookName, frozenset[Surface]]: ...


class HookContext:
    """What every hook gets. Valid while the hook runs.

    Args:
        scope: The state of the run.
        seat: Where the processor stands in its list.
        call: What the hook is about.
    """

    __slots__ = ("_call", "_noted", "_scope", "_seat", "_warned")

    def __init__(self, scope: HookScope, seat: Seat, call: HookCall) -> None:
        self._scope = scope
        self._seat = seat
        self._call = call
        self._warned: list[Violation] | None = None
        self._noted: list[AuditEntry] | None = None

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of this phase, in order; never system messages."""
        return self._call.messages

    @property
    def message_list(self) -> MessageList:
        """Where the conversation lives, for edits."""
        return self._call.message_list

    @property
    def system_messages(self) -> tuple[SystemMessage, ...]:
        """The system messages as they stand."""
        return self._call.message_list.system

    @property
    def state(self) -> dict[str, Any]:
        """This processor's own, for the whole request; shared by all its hooks."""
        return self._scope.state_of(self._seat.processor)

    @property
    def attempt_state(self) -> dict[str, Any]:
        """This processor's own, empty again at each attempt of a step."""
        return self._scope.attempt_state_of(self._seat.processor)

    @property
    def retry_count(self) -> int:
        """How often this step has been tried again, from 0."""
        return self._scope.retry_count

    @property
    def request_context(self) -> RequestContext:
        """What the caller passed along."""
        context, seat, hook = self._scope.request_context, self._seat, self.hook
        if "context" not in seat.barred.get(hook, ()):
            return context
        return context.read_only(
            lambda key: ProcessorError(
                f"processor {seat.id!r} declares that {hook} does not write context, but it set {key!r}; "
                "mend its effects or its hook",
                processor_id=seat.id,
                hook=hook,
                run_id=self._scope.run_id,
                path=seat.path,
            )
        )

    @property
    def agent(self) -> AgentRef | None:
        """The agent, or None where the processor runs without one."""
        return self._scope.agent

    @property
    def agent_models(self) -> Sequence[Model]:
        """The agent's own models, first choice first; none where the processor runs without an agent."""
        return self._scope.links.models

    @property
    def hook(self) -> HookName:
        """The hook that runs."""
        return self._call.hook

    @property
    def processor_id(self) -> str:
        """The id that this processor goes by here."""
        return self._seat.id

    @property
    def run_id(self) -> str:
        """The run."""
        return self._scope.run_id

    @property
    def processor_index(self) -> int:
        """This processor's position in its list."""
        return self._seat.index

    @property
    def step_number(self) -> int | None:
        """The step, from 0; None before the first."""
        return self._scope.step_number

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """The finished steps; in the response and output-step hooks the current one last."""
        return cast("tuple[StepResult, ...]", self._call.info.get("steps", self._scope.steps))

    @property
    def writer(self) -> Writer:
        """Sends data chunks to whoever reads the stream."""
        scope, seat = self._scope, self._seat
        return Writer(scope.run_id, lambda chunk: scope.written.append((chunk, seat)))

    @property
    def span(self) -> Span:
        """The current span of OpenTelemetry, or one that does nothing."""
        return current_span()

    def abort(
        self, reason: str | None = None, *, retry: bool = False, metadata: Mapping[str, Any] | None = None
    ) -> NoReturn:
        """End the run here, or ask for another try of the step.

        Args:
            reason: Why, for the caller, and with `retry` for the model; None names the processor.
            retry: Run the same step again, while the budget lasts.
            metadata: Anything the caller should get along with it.

        Raises:
            TripWire: Always.
        """
        raise TripWire(
            f"stopped by processor {self._seat.id!r}" if reason is None else reason,
            retry=retry,
            metadata=metadata,
            processor_id=self._seat.id,
            path=self._seat.path,
            retry_count=self._scope.retry_count,
        )

    def note(self, status: AuditStatus, detail: Any = None) -> None:
        """Put an entry into the audit of the run, such as `not checked`; nobody is called for it.

        Args:
            status: What became of what was looked at.
            detail: Rules, offsets, lengths, reasons; never a value.
        """
        entry = AuditEntry(self._seat.id, self._call.hook, status, detail)
        self._scope.audit.append(entry)
        if self._noted is None:
            self._noted = []
        self._noted.append(entry)

    def warn(self, message: str, detail: Any = None) -> None:
        """Report a violation and go on; `on_violation` is called when the hook returns.

        Args:
            message: What was found, in a line.
            detail: Anything to go with it, such as a list of `rule`, `offset` and `length`.
        """
        if self._warned is None:
            self._warned = []
        self._warned.append(Violation(self._seat.id, message, detail))

    async def send_signal(
        self,
        contents: str,
        attributes: Mapping[str, Any] | None = None,
        tag_name: str = "system-reminder",
        transient: bool = False,
    ) -> Message:
        """Add a message that the model sees as `<system-reminder>…</system-reminder>`.

        Args:
            contents: The text; escaped in the prompt.
            attributes: Attributes of the tag.
            tag_name: Another tag.
            transient: In this step's prompts only (from `process_input`: in every prompt of
                the call), and never stored.
        """
        signal = self._call.message_list.add_signal(contents, attributes, tag_name, transient)
        if transient:
            self._scope.transients.add(signal.id)
        return signal

    def on_step_accepted(self, fn: Callable[[StepResult], Awaitable[None] | None]) -> None:
        """Call `fn` with the `StepResult` when the step is accepted; never for a rejected one."""
        self._scope.accepted.append((self._seat, fn))


class InputContext(HookContext):
    """`process_input`: once, before the loop."""

    __slots__ = ()


class _StepFields(HookContext):
    __slots__ = ()

    @property
    def model(self) -> Any:
        """The model of this step."""
        return self._call.overrides.get("model")

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of this step, by name."""
        return cast("Mapping[str, Tool]", self._call.overrides.get("tools", {}))

    @property
    def active_tools(self) -> Sequence[str] | None:
        """Names of the tools that are offered; None: all."""
        return cast("Sequence[str] | None", self._call.overrides.get("active_tools"))

    @property
    def tool_choice(self) -> Any:
        """`auto`, `none`, `required`, the name of a tool, or None."""
        return self._call.overrides.get("tool_choice")

    @property
    def model_settings(self) -> Mapping[str, Any]:
        """Such as `{"temperature": 0}`."""
        return cast("Mapping[str, Any]", self._call.overrides.get("model_settings", {}))

    @property
    def provider_options(self) -> Mapping[str, Any]:
        """Options for one provider, by its name."""
        return cast("Mapping[str, Any]", self._call.overrides.get("provider_options", {}))

    @property
    def structured_output(self) -> Any:
        """The pydantic model or JSON schema of the answer, or None."""
        return self._call.overrides.get("structured_output")


class InputStepContext(_StepFields):
    """`process_input_step`: each step, before the model."""

    __slots__ = ()

    @property
    def max_steps(self) -> int:
        """How many steps the run may take."""
        return cast("int", self._call.overrides.get("max_steps", 0))


class RequestHookContext(_StepFields):
    """`process_llm_request`: the messages are a prompt, the provider has not been called."""

    __slots__ = ()

    @property
    def prompt(self) -> Prompt:
        """What the provider is about to get."""
        return cast("Prompt", self._call.prompt)


class ResponseContext(HookContext):
    """`process_llm_response`: the step's chunks are complete."""

    __slots__ = ()

    @property
    def chunks(self) -> Sequence[Chunk]:
        """The model's own chunks, before output processors."""
        return cast("Sequence[Chunk]", self._call.info["chunks"])

    @property
    def from_cache(self) -> bool:
        """Whether a request hook replayed them."""
        return bool(self._call.info["from_cache"])

    @property
    def warnings(self) -> Sequence[Any]:
        """What the provider warned of."""
        return cast("Sequence[Any]", self._call.info["warnings"])

    @property
    def request(self) -> Any:
        """What the model was asked: a `ModelRequest`."""
        return self._call.info["request"]

    @property
    def raw_response(self) -> Any:
        """What the provider says of the answer: id, model, time."""
        return self._call.info["raw_response"]

    @property
    def model(self) -> Any:
        """The model that answered."""
        return self._call.info["model"]


class OutputStepContext(HookContext):
    """`process_output_step`: after each answer of the model, before its tools run."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The step's text, as the stream hooks left it."""
        return cast("str", self._call.info["text"])

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """The step's tool calls, as the stream hooks left them."""
        return cast("Sequence[ToolCall]", self._call.info["tool_calls"])

    @property
    def finish_reason(self) -> str:
        """Why the model stopped."""
        return cast("str", self._call.info["finish_reason"])

    @property
    def usage(self) -> Usage:
        """Tokens of this attempt."""
        return cast("Usage", self._call.info["usage"])

    @property
    def provider_metadata(self) -> Mapping[str, Any]:
        """What else the provider said."""
        return cast("Mapping[str, Any]", self._call.info["provider_metadata"])


class ToolResultContext(HookContext):
    """`process_tool_result`: per tool, before its result joins the list."""

    __slots__ = ()

    @property
    def tool_name(self) -> str:
        """The tool."""
        return cast("str", self._call.info["tool_name"])

    @property
    def tool_call_id(self) -> str:
        """The call."""
        return cast("str", self._call.info["tool_call_id"])

    @property
    def args(self) -> Mapping[str, Any]:
        """The call's arguments, as the list has them."""
        return cast("Mapping[str, Any]", self._call.info["args"])

    @property
    def provider_executed(self) -> bool:
        """Whether the provider ran it."""
        return bool(self._call.info.get("provider_executed", False))

    @property
    def result(self) -> Any:
        """What the tool returned, or what an earlier processor made of it."""
        part = self._call.message_list.find_call(self.tool_call_id)
        if part is not None and part.state == "result":
            return part.result
        return self._call.info["result"]


class OutputResultContext(HookContext):
    """`process_output_result`: once, at the end."""

    __slots__ = ()

    @property
    def result(self) -> Result:
        """The run's result as it stands, edits of earlier processors included."""
        build = cast("Callable[[MessageList], Result]", self._call.info["result"])
        return build(self._call.message_list)


class ApiErrorContext(HookContext):
    """`process_api_error`: the provider refused or broke the request."""

    __slots__ = ()

    @property
    def error(self) -> ModelError:
        """What it said."""
        return cast("ModelError", self._call.info["error"])


CONTEXTS: dict[HookName, type[HookContext]] = {
    "process_input": InputContext,
    "process_input_step": InputStepContext,
    "process_llm_request": RequestHookContext,
    "process_llm_response": ResponseContext,
    "process_output_step": OutputStepContext,
    "process_tool_result": ToolResultContext,
    "process_output_result": OutputResultContext,
    "process_api_error": ApiErrorContext,
}
