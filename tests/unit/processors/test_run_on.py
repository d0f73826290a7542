"""Processors and workflows without an agent."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from sluiceway import Message, Processor, Workflow
from sluiceway.errors import ConfigurationError, MergeConflict, MessageError, ModelError, ProcessorError
from sluiceway.messages import Chunk, MessageList
from sluiceway.processors import (
    InputResult,
    LLMRequest,
    PIIDetector,
    Retry,
    StepOverrides,
    Violation,
    hooks_of,
    run_on,
)
from tests.support.streams import Window
from tests.support.tasks import living_tasks, settle

pytestmark = pytest.mark.anyio

MAIL = "mail a@b.com now"
SHOWN = "mail *@*.com now"


async def test_a_text_is_a_user_message() -> None:
    call = await PIIDetector().run_on(MAIL)

    assert [(message.role, message.text) for message in call.messages] == [("user", SHOWN)]
    assert (call.hook, call.text, call.tripwire) == ("process_input", SHOWN, None)
    assert [violation.message for violation in call.violations] == ["email found in the input"]


async def test_what_the_caller_gave_stays_as_it_is() -> None:
    given = Message(MAIL)
    call = await PIIDetector().run_on([given, {"role": "system", "content": "be kind"}])
    assert (given.text, call.text, [s.text for s in call.system_messages]) == (MAIL, SHOWN, ["be kind"])


async def test_a_message_list_is_edited_in_place() -> None:
    messages = MessageList()
    messages.add(MAIL)
    call = await PIIDetector().run_on(messages)
    assert (call.message_list is messages, messages.all[0].text) == (True, SHOWN)


async def test_an_abort_is_a_tripwire_of_the_call_and_a_violation() -> None:
    told: list[Violation] = []
    guard = PIIDetector(strategy="block", on_violation=told.append)

    call = await guard.run_on(MAIL)

    assert (call.tripwire.reason, call.tripwire.processor_id) == ("email found in the input", "pii-detector")
    assert call.violations == tuple(told)
    assert call.text == MAIL


@pytest.mark.parametrize("hook", [hook for hook in hooks_of(PIIDetector()) if hook != "process_input"])
async def test_every_hook_takes_the_text_it_is_about(hook: Any) -> None:
    assert (await PIIDetector().run_on(MAIL, hook=hook)).text == SHOWN


async def test_the_answer_is_what_follows_the_last_user_message() -> None:
    seen: list[list[str]] = []

    def run(ctx: Any) -> None:
        seen.append([ctx.result.text, *(message.text for message in ctx.messages)])

    look = Processor.of("look", process_output_result=run)
    said = [{"role": role, "content": text} for role, text in [("user", "a"), ("assistant", "b"), ("user", "c")]]

    await look.run_on([*said, {"role": "assistant", "content": "d"}], hook="process_output_result")
    await look.run_on("e", hook="process_output_result")

    assert seen == [["d", "d"], ["e", "e"]]


async def test_a_steps_hook_sees_text_and_calls_of_the_answer() -> None:
    seen: list[Any] = []

    def look(ctx: Any) -> None:
        seen.append((ctx.text, [(c.tool_name, dict(c.args)) for c in ctx.tool_calls], ctx.finish_reason))

    reply = {"role": "assistant", "content": "hm", "tool_calls": [{"id": "1", "name": "t", "args": {"q": 1}}]}
    await Processor.of("look", process_output_step=look).run_on(
        ["hi", reply], hook="process_output_step", info={"finish_reason": "tool-calls"}
    )
    assert seen == [("hm", [("t", {"q": 1})], "tool-calls")]


async def test_a_tools_result_is_what_the_tool_returned() -> None:
    seen: list[Any] = []

    def look(ctx: Any) -> None:
        seen.append((ctx.tool_name, ctx.tool_call_id, ctx.result))
        ctx.message_list.update_tool_result(ctx.tool_call_id, {"n": 2})

    call = await Processor.of("look", process_tool_result=look).run_on(
        {"n": 1}, hook="process_tool_result", info={"tool_name": "lookup"}
    )
    assert (seen, call.text) == ([("lookup", "call-1", {"n": 1})], "{'n': 2}")


async def test_prompt_overrides_and_retry_come_back() -> None:
    processor = Processor.of(
        "p",
        process_input=lambda ctx: InputResult(system_messages=["new"]),
        process_input_step=lambda ctx: StepOverrides(tool_choice="none"),
        process_llm_request=lambda ctx: LLMRequest(prompt=ctx.prompt.map_text(str.upper)),
        process_api_error=lambda ctx: Retry() if ctx.error.status == 429 else None,
    )
    first = await processor.run_on("hi")
    step = await processor.run_on("hi", hook="process_input_step")
    request = await processor.run_on("hi", hook="process_llm_request")
    refused = await processor.run_on(ModelError("slow down", status=429), hook="process_api_error")

    assert [message.text for message in first.system_messages] == ["new"]
    assert step.overrides["tool_choice"] == "none"
    assert request.prompt is not None
    assert [message.text for message in request.prompt.messages] == ["HI"]
    assert (refused.retry, (await processor.run_on("hi", hook="process_api_error")).retry) == (Retry(), None)


async def test_chunks_that_came_out_before_an_abort_stay() -> None:
    def refuse(ctx: Any, text: str) -> None:
        if "bad" in text:
            ctx.abort("no")

    chunks = [Chunk("text-delta", {"id": "t", "text": text}) for text in ("good", "fine", "bad!", "more")]
    call = await Window("window", 4, looks=refuse).run_on(chunks, hook="process_output_stream")
    assert (call.text, call.tripwire.reason) == ("goodfine", "no")


async def test_data_that_a_hook_wrote_is_in_the_parts() -> None:
    async def tells(ctx: Any) -> None:
        await ctx.writer.custom("data-x", 1)

    call = await Processor.of("tells", process_input=tells).run_on("hi")
    assert [(part.type, part.data) for part in call.parts] == [("data-x", 1)]


async def test_a_workflow_runs_open_and_committed() -> None:
    workflow = Workflow("w").parallel([PIIDetector(), PIIDetector(id="other", detection_types=["phone"])])
    text = "a@b.com or +1 415 555 2671"
    opened, committed = await workflow.run_on(text), await workflow.commit().run_on(text)
    assert opened.text == committed.text
    assert "415" not in opened.text
    assert "a@b" not in opened.text


async def test_a_conflict_and_a_failing_hook_are_raised() -> None:
    def says(name: str) -> Processor:
        def run(ctx: Any) -> None:
            ctx.messages[0].parts[0].text = name

        return Processor.of(name, process_input=run)

    with pytest.raises(MergeConflict):
        await Workflow("w").parallel([says("one"), says("two")]).run_on("hi")
    with pytest.raises(ProcessorError, match="division by zero"):
        await Processor.of("broken", process_input=lambda ctx: 1 / 0).run_on("hi")


async def test_what_cannot_run_is_told() -> None:
    with pytest.raises(ConfigurationError, match="nothing here has process_llm_request; there is: process_input"):
        await PIIDetector().run_on("hi", hook="process_llm_request")
    with pytest.raises(ConfigurationError, match="no hook 'process_inptu'"):
        await PIIDetector().run_on("hi", hook="process_inptu")  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="a text or chunks, not dict"):
        await PIIDetector().run_on([{}], hook="process_output_stream")
    with pytest.raises(MessageError, match="no call 'x'"):
        await PIIDetector().run_on({"role": "tool", "tool_call_id": "x", "content": "7"})
    with pytest.raises(ConfigurationError, match="twice"):
        await run_on([PIIDetector(), PIIDetector()], "hi")


async def test_a_workflow_of_processors_has_no_run_of_its_own() -> None:
    with pytest.raises(ConfigurationError, match=r"w\.run_on\(messages\)"):
        await Workflow("w").then(PIIDetector()).commit().run("hi")


# -- many


class Slow(Processor):
    """Takes longer for earlier texts, and counts how many it works on at once."""

    def __init__(self) -> None:
        super().__init__("slow")
        self.at_work = self.most = 0
        self.ended: list[str] = []

    async def process_input(self, ctx: Any) -> None:
        """Wait."""
        text = ctx.messages[0].text
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            for _ in range(20 - 2 * int(text)):
                await anyio.lowlevel.checkpoint()
            if text == "5":
                ctx.warn("five")
        finally:
            self.at_work -= 1
            self.ended.append(text)


def texts(taken: list[int], n: int = 10) -> Iterator[str]:
    for number in range(n):
        taken.append(number)
        yield str(number)


async def test_many_come_back_in_their_order_a_few_at_a_time() -> None:
    slow = Slow()
    calls = [call async for call in slow.run_on_many(texts([]), concurrency=3)]
    assert [call.text for call in calls] == [str(n) for n in range(10)]
    assert [len(call.violations) for call in calls] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert slow.most == 3
    assert slow.ended != [str(n) for n in range(10)]


async def test_no_more_texts_are_taken_than_may_run() -> None:
    taken: list[int] = []
    calls = Slow().run_on_many(texts(taken, 100), concurrency=4)
    async with aclosing(calls):
        for given in range(1, 20):
            await anext(calls)
            await settle(50)
            assert len(taken) == given + 4


async def test_an_async_iterable_that_is_slow_does_not_keep_results_back() -> None:
    more = anyio.Event()
    closed: list[bool] = []

    async def source() -> AsyncGenerator[str, None]:
        try:
            yield "1"
            await more.wait()
            yield "2"
        finally:
            closed.append(True)

    calls = Workflow("w").then(Slow()).run_on_many(source(), concurrency=4)
    with anyio.fail_after(2):
        async with aclosing(calls):
            assert (await anext(calls)).text == "1"
            more.set()
            assert [call.text async for call in calls] == ["2"]
    assert closed == [True]


async def test_leaving_early_ends_what_runs() -> None:
    slow, before = Slow(), living_tasks()
    closed: list[bool] = []

    async def source() -> AsyncGenerator[str, None]:
        try:
            for n in range(10):
                yield str(n)
        finally:
            closed.append(True)

    async with aclosing(slow.run_on_many(source(), concurrency=4)) as calls:
        async for _ in calls:
            break
    assert (slow.at_work, closed, living_tasks()) == (0, [True], before)


async def test_a_reader_that_is_cancelled_leaves_nothing_behind() -> None:
    before = living_tasks()
    hangs = Processor.of("hangs", process_input=lambda ctx: anyio.sleep_forever())
    with anyio.move_on_after(0.02):
        async for _ in hangs.run_on_many(["a", "b"]):
            pass
    gc.collect()
    await settle()
    assert living_tasks() == before


async def test_an_error_is_raised_when_it_is_its_turn() -> None:
    def run(ctx: Any) -> None:
        if ctx.messages[0].text == "2":
            raise ValueError("two")

    many = Processor.of("p", process_input=run).run_on_many(texts([]), concurrency=8)
    assert [(await anext(many)).text, (await anext(many)).text] == ["0", "1"]
    with pytest.raises(ProcessorError, match="two"):
        await anext(many)


async def test_an_error_of_the_texts_is_raised_behind_those_before_it() -> None:
    def breaks() -> Iterator[str]:
        yield "1"
        raise OSError("gone")

    many = Slow().run_on_many(breaks())
    assert (await anext(many)).text == "1"
    with pytest.raises(OSError, match="gone"):
        await anext(many)


async def test_each_has_a_request_context_of_its_own() -> None:
    def counts(ctx: Any) -> None:
        ctx.request_context.set("n", ctx.request_context.get("n", 0) + 1)
        ctx.warn(str(ctx.request_context["n"]))

    many = Processor.of("counts", process_input=counts).run_on_many(["a", "b"], request_context={"n": 1})
    assert [call.violations[0].message async for call in many] == ["2", "2"]


async def test_a_count_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="concurrency=0"):
        PIIDetector().run_on_many([], concurrency=0)


async def test_a_reply_in_what_came_in_is_part_of_it() -> None:
    seen: list[Any] = []
    look = Processor.of("look", process_input=lambda ctx: seen.append([m.text for m in ctx.messages]))
    call = await look.run_on([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert seen == [["a", "b"]]
    assert [call.message_list.source_of(message.id) for message in call.message_list.all] == ["input", "input"]


async def test_a_request_that_is_answered_goes_no_further() -> None:
    asked: list[str] = []

    def answers(ctx: Any) -> LLMRequest:
        asked.append("answers")
        return LLMRequest(response=[Chunk("text-delta", {"id": "t", "text": "x"})])

    first = Processor.of("first", process_llm_request=answers)
    second = Processor.of("second", process_llm_request=lambda ctx: asked.append("second"))
    call = await run_on([first, second], "hi", hook="process_llm_request")
    assert asked == ["answers"]
    assert call.response is not None


async def test_a_tools_call_has_the_name_that_was_given() -> None:
    seen: list[Any] = []

    def look(ctx: Any) -> None:
        part = ctx.message_list.find_call(ctx.tool_call_id)
        seen.append((ctx.tool_name, part.tool_name, part.args))

    info = {"tool_name": "fetch", "args": {"q": 1}}
    await Processor.of("look", process_tool_result=look).run_on("got", hook="process_tool_result", info=info)
    assert seen == [("fetch", "fetch", {"q": 1})]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_settings": 3}, "StepOverrides(model_settings=…) takes a mapping, not int"),
        ({"provider_options": [1]}, "StepOverrides(provider_options=…) takes a mapping, not list"),
        ({"active_tools": "all"}, "StepOverrides(active_tools=…) takes a list of names, not 'all'"),
        ({"active_tools": {"a"}}, "StepOverrides(active_tools=…) takes a list of names, not {'a'}"),
        ({"max_steps": 0}, "StepOverrides(max_steps=0): give a whole number from 1"),
        ({"max_steps": True}, "StepOverrides(max_steps=True): give a whole number from 1"),
    ],
)
async def test_an_override_of_a_wrong_kind_says_which(fields: dict[str, Any], message: str) -> None:
    wrong = Processor.of("wrong", process_input_step=lambda ctx: StepOverrides(**fields))
    with pytest.raises((ConfigurationError, ProcessorError)) as caught:
        await wrong.run_on("hi", hook="process_input_step")
    assert message in str(caught.value)


async def test_what_was_warned_of_before_an_abort_is_told_too() -> None:
    told: list[Violation] = []

    def judge(ctx: Any) -> None:
        ctx.warn("first", {"n": 1})
        ctx.abort("then")

    call = await Processor.of("judge", process_input=judge, on_violation=told.append).run_on("hi")
    assert [(one.message, one.detail) for one in told] == [("first", {"n": 1}), ("then", None)]
    assert call.tripwire.reason == "then"
