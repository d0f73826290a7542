"""`ModerationProcessor`, and how guards ask: once, together, in time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Message, TripWire
from sluiceway.errors import ConfigurationError
from sluiceway.messages import ToolPart
from sluiceway.processors import Detection, DetectionEvent, ModerationProcessor
from tests.support.judges import FlagsWord, Judge, Told, scores
from tests.support.runs import collect, lines, make_agent

pytestmark = pytest.mark.anyio


def guard(detector: Any = None, **options: Any) -> tuple[ModerationProcessor, list[Any]]:
    seen: list[Any] = []
    made = ModerationProcessor(
        detector=detector or FlagsWord("foul", "hate"),
        on_violation=lambda v: seen.append((v.message, v.detail)),
        **options,
    )
    return made, seen


async def test_block_names_categories_and_not_the_text() -> None:
    made, seen = guard(include_scores=True)
    agent, model = make_agent("ok", input_processors=[made])
    result = await agent.generate("so foul")
    assert result.tripwire is not None
    assert (result.tripwire.reason, result.tripwire.metadata) == (
        "hate found in the input",
        {"types": ["hate"], "detections": [{"rule": "hate", "offset": 0, "length": 7, "score": 1.0}]},
    )
    assert (len(model.calls), len(seen)) == (0, 1)


async def test_filter_takes_out_the_message() -> None:
    made, _ = guard(strategy="filter")
    agent, model = make_agent("ok", input_processors=[made])
    await agent.generate(["so foul", "nice"])
    assert lines(model.prompts[0]) == ["system: sys", "user: nice"]


async def test_filter_takes_the_window_out_of_the_answer() -> None:
    made, seen = guard(strategy="filter", window_chars=5)
    agent, _ = make_agent(["good ", "foul", "!well", " done"], output_processors=[made])
    ran = await collect(agent, "hi")
    assert ran.emitted == ran.result.text == "good well done"
    assert seen == [("hate found in the answer", [{"rule": "hate", "offset": 5, "length": 5}])]


async def test_warn_holds_nothing() -> None:
    made, seen = guard(strategy="warn", window_chars=5)
    agent, _ = make_agent(["go", "od fo", "ul", " end"], output_processors=[made])
    ran = await collect(agent, "hi")
    assert [chunk.text for chunk in ran.of("text-delta")] == ["go", "od fo", "ul", " end"]
    assert seen == [("hate found in the answer", [{"rule": "hate", "offset": 5, "length": 5}])]


async def test_earlier_windows_are_shown_along() -> None:
    judge = Judge(scores(hate=0.0))
    agent, _ = make_agent(
        ["aaaabbbbccccdd"], output_processors=[ModerationProcessor(model=judge, window_chars=4, chunk_window=2)]
    )
    await agent.generate("hi")
    assert judge.texts == ["aaaa", "aaaabbbb", "aaaabbbbcccc", "bbbbccccdd"]


async def test_a_text_is_looked_at_once_in_a_request() -> None:
    detector = FlagsWord("foul", "hate")
    made, _ = guard(detector)
    agent, _ = make_agent("fine", input_processors=[made], output_processors=[made])
    await agent.generate(["hello", "hello", "you"])
    assert detector.texts == ["hello", "you", "fine"]
    await agent.generate("hello")
    assert detector.texts == ["hello", "you", "fine", "hello", "fine"]


async def test_several_texts_are_looked_at_together() -> None:
    class Together:
        def __init__(self) -> None:
            self.inside = 0
            self.all_there = anyio.Event()

        async def detect(self, text: str, ctx: Any) -> Detection:
            self.inside += 1
            if self.inside == 3:
                self.all_there.set()
            await self.all_there.wait()
            return Detection()

    agent, _ = make_agent("ok", input_processors=[ModerationProcessor(detector=Together(), surfaces=["text"])])
    with anyio.fail_after(5):
        assert (await agent.generate(["a", "b", "c"])).text == "ok"


async def test_a_detector_that_takes_too_long_has_not_checked() -> None:
    class Slow:
        async def detect(self, text: str, ctx: Any) -> Detection:
            await anyio.sleep_forever()
            return Detection()

    strict, _ = guard(Slow(), timeout=0.01)
    agent, model = make_agent("ok", input_processors=[strict])
    result = await agent.generate("hi")
    assert (result.finish_reason, len(model.calls)) == ("other", 0)
    assert result.tripwire is not None
    assert result.tripwire.metadata == {"status": "not checked", "errors": ["StepTimeoutError"]}


async def test_a_trip_of_a_detector_is_a_trip() -> None:
    made, _ = guard(Told(TripWire("enough")))
    agent, _ = make_agent("ok", input_processors=[made])
    result = await agent.generate(["a", "b"])
    assert result.tripwire is not None
    assert (result.tripwire.reason, result.tripwire.processor_id) == ("enough", "moderation")


async def test_detections_are_told_without_the_text() -> None:
    told: list[DetectionEvent] = []

    async def note(event: DetectionEvent) -> None:
        told.append(event)

    agent, _ = make_agent("ok", input_processors=[guard(on_detection=note, strategy="warn")[0]])
    result = await agent.generate("so foul")
    assert told == [DetectionEvent("moderation", "process_input", result.run_id, 7, Detection({"hate": 1.0}))]


async def test_results_of_tools_among_the_input_are_looked_at() -> None:
    detector = FlagsWord("foul", "hate")
    made, _ = guard(detector)
    part = ToolPart("t", "c1", {"q": "args"}, "result", {"said": ["foul"]})
    agent, _ = make_agent("ok", input_processors=[made])
    result = await agent.generate([Message(role="assistant", parts=[part]), "go on"])
    assert result.finish_reason == "other"
    assert "foul" in detector.texts
    assert "args" not in detector.texts


async def test_only_the_last_message() -> None:
    detector = FlagsWord("foul", "hate")
    made, _ = guard(detector, last_message_only=True)
    agent, _ = make_agent("ok", input_processors=[made])
    assert (await agent.generate(["foul", "fair"])).text == "ok"
    assert detector.texts == ["fair"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"categories": []}, "categories=\\[\\] is not allowed"),
        ({"categories": ["", "a"]}, "categories has ''"),
        ({"threshold": 2}, "threshold=2"),
        ({"strategy": "rewrite"}, "strategy='rewrite'"),
        ({"chunk_window": -1}, "chunk_window=-1"),
        ({"window_chars": 0}, "window_chars=0"),
        ({"timeout": 0}, "timeout=0"),
        ({"error_strategy": "open"}, "error_strategy='open'"),
        ({"detector": 3}, "detector=3"),
        ({"instructions": " "}, "instructions must be"),
        ({"provider_options": 3}, "provider_options=3"),
        ({"model": Judge(scores()), "detector": Told(None)}, "not both"),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ModerationProcessor(**options)
