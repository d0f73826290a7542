"""The doubles do what the real thing does, and can be looked at."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway import Agent, Workflow
from sluiceway.engine import clock, use_clock
from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.messages import Chunk
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import PIIDetector
from sluiceway.testing import (
    AuditRecorder,
    CancelAt,
    ChunkModel,
    FakeClock,
    RecordingProcessor,
    StallingModel,
    behaving,
    block_chunks,
    broken_off,
    cut,
    every_cut,
    refused,
    reply_cut,
    run_hook,
)


@pytest.mark.anyio
async def test_the_clock_passes_by_sleeping_only() -> None:
    fake = FakeClock()
    with use_clock(fake):
        await clock().sleep(30)
        fake.advance(5)
        fake.advance(-5)
    assert (fake.slept, fake.monotonic_s(), fake.now().isoformat()) == ([30], 35, "2030-01-01T00:00:35+00:00")


@pytest.mark.anyio
async def test_a_recorder_sees_what_each_hook_was_shown() -> None:
    recorder = RecordingProcessor(hooks=["process_input", "process_output_stream", "process_output_result"])
    agent = Agent(id="a", model=ScriptedModel([["o", "k"]]), input_processors=[recorder], output_processors=[recorder])

    result = await agent.generate("hello")

    assert result.text == "ok"
    assert [str(call) for call in recorder.of("process_input", "process_output_result")] == [
        "process_input: user: text:'hello'",
        "process_output_result: assistant: text:'ok'",
    ]
    deltas = [call.saw[0] for call in recorder.calls if call.saw[0].startswith("text-delta")]
    assert deltas == ["text-delta:{'id': 'text-1', 'text': 'o'}", "text-delta:{'id': 'text-1', 'text': 'k'}"]


def test_a_recorder_refuses_a_hook_that_does_not_exist() -> None:
    with pytest.raises(ConfigurationError, match="there is no hook 'process_inputs'"):
        RecordingProcessor(hooks=["process_inputs"])  # type: ignore[list-item]


@pytest.mark.anyio
async def test_run_hook_takes_one_or_several() -> None:
    one = await run_hook(PIIDetector(), "mail ann@example.org")
    several = await run_hook([PIIDetector(), behaving("upper")], "mail ann@example.org")
    workflow = await run_hook(Workflow("w").then(behaving("upper")), "hi")
    assert (one.text, several.text, workflow.text) == ("mail a*n@*******.org", "MAIL A*N@*******.ORG", "HI")


@pytest.mark.anyio
async def test_the_audit_recorder_tells_a_difference_line_by_line() -> None:
    audit = AuditRecorder()
    detector = PIIDetector(on_violation=audit.violation)
    agent = Agent(id="a", model=ScriptedModel(["hi"]), input_processors=[detector])
    audit.result(await agent.generate("mail ann@example.org", observer=audit))
    lines = [*audit.lines]
    audit.assert_lines(lines)

    with pytest.raises(AssertionError) as caught:
        audit.assert_lines(["something else", *lines[1:]])

    assert [line for line in str(caught.value).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-something else",
        f"+{lines[0]}",
    ]
    assert not any("ann" in line for line in lines)


@pytest.mark.parametrize(
    ("reply", "deltas"),
    [
        (reply_cut("abcde"), ["a", "b", "c", "d", "e"]),
        (reply_cut("abcde", every=2), ["ab", "cd", "e"]),
        (reply_cut("abcde", at=[4, 1, 99]), ["a", "bcd", "e"]),
        (reply_cut(""), []),
    ],
)
def test_replies_are_cut_as_asked(reply: Reply, deltas: list[str]) -> None:
    assert list(reply.text) == deltas


def test_cuts() -> None:
    assert cut("", [1]) == []
    assert len(list(every_cut("abcd", 3))) == 8
    assert all("".join(pieces) == "abcd" for pieces in every_cut("abcd", 3))


@pytest.mark.anyio
async def test_faults_of_a_script_are_what_a_provider_does() -> None:
    agent = Agent(id="a", model=ScriptedModel([refused(401), broken_off("hello", after=2)]))
    with pytest.raises(ModelError) as first:
        await agent.generate("x")
    assert (first.value.status, first.value.retryable) == (401, False)
    async with agent.stream("x") as stream:
        text = "".join([chunk.text async for chunk in stream])
        with pytest.raises(ModelError, match="the stream broke off"):
            await stream.result()
    assert text == "he"


@pytest.mark.anyio
async def test_a_chunk_model_sends_exactly_its_chunks() -> None:
    model = ChunkModel([*block_chunks(["a", "b"]), Chunk("finish", {"reason": "stop", "usage": None})])
    agent = Agent(id="a", model=model)
    assert (await agent.generate("x")).text == "ab"
    assert len(model.calls) == 1


@pytest.mark.anyio
async def test_a_stalling_model_waits_until_it_is_closed() -> None:
    model = StallingModel("a")
    async with Agent(id="a", model=model).stream("x") as stream:
        async for chunk in stream:
            if chunk.text:
                break
    assert (model.opened, model.closed) == (1, 1)


@pytest.mark.anyio
async def test_cancelling_goes_through_every_wait() -> None:
    async def three() -> str:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        return "done"

    async def cancelled_at(at: int) -> Any:
        with anyio.CancelScope() as scope:
            return await CancelAt(three(), scope, at)
        return scope.cancelled_caught

    waits = CancelAt(three(), anyio.CancelScope(), 0)
    assert await waits == "done"
    assert waits.waits >= 3
    assert [await cancelled_at(at) for at in (0, 1)] == ["done", True]
