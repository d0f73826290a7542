"""The text of a stream as a guardrail with rules passes it on: held, decided, edited."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluiceway.messages import Chunk
from sluiceway.processors._contexts import HookContext
from sluiceway.processors._held import block_key
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import EscapedHold, HoldBack, HoldExceeded, Release, Rule, hold_for
from sluiceway.processors.guardrails._marks import unmarked
from sluiceway.processors.guardrails._scan import Replace

__all__ = ["StreamText", "passed_texts", "passed_values"]

Report: TypeAlias = Callable[[HookContext, Release], None]
"""Aborts, or warns, for the findings of a stretch that is about to go out."""


def passed_texts(ctx: HookContext) -> set[bytes]:
    """Return the digests of the blocks of this run that were looked at and need no second look."""
    passed: set[bytes] = ctx.state.setdefault("passed", set())
    return passed


def passed_values(ctx: HookContext) -> set[bytes]:
    """The same for texts in what tools were called with and returned, and in messages."""
    passed: set[bytes] = ctx.state.setdefault("values", set())
    return passed


class _Window:
    """One block: what is held of it, and a digest of what was passed on."""

    __slots__ = ("_passed", "broken", "hold")

    def __init__(self, hold: HoldBack | EscapedHold) -> None:
        self.hold = hold
        self.broken = False
        """Whether a rule failed and the block goes on without a look."""
        self._passed = hashlib.blake2b(digest_size=16)

    def passed(self, text: str) -> None:
        self._passed.update(text.encode("utf-8", "surrogatepass"))

    @property
    def digest(self) -> bytes:
        return self._passed.digest()


@dataclass(frozen=True, slots=True)
class StreamText:
    """Passes on the text of a stream under a set of rules. Holds options only.

    The windows of a run's blocks are in `ctx.attempt_state`; one ends with its block, at a tool
    call or result and with the stream.

    Args:
        rules: What to look for.
        holds: Whether text waits until it is decided; False lets it pass at once and only
            reports.
        max_hold_chars: How much a rule of unbounded length may hold.
        escapes: Whether escapes are read.
        replace: What stands in the place of a finding.
        report: Called per released stretch with findings, before anything of it goes out.
        failed: Called when a rule takes too long; aborts, or returns to let the block go on.
    """

    rules: Sequence[Rule]
    holds: bool
    max_hold_chars: int
    escapes: bool
    replace: Replace
    report: Report
    failed: Callable[[HookContext], None]

    def delta(self, ctx: StreamContext) -> Chunk | list[Chunk]:
        """Take in the delta in hand; return what goes on."""
        part = ctx.part
        text = part.text
        if not text:
            return part
        windows, block = _windows(ctx), block_key(part)
        window = windows.get(block)
        if window is None or self._lost(ctx, window, block):
            window = windows[block] = _Window(self._hold())
        if window.broken:
            return part
        held = window.hold.held
        try:
            release = unmarked(window.hold.feed(text))
        except HoldExceeded as exceeded:
            self._outgrown(ctx, exceeded)
            window.broken = True
            return part
        except TimeoutError:
            self.failed(ctx)
            window.broken = True
            return ctx.release(held + len(text)) if self.holds else part
        try:
            edits = self._decide(ctx, window, release)
        except Exception:
            ctx.hold()  # where the failure is passed over, what is held goes out before this delta
            raise
        if not self.holds or (not held and not edits and release.length == len(text)):
            return part
        return ctx.release(release.length, edits)

    def end(self, ctx: StreamContext, block: str) -> list[Chunk]:
        """End the window of a block (see `block_key`); return what is left of it."""
        window = _windows(ctx).pop(block, None)
        if window is None or window.broken or self._lost(ctx, window, block):
            return []
        held = window.hold.held
        try:
            release = unmarked(window.hold.flush())
        except TimeoutError:
            self.failed(ctx)
            return ctx.release(held, block=block) if self.holds else []
        edits = self._decide(ctx, window, release)
        passed_texts(ctx).add(window.digest)
        return ctx.release(release.length, edits, block=block) if self.holds and release.length else []

    def end_all(self, ctx: StreamContext) -> list[Chunk]:
        """End all windows, oldest first; return what is left of them."""
        return [chunk for block in list(_windows(ctx)) for chunk in self.end(ctx, block)]

    def settled(self, text: str) -> str:
        """Return what is sure of a text that still grows elsewhere, such as inside of an object."""
        release = unmarked(self._hold().feed(text))
        position, out = 0, ""
        for start, end, new in self._edits(release):
            out += release.text[position:start] + new
            position = end
        return out + release.text[position:]

    def _hold(self) -> HoldBack | EscapedHold:
        return hold_for(self.rules, max_hold_chars=self.max_hold_chars, escapes=self.escapes)

    def _lost(self, ctx: StreamContext, window: _Window, block: str) -> bool:
        """Whether what a window holds has gone out without it, since the hook failed and was passed over."""
        return self.holds and window.hold.held > 0 and not ctx.keeps(block)

    def _decide(self, ctx: StreamContext, window: _Window, release: Release) -> list[tuple[int, int, str]]:
        """Report what was found in a stretch; return the edits that take it out."""
        if release.findings:
            self.report(ctx, release)
        if not self.holds:
            window.passed(release.text)
            return []
        edits = self._edits(release)
        position = 0
        for start, end, new in edits:
            window.passed(release.text[position:start] + new)
            position = end
        window.passed(release.text[position:])
        return edits

    def _edits(self, release: Release) -> list[tuple[int, int, str]]:
        return [(f.start, f.end, self.replace(f, release.text[f.start : f.end])) for f in release.findings]

    def _outgrown(self, ctx: StreamContext, exceeded: HoldExceeded) -> None:
        reason = (
            f"a match of rule {exceeded.rule.name!r} outgrew the {exceeded.limit_chars} characters "
            "that may be held of a stream"
        )
        if self.holds:
            ctx.abort(reason, metadata={"types": [exceeded.rule.type], "detections": []})
        ctx.warn(reason, [])


def _windows(ctx: StreamContext) -> dict[str, Any]:
    windows: dict[str, Any] = ctx.attempt_state.setdefault("windows", {})
    return windows
