"""What a guardrail has put into a text is never edited again, whichever of its hooks meets it, and in whichever run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from sluiceway import Agent
from sluiceway.memory import InMemoryStore, Memory
from sluiceway.messages import Message, TextPart, ToolPart
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import PIIDetector, RegexFilterProcessor, SystemPromptScrubber
from tests.support.judges import FlagsPlace
from tests.support.models import deltas
from tests.support.pii_texts import cuts, pieces
from tests.support.runs import calls_tool, collect, lines, make_agent
from tests.support.storing import THREAD

pytestmark = pytest.mark.anyio

WORD = {"secret": r"(?i)secret"}


def pii(**options: Any) -> PIIDetector:
    return PIIDetector(detection_types=["email", WORD], **{"redaction_method": "placeholder", **options})


def guards() -> dict[str, tuple[Any, str]]:
    """Each with what it makes of `secret`."""
    rules = [{"name": "secret", "pattern": "(?i)secret", "replacement": "<secret>"}]
    return {
        "placeholder": (pii(), "[SECRET]"),
        "vault": (pii(reversible=True), "[SECRET_1]"),
        "hash": (
            PIIDetector(detection_types={"h": "(?i)secret|[0-9a-f]{8}"}, redaction_method="hash"),
            "[HASH:2bb80d53]",
        ),
        "detector": (
            PIIDetector(detector=FlagsPlace("secret", "name"), redaction_method="placeholder"),
            "[NAME]",
        ),
        "regex": (RegexFilterProcessor(rules=rules, strategy="redact"), "<secret>"),
    }


@pytest.mark.parametrize("name", guards())
async def test_arguments_that_come_back_as_results_are_as_they_were(name: str) -> None:
    guard, mark = guards()[name]

    def echo(q: str, body: str) -> dict[str, str]:
        """Say it again."""
        return {"said": f"you said {q}", "q": q, "body": body}

    args = {"q": "my secret", "body": '{"a": "my secret", "b": "{\\"c\\": \\"my secret\\"}"}'}
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("echo", args)]), f"ok {mark} secret", tools=[echo], output_processors=[guard]
    )
    done = await collect(agent, "hi")
    body = args["body"].replace("secret", mark)
    edited = {"q": f"my {mark}", "body": body}
    call, result = done.of("tool-call")[0], done.of("tool-result")[0]
    assert call.get("args") == result.get("args") == edited
    assert result.get("result") == {"said": f"you said my {mark}", **edited}
    assert done.emitted == done.result.text == f"ok {mark} {mark}"
    assert "secret" not in "".join(lines(model.prompts[1])).replace(mark, "")


@pytest.mark.parametrize("name", ["placeholder", "vault", "detector", "regex"])
async def test_a_history_is_as_it_was(name: str) -> None:
    guard, mark = guards()[name]
    memory = Memory(InMemoryStore())
    prompts: list[Any] = []
    for _ in range(3):
        agent, model = make_agent("hello secret", input_processors=[guard], output_processors=[guard], memory=memory)
        await collect(agent, "my secret", memory=THREAD)
        prompts = model.prompts
    shown = [message.text for message in prompts[0].messages if message.role != "system"]
    if name == "vault":  # each run counts for itself, on from what is written there
        assert all("[[" not in text and text.count("[SECRET_") == 1 for text in shown)
    else:
        assert shown == [f"my {mark}", f"hello {mark}"] * 2 + [f"my {mark}"]


async def test_what_a_removal_leaves_is_final() -> None:
    guard = PIIDetector(detection_types=WORD, redaction_method="remove")

    def echo(q: str) -> str:
        """Say it again."""
        return q

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("echo", {"q": "seSECRETcret"})]), "ok", tools=[echo], output_processors=[guard]
    )
    done = await collect(agent, "hi")
    assert [done.of(kind)[0].get("args") for kind in ("tool-call", "tool-result")] == [{"q": "secret"}] * 2


async def test_a_report_is_no_edit() -> None:
    told: list[Any] = []
    guard = PIIDetector(detection_types=WORD, redaction_method="remove", strategy="warn", on_violation=told.append)

    def again() -> list[str]:
        """Say more."""
        return ["seSECRETcret", "secret"]

    agent, _ = make_agent(Reply(tool_calls=[calls_tool("again")]), "ok", tools=[again], output_processors=[guard])
    await collect(agent, "hi")
    assert {entry["path"] for entry in told[0].detail} == {"/0", "/1"}


async def test_what_was_taken_out_makes_nothing_final() -> None:
    guard = PIIDetector(detection_types=WORD, strategy="filter")
    agent, model = make_agent("ok", input_processors=[guard])
    called = Message(role="assistant", parts=[ToolPart("read", "c1", {}, "result", "seSECRETcret")])
    await agent.generate([called, Message("secret"), Message("hi")])
    assert [message.text for message in model.prompts[0].messages if message.role != "system"] == ["hi"]


async def test_the_texts_of_a_user_are_final_joined_and_apart() -> None:
    guard = pii(redaction_method="remove")
    agent, model = make_agent("ok", input_processors=[guard], output_processors=[guard])
    await agent.generate(Message(role="user", parts=[TextPart("seSEC"), TextPart("RETcret and sesecretcret")]))
    assert model.prompts[0].messages[-1].text == "secret and secret"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[SECRET]", "[SECRET]"),
        ("[SECRET", "[[SECRET]"),
        ("[secret]", "[[SECRET]]"),
        ("[SECRET]@x.org [SECRET] secret", "[SECRET]@x.org [SECRET] [SECRET]"),
        ("a.SECRET@x.org", "[EMAIL]"),
        ("[EMAIL] ann@x.org", "[EMAIL] [EMAIL]"),
    ],
)
async def test_what_only_looks_like_a_placeholder_is_looked_at(text: str, shown: str) -> None:
    agent, model = make_agent("ok", input_processors=[pii()])
    await agent.generate(text)
    assert model.prompts[0].messages[-1].text == shown


@pytest.mark.parametrize("method", ["placeholder", "hash"])
async def test_a_value_in_the_shape_of_what_was_put_in_is_found(method: Any) -> None:
    guard = PIIDetector(
        detection_types={"n": "[0-9]{4,8}"}, redaction_method=method, reversible=method == "placeholder"
    )
    agent, _ = make_agent("see [HASH:12345678] and [N_1234]", output_processors=[guard])
    done = await collect(agent, "hi")
    assert "1234" not in done.emitted


async def test_a_system_message_may_say_the_placeholder() -> None:
    guard = SystemPromptScrubber(redaction_method="placeholder")
    model = ScriptedModel(["It is [SYSTEM_PROMPT]: system prompt."])
    agent = Agent(id="a", model=model, instructions="System prompt", output_processors=[guard])
    assert (await collect(agent, "hi")).emitted == "It is [SYSTEM_PROMPT]: [SYSTEM_PROMPT]."


TEXT = r"a [SECRET] b [SECRET c [[SECRET]] secret \u005bSECRET] [EMAIL]x [SECRET]@x.org SECRET] sec"
SHOWN = {
    "placeholder": r"a [SECRET] b [[SECRET] c [[SECRET]] [SECRET] \u005bSECRET] [EMAIL]x [SECRET]@x.org [SECRET]] sec",
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("name", ["placeholder", "detector", "regex"])
@given(cuts(TEXT))
@settings(max_examples=40)
async def test_any_cut_gives_the_same(name: str, at: list[int]) -> None:
    guard, _ = guards()[name]
    chunks = deltas(*pieces(TEXT, at))
    ran = await guard.run_on(chunks, hook="process_output_stream")
    whole = await guard.run_on([Message(TEXT, role="assistant")], hook="process_output_result")
    streamed = "".join(chunk.text for chunk in ran.parts if chunk.type == "text-delta")
    assert streamed == whole.messages[0].text
    assert streamed == SHOWN.get(name, streamed)
