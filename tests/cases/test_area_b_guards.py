"""Area B: what a detector says, and what counts of it."""

from __future__ import annotations

import pytest

from sluiceway.processors import Detection, PIIDetector, Span
from tests.cases.test_area_a import cuts_of
from tests.support.judges import FlagsPlace, Told
from tests.support.runs import collect, lines, make_agent

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("score", "blocked"), [(0.3, False), (0.59, False), (0.6, True), (0.61, True)])
async def test_b034_what_is_below_the_threshold_is_not_flagged(score: float, blocked: bool) -> None:
    """A score that equals the threshold is."""
    detection = Detection.of((Span(6, 11, "name", score),))
    guard = PIIDetector(detection_types=["name"], detector=Told(detection), threshold=0.6, strategy="block")
    agent, model = make_agent("ok", input_processors=[guard])

    result = await agent.generate("hello maria")

    assert (result.tripwire is not None) == blocked
    assert [lines(prompt)[-1] for prompt in model.prompts] == ([] if blocked else ["user: hello maria"])


async def test_b041_a_placeholder_is_restored_wherever_it_is_cut() -> None:
    """What is emitted is the whole text restored; an unknown placeholder stays."""
    names = FlagsPlace("Maria", "name")
    guard = PIIDetector(detection_types=["name"], detector=names, reversible=True)
    for cut in [["Dear [NAM", "E_1], hi [NAME_2]"], *cuts_of("Dear [NAME_1], hi [NAME_2]")[::3]]:
        agent, model = make_agent(cut, input_processors=[guard], output_processors=[guard.restorer()])
        ran = await collect(agent, "I am Maria")
        assert (ran.emitted, ran.result.text) == ("Dear Maria, hi [NAME_2]",) * 2
        assert lines(model.prompts[0])[-1] == "user: I am [NAME_1]"
