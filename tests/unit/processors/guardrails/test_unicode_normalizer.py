"""`UnicodeNormalizer` in an agent."""

from __future__ import annotations

import pytest

from sluiceway.processors import UnicodeNormalizer
from tests.support.runs import lines, make_agent

pytestmark = pytest.mark.anyio


async def test_the_users_text_is_normalised_and_nothing_else() -> None:
    agent, model = make_agent("ok", input_processors=[UnicodeNormalizer()])
    await agent.generate(
        [
            {"role": "assistant", "content": "a\u200bb"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "  ｈｉ\u200b   there "},
                    {"type": "image_url", "image_url": {"url": "https://a.test/x.png"}},
                ],
            },
        ]
    )
    assert lines(model.prompts[0])[-2:] == ["assistant: a\u200bb", "user: hi there + <image/*>"]


async def test_options_reach_the_text() -> None:
    normalizer = UnicodeNormalizer(
        strip_control_chars=True, preserve_emojis=False, collapse_whitespace=False, trim=False, compatibility="full"
    )
    assert normalizer.normalize(" x²  \x07\U0001f468\u200d\U0001f467 ") == " x2  \U0001f468\U0001f467 "
