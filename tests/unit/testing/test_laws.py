"""What the laws refuse, where they can be used, and that they hold for what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.lowlevel
import pytest

from sluiceway import Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.models import EchoModel
from sluiceway.processors import PIIDetector, ResponseCache, ToolCallFilter
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
    check_processor,
    run_hook,
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


class Breaks(Processor):
    """Returns what no hook may return, whatever it is given."""

    def process_input(self, ctx: Any) -> Any:
        return 5

    def process_output_stream(self, ctx: Any) -> Any:
        return 5


@pytest.mark.parametrize(
    "law",
    [
        assert_split_invariant,
        assert_idempotent,
        assert_pairs_kept,
        assert_state_isolated,
        assert_cancel_safe,
        check_processor,
        lambda processor, **options: assert_never_leaks(processor, ["secret"], **options),
        lambda processor, **options: assert_commutes(processor, Breaks("another"), **options),
    ],
)
def test_a_law_does_not_hold_because_every_case_fails(law: Callable[..., None]) -> None:
    says = r"cannot be tried\n  on every case it failed: .* hook returned int|also where nobody cancels it, .* int"
    with pytest.raises(AssertionError, match=says):
        law(Breaks("breaks"), examples=5)


WRITES = Processor.of("writes", process_input=lambda ctx: setattr(ctx.messages[-1].parts[0], "text", "x"))
MIXED = Workflow("mixed").then(PIIDetector()).then(WRITES)


@pytest.mark.parametrize("workflow", [MIXED, MIXED.commit()])
def test_a_workflow_is_tried_in_the_lists_that_it_can_stand_in(workflow: Any) -> None:
    """With a processor that has only input hooks it cannot stand behind the model."""
    with pytest.raises(ConfigurationError, match="split invariance cannot be tried"):
        assert_split_invariant(workflow, examples=5)
    assert_same_as_sequential(workflow, examples=5)
    assert_cancel_safe(workflow, examples=5)
    assert_state_isolated(workflow, examples=5)
    check_processor(workflow, ["ann@example.org"], secrets=["ann@example.org"], examples=5)


class Greedy(Processor):
    """Takes a lock that a cancelled run never gives back."""

    busy = False

    async def process_output_result(self, ctx: Any) -> None:
        if self.busy:
            ctx.abort("busy")
        self.busy = True
        await anyio.lowlevel.checkpoint()
        self.busy = False


def test_a_lock_that_is_kept_is_found_in_a_workflow_too() -> None:
    with pytest.raises(AssertionError, match="safe to cancel: Workflow 'w' does not hold"):
        assert_cancel_safe(Workflow("w").then(Greedy("greedy")), ["ok"], examples=60)


def test_failing_closed_is_a_law_for_processors() -> None:
    with pytest.raises(ConfigurationError, match="'mixed' is a workflow; try the law on the processors"):
        assert_fails_closed(MIXED, examples=5)


SEEN: list[int] = []


def test_state_that_only_every_second_run_shows_is_found() -> None:
    def process_input(ctx: Any) -> None:
        SEEN.append(1)
        if len(SEEN) % 2 == 0:
            ctx.messages[-1].parts[0].text = "again"

    with pytest.raises(AssertionError, match="isolated state"):
        assert_state_isolated(Processor.of("p", process_input=process_input), examples=30)


def test_outcomes_that_look_alike_are_told_in_full() -> None:
    """A block that is opened and one that is not have the same text: none."""

    class Opens(Processor):
        calls = 0

        def process_output_stream(self, ctx: Any) -> Any:
            self.calls += 1
            return ctx.part if self.calls < 2 else None

    with pytest.raises(AssertionError) as caught:
        assert_state_isolated(Opens("opens"), ["ab"], examples=30)
    alone, after = str(caught.value).splitlines()[-2:]
    assert alone.split(":", 1)[1].strip() != after.split(":", 1)[1].strip()


class LooksAtTheModel(Processor):
    """Does one thing for one provider, as those for quirks of providers do."""

    def process_input_step(self, ctx: Any) -> None:
        ctx.message_list.add_system(f"you are run by {ctx.model.provider}")

    def process_llm_request(self, ctx: Any) -> None:
        assert ctx.model.model_id


def test_there_is_a_model_to_look_at() -> None:
    assert_pairs_kept(LooksAtTheModel("looks"), examples=5)
    assert_state_isolated(LooksAtTheModel("looks"), examples=5)


@pytest.mark.anyio
async def test_what_a_hook_began_ends_with_a_run_of_that_hook_alone() -> None:
    """A cache would let the next one wait for an answer that nobody fetches."""
    cache = ResponseCache()
    with anyio.fail_after(5):
        for _ in range(2):
            await run_hook(cache, "hello", "process_llm_request", info={"model": EchoModel()})
