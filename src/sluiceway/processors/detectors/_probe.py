r"""The probe of a pattern: where could a match still start that more text would decide?

For a pattern `P` the probe is `(?>P)(?!)`, searched with `partial=True`. At a start where
`P` is decided, one way or the other, the probe fails; the first start where it needs to see
behind the end of the text is reported as a partial match. Searching for `P` itself with
`partial=True` would be wrong: it prefers a complete match and lets a longer one leak.

The module `regex` answers `\b`, `\B`, `\m`, `\M`, `$`, `\Z` at the end of the text at once,
as if nothing could follow. In the probe they are written as lookarounds, which do wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import regex

__all__ = ["probe_of", "tokens"]

_WAITING = {
    r"\b": r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))",
    r"\B": r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))",
    r"\m": r"(?:(?<!\w)(?=\w))",
    r"\M": r"(?:(?<=\w)(?!\w))",
    r"\Z": r"(?!(?s:.))",
    r"\z": r"(?!(?s:.))",
}
_END_OF_LINE = r"(?=\n|(?!(?s:.)))"
_END_OF_TEXT = r"(?=\n?(?!(?s:.)))"
_TOKEN = re.compile(r"\\.|\[\^?\]?|\]|.", re.DOTALL)


def tokens(pattern: regex.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """Yield the pattern's source in pieces, each with whether it stands inside a character set.

    An escape is one piece. Only as much grammar as is needed to tell an anchor from a literal.
    """
    depth, nested = 0, bool(pattern.flags & regex.V1)
    for match in _TOKEN.finditer(pattern.pattern):
        piece = match.group()
        if piece[0] == "[" and (depth == 0 or nested):
            depth += 1
            yield piece, True
            # `[]` and `[^]` hold a literal bracket; `[]` alone closes nothing.
        elif piece[0] == "[":
            # Inside a set of the old syntax only `[:name:]` nests; its end comes with `:]`.
            posix = pattern.pattern.startswith("[:", match.start()) and ":]" in pattern.pattern[match.end() :]
            depth += posix
            yield piece, True
        elif piece == "]" and depth:
            depth -= 1
            yield piece, True
        else:
            yield piece, depth > 0


def probe_of(pattern: regex.Pattern[str]) -> regex.Pattern[str]:
    """Return the probe of a pattern; see the module's text."""
    end_of_line = _END_OF_LINE if pattern.flags & regex.MULTILINE else _END_OF_TEXT
    source = "".join(
        piece if in_set else end_of_line if piece == "$" else _WAITING.get(piece, piece)
        for piece, in_set in tokens(pattern)
    )
    # A comment of verbose syntax on the last line must not swallow the closing bracket.
    closing = "\n)(?!)" if pattern.flags & regex.VERBOSE else ")(?!)"
    lists: dict[str, Any] = dict(pattern.named_lists)
    return regex.compile(f"(?>{source}{closing}", pattern.flags, **lists)
