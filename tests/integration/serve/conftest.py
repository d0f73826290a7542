"""No keys in the environment, and no proxies."""

from __future__ import annotations

from collections.abc import Iterator

import httpx  # noqa: F401 - here, since the official clients look at it while another thread may load it
import pytest

from tests.integration.modelserver import ModelServer


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelServer]:
    """A provider behind us."""
    with ModelServer() as running:
        yield running


@pytest.fixture(autouse=True, scope="session")
def no_keys() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("NO_PROXY", "*")
        yield
