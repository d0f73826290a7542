"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import anyio, pytest
from sluiceway.engine import clock
from sluiceway.testing import behaving

@pytest.mark.sluiceway_backends
async def test_both(sluiceway_clock, anyio_backend_name):
    await clock().sleep(3600)
    assert sluiceway_clock.slept == [3600]

def test_order(sluiceway_order, sluiceway_audit, sluiceway_recorder):
    assert sluiceway_order([behaving("upper"), behaving("digits")], examples=5).commutes
    assert sluiceway_audit.lines == [] and sluiceway_recorder.calls == []
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run the tests in a process of its own, with the plugin once, installed or not."""
    pytester.makepyfile(TESTS)
    return pytester.runpytest_subprocess("-p", "no:sluiceway", "-p", "sluiceway.testing._plugin", "-v", *arguments)


def test_a_marked_test_runs_on_both_backends_and_orders_are_told(pytester: pytest.Pytester) -> None:
    done = run(pytester)
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(
        ["*test_both?asyncio? PASSED*", "*test_both?trio? PASSED*", "upper, digits: all 2 orders agree (1 pair,*"]
    )


@pytest.mark.parametrize("name", ["report.json", "report.html", "report.txt"])
def test_the_report_is_written_as_the_name_says(pytester: pytest.Pytester, name: str) -> None:
    assert run(pytester, f"--sluiceway-report={name}", "-k", "order").ret == 0
    text = Path(pytester.path, name).read_text(encoding="utf-8")
    if name.endswith("json"):
        assert [report["commutes"] for report in json.loads(text)] == [True]
    else:
        assert text.startswith("<!doctype html>" if name.endswith("html") else "upper, digits: all 2 orders agree")


def test_a_report_of_an_unknown_kind_is_refused_at_once(pytester: pytest.Pytester) -> None:
    done = run(pytester, "--sluiceway-report=report.pdf")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*report.pdf: the name has to end in one of .json, .html, .htm, .txt*"])
