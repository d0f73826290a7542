"""Modules and functions stay of a size that one person can hold in mind."""

from __future__ import annotations

import ast

from tests.architecture._source import FunctionNode, functions, modules

MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 60


def test_no_module_is_longer_than_500_lines() -> None:
    found = {module.name: len(module.lines) for module in modules() if len(module.lines) > MAX_MODULE_LINES}
    assert found == {}


def test_no_function_is_longer_than_60_lines() -> None:
    """Its docstring not counted."""
    found = {
        f"{module.at(function)} {function.name}": _length(function)
        for module in modules()
        for function in functions(module.tree)
        if _length(function) > MAX_FUNCTION_LINES
    }
    assert found == {}


def _length(function: FunctionNode) -> int:
    assert function.end_lineno is not None
    length = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is None or first.end_lineno is None:
        return length
    return length - (first.end_lineno - first.lineno + 1)
