"""The kit finds the planted fault in each processor that is wrong, and shows it on a small example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

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
    check_processor,
)
from tests.kit import broken

SAYS = [f"my password is {broken.SECRET}, do not tell"]


def failure(law: Callable[[], None]) -> list[str]:
    """Return the lines in which a law tells that it is broken."""
    with pytest.raises(AssertionError) as caught:
        law()
    return [line.strip() for line in str(caught.value).splitlines()]


def test_a_redactor_that_looks_at_one_chunk() -> None:
    assert failure(lambda: assert_split_invariant(broken.RedactsEachChunk("p"), SAYS)) == [
        "split invariance: RedactsEachChunk 'p' does not hold",
        "on the stream ['h', 'unter2']",
        "whole:      ['*']",
        "in pieces:  ['hunter2']",
    ]


def test_a_check_that_decides_by_one_chunk() -> None:
    assert failure(lambda: assert_split_invariant(broken.BlocksOnAChunk("p"), SAYS))[1:] == [
        "on the stream ['h', 'unter2']",
        "whole:      aborted by 'p'",
        "in pieces:  ['hunter2']",
    ]


def test_a_processor_that_keeps_the_end_for_itself() -> None:
    assert failure(lambda: check_processor(broken.ForgetsTheTail("p"), ["ab"])) == [
        "split invariance: ForgetsTheTail 'p' does not hold",
        "on the stream ['a', 'b']",
        "whole:      []",
        "in pieces:  ['a']",
    ]


def test_a_check_that_holds_too_little() -> None:
    told = failure(lambda: assert_never_leaks(broken.HoldsTooLittle("p"), [broken.SECRET]))
    assert told[:2] == [
        "no leaks (process_output_stream): HoldsTooLittle 'p' does not hold",
        "on the stream ['hunte', 'r2']",
    ]


def test_a_redactor_that_reports_what_it_found() -> None:
    told = failure(lambda: assert_never_leaks(broken.TellsTheSecret("p"), [broken.SECRET]))
    assert told[1:] == [
        "on 'hunter2'",
        "'hunter2' of the secret 'hunter2' is in what it reported: \"('redacted', {'value': 'hunter2'})\"",
    ]


def test_a_processor_that_says_it_twice() -> None:
    assert failure(lambda: assert_idempotent(broken.Grows("p")))[1:] == ["on ''", "once:   ['!']", "twice:  ['!!']"]


def test_two_that_do_not_commute() -> None:
    assert failure(lambda: assert_commutes(broken.lower(), broken.title(), ["say hello"]))[1:] == [
        "on 'o'",
        "lower, title:  ['O']",
        "title, lower:  ['o']",
    ]


def test_a_filter_that_tears_pairs_apart() -> None:
    told = failure(lambda: assert_pairs_kept(broken.DropsResults("p"), ["x"]))
    assert told[0] == "pairs kept (process_llm_request): DropsResults 'p' does not hold"
    assert told[-1] == "the call 'm0-c0-0' is in the prompt without its result"


def test_a_map_that_picks_the_wrong_branch() -> None:
    told = failure(lambda: assert_same_as_sequential(broken.picks_the_wrong_branch(), ["hello"]))
    assert told[1:] == ["on 'o'", "in sequence:  ['O']", "workflow:     ['o']"]


@pytest.mark.parametrize("make", [broken.KeepsStateInItself, broken.KeepsStateInAClosure])
def test_a_processor_that_keeps_state(make: Callable[[str], Any]) -> None:
    told = failure(lambda: assert_state_isolated(make("p"), ["one", "two"]))
    assert told[0] == "isolated state (process_input): " + told[0].split(": ")[1]
    assert told[-2].startswith("alone:") or told[-1].startswith("Run again")


def test_a_processor_that_goes_on_after_a_failure() -> None:
    assert failure(lambda: assert_fails_closed(broken.OpensOnFailure("p"), ["hello"]))[1:] == [
        "on process_input failing at call 1, user 'hello', answer ['ok']",
        "the run ended as if nothing had failed, with 'ok'",
    ]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_lock_that_a_cancelled_run_keeps(backend: Any) -> None:
    told = failure(lambda: assert_cancel_safe(broken.Busy("p"), ["ok"], backend=backend))
    assert told[0] == "safe to cancel: Busy 'p' does not hold"
    assert told[-1].startswith("the run after:")
