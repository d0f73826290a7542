"""Area B: detection and redaction of text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from sluiceway import Message, Processor
from sluiceway.messages import ImagePart, TextPart, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import PIIDetector, UnicodeNormalizer
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent, reply_parts

pytestmark = pytest.mark.anyio


async def redacted(text: str, *before: Processor, **options: Any) -> str:
    """Return what the model sees of a text behind a PII guard."""
    agent, model = make_agent("ok", input_processors=[*before, PIIDetector(**options)])
    await agent.generate(text)
    return lines(model.prompts[0])[-1].removeprefix("user: ")


async def test_b026_cards_of_every_length_are_found_whole() -> None:
    """Each number is one card, and no digit of it is left to another rule."""
    text = "amex 378282246310005 diners 30569309025904"
    assert await redacted(text, redaction_method="placeholder") == "amex [CREDIT_CARD] diners [CREDIT_CARD]"

    numbers = ["4222222222222", "30569309025904", "378282246310005", "4111111111111111", "6304000000000000000"]
    left = [await redacted(f"no {number}.", redaction_method="remove") for number in numbers]
    assert left == ["no ."] * 5


async def test_b027_the_check_digit_decides_what_is_a_card() -> None:
    """A number that only has the shape is left, unless the check is switched off."""
    text = "2468-1357-2468-1358 and 4111 1111 1111 1111"
    options: dict[str, Any] = {"detection_types": ["credit-card"], "redaction_method": "placeholder"}

    assert await redacted(text, **options) == "2468-1357-2468-1358 and [CREDIT_CARD]"
    assert await redacted(text, **options, checksums=False) == "[CREDIT_CARD] and [CREDIT_CARD]"


async def test_b029_neighbours_of_one_kind_are_all_replaced() -> None:
    """Three addresses side by side are three findings."""
    seen: list[Any] = []
    text = "ann@corp.test bob@corp.test eve@corp.test"

    out = await redacted(text, redaction_method="placeholder", on_violation=lambda v: seen.append(v.detail))

    assert out == "[EMAIL] [EMAIL] [EMAIL]"
    assert [(entry["offset"], entry["length"]) for entry in seen[0]] == [(0, 13), (14, 13), (28, 13)]


async def test_b031_arguments_are_redacted_inside_and_keep_their_types() -> None:
    """Addresses in nested arguments go; dicts and lists stay what they are."""

    def send(to: str, meta: dict[str, Any]) -> str:
        """Send a mail."""
        return "sent"

    call = calls_tool("send", {"to": "bob@corp.test", "meta": {"cc": ["eve@corp.test"]}})
    guard = PIIDetector(redaction_method="placeholder")
    agent, _ = make_agent(Reply(tool_calls=[call]), "done", tools=[send], output_processors=[guard])

    part = next(p for p in reply_parts(await agent.generate("hi")) if isinstance(p, ToolPart))

    assert part.args == {"to": "[EMAIL]", "meta": {"cc": ["[EMAIL]"]}}


async def test_b031_an_image_beside_the_text_stays() -> None:
    """Content of a text and an image stays content of two parts."""
    seen: list[Any] = []
    look = Processor.of("look", process_input=lambda ctx: seen.extend(m.copy() for m in ctx.messages))
    agent, _ = make_agent("ok", input_processors=[PIIDetector(redaction_method="placeholder"), look])
    image = {"type": "image_url", "image_url": {"url": "https://pics.test/x.png"}}

    await agent.generate({"role": "user", "content": [{"type": "text", "text": "for bob@corp.test"}, image]})

    first, second = seen[0].parts
    assert isinstance(first, TextPart)
    assert isinstance(second, ImagePart)
    assert (first.text, second.url) == ("for [EMAIL]", "https://pics.test/x.png")


@pytest.mark.parametrize("before_tools", [False, True], ids=["tool sees it", "tool does not"])
@each_entry
async def test_b032_the_tool_gets_what_it_needs(entry: Entry, before_tools: bool) -> None:
    """The tool runs with the address, unless asked not to; everybody else sees the placeholder."""
    got: list[str] = []

    def lookup(email: str) -> str:
        """Look somebody up."""
        got.append(email)
        return "found"

    guard = PIIDetector(redaction_method="placeholder", redact_before_tools=before_tools)
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("lookup", {"email": "bob@corp.test"})]),
        "done",
        tools=[lookup],
        output_processors=[guard],
    )

    ran = await by(entry, agent, "hi")

    assert got == ["[EMAIL]" if before_tools else "bob@corp.test"]
    assert len(model.prompts) == 2
    assert lines(model.prompts[1])[-2] == 'assistant: lookup({"email":"[EMAIL]"})#c1'
    part = next(p for p in reply_parts(ran.result) if isinstance(p, ToolPart))
    assert (part.args, ran.result.text) == ({"email": "[EMAIL]"}, "done")
    assert "bob@corp.test" not in repr([chunk.payload for chunk in ran.chunks])


async def test_b033_no_second_copy_stays_raw() -> None:
    """Nothing that a later processor can read, and nothing of the record, holds the number."""
    records: list[str] = []

    def look(ctx: Any) -> None:
        records.extend(json.dumps(m.to_dict()) + m.text + repr(m) for m in ctx.messages)
        records.append(json.dumps(ctx.message_list.to_ui()) + repr(ctx.message_list.to_prompt()))

    agent, model = make_agent("ok", input_processors=[PIIDetector(), Processor.of("look", process_input=look)])
    said = [Message(parts=[TextPart("card 4111111111111111")]), {"role": "user", "content": "card 4111111111111111"}]

    await agent.generate(said)

    assert len(records) == 3
    assert [record for record in [*records, repr(model.prompts)] if "4111111111111111" in record] == []
    assert all("1111" in record for record in records)


async def test_b036_the_report_says_where_and_never_what() -> None:
    """One report with an entry per finding; offsets count in the text as it was."""
    seen: list[Any] = []
    guard = PIIDetector(on_violation=seen.append)
    agent, _ = make_agent("ok", input_processors=[guard])

    await agent.generate("a@b.test and c@d.test")

    assert [violation.detail for violation in seen] == [
        [{"rule": "email", "offset": 0, "length": 8}, {"rule": "email", "offset": 13, "length": 8}]
    ]
    assert "b.test" not in repr(seen)


async def test_b036_rules_that_overlap_are_all_listed() -> None:
    """One replacement, named after the longest; both rules in the report."""
    seen: list[Any] = []
    text = "see https://ann@corp.test/a now"

    out = await redacted(text, redaction_method="placeholder", on_violation=lambda v: seen.append(v.detail))

    assert out == "see [URL] now"
    assert [(entry["rule"], entry["offset"], entry["length"]) for entry in seen[0]] == [
        ("url", 4, 23),
        ("email", 12, 13),
    ]


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_b037_a_failing_callback_fails_nothing(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """The text is redacted and the run goes on; the failure is in the log."""

    def fails(violation: Any) -> None:
        raise RuntimeError("the sink is down")

    async def fails_later(violation: Any) -> None:
        raise RuntimeError("the sink is down")

    guard = PIIDetector(on_violation=fails if kind == "sync" else fails_later)
    agent, _ = make_agent(["mail a@b.test", " now"], output_processors=[guard])

    ran = await collect(agent, "hi")

    assert ran.emitted == ran.result.text == "mail *@*.test now"
    assert "the sink is down" in caplog.text


async def test_b037_an_async_callback_is_awaited_before_the_text_goes_on() -> None:
    """When the redacted text arrives, the report has been made."""
    made: list[str] = []

    async def report(violation: Any) -> None:
        made.append(violation.processor_id)

    agent, _ = make_agent(["mail a@b.test", " now"], output_processors=[PIIDetector(on_violation=report)])
    async with agent.stream("hi") as stream:
        at_arrival = [len(made) async for chunk in stream if "*@*" in chunk.text]

    assert (at_arrival, made) == ([1], ["pii-detector"])


TRICKS = ["bob\u200b@corp.test", "ｂｏｂ＠ｃｏｒｐ．ｔｅｓｔ", "bo\u00adb@corp.test"]


@pytest.mark.parametrize("text", TRICKS)
async def test_b038_unicode_tricks_do_not_pass_behind_the_normaliser(text: str) -> None:
    """With the normaliser in front all three are found; without it they are not, or not whole."""
    options: dict[str, Any] = {"detection_types": ["email"], "redaction_method": "placeholder"}

    assert await redacted(text, UnicodeNormalizer(), **options) == "[EMAIL]"
    assert await redacted(text, **options) != "[EMAIL]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    return 1\n\n\n# x²", "def f():\n    return 1\n\n\n# x²"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467 é"),
    ],
)
async def test_b039_the_normaliser_leaves_code_and_symbols_alone(text: str, expected: str) -> None:
    """Lines, indentation, superscripts and joined emoji stay; accents are composed."""
    agent, model = make_agent("ok", input_processors=[UnicodeNormalizer()])
    await agent.generate(text)

    assert lines(model.prompts[0])[-1] == f"user: {expected}"
    assert re.search("x2", lines(model.prompts[0])[-1]) is None
    assert UnicodeNormalizer(compatibility="full").normalize("x²") == "x2"
