"""`PIIDetector` in an agent: what client, model and store see."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway import Agent, Message, Processor
from sluiceway.messages import Chunk, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import PIIDetector, StreamContext
from tests.support.judges import FlagsPlace
from tests.support.models import ChunkModel, deltas
from tests.support.pii_texts import cuts, pieces, texts
from tests.support.runs import calls_tool, collect, lines, make_agent, reply_parts

pytestmark = pytest.mark.anyio


def detector(*types: Any, **options: Any) -> tuple[PIIDetector, list[Any]]:
    seen: list[Any] = []
    made = PIIDetector(
        detection_types=types or ["email"], on_violation=lambda v: seen.append((v.message, v.detail)), **options
    )
    return made, seen


def chunked(*chunks: Chunk, guard: PIIDetector, **options: Any) -> Agent:
    model = ChunkModel([*chunks, Chunk("finish", {"reason": "stop"})])
    return Agent(id="a", model=model, output_processors=[guard], **options)


async def test_input_is_redacted_before_the_model_sees_it() -> None:
    guard, seen = detector("email", "ssn", redaction_method="placeholder")
    agent, model = make_agent("ok", input_processors=[guard])
    await agent.generate("I am ann@example.org, 123-45-6780")
    assert lines(model.prompts[0])[-1] == "user: I am [EMAIL], [SSN]"
    entries = [{"rule": "email", "offset": 5, "length": 15}, {"rule": "ssn", "offset": 22, "length": 11}]
    assert seen == [("email, ssn found in the input", entries)]


async def test_filter_takes_the_message_out() -> None:
    guard, seen = detector(strategy="filter")
    agent, model = make_agent("ok", input_processors=[guard])
    await agent.generate(["hello", "I am ann@example.org"])
    assert lines(model.prompts[0])[-1] == "user: hello"
    assert len(seen) == 1


async def test_filter_of_everything_ends_the_call() -> None:
    guard, _ = detector(strategy="filter")
    agent, model = make_agent("ok", input_processors=[guard])
    result = await agent.generate("I am ann@example.org")
    assert (result.finish_reason, len(model.prompts)) == ("other", 0)


async def test_block_says_where_and_never_what() -> None:
    guard, seen = detector(strategy="block")
    agent, _ = make_agent("ok", input_processors=[guard])
    result = await agent.generate("I am ann@example.org")
    assert result.tripwire is not None
    assert result.tripwire.reason == "email found in the input"
    assert result.tripwire.metadata == {
        "types": ["email"],
        "detections": [{"rule": "email", "offset": 5, "length": 15}],
    }
    assert len(seen) == 1


async def test_warn_changes_nothing_and_holds_nothing() -> None:
    guard, seen = detector(strategy="warn")
    agent, _ = make_agent(["I am ann@", "example.org"], output_processors=[guard])
    ran = await collect(agent, "hi")
    assert [chunk.text for chunk in ran.of("text-delta")] == ["I am ann@", "example.org"]
    assert seen == [("email found in the answer", [{"rule": "email", "offset": 5, "length": 15}])]


async def test_filter_takes_the_finding_out_of_the_answer() -> None:
    guard, _ = detector(strategy="filter")
    agent, _ = make_agent(["I am ann@", "example.org!"], output_processors=[guard])
    ran = await collect(agent, "hi")
    assert ran.emitted == ran.result.text == "I am !"


async def test_a_guard_that_finds_nothing_passes_the_very_chunks() -> None:
    guard, _ = detector()
    given_chunks = deltas("one two ", "three. ", "", "four ")
    ran = await collect(chunked(*given_chunks, guard=guard), "hi")
    assert [chunk.text for chunk in ran.of("text-delta")] == ["one two ", "three. ", "", "four "]


async def test_blocks_do_not_mix() -> None:
    """Two blocks whose deltas come in turn, and reasoning, each have a window of their own."""
    guard, _ = detector(redaction_method="placeholder")
    chunks = [
        Chunk("reasoning-start", {"id": "r"}),
        Chunk("text-start", {"id": "a"}),
        Chunk("text-start", {"id": "b"}),
        Chunk("reasoning-delta", {"id": "r", "text": "mail eve@"}),
        Chunk("text-delta", {"id": "a", "text": "ann@"}),
        Chunk("text-delta", {"id": "b", "text": "bob@"}),
        Chunk("reasoning-delta", {"id": "r", "text": "x.org"}),
        Chunk("text-delta", {"id": "a", "text": "x.org"}),
        Chunk("text-delta", {"id": "b", "text": " y.org"}),
        Chunk("reasoning-end", {"id": "r"}),
        Chunk("text-end", {"id": "b"}),
        Chunk("text-end", {"id": "a"}),
    ]
    ran = await collect(chunked(*chunks, guard=guard), "hi")
    out: dict[str, str] = {}
    for chunk in ran.of("text-delta", "reasoning-delta"):
        out[chunk.get("id")] = out.get(chunk.get("id"), "") + chunk.text
    assert out == {"r": "mail [EMAIL]", "a": "[EMAIL]", "b": "bob@ y.org"}


async def test_a_block_that_is_never_ended_is_flushed() -> None:
    guard, _ = detector(redaction_method="placeholder")
    chunks = [Chunk("text-start", {"id": "a"}), Chunk("text-delta", {"id": "a", "text": "to ann@x.org"})]
    ran = await collect(chunked(*chunks, guard=guard), "hi")
    assert ran.emitted == ran.result.text == "to [EMAIL]"


async def test_surfaces_that_are_switched_off_pass() -> None:
    guard, seen = detector(surfaces=["text"], redaction_method="placeholder")
    agent, _ = make_agent(Reply(reasoning=["ann@x.org"], text=["bob@x.org"]), output_processors=[guard])
    ran = await collect(agent, "hi")
    assert "".join(c.text for c in ran.of("reasoning-delta")) == "ann@x.org"
    assert ran.emitted == "[EMAIL]"
    assert len(seen) == 1


def tool_agent(guard: PIIDetector, ran_with: list[Any], **options: Any) -> Any:
    def lookup(email: str, meta: dict[str, Any]) -> dict[str, Any]:
        """Look somebody up."""
        ran_with.append((email, meta))
        return {"mail": "eve@corp.test", "card": 4111111111111111, "flags": [True, None, 1.5]}

    call = calls_tool("lookup", {"email": "bob@corp.test", "meta": {"cc": ["eve@corp.test"], "n": 3}})
    return make_agent(Reply(tool_calls=[call]), "done", tools=[lookup], output_processors=[guard], **options)


async def test_arguments_and_results_are_redacted_for_everyone_but_the_tool() -> None:
    guard, seen = detector("email", "credit-card", redaction_method="placeholder")
    ran_with: list[Any] = []
    agent, model = tool_agent(guard, ran_with)
    ran = await collect(agent, "hi")
    args = {"email": "[EMAIL]", "meta": {"cc": ["[EMAIL]"], "n": 3}}
    result = {"mail": "[EMAIL]", "card": 0, "flags": [True, None, 1.5]}
    assert ran_with == [("bob@corp.test", {"cc": ["eve@corp.test"], "n": 3})]
    assert ran.of("tool-call")[0].get("args") == args
    assert ran.of("tool-result")[0].get("result") == result
    part = next(p for p in reply_parts(ran.result) if isinstance(p, ToolPart))
    assert (part.args, part.result) == (args, result)
    assert "corp.test" not in "".join(lines(model.prompts[1]))
    assert [message for message, _ in seen] == [
        "email found in the arguments of 'lookup'",
        "email, credit-card found in the result of 'lookup'",
    ]
    assert [entry["path"] for _, detail in seen for entry in detail] == ["/email", "/meta/cc/0", "/mail", "/card"]


async def test_redact_before_tools_gives_the_tool_what_everyone_sees() -> None:
    guard, _ = detector(redaction_method="placeholder", redact_before_tools=True)
    ran_with: list[Any] = []
    agent, _ = tool_agent(guard, ran_with)
    await agent.generate("hi")
    assert ran_with == [("[EMAIL]", {"cc": ["[EMAIL]"], "n": 3})]


async def test_a_blocked_call_does_not_run() -> None:
    guard, _ = detector(strategy="block")
    ran_with: list[Any] = []
    agent, _ = tool_agent(guard, ran_with)
    result = await agent.generate("hi")
    assert (result.finish_reason, ran_with) == ("other", [])


async def test_the_error_of_a_tool_is_redacted() -> None:
    def fail() -> str:
        """Fail."""
        raise ValueError("no such user: bob@corp.test")

    guard, _ = detector(redaction_method="placeholder")
    agent, model = make_agent(Reply(tool_calls=[calls_tool("fail")]), "done", tools=[fail], output_processors=[guard])
    ran = await collect(agent, "hi")
    assert "bob@corp.test" not in str(ran.of("tool-error")[0].payload)
    assert "bob@corp.test" not in str([part.error for part in reply_parts(ran.result) if isinstance(part, ToolPart)])
    assert "bob@corp.test" not in "".join(lines(model.prompts[1]))


async def test_a_result_among_the_input_is_redacted_with_what_the_model_sees_of_it() -> None:
    part = ToolPart("t", "c1", {"q": "x"}, "result", {"mail": "ann@x.org"}, model_output="mail ann@x.org")
    guard, _ = detector(redaction_method="placeholder")
    agent, model = make_agent("ok", input_processors=[guard])
    await agent.generate([Message(role="assistant", parts=[part]), "go on"])
    assert "ann@x.org" not in "".join(lines(model.prompts[0]))
    assert "mail [EMAIL]" in "".join(lines(model.prompts[0]))


async def test_what_was_passed_is_looked_at_again_only_if_it_changed() -> None:
    """The word of a type stands in its own placeholder; a second look would wrap it once more."""
    guard, seen = detector({"secret": r"(?i)secret"}, redaction_method="placeholder")
    agent, _ = make_agent(["my sec", "ret"], output_processors=[guard])
    ran = await collect(agent, "hi")
    assert ran.emitted == ran.result.text == "my [SECRET]"
    assert ran.result.edited_after_stream is False
    assert len(seen) == 1

    def append(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                part.text += " ann@x.org"

    later, _ = detector(redaction_method="placeholder")
    changes = Processor.of("append", process_output_result=append)
    agent, _ = make_agent("hello", output_processors=[changes, later])
    assert (await agent.generate("hi")).text == "hello [EMAIL]"


async def test_an_argument_that_was_passed_is_not_looked_at_again() -> None:
    """Neither with the result on the stream nor in the reply."""
    looked: list[tuple[str, str]] = []

    class Counting(PIIDetector):
        def find(self, ctx: Any, text: str) -> Any:
            looked.append((ctx.hook, text))
            return super().find(ctx, text)

    def lookup(who: str) -> int:
        """Look somebody up."""
        return 1

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("lookup", {"who": "nobody"})]),
        "done",
        tools=[lookup],
        output_processors=[Counting()],
    )
    await collect(agent, "hi")
    assert [hook for hook, text in looked if text == "nobody"] == ["process_output_stream"]


async def test_objects_are_looked_at_while_they_grow() -> None:
    guard, seen = detector(redaction_method="placeholder")
    chunks = [
        Chunk("object", {"object": {"a": "x@y.org", "b": "ann@exa"}, "final": False}),
        Chunk("object", {"object": {"a": "x@y.org", "b": "to ann@example.org"}, "final": True}),
    ]
    ran = await collect(chunked(*chunks, *deltas("ok"), guard=guard), "hi")
    assert [chunk.get("object") for chunk in ran.of("object")] == [
        {"a": "[EMAIL]", "b": ""},
        {"a": "[EMAIL]", "b": "to [EMAIL]"},
    ]
    assert len(seen) == 1


async def test_a_match_that_outgrows_the_limit_ends_the_run() -> None:
    guard, _ = detector({"run": r"x[a-z]+x!"}, max_hold_chars=300)
    agent, _ = make_agent(["ok: x", *["abc" * 10] * 40], output_processors=[guard])
    ran = await collect(agent, "hi")
    assert ran.result.tripwire is not None
    assert "outgrew the 300 characters" in ran.result.tripwire.reason
    assert ran.emitted == "ok: "


@pytest.mark.parametrize("error_strategy", ["strict", "warn"])
async def test_a_pattern_that_takes_too_long(error_strategy: Any, caplog: pytest.LogCaptureFixture) -> None:
    guard, _ = detector({"bomb": r"(?:a|aa|aaa)+$"}, error_strategy=error_strategy, max_hold_chars=100_000)
    object.__setattr__(guard.detector.rules[0], "timeout_s", 0.02)
    text = "a" * 4000 + "b"
    into, _ = make_agent("fine", input_processors=[guard])
    out, _ = make_agent([text, " end"], output_processors=[guard])
    with caplog.at_level(logging.WARNING):
        asked, answered = await into.generate(text), await collect(out, "hi")
    if error_strategy == "strict":
        assert asked.tripwire is not None
        assert answered.result.tripwire is not None
        assert (asked.tripwire.metadata, answered.emitted) == ({"status": "not checked"}, "")
        reasons = {asked.tripwire.reason, answered.result.tripwire.reason}
        assert reasons == {"processor 'pii-detector' could not check a text: a pattern took too long"}
    else:
        assert (asked.text, answered.emitted) == ("fine", text + " end")
        assert any("let through" in record.message for record in caplog.records)


async def test_only_the_last_message_if_asked() -> None:
    guard, _ = detector(last_message_only=True, redaction_method="placeholder")
    agent, model = make_agent("ok", input_processors=[guard])
    await agent.generate(["ann@x.org", "bob@x.org"])
    assert lines(model.prompts[0])[-2:] == ["user: ann@x.org", "user: [EMAIL]"]


async def test_one_object_serves_many_runs() -> None:
    guard, _ = detector(redaction_method="placeholder")
    before = dict(vars(guard))
    agent, _ = make_agent(["mail ann@"], ["x.org"], output_processors=[guard])
    texts_out = [(await agent.generate("hi")).text for _ in range(2)]
    assert texts_out == ["mail ann@", "x.org"]
    assert dict(vars(guard)) == before


@given(texts(), st.data())
async def test_streamed_text_is_the_result_and_the_redaction_of_the_whole(text: str, data: st.DataObject) -> None:
    parts = pieces(text, data.draw(cuts(text)))
    agent, _ = make_agent(parts, output_processors=[PIIDetector()])
    whole, _ = make_agent([text], output_processors=[PIIDetector()])
    ran = await collect(agent, "hi")
    assert ran.emitted == ran.result.text == (await whole.generate("hi")).text
    assert ran.result.edited_after_stream is False


@pytest.mark.parametrize("detector", [None, FlagsPlace("Maria", "name")], ids=["rules", "windows"])
async def test_blocks_that_come_mixed_up_are_not_gone_through_for_each_delta(
    detector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or thousands of them would take the square of their number."""
    listed: list[StreamContext] = []
    monkeypatch.setattr(StreamContext, "held_blocks", property(lambda ctx: listed.append(ctx) or ()))
    mixed = [
        Chunk("text-delta", {"id": f"b{number}", "text": text})
        for text in ("ann@", "example.org ")
        for number in range(20)
    ]
    model = ChunkModel([*mixed, Chunk("finish", {"reason": "stop"})])
    agent = Agent(id="a", model=model, output_processors=[PIIDetector(detector=detector)])

    assert (await collect(agent, "hi")).emitted == "a*n@*******.org " * 20
    assert listed == []
