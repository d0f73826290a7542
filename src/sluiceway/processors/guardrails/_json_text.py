"""A text that is JSON: what its strings say, looked at and edited so that it stays JSON.

Arguments of tools are full of such texts: a body to be sent, a file to be written. What they say
is looked at as it is once the JSON is read, and an edit is written the way JSON wants it: in a
string with its escapes, and a number becomes 0. JSON inside of JSON is looked at likewise.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from sluiceway.processors.detectors import Finding, Offsets, Span, paired

__all__ = ["JsonText"]

_DEPTH: Final = 8
"""How often JSON in JSON is read; what lies deeper is a text. It keeps the time linear."""
_TOKEN: Final = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|-?[0-9][0-9.eE+-]*+', re.DOTALL)
_HIGH, _LOW = "[dD][89abAB][0-9a-fA-F]{2}", "[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE: Final = re.compile(rf"\\(?:u({_HIGH})\\u({_LOW})|u([0-9a-fA-F]{{4}})|(.))", re.DOTALL)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_OPENING: Final = re.compile(r'[ \t\r\n]*+[{\["]')
_NESTED: Final = "\0"
"""What stands for JSON in JSON in the text around it, which it is no part of."""

Edit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class _Token:
    """A string or a number.

    Args:
        start: Where it stands in the JSON, without its quotes.
        end: Where it ends.
        raw: As it is written.
        offsets: Where the characters of what it says stand; None for a number.
        text: What it says.
        nested: The same, where that is JSON too.
    """

    start: int
    end: int
    raw: str
    offsets: Offsets | None
    text: str
    nested: JsonText | None = None

    @property
    def shown(self) -> str:
        return self.text if self.nested is None else _NESTED


class JsonText:
    """A text that is JSON.

    Attributes:
        shown: The JSON with its strings as what they say, and a character in place of each that is JSON itself.
    """

    __slots__ = ("_starts", "_tokens", "raw", "shown")

    def __init__(self, raw: str, depth: int) -> None:
        self.raw = raw
        self._tokens: list[_Token] = []
        self._starts: list[int] = []  # of the tokens, in what is shown
        shown, last, size = list[str](), 0, 0
        for match in _TOKEN.finditer(raw):
            token = _string(match, depth) if match[1] is not None else _Token(*match.span(), match[0], None, match[0])
            shown += raw[last : token.start], token.shown
            size += token.start - last
            self._tokens.append(token)
            self._starts.append(size)
            size += len(token.shown)
            last = token.end
        self.shown = "".join(shown) + raw[last:]

    @classmethod
    def of(cls, text: str, depth: int = 0) -> Self | None:
        """Return a text as JSON; None if it is none, or a bare number or word."""
        if depth >= _DEPTH or _OPENING.match(text) is None:
            return None
        try:
            json.loads(text, parse_int=float, strict=False)  # numbers of any length, in linear time
        except (ValueError, RecursionError):
            return None
        return cls(text, depth)

    @property
    def nested(self) -> Iterator[tuple[JsonText, Offsets]]:
        """The JSON in it, each with where its characters stand here."""
        return ((t.nested, t.offsets) for t in self._tokens if t.nested is not None and t.offsets is not None)

    def texts(self) -> Iterator[str]:
        """Yield what is shown, here and in the JSON in it."""
        yield self.shown
        for inner, _ in self.nested:
            yield from inner.texts()

    def placed(self, finding: Finding) -> Finding:
        """Return a finding in what is shown as one in the JSON."""
        spans = tuple(Span(self._at(s.start), self._end(s.end), s.type, s.score, s.rule) for s in finding.spans)
        return Finding(self._at(finding.start), self._end(finding.end), spans)

    def edited(self, edits: Sequence[Edit], nested: Sequence[str]) -> str:
        """Return the JSON with edits of what is shown.

        What goes over several strings is put into the first of them and taken out of the others.

        Args:
            edits: In order, apart from each other.
            nested: What the JSON in it has become.
        """
        out, last, first = list[str](), 0, 0
        inside, placed = iter(nested), -1
        for token, start in zip(self._tokens, self._starts, strict=True):
            end = start + len(token.shown)
            while first < len(edits) and edits[first][1] <= start:
                first += 1
            pieces: list[Edit] = []
            index = first
            while start < end and index < len(edits) and edits[index][0] < end:
                began, ended, new = edits[index]
                pieces.append((max(began, start) - start, min(ended, end) - start, "" if index == placed else new))
                if token.offsets is not None:
                    placed = index
                index += 1
            out += self.raw[last : token.start], _edited(token, pieces, next(inside) if token.nested else None)
            last = token.end
        return "".join(out) + self.raw[last:]

    def _at(self, offset: int) -> int:
        """Return where a character of what is shown begins."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return offset
        token, inside = self._tokens[index], offset - self._starts[index]
        if inside >= len(token.shown):
            return token.end + inside - len(token.shown)
        return token.start + inside if token.offsets is None else token.offsets(inside)

    def _end(self, offset: int) -> int:
        """Return where the character before an offset ends."""
        before = self._at(offset - 1)
        index = bisect_right(self._starts, offset - 1) - 1
        if index < 0:
            return before + 1
        token, inside = self._tokens[index], offset - self._starts[index]
        if inside > len(token.shown) or token.offsets is None:
            return before + 1
        return token.end if token.nested is not None else token.offsets(inside)


def _string(match: re.Match[str], depth: int) -> _Token:
    start, end = match.span(1)
    raw, offsets = match[1], Offsets(start)
    text = _read(raw, offsets) if "\\" in raw else raw
    return _Token(start, end, raw, offsets, text, JsonText.of(text, depth + 1))


def _read(raw: str, offsets: Offsets) -> str:
    shown, last, size = list[str](), 0, 0
    for match in _ESCAPE.finditer(raw):
        start, end = match.span()
        high, low, code, letter = match.groups()
        one = paired(high, low) if high else chr(int(code, 16)) if code else _LETTERS.get(letter, letter)
        size += start - last + 1
        offsets.note(size - 1, end - start)
        shown += raw[last:start], one
        last = end
    return "".join(shown) + raw[last:]


def _edited(token: _Token, pieces: Sequence[Edit], nested: str | None) -> str:
    """Return a token as it is written, edited; a number that is becomes 0."""
    if token.offsets is None:
        return "0" if pieces else token.raw
    if nested is not None:
        text = pieces[0][2] if pieces else nested
    else:
        out, last = list[str](), 0
        for start, end, new in pieces:
            out += token.text[last:start], new
            last = end
        text = "".join(out) + token.text[last:]
    if text == token.text:
        return token.raw
    return json.dumps(text, ensure_ascii=token.raw.isascii() or not _can_be_sent(text))[1:-1]


def _can_be_sent(text: str) -> bool:
    """Whether a text holds no half of a pair, which only an escape can say."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
