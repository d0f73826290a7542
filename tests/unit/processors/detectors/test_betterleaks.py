"""Betterleaks as a detector: places in characters, whatever stands before them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.errors import ConfigurationError
from sluiceway.processors import BetterleaksDetector, PIIDetector, PromptInjectionDetector
from tests.support.runs import collect, make_agent

pytestmark = pytest.mark.anyio

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
KEY_ID, KEY = "AKIAIOSFODNN7REALKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"
PAIR = f'AWS_ACCESS_KEY_ID="{KEY_ID}"\nAWS_SECRET_ACCESS_KEY="{KEY}"'
LINES = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAw7q0Zk3mHqv8c5x0mJrTqzL0o8k2Hq3v5m1sYwqk1g8n\n" * 2
LINES += "-----END RSA PRIVATE KEY-----"


async def found(text: str, detector: BetterleaksDetector | None = None) -> list[tuple[str, float, str]]:
    spans = (await (detector or BetterleaksDetector()).detect(text, None)).spans
    assert {span.type for span in spans} <= {"api-key"}
    return [(span.rule.removeprefix("betterleaks:"), span.score, text[span.start : span.end]) for span in spans]


async def test_keys_have_their_rule_their_place_and_how_sure_it_is() -> None:
    assert await found(f"use {TOKEN} please") == [("github-pat", 0.95, TOKEN)]
    assert await found("password: hunter2hunter2X9!") == [("generic-password", 0.65, "hunter2hunter2X9!")]
    assert await found("nothing here, not even ghp_") == []
    assert await found("") == []


async def test_both_halves_of_a_key_are_found() -> None:
    assert await found(PAIR) == [("aws-access-token", 0.95, KEY_ID), ("aws-secret-access-key", 0.95, KEY)]


@given(before=st.text(st.sampled_from("é日😀\n\r\0\ud800\u2028 ,"), max_size=20), value=st.sampled_from([TOKEN, LINES]))
@settings(max_examples=25)
def test_what_stands_before_a_key_does_not_move_it(before: str, value: str) -> None:
    text = f"{before} {value} {before}\n{value}"
    spans = BetterleaksDetector()._detect(text).spans
    assert [text[span.start : span.end] for span in spans] == [value, value]


async def test_a_configuration_of_ones_own(tmp_path: Path) -> None:
    config = tmp_path / "rules.toml"
    config.write_text('[[rules]]\nid = "badge"\nregex = "EMP-[0-9]{6}"\nkeywords = ["emp-"]\n', encoding="utf-8")
    assert await found(f"EMP-123456 {TOKEN}", BetterleaksDetector(config)) == [("badge", 0.8, "EMP-123456")]
    with pytest.raises(ConfigurationError, match=r"config=.*none\.toml.*no such file"):
        BetterleaksDetector(tmp_path / "none.toml")


async def test_a_value_at_the_very_beginning_is_found_without_what_follows_it(tmp_path: Path) -> None:
    config = tmp_path / "rules.toml"
    config.write_text('[[rules]]\nid = "badge"\nregex = "(EMP-[0-9]{6}) ok"\nkeywords = ["emp-"]\n', encoding="utf-8")
    assert await found("EMP-123456 ok", BetterleaksDetector(config)) == [("badge", 0.8, "EMP-123456")]


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_it_redacts_a_stream_however_it_is_cut(size: int) -> None:
    text = f'It is {KEY_ID}, then:\nAWS_SECRET_ACCESS_KEY="{KEY}" and so on.'
    guard = PIIDetector(detector=BetterleaksDetector(), redaction_method="placeholder")
    agent, _ = make_agent([text[i : i + size] for i in range(0, len(text), size)], output_processors=[guard])
    ran = await collect(agent, "tell me")
    assert ran.emitted == 'It is [API_KEY], then:\nAWS_SECRET_ACCESS_KEY="[API_KEY]" and so on.'


async def test_another_type_for_another_guard() -> None:
    """A finding counts for the types that a guard asks for."""
    detector = BetterleaksDetector(type="data-exfiltration")
    agent, _ = make_agent("ok", input_processors=[PromptInjectionDetector(detector=detector)])
    tripwire = (await collect(agent, TOKEN)).result.tripwire
    assert tripwire is not None
    assert tripwire.reason == "data-exfiltration found in the input"
