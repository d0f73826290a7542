"""Other readings of a text: with hidden characters gone, decoded, put back together.

Who wants to get an instruction past a filter writes it in base64, in look-alike letters, with
digits for letters, with blanks between letters, or inside a comment. Each reading here undoes
one such trick, and every character of it knows where in the original it came from.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from urllib.parse import unquote_to_bytes

from sluiceway.processors.detectors._normalize import INVISIBLE, fold_character

__all__ = ["View", "views"]

_MAX_DEPTH = 3
_AROUND_CHARS = 200
# Wider than what a phrase, or two meanings near each other, can bridge.
_CUT = "\n" * 64


class View:
    """One reading of a text.

    Args:
        text: The reading.
        trick: What was undone to get it, such as `base64`; `""` for the text itself.
        parent: The reading it was made from, or None.
        pieces: Where stretches of it begin, and the stretch of the parent each stands for:
            `(start, parent start, parent end)`; stretches of equal length map one to one.
    """

    __slots__ = ("_parent", "_sources", "_starts", "text", "trick")

    def __init__(
        self, text: str, trick: str, parent: View | None = None, pieces: list[tuple[int, int, int]] | None = None
    ) -> None:
        self.text = text
        self.trick = trick
        self._parent = parent
        self._starts = [piece[0] for piece in pieces or ()]
        self._sources = pieces or []

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text that a span of this reading came from."""
        if self._parent is None:
            return start, end
        first, _ = self._in_parent(start)
        _, last = self._in_parent(max(start, end - 1))
        return self._parent.origin(first, last)

    def _in_parent(self, at: int) -> tuple[int, int]:
        index = bisect_right(self._starts, at) - 1
        start, source_start, source_end = self._sources[index]
        stop = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.text)
        if stop - start == source_end - source_start:
            return source_start + at - start, source_start + at - start + 1
        return source_start, source_end

    def beyond(self, read: View) -> View:
        """Return the reading without its long stretches that are as in `read`, if it was made from that."""
        if self._parent is not read or len(self.text) <= 2 * _AROUND_CHARS:
            return self
        out: list[str] = []
        pieces: list[tuple[int, int, int]] = []
        size = 0
        for index, (start, source_start, source_end) in enumerate(self._sources):
            stop = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.text)
            shown = self.text[start:stop]
            kept = [(shown, source_start, source_end)]
            if len(shown) > 2 * _AROUND_CHARS and shown == read.text[source_start:source_end]:
                first, last = source_start + _AROUND_CHARS, source_end - _AROUND_CHARS
                head = [(shown[:_AROUND_CHARS], source_start, first)] if index else []
                tail = [(shown[-_AROUND_CHARS:], last, source_end)] if stop < len(self.text) else []
                kept = [*head, (_CUT, first, last), *tail]
            for part, came_from, came_to in kept:
                pieces.append((size, came_from, came_to))
                out.append(part)
                size += len(part)
        return View("".join(out), self.trick, read, pieces)


class _Reversed(View):
    """A reading from the end to the beginning."""

    __slots__ = ()

    def beyond(self, read: View) -> View:  # noqa: ARG002 - nothing is as it was
        """Return the reading."""
        return self

    def origin(self, start: int, end: int) -> tuple[int, int]:
        size = len(self.text)
        return super().origin(size - end, size - start)


Replace = Callable[["re.Match[str]"], "str | None"]


def _rewrite(parent: View, pattern: re.Pattern[str], replace: Replace, trick: str) -> View | None:
    """Return the reading with every match replaced (None leaves one), or None if nothing changed."""
    out: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    position = size = 0
    for match in pattern.finditer(parent.text):
        new = replace(match)
        if new is None:
            continue
        start, end = match.span()
        if start > position:
            pieces.append((size, position, start))
            out.append(parent.text[position:start])
            size += start - position
        if new:
            pieces.append((size, start, end))
            out.append(new)
            size += len(new)
        position = end
    if position == 0:
        return None
    if position < len(parent.text):
        pieces.append((size, position, len(parent.text)))
        out.append(parent.text[position:])
    return View("".join(out), trick, parent, pieces)


def _nothing(match: re.Match[str]) -> str:  # noqa: ARG001 - all replacements have one shape
    return ""


def _class_of(characters: str) -> re.Pattern[str]:
    return re.compile("[" + "".join(map(re.escape, characters)) + "]")


# --- what the eye does not see, or takes for a letter -------------------------------------

_HIDDEN = re.compile(
    f"[{INVISIBLE}\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufe00-\ufe0f\U000e0000-\U000e007f\U000e0100-\U000e01ef]+"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
# Cyrillic, Greek, Armenian and Latin letters that the eye takes for plain Latin ones.
_CONFUSABLE = {
    sign: plain
    for plain, signs in {
        "a": "аɑα", "b": "в", "c": "сςϲ", "d": "ԁđ", "e": "еє", "g": "ց", "h": "һнհ", "i": "іιıɩ", "j": "ј", "k": "кκ",
        "l": "ӏł", "m": "м", "n": "пոռ", "o": "оοσօø", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "т", "u": "սυ",
        "v": "ѵν", "w": "ԝѡ", "x": "хχ", "y": "уүγ", "A": "АΑ", "B": "ВΒ", "C": "С", "E": "ЕΕ", "H": "НΗ", "I": "ІΙӀ",
        "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν", "O": "ОΟՕ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "ҮΥ",
        "Z": "Ζ",
    }.items()
    for sign in signs
}  # fmt: skip


def _clean(view: View) -> View:
    """Without hidden characters, with plain letters for those that only look different."""
    text = view.text
    if text.isascii():
        return view
    view = _rewrite(view, _HIDDEN, _nothing, "hidden-characters") or view
    folded = {c: plain for c in set(view.text) if (plain := fold_character(c)) != c}
    if folded:
        view = _rewrite(view, _class_of("".join(folded)), lambda m: folded[m.group()], "look-alikes") or view
    return view


def _homoglyphs(view: View) -> View | None:
    used = "".join(set(view.text) & _CONFUSABLE.keys())
    if not used:
        return None
    return _rewrite(view, _class_of(used), lambda m: _CONFUSABLE[m.group()], "look-alikes")


# --- digits for letters, letters apart, words cut by comments -----------------------------

_LEET_WORD = re.compile(r"[A-Za-z0-9@$!|]{2,40}")
_LEET_SIGN = re.compile(r"[0-9@$!|]")
_LETTER = re.compile(r"[A-Za-z]")
# Not `3rd` or `room12`: without one word like this there is no reason to read the text another way.
_LEET_SURE = re.compile(
    r"[A-Za-z][0-9@$!|]{1,3}[A-Za-z]|(?<![A-Za-z0-9])[0-9@$!|]{1,2}[A-Za-z]{3}|[A-Za-z]{3}[0-9@$|]{2}(?![0-9])"
)
_LEET = {"0": "o", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "9": "g", "@": "a", "$": "s", "!": "i"}
_LEET_I = str.maketrans({**_LEET, "1": "i", "|": "i"})
_LEET_L = str.maketrans({**_LEET, "1": "l", "|": "l"})
_SPACED = re.compile(r"(?<!\w)(?:\w[ .\-_*·]){2,200}\w(?!\w)")
_SPACES = re.compile(r"[ .\-_*·]")
_LONE = re.compile(r"(?<=[ .\-*·])_(?=[ .\-*·])")
_MARKUP = re.compile(r"<!--|-->|</?[A-Za-z][^<>]{0,200}>|(?<=\w)[*_`~]{1,3}(?=\w)|\[//\]: ?#")
_SPLITTER = re.compile(r"(?<=\w)(?:<!--.{0,500}?-->|/\*.{0,500}?\*/)(?=\w)", re.DOTALL)


def _leet(view: View, table: dict[int, str]) -> View | None:
    if not _LEET_SURE.search(view.text):
        return None

    def plain(match: re.Match[str]) -> str | None:
        word = match.group()
        return word.translate(table) if _LEET_SIGN.search(word) and _LETTER.search(word) else None

    return _rewrite(view, _LEET_WORD, plain, "leetspeak")


def _tags(view: View) -> View | None:
    return _rewrite(view, _TAGS, lambda m: "".join(chr(ord(c) - 0xE0000) for c in m.group()), "tag-characters")


def _joined(view: View) -> View | None:
    # Two or more blanks part the words of a text whose letters stand apart.
    # A sign of its own between others, as in `a._.b`, parts words as well.
    return _rewrite(
        view, _SPACED, lambda m: _SPACES.sub("", _LONE.sub("\0", m.group())).replace("\0", " "), "spaced-letters"
    )


# What a rotation by thirteen letters, and a reversal, make of words that every attack has some of.
_TELLING = (
    "instruct",
    "prompt",
    "ignore",
    "disregard",
    "previous",
    "system",
    "forget",
    "safety",
    "without",
    "password",
    "anweisung",
    "instruccion",
    "istruzion",
    "consigne",
)
# And of words that are in nearly every sentence; as they stand, nobody writes them.
_FREQUENT = ("the", "your", "all", "that", "with", "tell", "from", "you")
_ROTATION = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)


def _telling(turned: Callable[[str], str]) -> re.Pattern[str]:
    parts, whole = "|".join(map(turned, _TELLING)), "|".join(map(turned, _FREQUENT))
    return re.compile(rf"{parts}|\b(?:{whole})\b", re.IGNORECASE)


_ROTATED = _telling(lambda word: word.translate(_ROTATION))
_BACKWARDS = _telling(lambda word: word[::-1])
_QUOTED_PARTS = re.compile(
    r"(?<=\w)[\"'][ \t]{0,3}[,+.;&]?[ \t]{0,3}(?:[A-Za-z_]\w{0,10}[ \t]{0,3}=[ \t]{0,3})?[\"'](?=\w)"
)


def _rotated(view: View) -> View | None:
    if not _ROTATED.search(view.text):
        return None
    return View(view.text.translate(_ROTATION), "rot13", view, [(0, 0, len(view.text))])


def _backwards(view: View) -> View | None:
    if not _BACKWARDS.search(view.text):
        return None
    return _Reversed(view.text[::-1], "backwards", view, [(0, 0, len(view.text))])


# --- encodings ------------------------------------------------------------------------------

_ESCAPES = re.compile(
    r"(?:%[0-9A-Fa-f]{2}){1,2000}|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-zA-Z]{2,8});"
    r"|\\u\{?[0-9A-Fa-f]{4,6}\}?|(?:\\x[0-9A-Fa-f]{2}){1,2000}|\\[nrt]"
)
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,}+(?:[\r\n]{1,2}[A-Za-z0-9+/_-]{4,}+)*+={0,2}")
_BASE32 = re.compile(r"(?<![A-Za-z0-9])[A-Z2-7]{16,}+={0,6}(?![A-Za-z0-9])")
_MORSE = re.compile(r"(?<![.\-\w])(?:[.\-]{1,5}+(?:[ ]?/[ ]?|[ ]{1,3})){7,}+(?:[.\-]{1,5}(?![.\-\w]))?")
_MORSE_WORDS = re.compile(r" ?/ ?| {2,}")
_MORSE_SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
)
_MORSE_LETTERS: dict[str, str] = dict(zip(_MORSE_SIGNS.split(), "abcdefghijklmnopqrstuvwxyz", strict=True))
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9A-Fa-f]{2}[ :,]?){8,}+")
_BINARY = re.compile(r"(?<![0-9])(?:[01]{8}[ ,]?){6,}+(?![0-9])")
_DECIMAL = re.compile(r"(?<![0-9])(?:[0-9]{2,3}[ ,;]{1,2}){7,}[0-9]{2,3}(?![0-9])")
_NUMBER = re.compile("[0-9]+")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{6,}")
_NOT_HEX = re.compile(r"0x|[ :,]")
_LINE = re.compile(r"[^\r\n]{12,}+")
_LINE_ENDS = re.compile(r"[\r\n]")


def _unescape(match: re.Match[str]) -> str | None:
    shown = match.group()
    if shown[0] == "&":
        plain = html.unescape(shown)
        return plain if plain != shown else None
    if shown[0] == "%":
        raw = unquote_to_bytes(shown)
    elif shown[1] in _BLANKS:
        return _BLANKS[shown[1]]
    elif shown[1] == "x":
        raw = bytes.fromhex(shown.replace("\\x", ""))
    else:
        code = int(shown[2:].strip("{}"), 16)
        return chr(code) if code < 0x110000 else None
    return raw.decode("utf-8", "replace")


def _readable(raw: bytes) -> str | None:
    """The text of some bytes, if it is one: UTF-8, nearly all of it printable, with words."""
    for encoding in ("utf-8", "utf-16-le") if raw[1:2] == b"\0" else ("utf-8",):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        printable = sum(c.isprintable() or c in "\n\r\t" for c in text)
        letters = sum(c.isalpha() or c.isspace() for c in text)
        if len(text) >= 6 and printable >= len(text) * 0.95 and letters >= len(text) * 0.6:
            return text
    return None


def _from_base64(shown: str) -> str | None:
    compact = _LINE_ENDS.sub("", shown).rstrip("=").replace("-", "+").replace("_", "/")
    compact = compact[: len(compact) - (len(compact) % 4 == 1)]
    try:
        return _readable(base64.b64decode(compact + "=" * (-len(compact) % 4)))
    except (binascii.Error, ValueError):
        return None


def _from_base32(shown: str) -> str | None:
    compact = shown.rstrip("=")
    try:
        return _readable(base64.b32decode(compact + "=" * (-len(compact) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_morse(shown: str) -> str | None:
    words = [[_MORSE_LETTERS.get(sign, "?") for sign in word.split()] for word in _MORSE_WORDS.split(shown)]
    plain = " ".join("".join(word) for word in words)
    return None if "?" in plain else plain


def _from_hex(shown: str) -> str | None:
    return _readable(bytes.fromhex(_NOT_HEX.sub("", shown)))


def _from_binary(shown: str) -> str | None:
    bits = "".join(_NUMBER.findall(shown))
    return _readable(bytes(int(bits[n : n + 8], 2) for n in range(0, len(bits), 8)))


def _from_decimal(shown: str) -> str | None:
    codes = list(map(int, _NUMBER.findall(shown)))
    return _readable(bytes(codes)) if max(codes) < 256 else None


def _selected(view: View) -> View | None:
    """Return what variation selectors spell: each stands for a byte, behind an emoji or a letter."""

    def plain(match: re.Match[str]) -> str | None:
        codes = map(ord, match.group())
        return _readable(bytes(code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes))

    return _rewrite(view, _SELECTORS, plain, "variation-selectors")


def _payloads(view: View) -> Iterator[View]:
    """Yield what stands in base64, hex and so on, all of each as one reading, a payload per line.

    One reading and not one each: a thousand small payloads cost no more than a large one, and
    a phrase that was cut in two is whole again.
    """
    for pattern, decode, trick in _ENCODINGS:
        out: list[str] = []
        pieces: list[tuple[int, int, int]] = []
        size = 0
        for start, end, text in _decoded(view.text, pattern, decode):
            pieces.append((size, start, end))
            out.append(text)
            size += len(text) + 1
        if out:
            yield View("\n".join(out), trick, view, pieces)


def _decoded(
    text: str, pattern: re.Pattern[str], decode: Callable[[str], str | None]
) -> Iterator[tuple[int, int, str]]:
    for run in pattern.finditer(text):
        plain = decode(run.group())
        if plain is not None:
            yield *run.span(), plain
        elif _LINE_ENDS.search(run.group()):
            # Not one payload of several lines: perhaps a long word stands in the line before it.
            for line in _LINE.finditer(text, *run.span()):
                plain = decode(line.group())
                if plain is not None:
                    yield *line.span(), plain


def views(text: str) -> Iterator[View]:
    """Yield the readings of a text, the text itself first."""
    yield from _readings(View(text, ""), 0)


def _readings(view: View, depth: int) -> Iterator[View]:
    yield view
    clean = _clean(view)
    if clean is not view:
        yield clean.beyond(view)
    for reveal in () if view.text.isascii() else (_tags, _selected):
        hidden = reveal(view)
        if hidden is not None:
            yield hidden
    decoded = _rewrite(clean, _ESCAPES, _unescape, "escapes")
    if decoded is not None:
        decoded = _clean(decoded)
        yield decoded.beyond(clean)
    plain = decoded or clean
    last = ""
    for make in _TRICKS:
        other = make(plain)
        if other is not None and other.text != last:
            last = other.text
            yield other.beyond(plain)
    if depth < _MAX_DEPTH:
        for payload in _payloads(plain):
            yield from _readings(payload, depth + 1)


_ENCODINGS: tuple[tuple[re.Pattern[str], Callable[[str], str | None], str], ...] = (
    (_BASE64, _from_base64, "base64"),
    (_BASE32, _from_base32, "base32"),
    (_MORSE, _from_morse, "morse"),
    (_HEX, _from_hex, "hex"),
    (_BINARY, _from_binary, "binary"),
    (_DECIMAL, _from_decimal, "decimal"),
)

_TRICKS: tuple[Callable[[View], View | None], ...] = (
    _homoglyphs,
    lambda view: _leet(view, _LEET_I),
    lambda view: _leet(view, _LEET_L),
    _joined,
    _rotated,
    _backwards,
    lambda view: _rewrite(view, _QUOTED_PARTS, _nothing, "quoted-parts"),
    lambda view: _rewrite(view, _SPLITTER, _nothing, "comments"),
    lambda view: _rewrite(view, _MARKUP, _nothing, "markup"),
)
