"""Both backends for every asynchronous test, and the two Hypothesis profiles."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# Nothing random decides whether a change may land; `make deep` looks for new examples and
# prints how to run a failing one again.
settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    max_examples=3000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Keep what is there before the first test out of garbage collections: most of a run is that."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop that a test marked `anyio` runs on."""
    return request.param
