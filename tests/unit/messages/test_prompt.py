"""Prompts are frozen; changed copies keep what they do not change."""

import dataclasses

import pytest

from sluiceway.messages import Prompt, PromptMessage, PromptReasoning, PromptText, PromptToolCall

PROMPT = Prompt(
    (
        PromptMessage("system", (PromptText("sys"),)),
        PromptMessage("user", (PromptText("a"), PromptText("b", {"p": 1})), "u", "input", {"q": 1}),
        PromptMessage("assistant", (PromptReasoning("why"), PromptToolCall("c", "t", {}))),
    )
)


def test_text_joins_the_texts() -> None:
    assert [m.text for m in PROMPT.messages] == ["sys", "ab", ""]
    assert PROMPT.text == "sys\nab\n"


def test_map_text_changes_texts_only() -> None:
    assert PROMPT.map_text(str.upper, roles=["user"]) == Prompt(
        (
            PROMPT.messages[0],
            PromptMessage("user", (PromptText("A"), PromptText("B", {"p": 1})), "u", "input", {"q": 1}),
            PROMPT.messages[2],
        )
    )
    assert PROMPT.map_text(str.lower) is PROMPT


def test_replace() -> None:
    assert PROMPT.replace(PROMPT.messages[1:]) == Prompt(PROMPT.messages[1:])
    assert PROMPT.messages[1].replace(content=[PromptText("x")]) == PromptMessage(
        "user", (PromptText("x"),), "u", "input", {"q": 1}
    )


def test_nothing_can_be_assigned() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PROMPT.messages = ()  # pyright: ignore[reportAttributeAccessIssue]
