"""`TokenLimiter`: keeps prompts and answers within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from sluiceway.messages import Chunk, MessageList, StepStartPart, TextPart
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import InputContext, OutputResultContext, RequestHookContext
from sluiceway.processors._effects import Effects, Surface
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import LLMRequest
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.context._options import checked_count, checked_one_of, refusal
from sluiceway.processors.context._token_count import TokenCounts
from sluiceway.processors.context._token_counter import ENCODINGS, TokenCounter, counter_for
from sluiceway.processors.context._token_meter import Meter
from sluiceway.processors.context._token_trim import TooLong, TrimMode, kept, weighed
from sluiceway.processors.context._turn import turn_start

__all__ = ["TokenLimiter", "TokenLimiterProcessor"]

_NOTICE: Final = "data-token-limit-reached"

Strategy: TypeAlias = Literal["truncate", "abort"]


class TokenLimiter(Processor):
    """Keeps prompts (as an input processor) and answers (as an output processor) within a limit.

    A prompt that is too long is sent without its oldest messages, or without those that do not
    fit; what is stored stays as it is. System messages, the newest message of the user and the
    calls and results of the run itself are always sent, a call and its result together. What
    cannot be sent within the limit ends the run, with the numbers in the reason and in the
    tripwire's metadata. The definitions of the tools count; images and other media count at a
    flat rate.

    Of an answer only text and objects count, and tool calls pass. The first cut of a step sends
    a transient data chunk `data-token-limit-reached` with the `limit`.

    Put it behind the processors that change the prompt: it measures what they left.

    Args:
        limit: How many tokens, from 1.
        scope: Whether an answer's steps share the limit (`run`) or have one each (`step`).
        encoding: `o200k_base`, `cl100k_base`, or a `TokenCounter`.
        strategy: What happens to an answer at the limit: `truncate` or `abort`.
        count_mode: `cumulative` counts an answer together, `part` each chunk of it alone.
        trim_mode: `best-fit` leaves out what does not fit and goes on with older messages,
            `contiguous` stops there, `memory-only` leaves out nothing but what memory added,
            from `process_input` on.
        id: The id.

    Raises:
        ConfigurationError: An option that is not allowed.
    """

    def __init__(
        self,
        limit: int,
        *,
        scope: Literal["run", "step"] = "run",
        encoding: str | TokenCounter = "o200k_base",
        strategy: Strategy = "truncate",
        count_mode: Literal["cumulative", "part"] = "cumulative",
        trim_mode: TrimMode = "best-fit",
        id: str = "token-limiter",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        self.limit = checked_count(id, "limit", limit, 1)
        checked_one_of(id, "scope", scope, ("run", "step"))
        checked_one_of(id, "strategy", strategy, ("truncate", "abort"))
        checked_one_of(id, "count_mode", count_mode, ("cumulative", "part"))
        checked_one_of(id, "trim_mode", trim_mode, ("best-fit", "contiguous", "memory-only"))
        if encoding not in ENCODINGS and (isinstance(encoding, str) or not isinstance(encoding, TokenCounter)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refusal(id, "encoding", encoding, f"one of {', '.join(map(repr, ENCODINGS))} or a TokenCounter")
        self.scope = scope
        self.strategy: Strategy = strategy
        self.count_mode = count_mode
        self.trim_mode: TrimMode = trim_mode
        self._encoding = encoding
        self.effects = _effects(strategy, trim_mode)

    @property
    def counter(self) -> TokenCounter:
        """What tokens are counted with."""
        return counter_for(self._encoding) if isinstance(self._encoding, str) else self._encoding

    # --- the prompt

    def process_input(self, ctx: InputContext) -> None:
        """With `memory-only`: take out the messages of memory that do not fit."""
        if self.trim_mode != "memory-only":
            return
        messages = ctx.message_list
        prompt = messages.to_prompt()
        whole = weighed(prompt.messages, (), turn_start(prompt, messages), self._counts(ctx))
        chosen = kept(whole, self.limit, self.trim_mode) if whole.total > self.limit else None
        if isinstance(chosen, list):  # where nothing helps, the request hook says so, with the tools counted
            left = {prompt.messages[index].message_id for index in chosen}
            gone = dict.fromkeys(m.message_id for m in prompt.messages if m.message_id not in left)
            messages.remove_by_ids([id_ for id_ in gone if id_ is not None])

    def process_llm_request(self, ctx: RequestHookContext) -> LLMRequest | None:
        """Leave out of this prompt what does not fit."""
        prompt = ctx.prompt
        active = ctx.active_tools
        tools = [tool for name, tool in ctx.tools.items() if active is None or name in active]
        whole = weighed(prompt.messages, tools, turn_start(prompt, ctx.message_list), self._counts(ctx))
        if whole.total <= self.limit:
            return None
        chosen = kept(whole, self.limit, self.trim_mode)
        if isinstance(chosen, TooLong):
            ctx.abort(f"{self.id}: {chosen.reason}", metadata=chosen.numbers)
        return LLMRequest(prompt=prompt.replace([prompt.messages[index] for index in chosen]))

    def _counts(self, ctx: InputContext | RequestHookContext) -> TokenCounts:
        counts = ctx.state.get("counts")
        if counts is None:
            counts = ctx.state["counts"] = TokenCounts(self.counter)
        return counts

    # --- the answer

    def process_output_stream(self, ctx: StreamContext) -> Chunk | Sequence[Chunk] | None:
        """Pass on what is within the limit."""
        part = ctx.part
        counted = part.type in ("text-delta", "object")
        meter: Meter | None = ctx.attempt_state.get("meter")
        if not counted or (part.type == "object" and part.get("object") is None):
            self._stop(ctx, meter)
            return part
        if meter is None:
            meter = self._meter(ctx)
        self._stop(ctx, meter)
        passed = meter.take(part)
        if passed is part:
            return part
        if self.strategy == "abort":
            if passed is None:
                self._stop(ctx, meter)
            return passed  # what fits goes out first
        out = [] if passed is None else [passed]
        if not meter.said:
            meter.said = True
            out.append(Chunk(_NOTICE, {"data": {"limit": self.limit}, "transient": True}, part.run_id, "USER"))
        return out

    def finish_output_stream(self, ctx: StreamContext) -> None:
        """Abort where the answer was over the limit and nothing came after that."""
        self._stop(ctx, ctx.attempt_state.get("meter"))

    def _meter(self, ctx: StreamContext) -> Meter:
        state = ctx.state
        before = state.get("passed", 0) if self.scope == "run" else 0
        meter = Meter(self.counter, self.limit, before, each=self.count_mode == "part")
        ctx.attempt_state["meter"] = meter

        def accepted(step: Any) -> None:
            del step
            state["passed"] = state.get("passed", 0) + meter.passed

        ctx.on_step_accepted(accepted)
        return meter

    def _stop(self, ctx: StreamContext | OutputResultContext, meter: Meter | None) -> None:
        if meter is not None and meter.over and self.strategy == "abort":
            ctx.abort(f"{self.id}: the answer is over the limit of {self.limit} tokens", metadata={"limit": self.limit})

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Cut what later processors have added to the answer over the limit."""
        if self.count_mode == "part":
            return
        for texts in _scopes(ctx.message_list, per_step=self.scope == "step"):
            left = self.limit
            for part in texts:
                tokens = self.counter.count(part.text)
                if tokens > left:
                    self._cut(ctx, part, left)
                    tokens = left
                left -= tokens

    def _cut(self, ctx: OutputResultContext, part: TextPart, left: int) -> None:
        if self.strategy == "abort":
            ctx.abort(f"{self.id}: the answer is over the limit of {self.limit} tokens", metadata={"limit": self.limit})
        start = len(self.counter.cut(part.text, left))
        if start < len(part.text):
            part.edit(start, len(part.text), "")


TokenLimiterProcessor = TokenLimiter
"""Another name for `TokenLimiter`."""


def _scopes(messages: MessageList, *, per_step: bool) -> list[list[TextPart]]:
    scopes: list[list[TextPart]] = [[]]
    for message in messages.response:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if isinstance(part, StepStartPart) and per_step:
                scopes.append([])
            elif isinstance(part, TextPart):
                scopes[-1].append(part)
    return scopes


def _effects(strategy: Strategy, trim_mode: TrimMode) -> dict[HookName, Effects]:
    removed: tuple[Surface, ...] = ("messages", "state") if trim_mode == "memory-only" else ()
    stream = Effects(reads=("chunk", "state"), writes=("chunk", "state"), aborts=strategy == "abort")
    return {
        "process_input": Effects(reads=("messages", "system"), writes=removed, aborts=False),
        "process_llm_request": Effects(reads=("messages", "prompt", "overrides"), writes=("prompt", "state")),
        "process_output_stream": stream,
        "finish_output_stream": stream,
        "process_output_result": Effects(reads=("messages",), writes=("messages",), aborts=strategy == "abort"),
    }
