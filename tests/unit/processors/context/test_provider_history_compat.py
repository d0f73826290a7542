"""`ProviderHistoryCompat` and its rules, beyond the cases from practice."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sluiceway import Agent, Processor
from sluiceway.errors import ModelError
from sluiceway.messages import Message, PromptText, ReasoningPart, StepStartPart, TextPart, ToolPart
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import HistoryRule, ProviderHistoryCompat
from sluiceway.processors.context._history_rules import BUILT_IN, _drop_orphan_ids, _plain_ids
from tests.support.runs import by, lines

RULES = {rule.name: rule for rule in BUILT_IN}


def reply(*parts: Any, **fields: Any) -> Message:
    return Message(role="assistant", parts=parts, **fields)


def marked(provider: str, **fields: Any) -> dict[str, Any]:
    return {provider: fields}


async def sent(provider: str, *messages: Message, processors: Any = ()) -> list[Any]:
    model = ScriptedModel(["ok"], provider=provider)
    agent = Agent(id="a", model=model, input_processors=[*processors, ProviderHistoryCompat()])
    await agent.generate([Message("q1"), *messages, Message("q2")])
    return list(model.prompts[0].messages)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("cerebras", ["user: q1", "assistant: a", "user: q2"]),
        ("anthropic", ["user: q1", "assistant: a", "user: q2"]),
        ("openai", ["user: q1", "assistant: (plain) + a", "user: q2"]),
    ],
)
async def test_reasoning_that_nobody_signed_goes_where_signatures_count(provider: str, expected: list[str]) -> None:
    model = ScriptedModel(["ok"], provider=provider)
    agent = Agent(id="a", model=model, input_processors=[ProviderHistoryCompat()])
    await agent.generate([Message("q1"), reply(ReasoningPart("plain"), TextPart("a")), Message("q2")])
    assert lines(model.prompts[0]) == expected


@pytest.mark.anyio
async def test_signatures_of_others_go_and_their_other_marks_stay() -> None:
    text = TextPart("a", provider_metadata={"google": {"thought_signature": "x"}, "openai": {"annotations": []}})
    own = TextPart("b", provider_metadata=marked("anthropic", signature="mine"))

    messages = await sent("anthropic", reply(text, own))

    assert [item.provider_metadata for item in messages[1].content] == [
        {"openai": {"annotations": []}},
        {"anthropic": {"signature": "mine"}},
    ]


@pytest.mark.anyio
async def test_an_endpoint_that_speaks_anthropics_protocol_counts_as_it() -> None:
    signed = ReasoningPart("signed", provider_metadata=marked("vertex-anthropic", signature="x"))
    foreign = ReasoningPart("foreign", provider_metadata=marked("anthropic", signature="x"))
    model = ScriptedModel(["ok"], provider="vertex-anthropic")
    agent = Agent(id="a", model=model, input_processors=[ProviderHistoryCompat()])

    await agent.generate([Message("q"), reply(ReasoningPart("plain"), signed, foreign, TextPart("a")), Message("r")])

    assert lines(model.prompts[0]) == ["user: q", "assistant: (signed) + a", "user: r"]


@pytest.mark.anyio
async def test_azure_gets_signals_under_another_tag() -> None:
    async def remind(ctx: Any) -> None:
        await ctx.send_signal("be brief", {"kind": "x"})

    reminds = Processor.of("reminds", process_input_step=remind)
    messages = await sent("azure", Message("a <system-reminder> of mine"), processors=[reminds])
    texts = [item.text for m in messages for item in m.content if isinstance(item, PromptText)]
    assert texts == [
        "q1",
        "a &lt;system-reminder> of mine",
        "q2",
        '<context-note kind="x">be brief</context-note>',
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("anthropic-tool-ids", "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        ("anthropic-tool-ids", "Invalid tool_use_id in messages.3"),
        (
            "openai-orphan-items",
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item",
        ),
        ("openai-orphan-items", "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        ("openai-orphan-items", "Item with id 'msg_1' not found."),
        (None, "This model's maximum context length is 8192 tokens"),
        (None, "prompt is too long"),
    ],
)
def test_errors_are_known_by_their_text(rule: str | None, message: str) -> None:
    found = [name for name, one in RULES.items() if one.fix is not None and one.is_about(ModelError(message))]
    assert found == ([] if rule is None else [rule])
    in_body = ModelError("status 400", body=message)
    assert [name for name, one in RULES.items() if one.fix is not None and one.is_about(in_body)] == found


def test_plain_ids_stay_apart_and_the_second_time_there_is_nothing_to_do() -> None:
    message = reply(*(ToolPart("t", one) for one in ("a.b", "a:b", "a_b", "é", "ok-1")))
    assert _plain_ids([message]) is True
    ids = [part.tool_call_id for part in message.parts if isinstance(part, ToolPart)]
    assert ids == ["a_b_2", "a_b_3", "a_b", "_", "ok-1"]
    assert _plain_ids([message]) is False


def test_only_ids_without_their_counterpart_go() -> None:
    whole = reply(
        ReasoningPart("hm", provider_metadata=marked("openai", item_id="rs_1")),
        TextPart("a", provider_metadata=marked("openai", item_id="msg_1")),
        StepStartPart(),
        TextPart("b", provider_metadata=marked("openai", itemId="msg_2", phase="x")),
        StepStartPart(),
        ReasoningPart("alone", provider_metadata=marked("openai", item_id="rs_3")),
    )
    assert _drop_orphan_ids([Message("q"), whole]) is True
    assert [part.provider_metadata for part in whole.parts if not isinstance(part, StepStartPart)] == [
        {"openai": {"item_id": "rs_1"}},
        {"openai": {"item_id": "msg_1"}},
        {"openai": {"phase": "x"}},
        {"openai": {}},
    ]
    assert _drop_orphan_ids([whole]) is False


@pytest.mark.anyio
async def test_rules_can_be_added() -> None:
    """One that mends after a refusal, and one that is applied to every prompt."""

    def shout(messages: Any) -> bool:
        messages[0].parts[0].text = "MENDED"
        return True

    rules = [
        HistoryRule("mends", error_patterns=["no small letters", re.compile("x{9}")], fix=shout),
        HistoryRule(
            "marks", apply_to_prompt=lambda prompt, model: prompt.map_text(lambda text: f"{model.model_id}:{text}")
        ),
    ]
    compat = ProviderHistoryCompat(additional_rules=rules)
    model = ScriptedModel([Reply(error={"status": 400, "message": "No Small Letters, please"}), "ok"])
    agent = Agent(id="a", model=model, input_processors=[compat], error_processors=[compat])

    result = await agent.generate("small")

    assert result.text == "ok"
    assert [lines(prompt) for prompt in model.prompts] == [["user: scripted:small"], ["user: scripted:MENDED"]]


@pytest.mark.anyio
async def test_what_no_rule_can_mend_is_raised_at_once() -> None:
    compat = ProviderHistoryCompat()
    model = ScriptedModel([Reply(error={"status": 400, "message": "bad tool_use.id"})])
    agent = Agent(id="a", model=model, input_processors=[compat], error_processors=[compat])

    ran = await by("generate", agent, "q")

    assert (len(model.calls), type(ran.error)) == (1, ModelError)


class Shouts:
    """A rule without the class; its remedy says nothing about what it did."""

    name = "shouts"
    error_patterns = ("louder",)

    def fix(self, messages: Any) -> None:
        """Mend the first message."""
        messages[0].parts[0].text = "LOUD"


@pytest.mark.anyio
async def test_a_rule_is_anything_with_its_fields() -> None:
    compat = ProviderHistoryCompat(additional_rules=[Shouts()])  # pyright: ignore[reportArgumentType]
    model = ScriptedModel([Reply(error={"status": 400, "message": "Louder, please"}), "ok"])
    agent = Agent(id="a", model=model, input_processors=[compat], error_processors=[compat])

    assert (await agent.generate("q")).text == "ok"
    assert lines(model.prompts[1]) == ["user: LOUD"]
