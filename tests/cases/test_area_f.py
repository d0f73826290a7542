"""Area F: retries, error processors, and how the loop ends."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor, TripWire
from sluiceway.errors import ModelError
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import Retry, StepOverrides, StreamErrorRetryProcessor
from tests.support.models import RaisingModel
from tests.support.runs import Entry, by, calls_tool, each_entry, lines, make_agent
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def one() -> int:
    """Give one."""
    return 1


def rejecting(*bad: str, counts: list[int] | None = None) -> Processor:
    """Return a guard that asks for another try while the answer is one of these."""

    def check(ctx: Any) -> None:
        if counts is not None:
            counts.append(ctx.retry_count)
        if ctx.text in bad:
            ctx.abort(f"not {ctx.text}", retry=True)

    return Processor.of("guard", process_output_step=check)


@each_entry
async def test_b106_retries_end_at_the_limit(entry: Entry) -> None:
    """A limit of two means three answers, counted 0, 1, 2, and then a tripwire."""
    counts: list[int] = []
    agent, model = make_agent(
        "a", "b", "c", output_processors=[rejecting("a", "b", "c", counts=counts)], max_processor_retries=2
    )

    ran = await by(entry, agent, "hi")

    assert (len(model.calls), counts) == (3, [0, 1, 2])
    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.reason, ran.result.tripwire.retry_count) == ("not c", 2)


@each_entry
async def test_b106_an_answer_accepted_at_the_limit_is_the_answer(entry: Entry) -> None:
    """The model is told of the newest rejection only."""
    agent, model = make_agent("a", "b", "c", output_processors=[rejecting("a", "b")], max_processor_retries=2)

    ran = await by(entry, agent, "hi")

    assert (ran.result.text, ran.result.tripwire, len(model.calls)) == ("c", None, 3)
    last = lines(model.prompts[2])
    assert [line for line in last if "not b" in line] == [last[1]]
    assert [line for line in last if "not a" in line] == []


@each_entry
async def test_b107_a_retry_without_a_budget_is_a_tripwire(entry: Entry) -> None:
    """Nobody said how often to try again, so nobody does."""
    agent, model = make_agent("a", output_processors=[rejecting("a")])

    ran = await by(entry, agent, "hi")

    assert len(model.calls) == 1
    assert ran.result.tripwire is not None
    assert ran.result.tripwire.retry is True


@each_entry
async def test_b108_a_retry_behind_a_tool_step_keeps_the_tools_result(entry: Entry) -> None:
    """The step is tried again, not the tool."""
    runs: list[int] = []

    def a() -> int:
        """Count."""
        runs.append(1)
        return len(runs)

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("a")]),
        "bad",
        "good",
        tools=[a],
        output_processors=[rejecting("bad")],
        max_processor_retries=1,
    )

    ran = await by(entry, agent, "hi")

    assert (runs, ran.result.text) == ([1], "good")
    feedback = lines(model.prompts[2])[1]
    assert "not bad" in feedback
    assert lines(model.prompts[2]) == [
        "system: sys",
        feedback,
        "user: hi",
        "assistant: a({})#c1",
        "tool: c1 -> 1",
    ]


@each_entry
async def test_b109_a_retry_before_the_model_runs_the_step_again(entry: Entry) -> None:
    """The step hook of a second try sees the same step and the next count."""
    seen: list[tuple[int, int]] = []

    def check(ctx: Any) -> None:
        seen.append((ctx.step_number, ctx.retry_count))
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)

    agent, model = make_agent(
        "fine",
        input_processors=[Processor.of("p", process_input_step=check)],
        max_processor_retries=2,
    )

    ran = await by(entry, agent, "hi")

    assert (seen, len(model.calls), ran.result.text) == ([(0, 0), (0, 1)], 1, "fine")


OVERLOADED = {"status": 529, "message": "overloaded", "retryable": True}


@each_entry
async def test_b113_each_model_of_a_list_has_its_own_retries(entry: Entry) -> None:
    """Two retries are three calls of the first model, and then it is the next one's turn."""
    first = ScriptedModel([Reply(error=OVERLOADED)], max_retries=2)
    second = ScriptedModel([Reply(error=OVERLOADED)], max_retries=2, model_id="second")
    third = ScriptedModel(["ok"], max_retries=2, model_id="third")

    ran = await by(entry, Agent(id="a", model=[first, second, third]), "hi")

    assert ran.result.text == "ok"
    assert [len(model.calls) for model in (first, second, third)] == [3, 3, 1]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(
    ("status", "calls"), [(401, 1), (403, 1), (400, 1), (429, 2), (500, 2), (529, 2), (None, None)]
)
@each_entry
async def test_b114_a_refused_login_is_never_tried_again(
    entry: Entry, status: int | None, calls: int | None, unknown: bool
) -> None:
    """Overload and a server's errors are; what nobody knows only if it is asked for."""
    retry = StreamErrorRetryProcessor(retry_unknown_errors=unknown, delay=0)
    error = {"status": status, "message": "no"}
    agent, model = make_agent(Reply(error=error), error_processors=[retry])

    ran = await by(entry, agent, "hi")

    assert len(model.calls) == (calls or 1 + unknown)
    assert isinstance(ran.error, ModelError)
    assert ran.error.status == status


@each_entry
async def test_b116_a_model_that_raises_is_an_error(entry: Entry) -> None:
    """The reason that the provider gave reaches the caller."""
    agent, _ = make_agent(Reply(error={"status": 500, "message": "disk on fire"}))

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ModelError)
    assert (ran.error.status, "disk on fire" in str(ran.error)) == (500, True)
    if entry == "stream":
        assert ran.types == ["start", "step-start", "error", "finish"]


@each_entry
async def test_b116_a_model_that_ends_with_error_is_an_error(entry: Entry) -> None:
    """An answer that says it failed is not an empty success."""
    agent, _ = make_agent(Reply(finish_reason="error"))

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ModelError)
    assert "error" in str(ran.error)
    if entry == "stream":
        assert ran.types == ["start", "step-start", "error", "finish"]
        assert ran.chunks[-1].payload["reason"] == "error"


@each_entry
@pytest.mark.parametrize("reason", ["length", "content-filter"])
async def test_b117_a_cut_answer_ends_the_loop(entry: Entry, reason: str) -> None:
    """The loop does not go on asking after an answer that was cut."""
    agent, model = make_agent(Reply(finish_reason=reason))

    ran = await by(entry, agent, "hi")

    assert (len(model.calls), ran.result.finish_reason, ran.result.text) == (1, reason, "")


@each_entry
@pytest.mark.parametrize("reason", ["other", "unknown"])
async def test_b117_an_empty_answer_without_a_reason_is_an_error(entry: Entry, reason: str) -> None:
    """Nothing said and no reason given: the provider failed."""
    agent, model = make_agent(Reply(finish_reason=reason))

    ran = await by(entry, agent, "hi")

    assert (len(model.calls), isinstance(ran.error, ModelError)) == (1, True)


@each_entry
@pytest.mark.parametrize("reason", ["other", "unknown"])
async def test_b117_an_answer_without_a_reason_is_an_answer(entry: Entry, reason: str) -> None:
    """Text without a known reason is taken as it is."""
    agent, model = make_agent(Reply(text="hello", finish_reason=reason))

    ran = await by(entry, agent, "hi")

    assert (len(model.calls), ran.result.text, ran.result.finish_reason) == (1, "hello", reason)
    assert ran.result.tripwire is None


@each_entry
@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"max_steps": 10, "stop_when": lambda steps: len(steps) == 2}, 2),
        ({"max_steps": 3}, 3),
        ({"max_steps": 2, "stop_when": lambda steps: len(steps) == 3}, 2),
    ],
)
async def test_b118_whichever_end_comes_first_ends_the_loop(entry: Entry, options: dict[str, Any], calls: int) -> None:
    """A stop condition and the limit of steps both count."""
    agent, model = make_agent(Reply(tool_calls=[{"name": "one", "args": {}}]), tools=[one])

    ran = await by(entry, agent, "hi", **options)

    assert (len(model.calls), len(ran.result.steps)) == (calls, calls)


@each_entry
async def test_b119_nothing_is_finished_when_the_provider_fails(entry: Entry) -> None:
    """The result hook, where memory saves, does not run for a call that failed."""
    ended: list[str] = []
    watch = Processor.of("watch", process_output_result=lambda ctx: ended.append(ctx.result.finish_reason))
    memory = new_memory()
    agent, _ = make_agent(Reply(error="no"), output_processors=[watch], memory=memory)

    ran = await by(entry, agent, "hi", memory=THREAD)

    assert (ended, isinstance(ran.error, ModelError)) == ([], True)
    assert await stored(memory) == []
    if entry == "stream":
        assert ran.types[-2:] == ["error", "finish"]


@each_entry
async def test_b121_a_tripwire_out_of_a_model_is_no_failure(entry: Entry) -> None:
    """Neither retries, nor the fallback, nor an error processor takes it for an error."""
    asked: list[str] = []
    failing = RaisingModel(lambda: TripWire("stop", processor_id="inner"))
    fallback = ScriptedModel(["never"])

    def retry(ctx: Any) -> Retry:
        asked.append(str(ctx.error))
        return Retry()

    agent = Agent(id="a", model=[failing, fallback], error_processors=[Processor.of("e", process_api_error=retry)])

    ran = await by(entry, agent, "hi", model_settings={"max_retries": 3})

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.reason, failing.calls, len(fallback.calls), asked) == ("stop", 1, 0, [])


@each_entry
async def test_b121_a_tripwire_out_of_a_tool_is_no_tool_error(entry: Entry) -> None:
    """It ends the call; the model is not told of an error."""

    async def stops() -> None:
        """Stop."""
        raise TripWire("stop", processor_id="inner")

    agent, model = make_agent(Reply(tool_calls=[calls_tool("stops")]), "never", tools=[stops])

    ran = await by(entry, agent, "hi")

    assert ran.result.tripwire is not None
    assert (ran.result.tripwire.reason, len(model.calls)) == ("stop", 1)
    if entry == "stream":
        assert ran.of("tool-error", "tool-result") == []


@each_entry
async def test_b122_an_error_that_nobody_retries_is_raised(entry: Entry) -> None:
    """An error does not become an answer because an error processor was listed."""
    broken = RaisingModel(lambda: ModelError("bad value", status=422))
    timeouts = Processor.of("timeouts", process_api_error=lambda ctx: Retry() if ctx.error.status == 408 else None)

    ran = await by(entry, Agent(id="a", model=broken, error_processors=[timeouts]), "hi")

    assert (str(ran.error), broken.calls) == ("bad value", 1)


@each_entry
async def test_b123_a_processor_that_picks_a_model_leaves_the_fallback_alone(entry: Entry) -> None:
    """The picked model comes first and is tried once; the agent's other models stay behind it."""
    first = ScriptedModel([Reply(error={"status": 500, "message": "down"})], model_id="first")
    second = ScriptedModel(["ok"], model_id="second")
    router = Processor.of("router", process_input_step=lambda ctx: StepOverrides(model=first))

    ran = await by(entry, Agent(id="a", model=[first, second], input_processors=[router]), "hi")

    assert ran.result.text == "ok"
    assert (len(first.calls), len(second.calls)) == (1, 1)


@each_entry
async def test_b124_the_text_of_a_run_is_that_of_all_its_steps(entry: Entry) -> None:
    """Every accessor gives the same text; the steps have theirs apart."""
    agent, _ = make_agent(Reply(text="let me look. ", tool_calls=[calls_tool("one")]), "answer", tools=[one])

    ran = await by(entry, agent, "hi")

    result = ran.result
    assert result.text == "let me look. answer"
    assert "".join(message.text for message in result.response.messages) == result.text
    assert [step.text for step in result.steps] == ["let me look. ", "answer"]
    if entry == "stream":
        assert ran.emitted == result.text
        assert ran.chunks[-1].payload["text"] == result.text
