"""A workflow tried on a text, hook by hook, in front of a model that says what it is told to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sluiceway.agent import Agent, CallOptions
from sluiceway.engine import Result
from sluiceway.errors import SluicewayError
from sluiceway.models import EchoModel, Model, Reply, ScriptedModel
from sluiceway.processors import ALL_HOOKS, HookEvent, HookName, Processor
from sluiceway.serve._house import Listed
from sluiceway.serve._refusal import refusal_of
from sluiceway.serve._runs import RunLog, RunRecord
from sluiceway.tools import Tool

__all__ = ["Attempt", "Seen", "Trial", "try_workflow"]

_BEFORE: Final = "[before]"
_AFTER: Final = "[after]"
_TOOL: Final = "lookup"
_WATCHED: Final[tuple[HookName, ...]] = tuple(hook for hook in ALL_HOOKS if hook != "process_api_error")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a workflow is tried on.

    Args:
        text: What a user says.
        answer: What the model answers; `""`: what it was told of the text.
        tool: What a tool returns, where the workflow looks at that; `""`: none is called.
        error: What the provider says when it is first asked, where the workflow looks at that; `""`: it answers.
        texts: Whether the texts are shown.
    """

    text: str
    answer: str = ""
    tool: str = ""
    error: str = ""
    texts: bool = False


@dataclass(slots=True)
class Seen:
    """The text at a hook, before and after the workflow."""

    hook: HookName
    before: str = ""
    after: str | None = None


@dataclass(slots=True)
class Trial:
    """What came of a trial.

    Args:
        record: The run.
        seen: The texts, hook by hook.
        answer: What a client would have got.
    """

    record: RunRecord
    seen: list[Seen] = field(default_factory=list[Seen])
    answer: str = ""


async def try_workflow(listed: Listed, attempt: Attempt, log: RunLog) -> Trial:
    """Run a workflow on a text; nothing is sent anywhere but by its own processors.

    Args:
        listed: The workflow.
        attempt: On what.
        log: Where the run is noted.
    """
    seen: list[Seen] = []
    replies = _replies(listed, attempt)
    model = ScriptedModel(replies)
    agent = _agent(listed, attempt, _Notes(seen), model if len(replies) > 1 or attempt.answer else EchoModel())
    record = RunRecord("", listed.workflow.id, "trial", workflow=listed.number)
    trial = Trial(record, seen)

    def observe(event: HookEvent) -> None:
        if event.processor_id not in (_BEFORE, _AFTER):
            log.hook(record, event)

    options: CallOptions = {"observer": observe}
    async with agent.stream(attempt.text, **options) as stream:
        record.id = stream.run_id
        log.add(record)
        try:
            result = await stream.result()
            record.retries = max(record.retries, len(model.calls) - len(result.steps))
            _end(trial, result, log)
        except SluicewayError as error:
            record.reason = refusal_of(error).message
            log.end(record, "error")
        finally:
            log.end(record, "cancelled")  # nothing, where it has ended
    trial.seen[:] = [one for one in seen if one.hook in listed.hooks]
    return trial


def _end(trial: Trial, result: Result, log: RunLog) -> None:
    record, trip = trial.record, result.tripwire
    record.usage = result.usage
    record.finish_reason = result.finish_reason
    if trip is not None:
        record.reason = trip.reason
        record.place = trip.path or trip.processor_id or ""
    trial.answer = result.text
    log.end(record, "passed" if trip is None else "tripwire")


def _replies(listed: Listed, attempt: Attempt) -> list[Reply]:
    replies: list[Reply] = [Reply(attempt.answer or attempt.text)]
    if attempt.tool and "process_tool_result" in listed.hooks:
        replies.insert(0, Reply(tool_calls=[{"id": "call-1", "name": _TOOL, "args": {}}]))
    if attempt.error and "process_api_error" in listed.hooks:
        replies.insert(0, Reply(error={"status": 400, "message": attempt.error}))
    return replies


def _agent(listed: Listed, attempt: Attempt, notes: _Notes, model: Model) -> Agent:
    around = [notes.processor(_BEFORE), listed.workflow, notes.processor(_AFTER)]
    lists = {kind: around if kind in listed.kinds else [] for kind in ("input", "output")}

    def lookup() -> str:
        """Return what the tool is to return."""
        return attempt.tool

    return Agent(
        id=listed.workflow.id,
        model=model,
        tools=[Tool(_TOOL, "Look something up.", run=lookup)],
        input_processors=lists["input"],
        output_processors=lists["output"],
        error_processors=[listed.workflow] if "error" in listed.kinds else [],
        max_processor_retries=1 if attempt.error else None,
        prefill_recovery=False,
    )


class _Notes:
    """Reads along in front of a workflow and behind it."""

    def __init__(self, seen: list[Seen]) -> None:
        self._seen = seen

    def processor(self, id_: str) -> Processor:
        """Return what reads along at one of the two places."""
        hooks: Mapping[str, Any] = {hook: self._hook(hook, first=id_ == _BEFORE) for hook in _WATCHED}
        return Processor.of(id_, **hooks)

    def _hook(self, hook: HookName, *, first: bool) -> Any:
        def look(ctx: Any) -> Any:
            if hook == "process_output_stream":
                if ctx.part.type == "text-delta":
                    self._note(hook, ctx.part.text, first=first, joins=True)
                return ctx.part
            self._note(hook, _text(hook, ctx), first=first)
            return () if hook == "finish_output_stream" else None

        return look

    def _note(self, hook: HookName, text: str, *, first: bool, joins: bool = False) -> None:
        last = next((seen for seen in reversed(self._seen) if seen.hook == hook), None)
        if first:
            if last is None or not joins:
                self._seen.append(Seen(hook, text))
            else:
                last.before += text
        elif last is not None:
            last.after = text if last.after is None or not joins else last.after + text


def _text(hook: HookName, ctx: Any) -> str:
    """Return what a hook is about, as text."""
    if hook == "process_llm_request":
        return "\n\n".join(f"{message.role}: {message.text}" for message in ctx.prompt.messages)
    if hook == "process_output_step":
        return str(ctx.text)
    if hook == "process_tool_result":
        part = ctx.message_list.find_call(ctx.tool_call_id) if hasattr(ctx.message_list, "find_call") else None
        return str(ctx.result if part is None or part.state == "call" else part.result)
    if hook == "process_llm_response":
        return "".join(chunk.text for chunk in ctx.chunks if chunk.type == "text-delta")
    if hook == "finish_output_stream":
        return ""
    return "\n\n".join(message.text for message in ctx.messages)
