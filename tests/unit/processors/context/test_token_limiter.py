"""`TokenLimiter`, beyond the cases from practice."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor
from sluiceway.messages import Chunk, Message, PromptMessage, PromptText, StepStartPart, TextPart, ToolPart
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import TokenLimiter
from sluiceway.processors.context._token_trim import TooLong, Weighed, kept
from tests.support.counting import WordCounter, words
from tests.support.models import ChunkModel, deltas
from tests.support.runs import calls_tool, collect, lines, make_agent
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def limiter(limit: int, **options: Any) -> TokenLimiter:
    return TokenLimiter(limit, encoding=WordCounter(), **options)


def reply(*parts: Any) -> Message:
    return Message(role="assistant", parts=parts)


def roles(prompt: Any) -> list[str]:
    return [message.role for message in prompt.messages]


async def test_a_call_goes_with_its_result() -> None:
    """The result alone would fit, and the step after it does."""
    call = ToolPart("look", "c1", {"q": words(100)}, "result", "seen")
    history = [
        Message("q1"),
        reply(TextPart("let me look"), call, StepStartPart(), TextPart("it is there")),
        Message("q2"),
    ]
    agent, model = make_agent(input_processors=[limiter(80)])

    await agent.generate(history)

    assert lines(model.prompts[0]) == ["system: sys", "user: q1", "assistant: it is there", "user: q2"]


async def test_what_is_sent_begins_with_a_message_of_the_user() -> None:
    """An answer whose question does not fit is not sent, though it would fit."""
    history = [Message(words(100)), reply(TextPart("answer")), Message("now")]
    agent, model = make_agent(input_processors=[limiter(60)])

    await agent.generate(history)

    assert lines(model.prompts[0]) == ["system: sys", "user: now"]


async def test_a_prompt_that_fits_is_sent_as_it_is() -> None:
    """Also one that begins with the assistant."""
    agent, model = make_agent(input_processors=[limiter(60)])

    await agent.generate([reply(TextPart("welcome")), Message("now")])

    assert roles(model.prompts[0]) == ["system", "assistant", "user"]


async def test_a_reminder_is_no_message_of_the_user() -> None:
    """The message before it is the one to be answered, and stays."""

    async def remind(ctx: Any) -> None:
        await ctx.send_signal("be brief", transient=True)

    agent, model = make_agent(
        input_processors=[Processor.of("reminds", process_input_step=remind), limiter(60)],
    )

    await agent.generate([Message(words(100)), Message("now")])

    assert lines(model.prompts[0]) == [
        "system: sys",
        "user: now",
        "user: <system-reminder>be brief</system-reminder>",
    ]


async def test_only_memory_is_trimmed_if_that_is_wanted() -> None:
    """What the caller sends stays, and what does not fit then is an abort; storage stays as it is."""
    memory = new_memory()
    seen: list[list[str]] = []
    looks = Processor.of("looks", process_input=lambda ctx: seen.append([m.text.split()[0] for m in ctx.messages]))
    agent, model = make_agent(memory=memory, input_processors=[limiter(100, trim_mode="memory-only"), looks])
    for turn in range(3):
        await agent.generate(f"q{turn} {words(20)}", memory=THREAD)
    before = await stored(memory)

    await agent.generate([Message(f"old {words(20)}"), Message("now")], memory=THREAD)

    assert lines(model.prompts[-1])[1:-1] == [f"user: q2 {words(20)}", "assistant: ok", f"user: old {words(20)}"]
    assert seen[-1] == ["q2", "ok", "old", "now"]
    assert (await stored(memory))[:6] == before

    result = await agent.generate([Message(f"old {words(200)}"), Message("now")], memory=THREAD)
    assert result.tripwire is not None
    assert "over the limit of 100" in result.tripwire.reason


async def test_text_that_looks_like_a_special_token_is_plain_text() -> None:
    agent, model = make_agent(input_processors=[TokenLimiter(200)])

    await agent.generate("<|endoftext|> <|im_start|>")

    assert len(model.calls) == 1


@pytest.mark.parametrize("text", ["\ud800 half", "\x00", "x" * 300_000])
async def test_odd_text_does_no_harm(text: str) -> None:
    agent, _ = make_agent(input_processors=[TokenLimiter(1_000_000)], output_processors=[TokenLimiter(100)])

    assert (await agent.generate(text)).text == "ok"


async def test_a_rejected_attempt_does_not_count() -> None:
    """The limit is for what is accepted."""
    rejects = Processor.of(
        "guard", process_output_step=lambda ctx: ctx.abort("no", retry=True) if ctx.retry_count == 0 else None
    )
    agent, _ = make_agent(
        ["one ", "two ", "three "],
        ["four ", "five ", "six "],
        output_processors=[limiter(3), rejects],
        max_processor_retries=1,
    )

    assert (await agent.generate("go")).text == "four five six "


async def test_each_chunk_can_be_counted_for_itself() -> None:
    agent, _ = make_agent(["one two three ", "four ", "five six "], output_processors=[limiter(2, count_mode="part")])

    ran = await collect(agent, "go")

    assert ran.result.text == "one twofour five six "
    assert len(ran.of("data-token-limit-reached")) == 1


@pytest.mark.parametrize(("scope", "text"), [("run", "one two"), ("step", "one two three")])
async def test_what_a_later_hook_adds_is_cut_from_the_result(scope: Any, text: str) -> None:
    def more(ctx: Any) -> None:
        part = next(part for part in ctx.messages[-1].parts if part.type == "text")
        part.text += " and so on"

    agent, _ = make_agent("one two", output_processors=[Processor.of("more", process_output_step=more), limiter(2)])
    result = await agent.generate("go")
    assert (result.text, result.edited_after_stream) == ("one two", False)

    agent, _ = make_agent(
        "one two",
        output_processors=[Processor.of("more", process_output_step=more), limiter(2, strategy="abort")],
    )
    result = await agent.generate("go")
    assert result.tripwire is not None
    assert "the answer is over the limit of 2 tokens" in result.tripwire.reason


async def test_objects_count_as_what_they_have_become() -> None:
    def objects(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        whole = {"a": words(int(ctx.part.text))}
        return Chunk("object", {"object": whole, "final": False}, ctx.part.run_id)

    makes = Processor.of("makes", process_output_stream=objects)
    agent = Agent(
        id="a",
        model=ChunkModel([*deltas("1", "3", "5"), Chunk("finish", {"reason": "stop"})]),
        output_processors=[makes, limiter(4)],
    )

    ran = await collect(agent, "go")

    assert [chunk.get("object") for chunk in ran.of("object")] == [{"a": "w"}, {"a": "w w w"}]


async def test_an_object_that_is_too_long_ends_the_objects() -> None:
    """A shorter one behind it does not pass as if nothing had been left out."""

    def objects(ctx: Any) -> Any:
        if ctx.part.type != "text-delta":
            return ctx.part
        return Chunk("object", {"object": {"a": words(int(ctx.part.text))}, "final": False}, ctx.part.run_id)

    makes = Processor.of("makes", process_output_stream=objects)
    model = ChunkModel([*deltas("1", "5", "2"), Chunk("finish", {"reason": "stop"})])
    ran = await collect(Agent(id="a", model=model, output_processors=[makes, limiter(4)]), "go")
    assert [chunk.get("object") for chunk in ran.of("object")] == [{"a": "w"}]


async def test_the_notice_goes_out_once_per_step() -> None:
    agent, _ = make_agent(Reply(text=["one ", "two ", "three ", "four "]), output_processors=[limiter(1)])

    ran = await collect(agent, "go")

    kinds = [chunk.type for chunk in ran.chunks if chunk.type not in ("start", "step-start", "step-finish", "finish")]
    assert kinds == ["text-start", "text-delta", "data-token-limit-reached", "text-end"]
    assert ran.result.text == "one "


@pytest.mark.parametrize("limit", [75, 80])
async def test_the_question_at_work_stays_whatever_a_hook_adds_after_it(limit: int) -> None:
    """Without it the prompt would begin with the run's own call."""

    class Hurry(Processor):
        def process_input_step(self, ctx: Any) -> None:
            if ctx.step_number == 1:
                ctx.message_list.add("hurry")

    def look() -> str:
        """Look."""
        return "seen"

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("look")]),
        "done",
        tools=[look],
        input_processors=[Hurry(id="hurry"), limiter(limit)],
    )

    result = await agent.generate(words(30))

    if result.tripwire is None:
        assert roles(model.prompts[1]) == ["system", "user", "assistant", "tool", "user"]
    else:
        assert len(model.prompts) == 1
        assert result.tripwire.metadata is not None
        assert result.tripwire.metadata["needed"] > limit
    assert (result.tripwire is None) == (limit == 80)


@pytest.mark.parametrize("count", [5, 35, 105, 250])
async def test_a_prompt_that_fits_exactly_is_sent(count: int) -> None:
    """Each message is 4.8 tokens; the sum of many tenths is not exact."""
    history = [Message("w") for _ in range(count)]
    limit = count * 48 // 10 + 24
    for most in (limit, limit - 1):
        model = ScriptedModel(["ok"])
        agent = Agent(id="bare", model=model, input_processors=[limiter(most)])
        await agent.generate(history)
        assert len(model.prompts[0].messages) == count - (limit - most)


def test_where_no_user_has_spoken_the_newest_message_stays() -> None:
    said = [PromptMessage(role, (PromptText("w"),)) for role in ("system", "assistant", "assistant")]
    assert kept(Weighed(said, [5.0] * 3, 0.0, 2), 38, "best-fit") == [0, 2]


def test_the_numbers_of_an_abort_are_exact() -> None:
    own = [PromptMessage("assistant", (PromptText("w"),), source="response") for _ in range(35)]
    found = kept(Weighed(own, [4.8] * 35, 0.0, 0), 191, "best-fit")
    assert isinstance(found, TooLong)
    assert found.numbers == {"limit": 191, "system": 0, "tools": 0, "newest": 5, "needed": 192}
