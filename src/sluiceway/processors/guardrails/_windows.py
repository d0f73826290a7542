"""Windows of a text that arrives in pieces, for detectors that look at a stretch at a time.

Windows are counted from the start of the block, so that what a detector gets does not hang on
how the text was cut. Rules may be looked for along with it, with their own exact hold-back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluiceway.processors.detectors import Finding, Release, Rule, Span, hold_for, unite

__all__ = ["Window", "WindowSize", "Windows"]

_TRIM_CHARS = 1024


@dataclass(frozen=True, slots=True)
class WindowSize:
    """How a block is cut into windows.

    Args:
        window_chars: How much is new in a window.
        context_chars: How much of what was before it is shown along.
        lag_chars: How much before the end of the newest window stays held, since what begins
            there may go on; at most `context_chars`.
    """

    window_chars: int
    context_chars: int = 0
    lag_chars: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch to look at.

    Args:
        text: What the detector gets: context, then what is new.
        offset: Where in the block `text` begins.
        start: Where in the block what is new begins.
        end: Where it ends.
        last: Whether nothing follows.
    """

    text: str
    offset: int
    start: int
    end: int
    last: bool = False


class Windows:
    """One block. Offsets count from its start.

    Args:
        size: How it is cut.
        rules: What is looked for along with it.
        max_hold_chars: See `HoldBack`.
        escapes: Whether the rules read escapes.
    """

    __slots__ = ("_base", "_checked", "_hold", "_released", "_settled", "_size", "_spans", "_text", "_upto")

    def __init__(
        self, size: WindowSize, rules: Sequence[Rule] = (), *, max_hold_chars: int = 1000, escapes: bool = False
    ) -> None:
        self._size = size
        self._hold = hold_for(rules, max_hold_chars=max_hold_chars, escapes=escapes) if rules else None
        self._text = ""
        self._base = 0
        self._checked = 0  # up to where windows were cut
        self._settled = 0  # up to where their outcome is final
        self._upto = 0  # up to where the rules are sure
        self._released = 0
        self._spans: list[Span] = []

    @property
    def held(self) -> int:
        """How many characters are held."""
        return self._end - self._released

    def feed(self, text: str) -> list[Window]:
        """Take the next piece; return the windows that it completes, in order.

        Raises:
            HoldExceeded: A rule of unbounded length would hold too much.
            TimeoutError: A pattern that is not our own took longer than its limit.
        """
        self._text += text
        if self._hold is not None:
            self._note(self._hold.feed(text))
        windows: list[Window] = []
        while self._end - self._checked >= self._size.window_chars:
            windows.append(self._cut(self._checked + self._size.window_chars))
        return windows

    def flush(self) -> list[Window]:
        """End the block; return its last window, if there is something new in it.

        Raises:
            TimeoutError: See `feed`.
        """
        if self._hold is not None:
            self._note(self._hold.flush())
        if self._end > self._checked:
            return [self._cut(self._end, last=True)]
        self._settled = self._end
        return []

    def settle(self, window: Window, spans: Iterable[Span]) -> None:
        """Note what was found in a window; offsets of the spans count in the block."""
        self._spans.extend(span for span in spans if span.end > self._released)
        self._settled = max(self._settled, window.end if window.last else window.end - self._size.lag_chars)

    def release(self) -> Release:
        """Return the next stretch that is cleared."""
        horizon = self._settled if self._hold is None else min(self._settled, self._upto)
        findings: list[Finding] = []
        for finding in unite({(s.start, s.end, s.type, s.rule): s for s in self._spans}.values()):
            if finding.start >= horizon:
                break
            if finding.end > horizon:
                horizon = finding.start
                break
            findings.append(finding)
        start = self._released
        if horizon <= start:
            return Release(0)
        text = self._text[start - self._base : horizon - self._base]
        self._released = horizon
        self._spans = [span for span in self._spans if span.start >= horizon]
        self._trim()
        # What begins in a stretch that is gone was found too late; what is left of it counts.
        shown = [_within(finding, start) for finding in findings]
        return Release(horizon - start, start, text, tuple(finding.moved(-start) for finding in shown))

    @property
    def _end(self) -> int:
        return self._base + len(self._text)

    def _note(self, release: Release) -> None:
        self._spans.extend(span for f in release.findings for span in f.moved(release.offset).spans)
        self._upto = max(self._upto, release.offset + release.length)

    def _cut(self, end: int, *, last: bool = False) -> Window:
        start = self._checked
        offset = max(0, start - self._size.context_chars)
        self._checked = end
        return Window(self._text[offset - self._base : end - self._base], offset, start, end, last)

    def _trim(self) -> None:
        keep = min(self._released, max(0, self._checked - self._size.context_chars))
        if keep - self._base < max(_TRIM_CHARS, len(self._text) // 2):
            return  # copying the rest once per window would make a long delta quadratic
        self._text = self._text[keep - self._base :]
        self._base = keep


def _within(finding: Finding, start: int) -> Finding:
    if finding.start >= start:
        return finding
    spans = tuple(Span(max(s.start, start), s.end, s.type, s.score, s.rule) for s in finding.spans)
    return Finding(start, finding.end, spans)
