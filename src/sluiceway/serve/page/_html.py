"""HTML that is escaped unless it was made here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final, TypeAlias

__all__ = ["Markup", "Piece", "badge", "chip", "el", "joined", "shown", "table"]

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_VOID: Final = frozenset({"meta", "link", "input", "br", "hr"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Piece: TypeAlias = "str | Markup | Iterable[Piece] | None"


def shown(text: object) -> str:
    """Return a text in which nothing steers the reader: control and bidi characters become `�`."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text))


def el(name: str, attributes: Mapping[str, object] | None = None, *children: Piece) -> Markup:
    """Return an element. Whatever is no `Markup` is escaped; an attribute that is None or False is left out.

    Args:
        name: The tag.
        attributes: Its attributes; True gives one without a value.
        children: What is in it; an iterable gives its pieces, None nothing.
    """
    told = "".join(
        f" {key}" if value is True else f' {key}="{escape(shown(value), quote=True)}"'
        for key, value in (attributes or {}).items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{joined(children)}</{name}>")


def joined(pieces: Iterable[Piece]) -> Markup:
    """Return pieces one after the other."""
    return Markup("".join(_written(piece) for piece in pieces))


def _written(piece: Piece) -> str:
    if piece is None:
        return ""
    if isinstance(piece, Markup):
        return piece
    if isinstance(piece, str):
        return escape(shown(piece), quote=True)
    return joined(piece)


def badge(state: str, text: str | None = None) -> Markup:
    """Return a state in its colour."""
    return el("span", {"class": f"badge {state}"}, text or state)


def chip(text: str, kind: str = "") -> Markup:
    """Return a short word in a frame."""
    return el("span", {"class": f"chip {kind}".strip()}, text)


def table(head: Iterable[str], rows: Iterable[Iterable[Piece]], *, numbers: Iterable[int] = ()) -> Markup:
    """Return a table; a cell says its title too, for where there is no room for columns.

    Args:
        head: The titles of the columns.
        rows: The cells.
        numbers: The columns that hold numbers, from 0.
    """
    right = frozenset(numbers)
    titles = list(head)

    def cells(name: str, row: Iterable[Piece]) -> list[Markup]:
        return [
            el(name, {"class": "n" if at in right else None, "data-th": title if name == "td" else None}, cell)
            for at, (title, cell) in enumerate(zip(titles, row, strict=True))
        ]

    return el(
        "div",
        {"class": "scroll"},
        el(
            "table",
            None,
            el("thead", None, el("tr", None, cells("th", titles))),
            el("tbody", None, [el("tr", None, cells("td", row)) for row in rows]),
        ),
    )
