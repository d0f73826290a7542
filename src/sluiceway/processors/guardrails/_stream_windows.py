"""The text of a stream as a guardrail passes it on whose detector looks at a window at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluiceway.messages import Chunk
from sluiceway.processors._contexts import HookContext
from sluiceway.processors._held import block_key
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import Detection, HoldExceeded, Release, Rule, Span
from sluiceway.processors.guardrails._marks import unmarked
from sluiceway.processors.guardrails._scan import Replace
from sluiceway.processors.guardrails._stream_text import Report, passed_texts
from sluiceway.processors.guardrails._windows import Window, Windows, WindowSize

__all__ = ["Ask", "SpansOf", "StreamWindows"]

Ask: TypeAlias = Callable[[HookContext, Sequence[str]], Awaitable[Mapping[str, Detection]]]
"""Looks at texts; one that could not be checked is not in the answer."""

SpansOf: TypeAlias = Callable[[Detection, Window], Sequence[Span]]
"""What counts of a detection, with offsets in the block."""


class _Block:
    __slots__ = ("broken", "digest", "windows")

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.broken = False
        self.digest = hashlib.blake2b(digest_size=16)


@dataclass(frozen=True, slots=True)
class StreamWindows:
    """Passes on the text of a stream, window by window. Holds options only.

    The blocks of a run are in `ctx.attempt_state`; one ends at its end, at a tool call or
    result and with the stream.

    Args:
        size: How a block is cut.
        rules: What is looked for along with it, by the context.
        holds: Whether text waits until it is decided; False only reports.
        max_hold_chars: How much a rule of unbounded length may hold.
        escapes: Whether the rules read escapes.
        ask: Looks at windows.
        spans: What counts of what was found.
        replace: What stands in the place of a finding.
        report: Called per released stretch with findings, before anything of it goes out.
        failed: Called when a rule takes too long or holds too much; aborts, or returns to let
            the block go on.
    """

    size: WindowSize
    rules: Callable[[HookContext], Sequence[Rule]]
    holds: bool
    max_hold_chars: int
    escapes: bool
    ask: Ask
    spans: SpansOf
    replace: Replace
    report: Report
    failed: Callable[[HookContext, str], None]

    def delta(self, ctx: StreamContext) -> Any:
        """Take in the delta in hand; return what goes on, or what to await for it."""
        part = ctx.part
        if not part.text:
            return part
        name = block_key(part)
        block = self._blocks(ctx).get(name)
        if block is None or self._lost(ctx, block, name):
            rules, most = self.rules(ctx), self.max_hold_chars
            block = _Block(Windows(self.size, rules, max_hold_chars=most, escapes=self.escapes))
            self._blocks(ctx)[name] = block
        if block.broken:
            return part
        if self.holds:
            ctx.release(0)
        try:
            windows = block.windows.feed(part.text)
        except (HoldExceeded, TimeoutError) as error:
            return self._give_up(ctx, block, name, error)
        if windows:
            return self._settle(ctx, block, name, windows, part)
        return self._next(ctx, block, name, part)

    async def end(self, ctx: StreamContext, name: str) -> list[Chunk]:
        """End a block (see `block_key`); return what is left of it."""
        block = self._blocks(ctx).pop(name, None)
        if block is None or block.broken or self._lost(ctx, block, name):
            return []
        try:
            windows = block.windows.flush()
        except TimeoutError as error:
            return self._give_up(ctx, block, name, error) if self.holds else []
        out = await self._settle(ctx, block, name, windows, None)
        passed_texts(ctx).add(block.digest.digest())
        return out

    async def end_all(self, ctx: StreamContext) -> list[Chunk]:
        """End all blocks, oldest first; return what is left of them."""
        return [chunk for name in list(self._blocks(ctx)) for chunk in await self.end(ctx, name)]

    def _lost(self, ctx: StreamContext, block: _Block, name: str) -> bool:
        """Whether what a block holds has gone out without it, since the hook failed and was passed over."""
        return self.holds and block.windows.held > 0 and not ctx.keeps(name)

    async def _settle(
        self, ctx: StreamContext, block: _Block, name: str, windows: Sequence[Window], part: Chunk | None
    ) -> list[Chunk]:
        found: Mapping[str, Detection] = {}
        if windows:
            found = await self.ask(ctx, [window.text for window in windows])
        out: list[Chunk] = []
        for window in windows:
            detection = found.get(window.text)
            block.windows.settle(window, () if detection is None else self.spans(detection, window))
            if window is not windows[-1]:
                out += self._next(ctx, block, name, None)
        return [*out, *self._next(ctx, block, name, part)]

    def _next(self, ctx: StreamContext, block: _Block, name: str, part: Chunk | None) -> list[Chunk]:
        """Return what goes on of what is cleared; `part`, where nothing is held."""
        release = unmarked(block.windows.release())
        edits = self._decide(ctx, block, release)
        if not self.holds:
            return [] if part is None else [part]
        return ctx.release(release.length, edits, block=name) if release.length else []

    def _decide(self, ctx: StreamContext, block: _Block, release: Release) -> list[tuple[int, int, str]]:
        if release.findings:
            self.report(ctx, release)
        edits: list[tuple[int, int, str]] = []
        position = 0
        for finding in release.findings if self.holds else ():
            new = self.replace(finding, release.text[finding.start : finding.end])
            edits.append((finding.start, finding.end, new))
            block.digest.update((release.text[position : finding.start] + new).encode("utf-8", "surrogatepass"))
            position = finding.end
        block.digest.update(release.text[position:].encode("utf-8", "surrogatepass"))
        return edits

    def _give_up(self, ctx: StreamContext, block: _Block, name: str, error: Exception) -> list[Chunk]:
        if isinstance(error, TimeoutError):
            self.failed(ctx, "a pattern took too long")
        elif self.holds:
            ctx.abort(f"a match outgrew what may be held of a stream: {error}")
        else:
            ctx.warn(f"a match outgrew what may be held of a stream: {error}", [])
        block.broken = True
        if not self.holds:
            return [ctx.part]
        return ctx.release(int(ctx.holding), block=name)

    @staticmethod
    def _blocks(ctx: StreamContext) -> dict[str, _Block]:
        blocks: dict[str, _Block] = ctx.attempt_state.setdefault("blocks", {})
        return blocks
