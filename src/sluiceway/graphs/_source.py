"""What the code of a function tells: its name, its text, whether it is a constant."""

from __future__ import annotations

import dis
import linecache
import re
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, cast

__all__ = ["codes_of", "constant", "shown", "strings_of", "unwrapped"]

_MAX_CHARS = 80


def unwrapped(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that was given, without what makes it take a context."""
    if isinstance(fn, FunctionType) and fn.__qualname__.startswith("with_context.<locals>"):
        for cell in fn.__closure__ or ():
            if callable(cell.cell_contents):
                return cast("Callable[..., Any]", cell.cell_contents)
    return fn


def shown(fn: Callable[..., Any], fallback: str) -> str:
    """Return how a function is called in a picture: its name, or the text of a lambda.

    Args:
        fn: The function.
        fallback: What to say of a lambda whose text is not to be had.
    """
    fn = unwrapped(fn)
    name = getattr(fn, "__name__", None) or getattr(getattr(fn, "func", None), "__name__", None)
    if name is None:
        return type(fn).__name__
    if name != "<lambda>":
        return str(name)
    return _text_of(cast("FunctionType", fn).__code__) or fallback


def _text_of(code: CodeType) -> str:
    """Return the text of a lambda's body: what its instructions span."""
    given = [span for span in code.co_positions() if None not in span]
    spans = [cast("tuple[int, int, int, int]", span) for span in given if (span[0], span[2]) != (span[1], span[3])]
    if not spans:
        return ""
    line, start = min((span[0], span[2]) for span in spans)
    end_line, end = max((span[1], span[3]) for span in spans)
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(line, end_line + 1)]
    if not all(lines):
        return ""
    before, after = lines[0][:start], lines[-1][end:]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    body = _closed(*(part.decode(errors="replace") for part in (before, b"".join(lines), after)))
    text = re.sub(r"\s+", " ", body).strip()
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"


def _closed(before: str, body: str, after: str) -> str:
    """Return a body with the brackets at its ends, which belong to no instruction."""
    before, after = before.rstrip(), after.lstrip()
    while body.count(")") > body.count("(") and before.endswith("("):
        before, body = before[:-1].rstrip(), f"({body}"
    while body.count("(") > body.count(")") and after.startswith(")"):
        after, body = after[1:].lstrip(), f"{body})"
    return body


def constant(fn: Callable[..., Any]) -> bool | None:
    """Return what a condition always is, where it is a plain constant; else None."""
    code = getattr(unwrapped(fn), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("RESUME", "NOP")]
    names = [step.opname for step in steps]
    returns = names == ["RETURN_CONST"] or names[1:] == ["RETURN_VALUE"]
    if returns and names[0] in ("RETURN_CONST", "LOAD_CONST", "LOAD_SMALL_INT"):
        return bool(steps[0].argval)
    return None


def codes_of(fn: object) -> Iterator[CodeType]:
    """Give the code of a function and of the functions in it."""
    code = getattr(fn, "__code__", None)
    if isinstance(code, CodeType):
        yield from _nested(code)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in cast("tuple[object, ...]", code.co_consts):
        if isinstance(value, CodeType):
            yield from _nested(value)


def strings_of(fn: Callable[..., Any]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the texts that a function's code holds, and the names that it uses."""
    texts: set[str] = set()
    names: set[str] = set()
    for code in codes_of(unwrapped(fn)):
        names.update(code.co_names)
        for value in cast("tuple[object, ...]", code.co_consts):
            if isinstance(value, str):
                texts.add(value)
            elif isinstance(value, (tuple, frozenset)):
                texts.update(item for item in cast("tuple[object, ...]", value) if isinstance(item, str))
    return frozenset(texts), frozenset(names)
