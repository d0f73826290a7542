"""Running plans over data that forks and merges."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway.engine import (
    Arm,
    Call,
    Choice,
    ForEach,
    Loop,
    Map,
    Parallel,
    Sleep,
    StepOptions,
    Sub,
    merge,
    run_node,
    run_plan,
    use_clock,
)
from sluiceway.errors import ConfigurationError, LimitExceeded, MergeConflict, StepError, StepTimeoutError, TripWire
from tests.support.workflows import Board, FakeClock, Named

pytestmark = pytest.mark.anyio

SCOPE = SimpleNamespace(run_id="r1")


def sets(name: str, *, delay_s: float = 0, **fields: Any) -> Named:
    """Return a step that sets fields of a board."""
    return Named(name, lambda board: board.fields.update(fields), delay_s=delay_s)


def call(step: Named, **options: Any) -> Call:
    return Call(step, f"w › {step.key}", StepOptions(**options))


def arm(step: Named, **options: Any) -> Arm:
    return Arm(step.key, (call(step, **options),))


def trips(name: str, *, delay_s: float = 0) -> Named:
    def trip(data: Any) -> None:
        raise TripWire(f"{name} said no", processor_id=name)

    return Named(name, trip, delay_s=delay_s)


def fails(name: str, error: Exception, *, delay_s: float = 0) -> Named:
    def fail(data: Any) -> None:
        raise error

    return Named(name, fail, delay_s=delay_s)


async def test_calls_run_one_after_the_other() -> None:
    plan = (
        call(sets("a", x=1)),
        call(Named("b", lambda board: board.fields.update(y=board.fields["x"] + 1))),
    )
    assert (await run_plan(plan, Board(), SCOPE)).fields == {"x": 1, "y": 2}


async def test_an_empty_plan_passes_the_data_through() -> None:
    board = Board(x=1)
    assert await run_plan((), board, SCOPE) is board


async def test_a_branch_sees_the_state_before_it_and_nothing_of_its_siblings() -> None:
    seen: dict[str, Any] = {}

    def look(name: str) -> Named:
        def run(board: Board) -> None:
            seen[name] = dict(board.fields)
            board.fields[name] = True

        return Named(name, run)

    plan = (call(sets("before", x=1)), Parallel((arm(look("a")), arm(look("b"))), "w › parallel[1]"))
    result = await run_plan(plan, Board(), SCOPE)

    assert seen == {"a": {"x": 1}, "b": {"x": 1}}
    assert result.fields == {"x": 1, "a": True, "b": True}


async def test_the_map_gets_the_branches_in_list_order_and_only_what_it_returns_goes_on() -> None:
    keys: list[str] = []

    def pick(results: dict[str, Board], scope: Any) -> Board:
        keys.extend(results)
        assert scope is SCOPE
        return results["b"]

    branches = (arm(sets("a", x="a", delay_s=0.02)), arm(sets("b", x="b", y=1)), arm(sets("c", z=1)))
    board = Board(x=0)
    result = await run_plan((Parallel(branches, "p"), Map(pick, "m")), board, SCOPE)

    assert (keys, result.fields) == (["a", "b", "c"], {"x": "b", "y": 1})
    assert result is board, "a picked fork is brought back into the data it was forked from"


async def test_a_step_without_options_gets_the_data_itself() -> None:
    board, seen = Board(), []
    result = await run_plan((call(Named("a", seen.append)),), board, SCOPE)
    assert (seen[0] is board, result is board) == (True, True)


async def test_a_step_that_only_has_a_timeout_gets_the_data_itself() -> None:
    board, seen = Board(), []
    result = await run_plan((call(Named("a", seen.append), timeout_s=5),), board, SCOPE)
    assert (seen[0] is board, result is board) == (True, True)


async def test_how_many_run_at_once_may_be_found_out_first() -> None:
    async def how_many(data: Any, scope: Any) -> int:
        await anyio.lowlevel.checkpoint()
        return len(data)

    node = ForEach((call(Named("inc", lambda n: n + 1)),), how_many, "f")
    assert await run_node(node, [1, 2], SCOPE) == [2, 3]


async def test_a_node_that_branches_can_run_by_itself() -> None:
    seen: list[Any] = []

    def holds(board: Board, scope: Any) -> bool:
        seen.append(scope)
        return True

    node = Choice((Arm("a", (call(sets("a", x=1)),), holds),), None, "c")
    assert (await run_node(node, Board(), SCOPE)).fields == {"x": 1}
    assert seen == [SCOPE]


async def test_a_picked_branch_is_brought_back_under_its_key() -> None:
    joined: list[list[str]] = []

    class Noting(Board):
        def fork(self) -> Noting:
            return Noting(**self.fields)

        def join(self, forks: Any, *, prefer: str | None = None) -> Board:
            joined.append(list(forks))
            return super().join(forks, prefer=prefer)

    plan = (Parallel((arm(sets("a", x=1)), arm(sets("b", x=2))), "p"), Map(lambda results, scope: results["b"], "m"))
    assert (await run_plan(plan, Noting(), SCOPE)).fields == {"x": 2}
    assert joined == [["b"]]


async def test_a_map_may_be_async() -> None:
    async def pick(results: Any, scope: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return results["a"]

    plan = (Parallel((arm(sets("a", x=1)),), "p"), Map(pick, "m"))
    assert (await run_plan(plan, Board(), SCOPE)).fields == {"x": 1}


async def test_an_empty_branch_passes_the_data_through_under_its_key() -> None:
    plan = (
        Parallel((Arm("empty", ()), arm(sets("a", x=1))), "p"),
        Map(lambda results, _: results["empty"], "m"),
    )
    assert (await run_plan(plan, Board(x=0), SCOPE)).fields == {"x": 0}


async def test_a_conflict_without_a_map_names_keys_and_path() -> None:
    plan = (Parallel((arm(sets("a", x=1)), arm(sets("b", x=2))), "w › parallel[0]"),)
    with pytest.raises(MergeConflict) as caught:
        await run_plan(plan, Board(), SCOPE)
    assert (caught.value.keys, caught.value.path) == (("a", "b"), "w › parallel[0]")


async def test_data_that_cannot_fork_goes_on_by_key() -> None:
    plan = (Parallel((arm(Named("a", lambda n: n + 1)), arm(Named("b", lambda n: n * 5))), "p"),)
    assert await run_plan(plan, 2, SCOPE) == {"a": 3, "b": 10}


async def test_branches_start_in_list_order() -> None:
    started: list[int] = []
    arms = tuple(arm(Named(str(i), lambda _, i=i: started.append(i))) for i in range(20))
    await run_plan((Parallel(arms, "p"),), 0, SCOPE)
    assert started == list(range(20))


async def test_a_trip_cancels_and_awaits_its_siblings() -> None:
    slow = sets("slow", delay_s=5, x=1)
    with anyio.fail_after(2), pytest.raises(TripWire) as caught:
        await run_plan((Parallel((arm(slow), arm(trips("t", delay_s=0.01))), "p"),), Board(), SCOPE)
    assert (caught.value.processor_id, caught.value.others, slow.cancelled) == ("t", (), True)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_of_several_trips_the_first_in_list_order_goes_up(order: tuple[int, int]) -> None:
    """Whichever came first in time, if all may finish."""
    delays = [0.0, 0.02]
    arms = tuple(arm(trips(f"t{i}", delay_s=delays[order[i]])) for i in range(2))
    with pytest.raises(TripWire) as caught:
        await run_plan((Parallel(arms, "p", wait="all"),), Board(), SCOPE)
    assert caught.value.processor_id == "t0"
    assert [trip.processor_id for trip in caught.value.others] == ["t1"]


async def test_waiting_for_all_lets_the_others_finish() -> None:
    done: list[str] = []
    slow = Named("slow", lambda _: done.append("slow"), delay_s=0.02)
    with pytest.raises(TripWire):
        await run_plan((Parallel((arm(trips("t")), arm(slow)), "p", wait="all"),), Board(), SCOPE)
    assert done == ["slow"]


async def test_a_trip_beats_the_error_of_a_sibling_which_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    arms = (arm(fails("e", ValueError("secret detail"))), arm(trips("t", delay_s=0.01)))
    with pytest.raises(TripWire):
        await run_plan((Parallel(arms, "p", wait="all"),), Board(), SCOPE)
    assert [record.getMessage() for record in caplog.records] == ["branch e failed beside another: ValueError"]


async def test_an_error_of_a_branch_goes_up_with_its_place() -> None:
    """No group of exceptions around it."""
    error = ValueError("kaput")
    with pytest.raises(StepError) as caught:
        await run_plan((Parallel((arm(sets("a", delay_s=1)), arm(fails("e", error))), "p"),), Board(), SCOPE)
    assert (str(caught.value), caught.value.__cause__) == ("w › e: ValueError: kaput", error)


async def test_what_is_no_error_goes_up_as_it_is() -> None:
    class Stop(BaseException):
        pass

    def stop(data: Any) -> None:
        raise Stop

    with pytest.raises(Stop):
        await run_plan((Parallel((arm(trips("t")), arm(Named("s", stop))), "p", wait="all"),), Board(), SCOPE)


async def test_cancellation_from_outside_goes_through() -> None:
    slow = sets("slow", delay_s=5)
    with anyio.move_on_after(0.01) as scope:
        await run_plan((Parallel((arm(slow), arm(sets("b", delay_s=5))), "p"),), Board(), SCOPE)
    assert (scope.cancelled_caught, slow.cancelled) == (True, True)


async def test_the_first_arm_that_holds_runs_and_only_that() -> None:
    asked: list[str] = []

    def holds(name: str, answer: bool) -> Any:
        async def condition(data: Any, scope: Any) -> bool:
            asked.append(name)
            return answer

        return condition

    arms = tuple(
        Arm(key, (call(sets(key, ran=key)),), holds(key, answer))
        for key, answer in [("a", False), ("b", True), ("c", True)]
    )
    node = Choice(arms, None, "w › branch[0]")

    assert (await run_plan((node,), Board(), SCOPE)).fields == {"ran": "b"}
    assert asked == ["a", "b"]
    keys: list[Any] = []
    plan = (node, Map(lambda results, _: keys.extend(results) or results["b"], "m"))
    assert (await run_plan(plan, Board(), SCOPE)).fields == {"ran": "b"}
    assert keys == ["b"]


async def test_no_arm_holds_the_default_runs_or_the_data_passes_unasked() -> None:
    never = Arm("a", (call(sets("a", ran="a")),), lambda data, scope: False)
    default = arm(sets("d", ran="d"))
    boom = Map(lambda results, _: pytest.fail("asked"), "m")

    assert (await run_plan((Choice((never,), default, "c"),), Board(), SCOPE)).fields == {"ran": "d"}
    assert (await run_plan((Choice((never,), None, "c"), boom, call(sets("z", z=1))), Board(), SCOPE)).fields == {
        "z": 1
    }


async def test_a_pick_after_a_branch_gives_the_arms_output() -> None:
    always = Arm("a", (call(sets("a", ran="a")),), lambda data, scope: True)
    plan = (Choice((always,), None, "c"), Map(merge.pick("a"), "m"))
    assert (await run_plan(plan, Board(), SCOPE)).fields == {"ran": "a"}


async def test_a_timeout_is_an_error_that_names_the_step() -> None:
    with anyio.fail_after(2), pytest.raises(StepTimeoutError) as caught:
        await run_node(call(sets("slow", delay_s=5), timeout_s=0.01), Board(), SCOPE)
    assert (str(caught.value), caught.value.run_id, caught.value.path) == (
        "w › slow: took longer than its timeout of 0.01 s",
        "r1",
        "w › slow",
    )


def half(board: Board) -> None:
    board.fields["x"] = "half written"
    raise ValueError("kaput")


async def test_an_error_goes_up_by_itself() -> None:
    for options in ({}, {"on_error": "raise"}):
        with pytest.raises(ValueError, match="kaput"):
            await run_node(call(Named("s", half), **options), Board(x=0), SCOPE)


async def test_an_error_blocks_if_on_error_says_so() -> None:
    with pytest.raises(TripWire) as caught:
        await run_node(call(Named("s", half), on_error="block"), Board(x=0), SCOPE)
    assert (caught.value.reason, caught.value.path) == ("w › s: could not be run (ValueError)", "w › s")
    assert isinstance(caught.value.__cause__, ValueError)


async def test_going_on_after_an_error_drops_what_the_step_had_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    board = await run_node(call(Named("s", half), on_error="continue"), Board(x=0), SCOPE)
    assert board.fields == {"x": 0}
    assert [r.getMessage() for r in caplog.records] == ["w › s: failed and goes on unchanged: ValueError"]


async def test_on_error_is_not_asked_about_a_trip() -> None:
    for on_error in ("block", "continue"):
        with pytest.raises(TripWire, match="t said no"):
            await run_node(call(trips("t"), on_error=on_error, retries=3), Board(), SCOPE)


async def test_a_retry_starts_from_the_data_as_it_was() -> None:
    tries: list[dict[str, Any]] = []

    def flaky(board: Board) -> None:
        tries.append(dict(board.fields))
        board.fields["n"] = len(tries)
        if len(tries) < 3:
            raise OSError("net")

    clock = FakeClock()
    with use_clock(clock):
        board = await run_node(call(Named("f", flaky), retries=2), Board(), SCOPE)

    assert (tries, board.fields) == ([{}, {}, {}], {"n": 3})
    assert [0.05 <= clock.slept[0] <= 0.1, 0.1 <= clock.slept[1] <= 0.2, len(clock.slept)] == [True, True, 2]


async def test_what_cannot_go_away_is_not_tried_again() -> None:
    tries: list[int] = []

    def bad(board: Board) -> None:
        tries.append(1)
        raise ConfigurationError("wrong")

    with pytest.raises(ConfigurationError):
        await run_node(call(Named("f", bad), retries=5), Board(), SCOPE)
    assert len(tries) == 1


@pytest.mark.parametrize("until", [True, False])
async def test_a_loop_goes_on_until_or_while(until: bool) -> None:
    node = Loop((call(Named("inc", lambda n: n + 1)),), lambda n, _: (n >= 3) == until, until, "l")
    assert await run_node(node, 0, SCOPE) == 3


async def test_a_loop_that_does_not_end_is_an_error() -> None:
    node = Loop((call(Named("inc", lambda n: n + 1)),), lambda n, _: False, True, "w › do_until[0]", 4)
    with pytest.raises(LimitExceeded, match=r"w › do_until\[0\]: has not ended after 4 iterations") as caught:
        await run_node(node, 0, SCOPE)
    assert (caught.value.run_id, caught.value.path) == ("r1", "w › do_until[0]")


async def test_foreach_keeps_the_order_and_the_limit() -> None:
    running = most = 0

    class Tracks(Named):
        async def run(self, data: int, scope: Any) -> int:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await anyio.sleep(0.001 * (5 - data))
            running -= 1
            return data * 10

    node = ForEach((call(Tracks("t", None)),), 2, "f")
    assert (await run_node(node, [0, 1, 2, 3, 4], SCOPE), most) == ([0, 10, 20, 30, 40], 2)


async def test_foreach_over_what_is_no_list_is_an_error() -> None:
    with pytest.raises(StepError) as caught:
        await run_plan((ForEach((call(sets("a")),), 1, "w › foreach[0]"),), "ab", SCOPE)
    error = caught.value
    assert str(error) == "w › foreach[0]: foreach takes a list, not str"
    assert (error.step_id, error.run_id, error.path, error.retryable) == ("foreach", "r1", "w › foreach[0]", False)


async def test_foreach_over_data_that_parts_itself_joins_in_order() -> None:
    class Book(Board):
        def each(self) -> list[Book]:
            return [Book(**{name: value}) for name, value in self.fields.items()]

        def fork(self) -> Book:
            return Book(**self.fields)

    upper = Named("up", lambda page: page.fields.update({k: v.upper() for k, v in page.fields.items()}))
    result = await run_node(ForEach((call(upper),), 3, "f"), Book(a="x", b="y"), SCOPE)
    assert result.fields == {"a": "X", "b": "Y"}


async def test_sleep_passes_the_data() -> None:
    clock = FakeClock()
    with use_clock(clock):
        assert await run_node(Sleep(3.5, "s"), "data", SCOPE) == "data"
    assert clock.slept == [3.5]


async def test_a_nested_workflow_runs_in_place() -> None:
    plan = (Sub("inner", (call(sets("a", x=1)),), "w › inner"), call(sets("b", y=2)))
    assert (await run_plan(plan, Board(), SCOPE)).fields == {"x": 1, "y": 2}


async def test_a_parallel_in_a_parallel_merges_both() -> None:
    inner = Arm("inner", (Parallel((arm(sets("a", x=1)), arm(sets("b", y=2))), "p2"),))
    plan = (Parallel((inner, arm(sets("c", z=3))), "p1"),)
    assert (await run_plan(plan, Board(), SCOPE)).fields == {"x": 1, "y": 2, "z": 3}


async def test_what_cannot_go_on_where_the_data_could_is_an_error() -> None:
    with pytest.raises(StepError) as caught:
        await run_plan((Map(lambda board, scope: 7, "w › map[0]"),), Board(), SCOPE)
    error = caught.value
    assert str(error) == "w › map[0]: gives int, not Board; return the Board"
    assert (error.run_id, error.path, error.retryable) == ("r1", "w › map[0]", False)
