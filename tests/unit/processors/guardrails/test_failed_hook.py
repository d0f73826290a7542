"""A guard whose hook fails once on a stream and is passed over goes on guarding what comes after."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.processors import PIIDetector
from tests.support.judges import FlagsPlace
from tests.support.runs import collect, make_agent

pytestmark = pytest.mark.anyio


class FailsOnce(PIIDetector):
    """Raises at its first finding."""

    failed = False

    def replace(self, ctx: Any, finding: Any, value: str) -> str:
        if not self.failed:
            self.failed = True
            raise ValueError("out of order")
        return super().replace(ctx, finding, value)


@pytest.mark.parametrize("detector", [None, FlagsPlace("Maria", "name")], ids=["rules", "windows"])
@pytest.mark.parametrize("size", [1, 4, 11])
async def test_what_comes_after_the_failure_is_redacted(detector: Any, size: int) -> None:
    guard = FailsOnce(detector=detector, buffer_size=20, redaction_method="placeholder", on_error="continue")
    between = "and so on, " * 12
    text = f"first ann@example.org, {between}bob@example.org, cyd@example.org too"
    agent, _ = make_agent([text[i : i + size] for i in range(0, len(text), size)], output_processors=[guard])

    ran = await collect(agent, "hi")

    assert guard.failed
    assert ran.emitted == f"first ann@example.org, {between}[EMAIL], [EMAIL] too"
    assert ran.result.text == f"first [EMAIL], {between}[EMAIL], [EMAIL] too"
