"""A run that waits for a person outlives the process that began it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "approval.py"


def command(*args: str) -> list[str]:
    return [sys.executable, str(EXAMPLE), *args]


def call(*args: str) -> tuple[list[str], dict[str, Any]]:
    """Run the example; return the steps that ran, and what it said."""
    done = subprocess.run(command(*args), capture_output=True, text=True, check=True, timeout=60)
    *steps, said = done.stdout.splitlines()
    return steps, json.loads(said)


@pytest.mark.parametrize(("answer", "outcome"), [("approve", "paid"), ("refuse", "refused")])
def test_a_second_process_finishes_what_a_killed_one_began(tmp_path: Path, answer: str, outcome: str) -> None:
    """SIGKILL leaves the process no time for anything; no step runs twice."""
    store = ("--store", str(tmp_path / "runs.db"))
    first = subprocess.Popen(
        command("start", "250", "--run-id", "r1", "--linger", *store), stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    with first.stdout:
        assert first.stdout.readline() == "assess\n"
        waiting = json.loads(first.stdout.readline())
        first.send_signal(signal.SIGKILL)
        assert first.wait(timeout=30) == -signal.SIGKILL
    asked = [
        {
            "step": "refund › branch[1] › ask_a_person",
            "payload": {"question": "Refund 250 EUR?", "risk": "high"},
        }
    ]
    assert waiting == {"run_id": "r1", "status": "suspended", "output": None, "waiting": asked}

    assert call("show", "r1", *store) == ([], waiting)
    steps, said = call("decide", "r1", answer, *store)
    assert steps == ["ask_a_person", "pay"]
    wanted = {"run_id": "r1", "status": "success", "output": f"250 EUR {outcome} by person", "waiting": []}
    assert said == wanted
    assert call("start", "999", "--run-id", "r1", *store) == ([], wanted)


def test_a_process_killed_while_it_goes_on_leaves_the_run_waiting(tmp_path: Path) -> None:
    """The next one takes over at once, without waiting for a lease to end."""
    code = """
import sys, anyio
from sluiceway import Workflow, step
from sluiceway.engine import RunStore

async def ask(data, ctx):
    if not ctx.resumed:
        ctx.suspend()
    if ctx.resume_data == "hang":
        print("hanging", flush=True)
        await anyio.sleep_forever()
    return ctx.resume_data

workflow = Workflow("w").then(ask).commit()

async def main():
    store = RunStore(sys.argv[1])
    if sys.argv[2] == "start":
        await workflow.run(0, run_id="r", store=store)
    else:
        print((await workflow.resume("r", data=sys.argv[2], store=store)).output, flush=True)

anyio.run(main)
"""
    script = tmp_path / "resume.py"
    script.write_text(code, encoding="utf-8")

    def begin(what: str) -> subprocess.Popen[str]:
        arguments = [sys.executable, str(script), str(tmp_path / "runs.db"), what]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=dict(os.environ))

    assert begin("start").communicate(timeout=60)[0] == ""
    hanging = begin("hang")
    assert hanging.stdout is not None
    with hanging.stdout:
        assert hanging.stdout.readline() == "hanging\n"
        hanging.kill()
        hanging.wait(timeout=30)
    assert begin("done").communicate(timeout=60)[0] == "done\n"


def test_a_small_refund_waits_for_nobody(tmp_path: Path) -> None:
    steps, said = call("start", "5", "--run-id", "r2", "--store", str(tmp_path / "runs.db"))
    assert steps == ["assess", "approve_small", "pay"]
    assert said == {"run_id": "r2", "status": "success", "output": "5 EUR paid by rule", "waiting": []}
