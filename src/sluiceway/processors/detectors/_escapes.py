r"""Escapes of JSON in a text, read as the characters that they mean: `ann\u0040example.org` is an address.

A text that is not JSON as a whole still has them: a model writes code, or quotes what a program
sent. Only `\uXXXX` is read there, since a `\n` may as well be the end of a name of a file; with
more than one backslash too, as in JSON inside of JSON.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from sluiceway.processors.detectors._holdback import HoldBack, Release, joined
from sluiceway.processors.detectors._overlap import Finding
from sluiceway.processors.detectors._port import Span
from sluiceway.processors.detectors._rule import Rule

__all__ = ["EscapedHold", "Offsets", "escaped", "hold_for", "paired", "read_escapes"]

_SIGN: Final = r"\\{1,8}u"
_HEX: Final = "[0-9A-Fa-f]"
_HIGH: Final = f"[dD][89abAB]{_HEX}{{2}}"
_ESCAPE: Final = re.compile(rf"{_SIGN}(?:({_HIGH}){_SIGN}([dD][c-fC-F]{_HEX}{{2}})|({_HEX}{{4}}))")
_BEGUN: Final = re.compile(
    rf"\\{{1,8}}(?:u(?:{_HEX}{{0,3}}|{_HIGH}(?:\\{{1,8}}(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?))?\Z"
)
_LONGEST: Final = 25
"""How long the beginning of an escape is at most: a pair of two, but for its last character."""
_HALF: Final = "\ufffd"
"""What half of a pair alone is read as: a text with one of them cannot be sent."""


class Offsets:
    """Where in a text the characters of what it means stand.

    Args:
        begin: Where in the text what it means begins.
    """

    __slots__ = ("_at", "_begin", "_more")

    def __init__(self, begin: int = 0) -> None:
        self._begin = begin
        self._at: list[int] = []
        self._more = [0]

    def note(self, at: int, length: int) -> None:
        """Note that a character is written with several; to be called in their order.

        Args:
            at: Its offset in what the text means.
            length: How many it is written with.
        """
        self._at.append(at)
        self._more.append(self._more[-1] + length - 1)

    def __call__(self, offset: int) -> int:
        """Return where the character at an offset begins, which is where the one before it ends."""
        return self._begin + offset + self._more[bisect_left(self._at, offset)]

    def spans(self, spans: Iterable[Span]) -> list[Span]:
        """Return spans with their offsets counted in the text as it is written.

        Args:
            spans: Counted in what the text means.
        """
        return [Span(self(s.start), self(s.end), s.type, s.score, s.rule) for s in spans]

    def finding(self, finding: Finding) -> Finding:
        """Return a finding with its offsets counted in the text as it is written.

        Args:
            finding: Counted in what the text means.
        """
        return Finding(self(finding.start), self(finding.end), tuple(self.spans(finding.spans)))


def read_escapes(text: str) -> tuple[str, Offsets] | None:
    """Return what a text means, and where its characters stand; None for a text without escapes.

    Args:
        text: As it is written.
    """
    if "\\" not in text:
        return None
    offsets, shown, last, size = Offsets(), list[str](), 0, 0
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        size += start - last + 1
        offsets.note(size - 1, end - start)
        shown += text[last:start], _meant(match)
        last = end
    return ("".join(shown) + text[last:], offsets) if last else None


def _meant(escape: re.Match[str]) -> str:
    high, low, code = escape.groups()
    if high:
        return paired(high, low)
    one = chr(int(code, 16))
    return _HALF if "\ud800" <= one <= "\udfff" else one


def paired(high: str, low: str) -> str:
    """Return the character that two escapes mean together.

    Args:
        high: The four digits of the first.
        low: Of the second.
    """
    return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))


def escaped(text: str) -> str:
    """Return a text as it is written between the quotes of JSON.

    Args:
        text: What it means.
    """
    return json.dumps(text, ensure_ascii=False)[1:-1]


class EscapedHold:
    """A `HoldBack` that reads escapes; what it returns counts in the text as it is written.

    Args:
        rules: What to look for.
        max_hold_chars: How much a rule of unbounded length may hold, escapes read.
    """

    __slots__ = ("_begun", "_end", "_escapes", "_hold", "_longer", "_passed")

    def __init__(self, rules: Sequence[Rule], *, max_hold_chars: int = 1000) -> None:
        self._hold = HoldBack(rules, max_hold_chars=max_hold_chars)
        self._begun = ""  # what may be the beginning of an escape
        self._end = 0  # how much was given to the window
        self._passed = 0  # how much of that was released
        self._longer = 0  # how much longer what was released is as it is written
        self._escapes: deque[tuple[int, str]] = deque()  # those that are held: where, and as they are written

    @property
    def held(self) -> int:
        """How many characters are held."""
        return self._hold.held + sum(len(written) - 1 for _, written in self._escapes) + len(self._begun)

    def feed(self, text: str) -> Release:
        """Take the next piece and return what is cleared by it.

        Args:
            text: The piece.

        Raises:
            HoldExceeded: A rule of unbounded length would hold too much.
            TimeoutError: A pattern that is not our own took too long over the block so far.
        """
        if self._begun or "\\" in text:
            text = self._begun + text
            begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
            cut = len(text) if begun is None else begun.start()
            text, self._begun = self._read(text[:cut]), text[cut:]
        self._end += len(text)
        return self._written(self._hold.feed(text))

    def flush(self) -> Release:
        """End the block: nothing more can come, so all that is held is decided and returned."""
        begun, self._begun = self._read(self._begun), ""
        self._end += len(begun)
        return joined([self._written(self._hold.feed(begun)), self._written(self._hold.flush())])

    def _read(self, text: str) -> str:
        shown, last, size = list[str](), 0, self._end
        for match in _ESCAPE.finditer(text):
            start, end = match.span()
            size += start - last + 1
            self._escapes.append((size - 1, match[0]))
            shown += text[last:start], _meant(match)
            last = end
        return "".join(shown) + text[last:]

    def _written(self, release: Release) -> Release:
        """Return a release as it is written."""
        start = self._passed
        self._passed += release.length
        if not self._escapes or self._escapes[0][0] >= self._passed:
            if not self._longer or not release.length:
                return release
            return Release(release.length, start + self._longer, release.text, release.findings)
        offset, offsets, last = start + self._longer, Offsets(), 0
        written: list[str] = []
        while self._escapes and self._escapes[0][0] < self._passed:
            at, escape = self._escapes.popleft()
            offsets.note(at - start, len(escape))
            written += release.text[last : at - start], escape
            last = at - start + 1
            self._longer += len(escape) - 1
        text = "".join(written) + release.text[last:]
        findings = tuple(offsets.finding(finding) for finding in release.findings)
        return Release(len(text), offset, text, findings)


def hold_for(rules: Sequence[Rule], *, max_hold_chars: int, escapes: bool) -> HoldBack | EscapedHold:
    """Return the window of a block.

    Args:
        rules: What to look for.
        max_hold_chars: How much a rule of unbounded length may hold.
        escapes: Whether it reads escapes.
    """
    kind = EscapedHold if escapes else HoldBack
    return kind(rules, max_hold_chars=max_hold_chars)
