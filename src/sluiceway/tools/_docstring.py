"""What a function's docstring says about it and about its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import griffe

__all__ = ["Described", "describe"]


@dataclass(frozen=True, slots=True)
class Described:
    """A docstring taken apart: its prose, and a text per parameter."""

    text: str
    parameters: dict[str, str]


def describe(fn: Callable[..., Any]) -> Described:
    """Read a docstring of Google, NumPy or Sphinx style; one of none of these is all prose."""
    doc = inspect.getdoc(fn) if callable(fn) and hasattr(fn, "__doc__") else None
    if not doc:
        return Described("", {})
    docstring = griffe.Docstring(doc, lineno=1)
    style = _style(doc)
    sections = docstring.parse(style, warnings=False)
    prose: list[str] = []
    parameters: dict[str, str] = {}
    for section in sections:
        if isinstance(section, griffe.DocstringSectionText):
            prose.append(section.value.strip())
        elif isinstance(section, griffe.DocstringSectionParameters):
            for parameter in section.value:
                parameters[parameter.name.lstrip("*")] = " ".join(parameter.description.split())
    return Described("\n\n".join(text for text in prose if text), parameters)


def _style(doc: str) -> griffe.Parser:
    if ":param " in doc or ":returns:" in doc or ":return:" in doc:
        return griffe.Parser.sphinx
    if "\n----" in doc:
        return griffe.Parser.numpy
    return griffe.Parser.google
