"""Stored text inside a system message, so that it cannot get out of its region."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["element", "escaped"]


def escaped(text: str) -> str:
    """Return a text in which nothing ends or begins a region; `html.unescape` gives it back exactly."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def element(tag: str, text: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return stored text as a region of a system message."""
    shown = "".join(f' {name}="{_attribute(value)}"' for name, value in (attributes or {}).items())
    return f"<{tag}{shown}>{escaped(text)}</{tag}>"


def _attribute(text: str) -> str:
    return escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\r", "&#13;")
