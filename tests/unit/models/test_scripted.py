"""ScriptedModel and EchoModel: what tests and first steps talk to."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway.errors import ConfigurationError, ModelError, TripWire
from sluiceway.messages import Chunk, Prompt, PromptMessage, PromptText, Usage
from sluiceway.models import EchoModel, Model, ModelRequest, Reply, ScriptedModel

pytestmark = pytest.mark.anyio


def asked(*texts: str, run_id: str = "r") -> ModelRequest:
    messages = tuple(PromptMessage("user", (PromptText(text),)) for text in texts)
    return ModelRequest(Prompt(messages), run_id=run_id)


async def answer(model: Model, request: ModelRequest | None = None) -> list[Chunk]:
    async with model.stream(request or asked("hi")) as chunks:
        return [chunk async for chunk in chunks]


def shown(chunks: list[Chunk]) -> list[tuple[str, dict[str, Any]]]:
    return [(chunk.type, dict(chunk.payload)) for chunk in chunks]


async def test_a_reply_is_sent_as_reasoning_text_calls_and_finish() -> None:
    usage = Usage(3, 4)
    call = {"id": "c1", "name": "t", "args": {"a": [1]}}
    reply = Reply(text=["a", "b"], reasoning=["th", "ink"], tool_calls=[call], usage=usage)
    assert shown(await answer(ScriptedModel([reply]))) == [
        ("reasoning-start", {"id": "reasoning-1"}),
        ("reasoning-delta", {"id": "reasoning-1", "text": "th"}),
        ("reasoning-delta", {"id": "reasoning-1", "text": "ink"}),
        ("reasoning-end", {"id": "reasoning-1"}),
        ("text-start", {"id": "text-1"}),
        ("text-delta", {"id": "text-1", "text": "a"}),
        ("text-delta", {"id": "text-1", "text": "b"}),
        ("text-end", {"id": "text-1"}),
        (
            "tool-call",
            {"tool_call_id": "c1", "tool_name": "t", "args": {"a": [1]}, "provider_executed": False},
        ),
        ("finish", {"reason": "tool-calls", "usage": usage}),
    ]


@pytest.mark.parametrize(
    ("reply", "deltas", "reason"),
    [
        ("hello", ["hello"], "stop"),
        ("", [], "stop"),
        (["a", "b"], ["a", "b"], "stop"),
        ({"text": ["a", "b"]}, ["a", "b"], "stop"),
        ({"text": "ab", "finish_reason": "length"}, ["ab"], "length"),
        (Reply("ab"), ["ab"], "stop"),
        ({"tools": [{"id": "c", "name": "t", "args": {}}]}, [], "tool-calls"),
        ({"tools": [{"id": "c", "name": "t", "args": {}}], "finish_reason": "stop"}, [], "stop"),
        ({"text": [], "usage": {"input_tokens": 1}}, [], "stop"),
    ],
)
async def test_every_form_of_a_reply_is_understood(reply: Any, deltas: list[str], reason: str) -> None:
    chunks = await answer(ScriptedModel([reply]))
    assert [chunk.text for chunk in chunks if chunk.type == "text-delta"] == deltas
    assert chunks[-1].get("reason") == reason
    assert {chunk.run_id for chunk in chunks} == {"r"}


async def test_one_reply_per_call_and_the_last_one_repeats() -> None:
    model = ScriptedModel(["one", "two"])
    texts = ["".join(chunk.text for chunk in await answer(model)) for _ in range(4)]
    assert texts == ["one", "two", "two", "two"]


async def test_it_records_what_it_was_given() -> None:
    model = ScriptedModel("ok")
    requests = [asked("a"), asked("b")]
    for request in requests:
        await answer(model, request)
    assert (model.calls, model.prompts) == (requests, [request.prompt for request in requests])


@pytest.mark.parametrize(
    ("error", "status", "retryable", "text"),
    [
        ({"status": 400, "message": "nope"}, 400, False, "nope"),
        ({"status": 429, "message": "slow down", "retry_after_s": 2}, 429, True, "slow down"),
        ({"status": 529}, 529, True, "the model refused"),
        ({"message": "odd", "retryable": True}, None, True, "odd"),
        ("gone", None, False, "gone"),
    ],
)
async def test_a_refusal_is_a_model_error_on_entering(
    error: Any, status: int | None, retryable: bool, text: str
) -> None:
    model = ScriptedModel([{"error": error}, "fine"])
    with pytest.raises(ModelError) as caught:
        await model.stream(asked("hi")).__aenter__()
    raised = caught.value
    assert (str(raised), raised.status, raised.retryable) == (text, status, retryable)
    assert (raised.provider, raised.model_id) == ("scripted", "scripted")
    assert raised.retry_after_s == (error.get("retry_after_s") if isinstance(error, dict) else None)
    assert (await answer(model))[1].text == "fine"


@pytest.mark.parametrize("error", [TripWire("stop"), ValueError("odd"), ModelError("own", status=402)])
async def test_an_exception_is_raised_as_it_is(error: BaseException) -> None:
    for reply in (Reply(error=error), Reply(text="a", stream_error=error)):
        with pytest.raises(type(error)) as caught:
            await answer(ScriptedModel([reply]))
        assert caught.value is error


async def test_a_stream_error_comes_after_everything_else_and_instead_of_the_end() -> None:
    reply = {"text": ["a"], "tools": [{"id": "c", "name": "t", "args": {}}], "stream_error": "upstream broke"}
    seen: list[str] = []

    async def read() -> None:
        async with ScriptedModel([reply]).stream(asked("hi")) as chunks:
            async for chunk in chunks:
                seen.append(chunk.type)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(ModelError, match=r"\Aupstream broke\Z"):
        await read()
    assert seen == ["text-start", "text-delta", "text-end", "tool-call"]


async def test_calls_without_an_id_get_one_of_their_own() -> None:
    model = ScriptedModel([Reply(tool_calls=[{"name": "t"}, {"name": "t"}])])
    ids = [c.get("tool_call_id") for _ in range(2) for c in await answer(model) if c.type == "tool-call"]
    assert ids == ["call-1-1", "call-1-2", "call-2-1", "call-2-2"]


async def test_what_a_tool_does_to_its_arguments_does_not_reach_the_script() -> None:
    model = ScriptedModel([Reply(tool_calls=[{"id": "c", "name": "t", "args": {"a": {"b": [1]}}}])])
    first = (await answer(model))[0].get("args")
    first["a"]["b"].append(2)
    assert (await answer(model))[0].get("args") == {"a": {"b": [1]}}


async def test_a_delay_is_slept_before_each_delta() -> None:
    model = ScriptedModel([Reply(["a", "b"], delay_s=0.02)])
    started = anyio.current_time()
    await answer(model)
    assert anyio.current_time() - started >= 0.039


async def test_two_calls_at_a_time_do_not_mix() -> None:
    model = ScriptedModel([["a", "b"], ["c", "d"]])
    async with model.stream(asked("x")) as one, model.stream(asked("y")) as two:
        pairs = [(await anext(one), await anext(two)) for _ in range(4)]
    assert [(left.text, right.text) for left, right in pairs] == [("", ""), ("a", "c"), ("b", "d"), ("", "")]


async def test_leaving_early_ends_the_stream() -> None:
    model = ScriptedModel([["a", "b"]])
    async with model.stream(asked("x")) as chunks:
        await anext(chunks)
    assert [chunk async for chunk in chunks] == []


@pytest.mark.parametrize(
    ("replies", "text"),
    [
        ([], "a ScriptedModel needs a reply"),
        ([{"txt": "a"}], "reply 0: unknown txt; there are delay_s, error, finish_reason, reasoning"),
        (["a", 5], "reply 1: a text, a list of deltas, a Reply or a dict, not int"),
        ([{"tools": [{"id": "c"}]}], "a scripted tool call needs a name: {'id': 'c'}"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused(replies: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedModel(replies)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("text", "deltas"),
    [
        ("hello big world", ["hello", " big", " world"]),
        (" a\n\nb ", [" a", "\n\nb "]),
        ("", []),
        ("  ", ["  "]),
    ],
)
async def test_the_echo_gives_the_newest_text_of_the_user_word_by_word(text: str, deltas: list[str]) -> None:
    chunks = await answer(EchoModel(), asked("older", text))
    assert [chunk.text for chunk in chunks if chunk.type == "text-delta"] == deltas
    assert dict(chunks[-1].payload) == {
        "reason": "stop",
        "usage": Usage(1 + len(text.split()), len(deltas), estimated=True),
    }


async def test_the_echo_has_nothing_to_say_to_nobody() -> None:
    assert [chunk.type for chunk in await answer(EchoModel(), asked())] == ["finish"]


def test_both_are_models_and_say_whether_they_answer_in_a_shape() -> None:
    scripted, echo = ScriptedModel("a", model_id="m", provider="p", structured=False), EchoModel()
    assert isinstance(scripted, Model)
    assert isinstance(echo, Model)
    assert (scripted.provider, scripted.model_id, scripted.structured) == ("p", "m", False)
    assert (echo.provider, echo.model_id, echo.structured) == ("echo", "echo", False)
