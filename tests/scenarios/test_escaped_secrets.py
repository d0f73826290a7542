r"""Personal data that is written with escapes, such as `ann\u0040example.org`, through a whole agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.memory import InMemoryStore, Memory
from sluiceway.messages import Chunk, Message, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import PIIDetector
from tests.support.judges import FlagsPlace
from tests.support.models import deltas
from tests.support.pii_texts import cuts, pieces
from tests.support.runs import calls_tool, collect, lines, make_agent, reply_parts
from tests.support.storing import THREAD

pytestmark = pytest.mark.anyio

BODY = r'{"mail": "to:\nann\u0040example.org", "card": 4111111111111111, "more": "{\"cc\": \"eve\\u0040x.org\"}"}'
HIDDEN = r'{"mail": "to:\n[EMAIL]", "card": 0, "more": "{\"cc\": \"[EMAIL]\"}"}'


@pytest.mark.parametrize("before", [False, True], ids=["the tool gets it", "redacted before tools"])
async def test_json_in_arguments_and_results(before: bool) -> None:
    got: list[str] = []

    def send(body: str) -> dict[str, Any]:
        """Send."""
        got.append(body)
        return {"sent": body, "status": 200}

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("send", {"body": BODY})]),
        "done",
        tools=[send],
        memory=Memory(InMemoryStore()),
        output_processors=[PIIDetector(redaction_method="placeholder", redact_before_tools=before)],
    )
    done = await collect(agent, "hi", memory=THREAD)
    sent = HIDDEN if before else BODY
    assert got == [sent]
    assert json.loads(json.loads(sent)["more"]) == {"cc": "[EMAIL]" if before else "eve@x.org"}
    part = next(part for part in reply_parts(done.result) if isinstance(part, ToolPart))
    assert (part.args, part.result) == ({"body": HIDDEN}, {"sent": HIDDEN, "status": 200})
    assert done.of("tool-call")[0].get("args") == {"body": HIDDEN}
    assert done.of("tool-result")[0].get("result") == {"sent": HIDDEN, "status": 200}
    said = "".join(lines(model.prompts[1])) + str([chunk.payload for chunk in done.chunks])
    assert [secret for secret in ("0040", "4111", "x.org") if secret in said] == []


TEXT = r'Here: mail("ann\u0040example.org"), C:\new\bob@x.org, \u00e9 \\u0034111 1111 1111 1111, \ud83d\u'
SHOWN = r'Here: mail("a*n@*******.org"), C:\new\b*b@*.org, \u00e9 **** **** **** 1111, \ud83d\u'


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("detector", [None, FlagsPlace("Maria", "name")], ids=["rules", "windows"])
@given(st.data())
@settings(max_examples=25)
async def test_any_cut_of_a_text_with_escapes_gives_the_same(detector: Any, data: st.DataObject) -> None:
    agent, _ = make_agent(pieces(TEXT, data.draw(cuts(TEXT))), output_processors=[PIIDetector(detector=detector)])
    done = await collect(agent, "hi")
    assert done.emitted == done.result.text == SHOWN
    assert done.result.edited_after_stream is False


@pytest.mark.parametrize("detector", [None, FlagsPlace("Maria", "name")], ids=["rules", "windows"])
async def test_input_is_read_likewise(detector: Any) -> None:
    agent, model = make_agent("ok", input_processors=[PIIDetector(detector=detector)])
    await agent.generate(TEXT)
    assert model.prompts[0].messages[-1].text == SHOWN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # What is longer as it is written is no longer for that.
        (r"eve@x.orgtok-\u0061bcd", "[EMAIL]"),
        (r"\ud83d\ude00ann\u0040example.org\ud83d", r"\ud83d\ude00[EMAIL]\ud83d"),
        (r"\ud83dann@example.org", r"\ud83d[EMAIL]"),
        (r"ann@\ud83d\ude00.example.org x", "[ODD] x"),
    ],
)
async def test_the_reply_and_the_stream_agree(text: str, shown: str) -> None:
    guard = PIIDetector(
        detection_types=["email", {"tok": "tok-[a-z]{4}", "odd": "ann@\U0001f600.example.org"}],
        redaction_method="placeholder",
    )
    ran = await guard.run_on([Message(text, role="assistant")], hook="process_output_result")
    assert ran.messages[0].text == shown
    for cut in range(len(text)):
        ran = await guard.run_on(deltas(text[:cut], text[cut:]), hook="process_output_stream")
        assert "".join(chunk.text for chunk in ran.parts if chunk.type == "text-delta") == shown


async def test_a_value_has_one_placeholder_however_it_is_written() -> None:
    guard = PIIDetector(reversible=True, redaction_method="placeholder")
    agent, model = make_agent("ok [EMAIL_1]", input_processors=[guard], output_processors=[guard.restorer()])
    result = await agent.generate(r"ann@example.org is ann\u0040example.org")
    assert model.prompts[0].messages[-1].text == "[EMAIL_1] is [EMAIL_1]"
    assert result.text == "ok ann@example.org"


async def test_nothing_of_an_object_that_grows_gets_out() -> None:
    body = r'{"url": "https:\/\/ann:pw@example.org\/x", "mail": "ann\u0040example.org"}'
    growing = [{"body": body[:end]} for end in range(1, len(body))]
    chunks = [Chunk("object", {"object": value, "final": False}) for value in growing]
    final = Chunk("object", {"object": {"body": body}, "final": True})
    ran = await PIIDetector(redaction_method="placeholder").run_on([*chunks, final], hook="process_output_stream")
    shown = [chunk.get("object")["body"] for chunk in ran.parts]
    assert shown[-1] == '{"url": "[URL]", "mail": "[EMAIL]"}'
    assert [text for text in shown if "example" in text or "ann" in text] == []


async def test_only_a_report_is_the_same_text() -> None:
    told: list[Any] = []
    guard = PIIDetector(strategy="warn", on_violation=told.append)
    agent, _ = make_agent(
        Reply(text=list(TEXT), tool_calls=[calls_tool("none", {"body": BODY})]), "ok", output_processors=[guard]
    )
    done = await collect(agent, "hi")
    assert done.emitted == f"{TEXT}ok"
    assert done.of("tool-call")[0].get("args") == {"body": BODY}
    rules = {entry["rule"] for violation in told for entry in violation.detail}
    assert rules == {"email", "credit-card"}


async def test_a_tool_that_gets_the_values_gets_json() -> None:
    got: list[Any] = []

    def send(body: str) -> str:
        """Send."""
        got.append(json.loads(body))
        return "sent"

    guard = PIIDetector(reversible=True, redaction_method="placeholder", restore_tools=["send"])
    body = json.dumps({"card": "[CREDIT_CARD_1]", "n": 1})
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("send", {"body": body})]),
        "done",
        tools=[send],
        input_processors=[guard],
        output_processors=[guard],
    )
    await agent.generate("my card is 4111 1111\n1111 1111")
    assert "4111" not in "".join(lines(model.prompts[0]))
    assert got == [{"card": "4111 1111\n1111 1111", "n": 1}]
