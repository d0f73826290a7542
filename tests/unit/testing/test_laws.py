"""What the laws refuse, where they can be used, and that they hold for what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway import Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.processors import PIIDetector, ToolCallFilter
from sluiceway.testing import (
    assert_cancel_safe,
    assert_commutes,
    assert_fails_closed,
    assert_idempotent,
    assert_never_leaks,
    assert_pairs_kept,
    assert_same_as_sequential,
    assert_split_invariant,
    assert_state_isolated,
    behaving,
)

SILENT = Processor.of("silent", process_api_error=lambda ctx: None)


@pytest.mark.parametrize(
    "law",
    [
        assert_split_invariant,
        assert_idempotent,
        assert_pairs_kept,
        assert_state_isolated,
        assert_fails_closed,
        lambda processor: assert_never_leaks(processor, ["x"]),
    ],
)
def test_a_law_that_cannot_be_tried_does_not_hold_silently(law: Callable[[Any], None]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be tried on Processor 'silent'"):
        law(SILENT)


def test_a_bare_text_is_not_a_list_of_its_letters() -> None:
    with pytest.raises(ConfigurationError, match=r"a list of texts, such as \['hello'\]"):
        assert_idempotent(behaving("upper"), "hello")
    with pytest.raises(ConfigurationError, match="texts is empty"):
        assert_idempotent(behaving("upper"), [])
    with pytest.raises(ConfigurationError, match="examples=0"):
        assert_idempotent(behaving("upper"), examples=0)


def test_a_workflow_without_processors_has_no_sequence() -> None:
    with pytest.raises(ConfigurationError, match="has no processors"):
        assert_same_as_sequential(Workflow("w").map(lambda data: data))


@pytest.mark.anyio
async def test_laws_can_be_used_where_a_loop_runs() -> None:
    assert_split_invariant(PIIDetector(), ["mail ann@example.org"], examples=10)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_is_right_holds(backend: Any) -> None:
    upper, digits, hold = behaving("upper"), behaving("digits"), behaving("hold", "output")
    assert_commutes(upper, digits, examples=15, backend=backend)
    assert_commutes(upper, hold, examples=1, backend=backend)  # no hook in common
    assert_idempotent(upper, examples=15, backend=backend)
    assert_pairs_kept(ToolCallFilter(), examples=15, backend=backend)
    assert_split_invariant(hold, examples=15, backend=backend)
    assert_state_isolated(hold, examples=10, backend=backend)
    assert_fails_closed(hold, examples=15, backend=backend)
    assert_cancel_safe(hold, examples=15, backend=backend)
    side_by_side = Workflow("w").parallel([upper, behaving("warn")])
    assert_same_as_sequential(side_by_side, examples=15, backend=backend)


def test_two_that_both_abort_agree() -> None:
    assert_commutes(behaving("block", id="one"), behaving("block", id="two"), ["THE END"], examples=10)


def test_the_same_failure_is_found_each_time() -> None:
    def told() -> str:
        with pytest.raises(AssertionError) as caught:
            assert_commutes(behaving("upper"), behaving("block"), ["the end"], examples=50)
        return str(caught.value)

    assert told() == told()
