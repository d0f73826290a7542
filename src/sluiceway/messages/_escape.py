"""Signals as text that cannot be forged."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, cast

from sluiceway.errors import MessageError

__all__ = ["SIGNAL_TAG", "check_signal", "escape_tags", "escape_value", "signal_text", "tag_escapes"]

SIGNAL_TAG: Final = "system-reminder"

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_UNSEEN: Final = "[\\s\\x00-\\x1f\\x7f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff]*+"
"""What a model reads over: space, control and zero-width characters (possessive, so linear)."""


def check_signal(tag_name: str, attributes: Mapping[str, Any] | None) -> None:
    """Check that tag and attribute names can stand in markup.

    Raises:
        MessageError: One of them cannot.
    """
    for name in (tag_name, *(attributes or ())):
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MessageError(
                f"{name!r} cannot name the tag or an attribute of a signal: "
                "use letters, digits, `_`, `.` and `-`, a letter or `_` first."
            )


def signal_text(contents: str, tag_name: str, attributes: Mapping[str, Any] | None) -> str:
    """Return a signal as the model sees it: contents and attributes XML-escaped in its tag."""
    shown = "".join(f' {name}="{_attribute(value)}"' for name, value in (attributes or {}).items() if value is not None)
    return f"<{tag_name}{shown}>{_escape(contents)}</{tag_name}>"


def escape_tags(text: str, tags: Iterable[str] = ()) -> str:
    """Return the text with the `<` of every `system-reminder` tag escaped, open or close.

    Any case, and with space or invisible characters anywhere in the tag. Linear in the text.

    Args:
        text: Text from a user, a tool or a memory.
        tags: Further tags to escape.
    """
    if "<" not in text:
        return text
    return _pattern(frozenset(tags)).sub("&lt;", text)


def tag_escapes(texts: Sequence[str], tags: Collection[str]) -> list[str]:
    """Return texts that follow one another with every tag escaped, also one that is cut between them."""
    if len(texts) < 2:
        return [escape_tags(text, tags) for text in texts]
    if not any("<" in text for text in texts):
        return list(texts)
    joined = "".join(texts)
    marks = [match.start() for match in _pattern(frozenset(tags)).finditer(joined)]
    out: list[str] = []
    offset = next_mark = 0
    for text in texts:
        pieces: list[str] = []
        position = 0
        while next_mark < len(marks) and marks[next_mark] < offset + len(text):
            at = marks[next_mark] - offset
            pieces += (text[position:at], "&lt;")
            position = at + 1
            next_mark += 1
        pieces.append(text[position:])
        offset += len(text)
        out.append(escape_tags("".join(pieces), tags))
    return out


def escape_value(value: Any, tags: Collection[str]) -> Any:
    """Return a copy of a JSON value with the tags in all its texts escaped, keys included."""
    try:
        return _escaped(value, tags)
    except RecursionError as error:
        raise MessageError("A tool's arguments or result are nested too deep for a prompt.") from error


def _escaped(value: Any, tags: Collection[str]) -> Any:
    if isinstance(value, str):
        return escape_tags(value, tags) if "<" in value else value
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return {_escaped(key, tags): _escaped(item, tags) for key, item in fields.items()}
    if isinstance(value, list):
        return [_escaped(item, tags) for item in cast("list[Any]", value)]
    return value


def _attribute(value: Any) -> str:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    text = _escape(text).replace('"', "&quot;")
    return text.replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@lru_cache(maxsize=64)
def _pattern(tags: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(_UNSEEN.join(re.escape(character) for character in tag) for tag in sorted({SIGNAL_TAG, *tags}))
    return re.compile(f"<(?={_UNSEEN}(?:/{_UNSEEN})*+(?:{names})(?![\\w.:-]))", re.IGNORECASE)
