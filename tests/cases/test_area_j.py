"""Area J: the response cache."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from pydantic import BaseModel

from sluiceway import Agent, tool
from sluiceway.engine import use_clock
from sluiceway.messages import ImagePart, Message, TextPart
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import InMemoryCache, ResponseCache
from tests.support.runs import Entry, by, calls_tool, each_entry, make_agent, parts_of
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio

ANSWERS = ("a0", "a1", "a2", "a3", "a4", "a5")


def pictured(image: ImagePart) -> Message:
    return Message(role="user", parts=[TextPart("what is this?"), image])


async def test_b161_images_count_by_what_they_are() -> None:
    """By address and by bytes; the same again is a hit, and a large one costs little."""
    cache = ResponseCache()
    agent, model = make_agent(*ANSWERS, input_processors=[cache])
    images = [
        ImagePart("https://example.org/1.png", "image/png"),
        ImagePart("https://example.org/2.png", "image/png"),
        ImagePart(b"\x89PNG1", "image/png"),
        ImagePart(b"\x89PNG2", "image/png"),
    ]

    texts = [(await agent.generate(pictured(image))).text for image in (*images, *images)]

    assert texts == ["a0", "a1", "a2", "a3"] * 2
    assert len(model.calls) == 4

    large = pictured(ImagePart(b"\x00" * 1_000_000, "image/png"))
    await agent.generate(large)
    started = time.process_time()
    await agent.generate(large)
    assert time.process_time() - started < 0.5
    assert len(model.calls) == 5


class Answer(BaseModel):
    n: int


@tool
def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"model_settings": {"temperature": 0}}, {"model_settings": {"temperature": 1}}),
        ({"active_tools": []}, {}),
        ({}, {"tool_choice": "required"}),
        ({}, {"provider_options": {"scripted": {"effort": "high"}}}),
        ({}, {"structured_output": Answer}),
        ({"structured_output": {"type": "object"}}, {"structured_output": Answer}),
        ({}, {"instructions": "others"}),
        ({}, {"request_context": {"resource_id": "u2"}}),
    ],
)
async def test_b162_all_that_changes_the_answer_is_in_the_key(first: Any, second: Any) -> None:
    model = ScriptedModel(['{"n": 0}', '{"n": 1}', '{"n": 2}'])
    agent = Agent(id="a", model=model, tools=[look], input_processors=[ResponseCache()])

    texts = [(await agent.generate("q", **options)).text for options in (first, second, first, second)]

    assert texts == ['{"n": 0}', '{"n": 1}'] * 2
    assert len(model.calls) == 2


@each_entry
async def test_b164_tools_do_not_run_again_on_a_hit(entry: Entry) -> None:
    """The call is replayed with its result, and the step after it is a hit, too."""
    ticks: list[int] = []

    def tick() -> dict[str, int]:
        """Tick."""
        ticks.append(1)
        return {"n": len(ticks)}

    agent, model = make_agent(
        Reply(text="wait", tool_calls=[calls_tool("tick")]),
        "one",
        "two",
        tools=[tick],
        input_processors=[ResponseCache()],
    )

    runs = [await by(entry, agent, "q") for _ in range(3)]

    assert (len(ticks), len(model.calls)) == (1, 2)
    assert [ran.result.text for ran in runs] == ["waitone"] * 3
    assert [parts_of(ran.result) for ran in runs] == [[["text:wait", "tool:tick:result", "step-start", "text:one"]]] * 3
    assert [ran.result.steps[0].tool_results[0].result for ran in runs] == [{"n": 1}] * 3
    assert runs[1].types == runs[0].types


@each_entry
async def test_b166_a_forced_refresh_writes(entry: Entry) -> None:
    agent, model = make_agent(*ANSWERS, input_processors=[ResponseCache()])

    texts = [
        (await by(entry, agent, "q")).result.text,
        (await by(entry, agent, "q", request_context=ResponseCache.context(bust=True))).result.text,
        (await by(entry, agent, "q")).result.text,
    ]

    assert texts == ["a0", "a1", "a1"]
    assert len(model.calls) == 2


async def test_b167_a_key_function_that_raises_leaves_the_default_key(caplog: pytest.LogCaptureFixture) -> None:
    def key(inputs: object) -> str:
        raise ValueError("broken")

    agent, model = make_agent(*ANSWERS, input_processors=[ResponseCache(key=key)])
    with caplog.at_level(logging.WARNING, "sluiceway"):
        texts = [(await agent.generate(said)).text for said in ("q", "q", "other")]

    assert texts == ["a0", "a0", "a1"]
    assert len(model.calls) == 2
    assert "the key function raised; the default key is used" in caplog.text


async def test_b168_an_answer_is_kept_for_its_time() -> None:
    agent, model = make_agent(*ANSWERS, input_processors=[ResponseCache(ttl=300)])
    clock = FakeClock()
    texts: list[str] = []

    with use_clock(clock):
        for seconds in (0, 299, 2):
            clock.passed_s += seconds
            texts.append((await agent.generate("q")).text)

    assert texts == ["a0", "a0", "a1"]
    assert len(model.calls) == 2


class Broken(InMemoryCache):
    def __init__(self, which: str) -> None:
        super().__init__()
        self.which = which

    async def get(self, key: str) -> bytes | None:
        if self.which == "get":
            raise OSError("gone")
        return await super().get(key)

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        if self.which == "set":
            raise OSError("full")
        await super().set(key, value, ttl_s)


@pytest.mark.parametrize("which", ["get", "set"])
async def test_b168_a_broken_cache_breaks_no_call(which: str, caplog: pytest.LogCaptureFixture) -> None:
    agent, model = make_agent(*ANSWERS, input_processors=[ResponseCache(Broken(which))])

    with caplog.at_level(logging.WARNING, "sluiceway"):
        texts = [(await agent.generate("q")).text for _ in range(2)]

    assert texts == ["a0", "a1"]
    assert len(model.calls) == 2
    assert "the cache could not be" in caplog.text
