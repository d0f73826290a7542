"""Whose process a token names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluiceway.storage import _holder, holder_is_gone, holder_token


def ended() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_process_that_lives_holds_and_one_that_ended_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = holder_token()
    monkeypatch.setattr(os, "getpid", ended)
    theirs = holder_token()
    assert (holder_is_gone(mine), holder_is_gone(theirs)) == (False, True)


def test_of_another_machine_or_container_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers may share the name of their machine; the ids of their processes mean nothing elsewhere."""
    monkeypatch.setattr(os, "getpid", ended)
    token = holder_token()
    assert holder_is_gone(token)
    monkeypatch.setattr(_holder, "_place", lambda: f"{token.rsplit('/', 2)[0]}1")
    assert not holder_is_gone(token)


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="Linux")
def test_the_place_names_the_namespace_that_process_ids_belong_to() -> None:
    assert holder_token().rsplit("/", 2)[0].endswith(str(Path("/proc/self/ns/pid").readlink()))


@pytest.mark.parametrize("token", ["", "x", "a/b/c", "host/-1/x", f"host/{10**30}/x"])
def test_a_token_of_somebody_else(token: str) -> None:
    assert not holder_is_gone(token)
