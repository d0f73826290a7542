"""`MessageHistory`: loads the newest messages of the thread, and saves the turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from sluiceway.errors import ConfigurationError
from sluiceway.memory._codec import decode, encode
from sluiceway.memory._keep import answer_calls, is_transient, kept_parts, open_calls
from sluiceway.memory._memory_run import Draft, MemoryRun
from sluiceway.memory._port import MemoryStore, MessageRow, checked_id
from sluiceway.memory._window import Remembered, from_user_on, loadable, messages_of, recognise
from sluiceway.messages import Message, MessageList
from sluiceway.processors import Effects, InputContext, OutputResultContext, Processor

__all__ = ["MessageHistory"]

_SEARCHED_FOR_CALLS: Final = 50


class MessageHistory(Processor):
    """Puts the newest messages of the thread before the input, and saves the turn at the end.

    What is loaded begins with a message of the user and holds no call without its result.
    What a client sends again is recognised by id, and by content where ids are missing; what is
    stored of it stays as it is. The turn is saved after all processors, in one transaction,
    without system messages, transient parts and calls that nobody answered.

    Hooks: `process_input` (writes messages), `process_output_result` (writes nothing).

    Args:
        storage: Where the thread is.
        last_messages: How many messages are loaded, signals not counted; 0: none.
        id: The id.

    Raises:
        ConfigurationError: `last_messages` is no whole number from 0.
    """

    def __init__(
        self,
        storage: MemoryStore,
        *,
        last_messages: int = 10,
        id: str = "message-history",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        if not isinstance(last_messages, int) or isinstance(last_messages, bool) or last_messages < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"last_messages={last_messages!r} is not allowed; give a whole number from 0")
        self.storage = storage
        self.last_messages = last_messages
        self.effects = {
            "process_input": Effects(reads=("messages",), writes=("messages",), aborts=False),
            "process_output_result": Effects(reads=("messages",), aborts=False),
        }

    async def process_input(self, ctx: InputContext) -> None:
        """Load what is remembered, and join results that the client sends to the calls they answer."""
        run = MemoryRun.of(ctx)
        if run.thread_id is None:
            return
        await run.hold(self.storage)
        inputs = [message for message in ctx.message_list.input if message.role != "signal"]
        for message in inputs:
            checked_id("the message id", message.id)
        known = await self.storage.find([m.id for m in inputs], run.thread_id) if inputs else []
        turn = _TurnState(run, {row.id: row for row in known})
        for message in inputs:
            message.thread_id = run.thread_id
            message.resource_id = run.resource_id
            turn.said[message.id] = message.text
        await self._load(ctx.message_list, inputs, turn)
        turn.join(ctx.message_list)
        ctx.state["turn"] = turn

    async def _load(self, messages: MessageList, inputs: Sequence[Message], turn: _TurnState) -> None:
        run = turn.run
        assert run.thread_id is not None
        strangers = [message for message in inputs if message.id not in turn.known]
        resends = len(strangers) > 1 and any(message.role == "assistant" for message in strangers)
        count = max(
            self.last_messages,
            len(strangers) if resends else 0,
            _SEARCHED_FOR_CALLS if run.tool_results else 0,
        )
        if not count:
            return
        stored = messages_of(await self.storage.newest(run.thread_id, count), run.resource_id)
        counted = [item for item in stored if item.message.role != "signal"]
        again = recognise(strangers, counted) if resends else {}
        messages.remove_by_ids(list(again))
        start = len(stored)
        if self.last_messages and counted:
            start = stored.index(counted[-self.last_messages :][0])
        needed = [item for item in stored if set(open_calls(item.message)) & run.tool_results.keys()]
        for item in (*again.values(), *needed):
            start = min(start, _exchange_start(stored, item))
        self._add(messages, stored[start:], turn)

    def _add(self, messages: MessageList, stored: Sequence[Remembered], turn: _TurnState) -> None:
        answered = turn.run.tool_results
        goes_on = all(message.role == "signal" for message in messages.input)
        last = next((item for item in reversed(stored) if item.message.role != "signal"), None)
        loaded: list[Message] = []
        for item in stored:
            if item.row.id in messages:
                continue
            turn.stored[item.row.id] = item.row
            if loadable(item.message, answered, is_last=item is last and goes_on):
                loaded.append(item.message)
        for message in from_user_on(loaded):
            messages.add(message, "memory")

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """Have the turn saved when all hooks have passed."""
        run = MemoryRun.of(ctx)
        if run.thread_id is None or run.read_only:
            return
        await run.hold(self.storage)
        for message in ctx.message_list.response:
            message.thread_id = run.thread_id
            message.resource_id = run.resource_id
        turn: _TurnState | None = ctx.state.get("turn")
        if turn is None:  # not in the input list, or no agent drives the run
            known = await self.storage.find([m.id for m in ctx.message_list.input], run.thread_id)
            turn = _TurnState(run, {row.id: row for row in known})
        await run.contribute(self.storage, partial(_contribute, turn), ctx.message_list)


class _TurnState:
    """What one run's history hooks have to tell each other."""

    __slots__ = ("known", "pending", "run", "said", "stored")

    def __init__(self, run: MemoryRun, known: dict[str, MessageRow]) -> None:
        self.run = run
        self.known = known
        """Messages of the input that the thread has already."""
        self.stored: dict[str, MessageRow] = {}
        """Messages that were loaded."""
        self.said: dict[str, str] = {}
        """What the texts of the input were before any other processor."""
        self.pending: dict[str, list[str]] = {}
        """By stored message, calls that had no result when the run began."""

    def join(self, messages: MessageList) -> None:
        """Give remembered calls the results that came with the input."""
        for call_id in list(self.run.tool_results):
            part = messages.find_call(call_id)
            if part is None:
                continue
            result = self.run.tool_results.pop(call_id)
            if part.state == "call":
                messages.set_tool_result(call_id, result)
        for message_id, row in {**self.stored, **self.known}.items():
            calls = open_calls(decode(row, None)) if row.role == "assistant" else []
            if calls:
                self.pending[message_id] = calls

    def edited(self, message: Message) -> bool:
        """Whether processors have changed the text of an input message."""
        return self.said.get(message.id, message.text) != message.text


def _contribute(turn: _TurnState, draft: Draft, messages: MessageList, finish_reason: str) -> None:
    thread_id = turn.run.thread_id
    assert thread_id is not None
    response = messages.response
    newest = response[-1].id if response else None
    for message in messages.all:
        row = turn.known.get(message.id) or turn.stored.get(message.id)
        source = messages.source_of(message.id)
        if row is not None:
            joined = _joined(row, turn.pending.get(message.id, ()), messages)
            if joined is not None:
                draft.rows.append(joined)
        elif source in ("input", "response") and not is_transient(message):
            awaits_client = message.id == newest and finish_reason == "tool-calls"
            parts = kept_parts(message, awaits_client=awaits_client)
            if parts or message.attachments or not message.parts:
                draft.rows.append(encode(message, thread_id, parts=parts, edited=turn.edited(message)))


def _joined(row: MessageRow, calls: Sequence[str], messages: MessageList) -> MessageRow | None:
    """Return a stored message with the results that have come, or None where none has."""
    if not calls:
        return None
    stored = decode(row, None)
    if not answer_calls(stored, calls, messages):
        return None
    return encode(stored, row.thread_id, parts=stored.parts)


def _exchange_start(stored: Sequence[Remembered], item: Remembered) -> int:
    index = stored.index(item)
    while index > 0 and stored[index].message.role != "user":
        index -= 1
    return index
