"""Stand-ins: a clock, a processor that records, an audit that can be compared."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import anyio.lowlevel

from sluiceway.engine import Result
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Message
from sluiceway.processors import (
    ALL_HOOKS,
    Context,
    HookCall,
    HookEvent,
    HookName,
    Processor,
    Subject,
    Violation,
    run_on,
)
from sluiceway.testing._chunks import shown_chunk, shown_message

__all__ = ["AuditRecorder", "FakeClock", "Recorded", "RecordingProcessor", "run_hook"]


class FakeClock:
    """A clock for `engine.use_clock`: time passes only by sleeping on it, and by `advance`.

    Args:
        start: What time it is at first; None: the start of 2030.

    Attributes:
        slept: The seconds of each sleep, in order.

    Examples:
        >>> from sluiceway.engine import clock, use_clock
        >>> fake = FakeClock()
        >>> with use_clock(fake):
        ...     fake.advance(90)
        ...     clock().now().isoformat()
        '2030-01-01T00:01:30+00:00'
    """

    def __init__(self, start: datetime | None = None) -> None:
        self.start = datetime(2030, 1, 1, tzinfo=UTC) if start is None else start
        self.passed_s = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        return self.start + timedelta(seconds=self.passed_s)

    def monotonic_s(self) -> float:
        """Seconds since the start."""
        return self.passed_s

    def advance(self, seconds: float) -> None:
        """Let time pass; never backwards."""
        self.passed_s += max(0.0, seconds)

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass, at once."""
        self.slept.append(seconds)
        self.advance(seconds)
        await anyio.lowlevel.checkpoint()


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call of a hook: what was shown to it, as lines.

    Args:
        hook: The hook.
        saw: The chunk, the tool's result, or the messages.
    """

    hook: HookName
    saw: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.hook}: {' | '.join(self.saw)}"


class RecordingProcessor(Processor):
    """Changes nothing and records what each hook was shown.

    Args:
        id: Its id.
        hooks: The hooks that it has.

    Attributes:
        calls: One entry per call, over all runs, in order.

    Raises:
        ConfigurationError: A hook that does not exist.

    Examples:
        >>> from sluiceway import Agent
        >>> from sluiceway.models import ScriptedModel
        >>> recorder = RecordingProcessor(hooks=["process_input"])
        >>> agent = Agent(id="a", model=ScriptedModel(["hi"]), input_processors=[recorder])
        >>> _ = agent.generate_sync("hello")
        >>> [str(call) for call in recorder.calls]
        ["process_input: user: text:'hello'"]
    """

    def __init__(self, id: str = "recording", *, hooks: Iterable[HookName] = ALL_HOOKS) -> None:  # noqa: A002
        super().__init__(id)
        self.calls: list[Recorded] = []
        for hook in hooks:
            if hook not in ALL_HOOKS:
                raise ConfigurationError(f"there is no hook {hook!r}; the hooks are: {', '.join(ALL_HOOKS)}")
            setattr(self, hook, self._record)

    def of(self, *hooks: HookName) -> list[Recorded]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the calls of these hooks.

        Args:
            hooks: Names of hooks; none: all calls.
        """
        return [call for call in self.calls if call.hook in hooks]

    def _record(self, ctx: Any) -> Any:
        part = getattr(ctx, "part", None)
        if part is not None:
            self.calls.append(Recorded(ctx.hook, (shown_chunk(part),)))
            return part
        if ctx.hook == "process_tool_result":
            self.calls.append(Recorded(ctx.hook, (repr(ctx.result),)))
        else:
            messages = cast("Sequence[Message]", ctx.messages)
            self.calls.append(Recorded(ctx.hook, tuple(shown_message(message) for message in messages)))
        return [] if ctx.hook == "finish_output_stream" else None


async def run_hook(
    items: object,
    subject: Subject,
    hook: HookName = "process_input",
    *,
    request_context: Context = None,
    info: Mapping[str, Any] | None = None,
) -> HookCall:
    """Run one hook of a processor, a workflow, or a list of them; see `processors.run_on`.

    Args:
        items: A processor or workflow, or a list of these in order.
        subject: Messages, a stream's text or chunks, or a tool's result.
        hook: The hook.
        request_context: Values for the processors.
        info: What else the hook's context shows, such as `tool_name`.

    Returns:
        The call as the hook left it, with `tripwire` and `violations`.
    """
    several: Iterable[object] = cast("list[object]", items) if isinstance(items, (list, tuple)) else (items,)
    return await run_on(several, subject, hook=hook, request_context=request_context, info=info)


class AuditRecorder:
    """Collects what processors did and reported, as lines without ids of runs and without times.

    Pass it as `observer`, put `recorder.violation` into `on_violation`, give it a result.

    Attributes:
        lines: What happened, in order.

    Examples:
        >>> from sluiceway import Agent
        >>> from sluiceway.models import ScriptedModel
        >>> from sluiceway.processors import PIIDetector
        >>> audit = AuditRecorder()
        >>> agent = Agent(id="a", model=ScriptedModel(["hi"]), input_processors=[PIIDetector()])
        >>> _ = agent.generate_sync("mail ann@example.org", observer=audit)
        >>> audit.assert_lines(["process_input pii-detector edited, 1 edit, 1 violation"])
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, event: HookEvent) -> None:
        """Note the call of a hook."""
        line = f"{event.hook} {event.processor_id} {event.outcome}"
        line += _counted(len(event.edits), "edit") + _counted(event.changed_chunks, "changed chunk")
        self.lines.append(line + _counted(len(event.violations), "violation"))

    def violation(self, violation: Violation) -> None:
        """Note a violation, without its detail."""
        self.lines.append(f"violation {violation.processor_id}: {violation.message}")

    def result(self, result: Result) -> None:
        """Note the audit of a result."""
        self.lines += [f"audit {entry.hook} {entry.processor_id} {entry.status}" for entry in result.audit]

    def assert_lines(self, expected: Sequence[str]) -> None:
        """Compare with what is expected.

        Raises:
            AssertionError: They differ; the text is a diff, `-` expected, `+` got.
        """
        if list(expected) != self.lines:
            diff = difflib.unified_diff(list(expected), self.lines, "expected", "got", lineterm="")
            raise AssertionError("the audit differs\n" + "\n".join(diff))


def _counted(count: int, what: str) -> str:
    return f", {count} {what}{'' if count == 1 else 's'}" if count else ""
