"""One Redis server for all tests here."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from tests.support.redis import GIVEN, redis_server


@pytest.fixture(scope="session")
def redis_url() -> Generator[str]:
    """The URL of a Redis server: that of the environment, else of one that runs meanwhile."""
    given = os.environ.get(GIVEN)
    if given:
        yield given
        return
    with redis_server() as server:
        yield server.url
