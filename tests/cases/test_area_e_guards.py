"""Area E: what a guard's model is chosen by."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Processor
from sluiceway.processors import ModerationProcessor
from tests.support.judges import Judge, scores
from tests.support.runs import make_agent

pytestmark = pytest.mark.anyio


async def test_b104_the_model_of_a_guard_is_chosen_by_the_request_context() -> None:
    """In the input, stream and result hooks alike, sync or async."""
    seen: list[Any] = []
    judge = Judge(scores(hate=0.0))

    async def choose(context: Any) -> Judge:
        seen.append(context.get("region"))
        return judge

    def edit(ctx: Any) -> None:
        ctx.messages[0].parts[0].text += " and more"

    guard = ModerationProcessor(model=choose)
    agent, _ = make_agent(
        "answer",
        input_processors=[guard],
        output_processors=[Processor.of("edit", process_output_result=edit), guard],
    )
    await agent.generate("hi", request_context={"region": "eu"})

    assert judge.texts == ["hi", "answer", "answer and more"]
    assert seen == ["eu", "eu", "eu"]
