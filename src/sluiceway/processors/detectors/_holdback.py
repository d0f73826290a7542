"""Hold-back: redacting a text that arrives in pieces, whatever the pieces are.

The law: for any cut of a text into pieces, what is released, with the findings replaced, is
what one would get from the whole text; and no character of a match is released before the
match is known. What is held is the shortest tail that could still become part of a match:
per rule, the probe (see `_probe`) says where the first start is that more text would decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sluiceway.processors.detectors._overlap import Finding, unite
from sluiceway.processors.detectors._patience import Patience
from sluiceway.processors.detectors._port import Span
from sluiceway.processors.detectors._rule import Rule

__all__ = ["HoldBack", "HoldExceeded", "Release", "joined"]

_SLICE_CHARS = 256
_TRIM_CHARS = 1024


class HoldExceeded(Exception):
    """A pattern of unbounded length would have to hold more text than it may.

    Args:
        rule: The rule whose match outgrew the limit.
        limit_chars: The limit.
    """

    def __init__(self, rule: Rule, limit_chars: int) -> None:
        super().__init__(f"rule {rule.name!r} would hold more than {limit_chars} characters")
        self.rule = rule
        self.limit_chars = limit_chars


@dataclass(frozen=True, slots=True)
class Release:
    """The next stretch of the block that is cleared.

    Args:
        length: How many characters; 0 for none.
        offset: Where in the block the stretch begins.
        text: The raw text of the stretch.
        findings: What was found in it; offsets count from the start of the stretch.
    """

    length: int
    offset: int = 0
    text: str = ""
    findings: tuple[Finding, ...] = ()


_NOTHING = Release(0)


class _Track:
    """How far one rule has got. Offsets count in the window's buffer."""

    __slots__ = ("last", "match", "patience", "position", "probe", "probe_at", "rule", "search")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.patience = None if rule.timeout_s is None else Patience(rule.timeout_s)
        looks: list[Callable[..., Any]] = [rule.pattern.match, rule.pattern.search, rule.probe.match, rule.probe.search]
        if self.patience is not None:
            looks = [self.patience.over(look) for look in looks]
        self.match, self.search, self.probe_at, self.probe = looks
        self.position = 0
        self.last = 0
        """Where its furthest match so far ends."""

    def after(self, span: Span) -> int:
        """Return where the search goes on; see `Rule.matches`."""
        return span.start + 1 if self.rule.bounded else span.end

    def further(self, span: Span) -> bool:
        """Whether a match is not inside of what was found before; then it is the furthest."""
        if span.end <= self.last:
            return False
        self.last = span.end
        return True


class HoldBack:
    """One text block that arrives in pieces. Not shared between blocks.

    Args:
        rules: What to look for.
        max_hold_chars: How much a rule of unbounded length may hold. It is checked at every
            256th character of the block, so that the outcome does not hang on the cut.
    """

    __slots__ = ("_base", "_buffer", "_found", "_groups", "_keep", "_max_hold", "_open", "_released", "_strangers")

    def __init__(self, rules: Sequence[Rule], *, max_hold_chars: int = 1000) -> None:
        # Rules with one gate share its search; a rule without one is alone.
        groups: dict[object, list[_Track]] = {}
        for rule in rules:
            groups.setdefault(rule.gate or rule, []).append(_Track(rule))
        self._groups = list(groups.values())
        self._open = [t for group in self._groups for t in group if not t.rule.bounded]
        self._strangers = [t.patience for group in self._groups for t in group if t.patience is not None]
        self._keep = max((rule.lookbehind_chars for rule in rules), default=0) + 1
        self._max_hold = max_hold_chars
        self._buffer = ""
        self._base = 0  # offset of the buffer in the block
        self._released = 0  # offset in the buffer
        self._found: list[Span] = []

    @property
    def held(self) -> int:
        """How many characters are held."""
        return len(self._buffer) - self._released

    def feed(self, text: str) -> Release:
        """Take the next piece and return what is cleared by it.

        Raises:
            HoldExceeded: A rule of unbounded length would hold too much.
            TimeoutError: A pattern that is not our own took too long over the block so far.
        """
        for patience in self._strangers:
            patience.more(len(text))
        if not self._open:
            self._buffer += text
            return self._release(self._advance(final=False))
        start = 0
        releases: list[Release] = []
        while start < len(text):
            total = self._base + len(self._buffer)
            stop = start + _SLICE_CHARS - total % _SLICE_CHARS
            self._buffer += text[start:stop]
            horizon = self._advance(final=False)
            if (self._base + len(self._buffer)) % _SLICE_CHARS == 0:
                self._check_bounds()
            releases.append(self._release(horizon))
            start = stop
        return joined(releases)

    def flush(self) -> Release:
        """End the block: nothing more can come, so all that is held is decided and returned."""
        return self._release(self._advance(final=True))

    def _advance(self, *, final: bool) -> int:
        """Decide what can be decided; return the buffer offset up to which all rules are sure."""
        buffer = self._buffer
        size = horizon = len(buffer)
        for group in self._groups:
            gate = group[0].rule.gate
            if gate is not None:
                start = min(track.position for track in group) if len(group) > 1 else group[0].position
                opening = gate.search(buffer, start)
                if opening is None or opening.start() >= size:
                    for track in group:
                        track.position = size
                    continue
                start = opening.start()
                for track in group:
                    self._step_gated(track, max(track.position, start), final)
                    horizon = min(horizon, track.position)
            else:
                self._step_open(group[0], final)
                horizon = min(horizon, group[0].position)
        return horizon

    def _step_gated(self, track: _Track, position: int, final: bool) -> None:
        """Go from one place where the gate hits to the next, until one is undecided."""
        rule, buffer = track.rule, self._buffer
        gate, size = rule.gate, len(buffer)
        assert gate is not None
        while position < size:
            opening = gate.search(buffer, position)
            if opening is None:
                position = size
                break
            position = opening.start()
            if not final and track.probe_at(buffer, position, partial=True) is not None:
                break
            match = track.match(buffer, position)
            span = None if match is None or match.end() == position else rule.judge(buffer, match)
            if span is None:
                position += 1
            else:
                if track.further(span):
                    self._found.append(span)
                position = track.after(span)
        track.position = min(position, size)

    def _step_open(self, track: _Track, final: bool) -> None:
        """The same for a rule that can start anywhere: its probe finds the first undecided place."""
        rule, buffer, position = track.rule, self._buffer, track.position
        size = len(buffer)
        undecided = size if final else -1
        while position < size:
            if undecided < position:
                probed = track.probe(buffer, position, partial=True)
                undecided = size if probed is None else probed.start()
                if undecided == position:
                    break
            match = track.search(buffer, position)
            if match is None or match.start() >= undecided:
                position = undecided
                break
            span = None if match.start() == match.end() else rule.judge(buffer, match)
            if span is None:
                position = match.start() + 1
            else:
                if track.further(span):
                    self._found.append(span)
                position = track.after(span)
        track.position = min(position, size)

    def _check_bounds(self) -> None:
        for track in self._open:
            if len(self._buffer) - track.position > self._max_hold:
                raise HoldExceeded(track.rule, self._max_hold)

    def _release(self, horizon: int) -> Release:
        findings: list[Finding] = []
        if self._found:
            findings, horizon = self._settle(horizon)
        start = self._released
        if horizon <= start:
            return _NOTHING
        text = self._buffer[start:horizon]
        moved = tuple(finding.moved(-start) for finding in findings)
        release = Release(horizon - start, self._base + start, text, moved)
        self._released = horizon
        if horizon > _TRIM_CHARS + self._keep:
            self._trim(horizon - self._keep)
        return release

    def _settle(self, horizon: int) -> tuple[list[Finding], int]:
        """Return the findings that lie before the horizon, which moves before one that crosses it."""
        findings: list[Finding] = []
        for finding in unite(self._found):
            if finding.start >= horizon:
                break
            if finding.end > horizon:
                horizon = finding.start
                break
            findings.append(finding)
        self._found = [span for span in self._found if span.start >= horizon]
        return findings, horizon

    def _trim(self, cut: int) -> None:
        """Forget what was released, but for what rules may look back at."""
        self._buffer = self._buffer[cut:]
        self._base += cut
        self._released -= cut
        for group in self._groups:
            for track in group:
                track.position -= cut
                track.last -= cut
        self._found = [Span(s.start - cut, s.end - cut, s.type, s.score, s.rule) for s in self._found]


def joined(releases: Sequence[Release]) -> Release:
    """Return neighbouring stretches as one."""
    some = [release for release in releases if release.length]
    if len(some) < 2:
        return some[0] if some else _NOTHING
    first = some[0].offset
    findings = [finding.moved(release.offset - first) for release in some for finding in release.findings]
    text = "".join(release.text for release in some)
    return Release(len(text), first, text, tuple(findings))
