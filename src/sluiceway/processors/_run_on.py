"""`run_on`: processors without an agent, for batches, tests and notebooks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, cast

import anyio

from sluiceway._types import new_id
from sluiceway.engine import Mailbox, Owned, Response, Result, ToolCall, Tripped, run_plan
from sluiceway.errors import ConfigurationError, MessageError, ModelError, TripWire
from sluiceway.messages import Chunk, Message, MessageList, ToolPart, Usage, parse_input, ui_message
from sluiceway.processors._call import HookCall
from sluiceway.processors._chain import Chain, compile_chain
from sluiceway.processors._protocols import ALL_HOOKS, HOOKS_OF, HookName, ListKind
from sluiceway.processors._scope import HookScope
from sluiceway.processors._stream_fork import build_stream
from sluiceway.tools import RequestContext

__all__ = ["Context", "Subject", "Subjects", "run_on", "run_on_many"]

Subject: TypeAlias = Any
"""What a hook is run on: messages as `generate` takes them, or what the hook is about."""

Subjects: TypeAlias = "Iterable[Subject] | AsyncIterable[Subject]"
"""What `run_on_many` goes through."""

Context: TypeAlias = "RequestContext | Mapping[str, Any] | None"
"""A request context, or values for one."""

_STREAM: Final = frozenset({"process_output_stream", "finish_output_stream"})
_OF_REPLY: Final = frozenset({"process_llm_response", "process_output_step", "process_output_result"})
_CALL: Final = "call-1"


async def run_on(
    items: Iterable[object],
    subject: Subject,
    *,
    hook: HookName = "process_input",
    request_context: Context = None,
    info: Mapping[str, Any] | None = None,
) -> HookCall:
    """Run one hook of processors and workflows without an agent.

    Args:
        items: Processors and workflows, in order.
        subject: For the input hooks messages: a text, a message, a chat dict, a list of these,
            or a `MessageList`, which is edited in place. For the hooks of an answer the same,
            what follows the last user message being the answer (a text is one). For the stream
            hooks a text, or chunks. For `process_tool_result` what the tool returned. For
            `process_api_error` messages, or the `ModelError`.
        hook: The hook.
        request_context: Values for the processors.
        info: What else the hook's context shows, such as `tool_name`, `finish_reason` or `model`.
            `tools`, by name, are the tools that there are.

    Returns:
        The call as the hooks left it: `messages`, `text`, `prompt`, `overrides`; in `parts`
        the chunks that came out, data chunks included; `violations`, every `abort` and
        `warn`; `tripwire`, why they stopped, or None.

    Raises:
        ConfigurationError: None of them has the hook, or one cannot stand in a list.
        MessageError: Messages that nothing can be made of.
        ProcessorError: A hook raised.
        MergeConflict: Branches of a `parallel` disagree.
    """
    return await _run(_chain_for(items, hook), subject, hook, request_context, info)


def run_on_many(
    items: Iterable[object],
    subjects: Subjects,
    *,
    hook: HookName = "process_input",
    concurrency: int = 8,
    request_context: Context = None,
) -> AsyncGenerator[HookCall, None]:
    """Run one hook on many subjects, several at a time, and give the calls in their order.

    No subject is taken before there is room for it: at most `concurrency` of them have been
    taken and not been given. Leaving the loop early cancels what still runs; close the
    generator for that (`contextlib.aclosing`) where it is not dropped at once.

    Args:
        items: Processors and workflows, in order.
        subjects: A plain or an async iterable; see `run_on`.
        hook: The hook.
        concurrency: How many at once, from 1.
        request_context: Values for the processors; each call gets a copy.

    Raises:
        ConfigurationError: None of them has the hook, or `concurrency` is not a count. An error
            of a call is raised when it is that call's turn.
    """
    if not isinstance(concurrency, int) or concurrency < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"concurrency={concurrency!r} is not allowed; give a whole number from 1")
    chain = _chain_for(items, hook)
    context = RequestContext.of(request_context)

    async def run(subject: Subject) -> HookCall:
        return await _run(chain, subject, hook, context.copy(), None)

    return _in_order(run, subjects, concurrency)


def _chain_for(items: Iterable[object], hook: HookName) -> Chain:
    kind: ListKind | None = next((kind for kind, hooks in HOOKS_OF.items() if hook in hooks), None)
    if kind is None:
        raise ConfigurationError(f"there is no hook {hook!r}; the hooks are: {', '.join(ALL_HOOKS)}")
    chain = compile_chain(items, kind, where="run_on")
    if not (chain.stream if hook in _STREAM else chain.for_hook(hook)):
        has = sorted({name for step in chain.processors for name in step.hooks}, key=ALL_HOOKS.index)
        raise ConfigurationError(f"run_on: nothing here has {hook}; there is: {', '.join(has) or 'no hook at all'}")
    return chain


async def _run(
    chain: Chain, subject: Subject, hook: HookName, request_context: Context, info: Mapping[str, Any] | None
) -> HookCall:
    scope = HookScope(new_id("run"), RequestContext.of(request_context))
    given = info or {}
    scope.links.add_tools([*(given.get("tools") or ()), *([given["tool_name"]] if "tool_name" in given else ())])
    if hook in _STREAM:
        call = HookCall(hook, MessageList(), info=info)
        run = partial(_stream, chain, _chunks(subject, scope.run_id), call, scope)
    else:
        call = _call_of(hook, subject, given)
        scope.has_input = call.message_list.has_input()
        run = partial(_hooks, chain, call, scope)
    tripwire: Tripped | None = None
    try:
        call = await run()
    except TripWire as trip:
        tripwire = Tripped(trip.reason, trip.processor_id, trip.path, trip.retry, trip.retry_count, trip.metadata)
    finally:
        await scope.links.end_attempt()
        scope.links.end_run()
    call.message_list.acting = None
    call.tripwire = tripwire
    call.violations = tuple(scope.violations)
    if scope.written:
        call.parts = (*call.parts, *(chunk for chunk, _ in scope.written))
    return call


async def _hooks(chain: Chain, call: HookCall, scope: HookScope) -> HookCall:
    for entry in chain.entries(call.hook):
        call = await run_plan(entry, call, scope)
        if call.response is not None or call.retry is not None:
            break
    return call


async def _stream(chain: Chain, chunks: Iterable[Chunk], call: HookCall, scope: HookScope) -> HookCall:
    """Run chunks through the stream hooks; what has come out stays if they stop."""
    runner = build_stream(chain.stream, scope, call.message_list)
    out: list[Chunk] = []
    try:
        for chunk in chunks:
            await runner.push(chunk, out=out)
        out.extend(await runner.finish())
    finally:
        call.parts = tuple(out)
    return call


def _chunks(subject: Subject, run_id: str) -> Iterable[Chunk]:
    if isinstance(subject, Chunk):
        return (subject,)
    if isinstance(subject, str):
        block = {"id": "text-1"}
        return (
            Chunk("text-start", block, run_id),
            Chunk("text-delta", {**block, "text": subject}, run_id),
            Chunk("text-end", block, run_id),
        )
    chunks = tuple(cast("Iterable[Any]", subject)) if isinstance(subject, Iterable) else (subject,)
    odd = next((one for one in chunks if not isinstance(one, Chunk)), None)
    if odd is not None:
        raise MessageError(f"run_on: the stream hooks take a text or chunks, not {type(odd).__name__}")
    return chunks


def _call_of(hook: HookName, subject: Subject, info: Mapping[str, Any]) -> HookCall:
    """Return the call of a hook that is not of the stream."""
    if hook == "process_tool_result":
        return _tool_call(subject, info)
    if hook == "process_api_error":
        known = isinstance(subject, ModelError)
        error = subject if known else ModelError("the provider refused the request")
        return HookCall(hook, MessageList() if known else _messages(subject), info={"error": error, **info})
    if hook in _OF_REPLY:
        messages = _messages(subject, is_reply=True)
        return HookCall(hook, messages, info={**_reply_info(hook, messages), **info})
    messages = _messages(subject)
    overrides: dict[str, Any] = {}
    if hook != "process_input":
        overrides = {"model": None, "tools": {}, "model_settings": {}, "provider_options": {}, "max_steps": 1}
        overrides |= {name: info[name] for name in overrides if name in info}
    prompt = messages.to_prompt() if hook == "process_llm_request" else None
    return HookCall(hook, messages, info=info, overrides=overrides, prompt=prompt)


def _messages(subject: Subject, *, is_reply: bool = False) -> MessageList:
    if isinstance(subject, MessageList):
        return subject
    if is_reply and isinstance(subject, str):
        subject = Message(subject, role="assistant")
    parsed = parse_input(subject)
    if parsed.tool_results:
        raise MessageError(f"run_on: there is no call {parsed.tool_results[0][0]!r} for this tool result")
    messages = MessageList((), parsed.system)
    last = max((i for i, m in enumerate(parsed.messages) if m.role == "user"), default=-1) if is_reply else None
    for index, message in enumerate(parsed.messages):
        messages.add(message, "response" if last is not None and index > last else "input")
    messages.take_edits()
    messages.output_phase = is_reply
    return messages


def _reply_info(hook: HookName, messages: MessageList) -> Mapping[str, Any]:
    reply = [message for message in messages.response if message.role == "assistant"]
    text = "".join(message.text for message in reply)
    if hook == "process_output_result":
        return {"result": _result}
    calls = [part for message in reply for part in message.parts if isinstance(part, ToolPart)]
    return {
        "text": text,
        "tool_calls": tuple(ToolCall(c.tool_call_id, c.tool_name, c.args, c.provider_executed) for c in calls),
        "finish_reason": "stop",
        "usage": Usage(),
        "provider_metadata": {},
        "chunks": tuple(_chunks(text, "")) if text else (),
        "from_cache": False,
        "warnings": (),
        "request": None,
        "raw_response": None,
        "model": None,
    }


def _result(messages: MessageList) -> Result:
    reply = tuple(message for message in messages.response if message.role == "assistant")
    response = Response(reply, tuple(ui_message(message) for message in reply))
    return Result("".join(message.text for message in reply), "stop", response=response)


def _tool_call(result: object, info: Mapping[str, Any]) -> HookCall:
    """Return the call for a tool's result; the list has a reply that asked for it."""
    name, call_id = str(info.get("tool_name", "tool")), str(info.get("tool_call_id", _CALL))
    args = cast("Mapping[str, Any]", info.get("args", {}))
    messages = MessageList()
    messages.add(Message(role="assistant", parts=[ToolPart(name, call_id, args)]), "response")
    messages.take_edits()
    messages.output_phase = True
    shown = {"tool_name": name, "tool_call_id": call_id, "args": args, "provider_executed": False}
    return HookCall("process_tool_result", messages, info={**shown, **info, "result": result})


class _Job:
    """One subject on its way."""

    __slots__ = ("call", "done", "error")

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.call: HookCall | None = None
        self.error: BaseException | None = None

    async def run(self, run: Callable[[], Any]) -> None:
        try:
            self.call = await run()
        except anyio.get_cancelled_exc_class() as error:
            self.error = error  # one that a processor let out by itself is its error
            raise
        except BaseException as error:  # noqa: BLE001 - raised when it is this one's turn
            self.error = error
        finally:
            self.done.set()


async def _in_order(
    run: Callable[[Subject], Any], subjects: Subjects, concurrency: int
) -> AsyncGenerator[HookCall, None]:
    owned = Owned()
    jobs: Mailbox[_Job | None] = Mailbox(concurrency + 1)
    room = anyio.Semaphore(concurrency)

    async def read() -> None:
        source = _each(subjects)
        try:
            await room.acquire()
            async for subject in source:
                job = _Job()
                jobs.post(job)
                owned.start(partial(job.run, partial(run, subject)))
                await room.acquire()
        except Exception as error:  # noqa: BLE001 - the subjects' own error, raised behind those before it
            job = _Job()
            job.error = error
            job.done.set()
            jobs.post(job)
        finally:
            jobs.post(None)
            with anyio.CancelScope(shield=True):
                await source.aclose()

    owned.start(read)
    try:
        while True:
            await jobs.wait()
            job = jobs.take()
            if job is None:
                return
            await job.done.wait()
            if job.error is not None:
                raise job.error
            room.release()
            yield cast("HookCall", job.call)
    finally:
        owned.cancel()
        await owned.join()


async def _each(subjects: Subjects) -> AsyncGenerator[Subject, None]:
    if isinstance(subjects, AsyncIterable):
        iterator: AsyncIterator[Subject] = aiter(subjects)
        try:
            async for subject in iterator:
                yield subject
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                await close()
        return
    for subject in cast("Sequence[Subject]", subjects):
        yield subject
