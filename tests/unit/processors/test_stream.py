"""`StreamRunner`: what the stream hooks of a list are booked as."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.processors import Processor
from tests.support.runs import make_agent

pytestmark = pytest.mark.anyio


async def test_a_warning_is_booked_with_the_hook_that_gave_it() -> None:
    def warn(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            ctx.warn("odd", ctx.part.text)
        return ctx.part

    odd = Processor.of("odd", process_output_stream=warn, finish_output_stream=lambda ctx: ctx.warn("odd", "end"))
    agent, _ = make_agent(["a", "b"], output_processors=[odd])
    assert [(entry.hook, entry.status, entry.detail) for entry in (await agent.generate("hi")).audit] == [
        ("process_output_stream", "flagged", "a"),
        ("process_output_stream", "flagged", "b"),
        ("finish_output_stream", "flagged", "end"),
    ]
