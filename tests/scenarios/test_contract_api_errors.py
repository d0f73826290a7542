"""What happens when the provider refuses a request or breaks off its answer."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sluiceway import Agent, Processor
from sluiceway.errors import ModelError
from sluiceway.messages import Chunk
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import Retry
from tests.support.models import ChunkModel, deltas
from tests.support.processors import TailHolder, noting, tool_named
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, parts_of

pytestmark = pytest.mark.anyio

REFUSED = Reply(error={"status": 400, "message": "nope"})
BROKEN = Reply(text=["par", "tial"], stream_error="connection lost")
PREFILL = Reply(
    error={
        "status": 400,
        "message": "This model does not support assistant message prefill."
        " The conversation must end with a user message.",
    }
)
PREFILLED = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Sure,"}]


def handler(id: str, trace: list[str], *, retry: bool = False) -> Processor:  # noqa: A002
    """Return an error processor that notes its calls and may ask for a retry."""

    def run(ctx: Any) -> Retry | None:
        trace.append(f"{id}:{ctx.retry_count}")
        return Retry() if retry else None

    return Processor.of(
        id, process_api_error=run, process_input=lambda ctx: None, process_output_result=lambda ctx: None
    )


@each_entry
async def test_the_lists_are_asked_in_order_each_object_once(entry: Entry) -> None:
    """Error list, input list, output list; an object that stands in all three is asked once."""
    trace: list[str] = []
    everywhere = handler("x", trace)
    agent, _ = make_agent(
        REFUSED,
        error_processors=[handler("e", trace), everywhere],
        input_processors=[handler("i", trace), everywhere],
        output_processors=[handler("o", trace), everywhere],
    )

    ran = await by(entry, agent, "hi")

    assert trace == ["e:0", "x:0", "i:0", "o:0"]
    assert isinstance(ran.error, ModelError)


@each_entry
async def test_the_first_retry_ends_the_pass(entry: Entry) -> None:
    """Who stands behind is not asked."""
    trace: list[str] = []
    agent, model = make_agent(
        REFUSED,
        "ok",
        error_processors=[handler("a", trace), handler("b", trace, retry=True), handler("c", trace)],
        input_processors=[handler("i", trace, retry=True)],
    )

    ran = await by(entry, agent, "hi")

    assert (trace, ran.result.text, len(model.calls)) == (["a:0", "b:0"], "ok", 2)


@each_entry
async def test_a_retry_starts_from_the_steps_start_plus_the_handlers_edits(entry: Entry) -> None:
    """Edits of the failed attempt are gone, those of the error hook stay, and no feedback is added."""

    async def step(ctx: Any) -> None:
        await ctx.send_signal(f"try {ctx.retry_count}")

    def repair(ctx: Any) -> Retry:
        ctx.message_list.add("repaired")
        return Retry()

    agent, model = make_agent(
        REFUSED,
        "ok",
        input_processors=[Processor.of("i", process_input_step=step)],
        error_processors=[Processor.of("e", process_api_error=repair)],
    )

    ran = await by(entry, agent, "hi")

    assert lines(model.prompts[1]) == [
        "system: sys",
        "user: hi",
        "user: repaired",
        "user: <system-reminder>try 1</system-reminder>",
    ]
    if entry == "stream":
        assert ran.types[:4] == ["start", "step-start", "step-finish", "step-start"]
        assert ran.of("step-finish")[0].payload["reason"] == "retry"


@each_entry
async def test_error_hooks_run_once_more_when_the_budget_is_used_up(entry: Entry) -> None:
    """So that a handler can see the last failure; its wish is no longer granted."""
    trace: list[str] = []
    agent, model = make_agent(REFUSED, error_processors=[handler("e", trace, retry=True)], max_processor_retries=2)

    ran = await by(entry, agent, "hi")

    assert (trace, len(model.calls)) == (["e:0", "e:1", "e:2"], 3)
    assert (str(ran.error), getattr(ran.error, "status", None)) == ("nope", 400)


@each_entry
async def test_error_processors_open_a_budget_of_ten_for_both_kinds(
    entry: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once in the log, and rejections have it too."""
    trace: list[str] = []
    reject = Processor.of("r", process_output_step=lambda ctx: ctx.abort("again", retry=True))
    agent, model = make_agent("bad", error_processors=[handler("e", trace)], output_processors=[reject])

    with caplog.at_level(logging.WARNING, logger="sluiceway"):
        ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.retry_count, len(model.calls)) == (10, 11)
    assert [r.getMessage() for r in caplog.records if "max_processor_retries" in r.getMessage()] != []
    assert len(caplog.records) == 1


@each_entry
async def test_a_budget_given_as_zero_stays_zero(entry: Entry) -> None:
    """Nobody is tried again against the caller's word."""
    trace: list[str] = []
    agent, model = make_agent(REFUSED, error_processors=[handler("e", trace, retry=True)], max_processor_retries=0)

    ran = await by(entry, agent, "hi")

    assert (trace, len(model.calls), isinstance(ran.error, ModelError)) == (["e:0"], 1, True)


@each_entry
async def test_a_handler_in_another_list_opens_no_budget(entry: Entry) -> None:
    """Only the list of error processors does."""
    trace: list[str] = []
    agent, model = make_agent(REFUSED, input_processors=[handler("i", trace, retry=True)])

    ran = await by(entry, agent, "hi")

    assert (trace, len(model.calls), isinstance(ran.error, ModelError)) == (["i:0"], 1, True)


@each_entry
async def test_error_processors_of_a_call_open_the_budget_too(entry: Entry) -> None:
    """The list of the call takes the place of the agent's."""
    trace: list[str] = []
    agent, model = make_agent(REFUSED, "ok")

    ran = await by(entry, agent, "hi", error_processors=[handler("e", trace, retry=True)])

    assert (trace, ran.result.text, len(model.calls)) == (["e:0"], "ok", 2)


@each_entry
@pytest.mark.parametrize("budget", [None, 0, 2])
async def test_the_prefill_repair_has_one_retry_of_its_own(entry: Entry, budget: int | None) -> None:
    """With the budget unset or 0 as well; a second refusal is the caller's error."""
    mended, model = make_agent(PREFILL, "ok", max_processor_retries=budget)
    hopeless, asked = make_agent(PREFILL, max_processor_retries=budget)

    first, second = await by(entry, mended, PREFILLED), await by(entry, hopeless, PREFILLED)

    assert (first.result.text, len(model.calls)) == ("ok", 2)
    assert (isinstance(second.error, ModelError), len(asked.calls)) == (True, 2)
    assert [m.text for m in first.result.response.messages] == ["ok"]


@each_entry
async def test_the_prefill_repair_can_be_left_out(entry: Entry) -> None:
    """`prefill_recovery=False`."""
    model = ScriptedModel([PREFILL, "ok"])

    ran = await by(entry, Agent(id="a", model=model, prefill_recovery=False), PREFILLED)

    assert (isinstance(ran.error, ModelError), len(model.calls)) == (True, 1)


@each_entry
async def test_a_broken_stream_can_be_tried_again(entry: Entry) -> None:
    """The partial answer is in neither reply nor result; the reader is told to drop it."""
    trace: list[str] = []
    agent, _ = make_agent(BROKEN, "whole", error_processors=[handler("e", trace, retry=True)])

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, parts_of(ran.result)) == ("whole", [["text:whole"]])
    if entry == "stream":
        assert [chunk.text for chunk in ran.of("text-delta")] == ["par", "tial", "whole"]
        assert [chunk.payload["reason"] for chunk in ran.of("step-finish")] == ["retry", "stop"]


async def test_held_text_goes_out_before_the_error_only_if_no_retry_follows() -> None:
    """A retry drops what was held; an end delivers it."""
    trace: list[str] = []
    broken = [*deltas("par", "tial")[:-1], ModelError("connection lost")]
    whole = [*deltas("whole"), Chunk("finish", {"reason": "stop"})]
    hold = TailHolder("hold", 100)
    retried = Agent(
        id="a",
        model=ChunkModel(broken, whole),
        output_processors=[hold],
        error_processors=[handler("e", trace, retry=True)],
    )
    failed = Agent(id="a", model=ChunkModel(broken), output_processors=[hold])

    one, two = await collect(retried, "hi"), await collect(failed, "hi")

    assert one.emitted == "whole"
    assert two.emitted == "partial"
    assert two.types[-3:] == ["text-delta", "error", "finish"]


@each_entry
async def test_an_error_in_mid_stream_runs_no_later_hook(entry: Entry) -> None:
    """Neither response nor step nor result hooks, and no tool whose call had come."""
    trace: list[str] = []
    answer = Reply(text="t", tool_calls=[calls_tool("look")], stream_error="connection lost")
    agent, _ = make_agent(
        answer,
        tools=[tool_named("look", trace=trace)],
        input_processors=[noting("i", trace, "process_llm_response")],
        output_processors=[noting("o", trace, "process_output_step", "process_output_result")],
    )

    ran = await by(entry, agent, "hi")

    assert (trace, isinstance(ran.error, ModelError)) == ([], True)
    assert "connection lost" in str(ran.error)


async def test_a_failed_call_has_no_step_finish() -> None:
    """`error` and `finish` with reason `error` are all that follows."""
    agent, _ = make_agent(REFUSED)

    ran = await collect(agent, "hi")

    assert ran.types == ["start", "step-start", "error", "finish"]
    assert (ran.chunks[2].payload["message"], ran.chunks[3].payload["reason"]) == ("nope", "error")
    assert ran.chunks[2].payload["error"] is ran.error


@each_entry
async def test_a_model_error_has_status_provider_and_request_id(entry: Entry) -> None:
    """What the provider said of it is on the error."""
    agent, _ = make_agent(Reply(error={"status": 429, "message": "slow down", "request_id": "req-1", "body": "{...}"}))

    ran = await by(entry, agent, "hi")

    error = ran.error
    assert isinstance(error, ModelError)
    assert (error.status, error.provider, error.request_id, error.body, error.retryable) == (
        429,
        "scripted",
        "req-1",
        "{...}",
        True,
    )


@each_entry
async def test_the_next_call_works_after_a_failed_one(entry: Entry) -> None:
    """An error leaves nothing behind on the agent."""
    agent, _ = make_agent(REFUSED, "ok")

    first, second = await by(entry, agent, "hi"), await by(entry, agent, "hi")

    assert isinstance(first.error, ModelError)
    assert second.result.text == "ok"


@each_entry
@pytest.mark.parametrize("fault", [{"stream_error": {"status": 503}}, {"stream_error": OSError("gone")}])
async def test_the_causes_of_an_error_come_to_an_end(entry: Entry, fault: dict[str, Any]) -> None:
    """Who follows them, as a logger does, must not go round in circles."""
    agent, _ = make_agent(Reply(text="par", **fault))

    cause: BaseException | None = (await by(entry, agent, "hi")).error
    causes: list[str] = []
    while cause is not None and len(causes) < 5:
        causes.append(type(cause).__name__)
        cause = cause.__cause__

    assert causes == (["ModelError"] if isinstance(fault["stream_error"], dict) else ["ModelError", "OSError"])
