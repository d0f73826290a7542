"""Every built-in keeps every law that applies to it, and the page says which."""

from __future__ import annotations

import pytest
from hypothesis import settings

import sluiceway.memory
import sluiceway.processors
import sluiceway.processors.context
import sluiceway.processors.guardrails
from sluiceway.processors import Processor
from tests.kit.builtins import BUILT_INS, LAWS, PAGE, BuiltIn, page

EXAMPLES = 12 if settings().max_examples <= 200 else 500

CELLS = [
    pytest.param(built_in, key, id=f"{built_in.name}-{built_in.options}-{key}")
    for built_in in BUILT_INS
    for key in LAWS
    if built_in.reason_against(key) is None
]


@pytest.mark.parametrize(("built_in", "key"), CELLS)
def test_a_law_holds(built_in: BuiltIn, key: str) -> None:
    built_in.holds(key, examples=EXAMPLES)


@pytest.mark.parametrize("built_in", BUILT_INS, ids=lambda built_in: f"{built_in.name}-{built_in.options}")
def test_runs_are_apart_and_may_be_cancelled_on_trio_too(built_in: BuiltIn) -> None:
    for key in ("isolated", "cancel"):
        if built_in.reason_against(key) is None:
            built_in.holds(key, examples=5, backend="trio")


def test_no_built_in_is_left_out() -> None:
    rooms = (sluiceway.processors, sluiceway.processors.guardrails, sluiceway.processors.context, sluiceway.memory)
    shipped = {
        value.__name__
        for room in rooms
        for value in (getattr(room, name) for name in room.__all__)
        if isinstance(value, type) and issubclass(value, Processor) and value is not Processor
    }
    assert sorted(shipped - {built_in.name for built_in in BUILT_INS}) == []


def test_the_page_is_current() -> None:
    """`python -m tests.kit.builtins` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == page()
