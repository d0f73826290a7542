"""What every page has: head, bar, foot, and the rules that a browser keeps it to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

from sluiceway.serve._http import Outgoing
from sluiceway.serve.page._html import Markup, Piece, el, joined

__all__ = ["asset", "framed", "live"]

_POLICY: Final = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No script but ours is run, whatever stands in the page, and nothing is loaded from elsewhere."""

_TYPES: Final = {"css": "text/css", "js": "text/javascript"}
_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M2 3h12M4 3v10M12 3v10M4 8h8' stroke='%232f55d4' stroke-width='2' fill='none'/%3E%3C/svg%3E"
)


def framed(title: str, body: Iterable[Piece], *, trail: Iterable[Piece] = (), status: int = 200) -> Outgoing:
    """Return a whole page.

    Args:
        title: Of the window.
        body: What is on it.
        trail: The way to it, for the bar.
        status: The HTTP status.
    """
    page = el(
        "html",
        {"lang": "en"},
        el(
            "head",
            None,
            el("meta", {"charset": "utf-8"}),
            el("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            el("meta", {"name": "color-scheme", "content": "light dark"}),
            el("title", None, f"{title} · sluiceway"),
            el("link", {"rel": "icon", "href": _ICON}),
            el("link", {"rel": "stylesheet", "href": "/assets/page.css"}),
            el("script", {"src": "/assets/page.js", "defer": True}),
        ),
        el(
            "body",
            None,
            el(
                "header",
                None,
                el(
                    "nav",
                    {"aria-label": "You are here"},
                    el("a", {"href": "/", "class": "brand"}, "sluiceway"),
                    [(Markup("<i>/</i>"), step) for step in trail],
                ),
                el("span", {"id": "link", "hidden": True, "title": "This page follows the runs"}, "live"),
            ),
            el("main", None, joined(body)),
        ),
    )
    headers = {
        "content-security-policy": _POLICY,
        "referrer-policy": "same-origin",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    text = f"<!doctype html>\n{page}\n"
    return Outgoing(status, text.encode("utf-8", "replace"), "text/html; charset=utf-8", headers)


def live(name: str, *body: Piece) -> Markup:
    """Return a part of a page that is kept fresh."""
    return el("div", {"data-live": name, "id": name}, body)


def asset(name: str) -> Outgoing | None:
    """Return one of the page's own files, or None."""
    kind = _TYPES.get(name.rpartition(".")[2])
    if name not in ("page.css", "page.js") or kind is None:
        return None
    return Outgoing(200, _read(name), f"{kind}; charset=utf-8", {"cache-control": "no-cache"})


@cache
def _read(name: str) -> bytes:
    return files("sluiceway.serve.page").joinpath("assets", name).read_bytes()
