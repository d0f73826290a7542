"""The log of the last runs: bounded, and deaf readers do not hold it up."""

from __future__ import annotations

import pytest

from sluiceway.messages import ListEdit
from sluiceway.processors import HookEvent
from sluiceway.serve._runs import RunLog, RunRecord


def event(*edits: ListEdit, attempt: int = 0) -> HookEvent:
    return HookEvent("r", "process_input", "p", "processor:p", None, attempt, "passed", 1.0, edits=edits)


def test_the_newest_come_first_and_the_oldest_go() -> None:
    log = RunLog(2)
    for name in "abc":
        log.add(RunRecord(name, "agent", "chat"))
    assert [record.id for record in log] == ["c", "b"]
    assert log.get("a") is None


def test_only_so_much_is_kept_of_a_run() -> None:
    log = RunLog()
    record = RunRecord("a", "agent", "chat")
    log.add(record)
    for number in range(700):
        log.hook(record, event(attempt=number // 600))
    assert (len(record.events), record.left_out, record.retries) == (500, 200, 1)


def test_an_end_is_an_end() -> None:
    log = RunLog()
    record = RunRecord("a", "agent", "chat")
    log.add(record)
    log.hook(record, event(ListEdit("p", "edit", "m", 0, 0, 3, 1)))
    log.end(record, "passed")
    took = record.seconds
    log.end(record, "cancelled")
    assert (record.state, record.seconds, record.edits) == ("edited", took, 1)


@pytest.mark.anyio
async def test_readers_are_told_and_one_who_does_not_read_holds_nobody_up() -> None:
    log = RunLog()
    with log.watch() as deaf, log.watch() as reader:
        for number in range(1000):
            log.add(RunRecord(str(number), "agent", "chat"))
            assert await anext(reader) == str(number)
        assert deaf.statistics().current_buffer_used == 256
    log.add(RunRecord("later", "agent", "chat"))
