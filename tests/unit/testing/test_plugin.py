"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
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
    return pytester.runpytest_subprocess("-p", "no:sluiceway", "-p", "sluiceway._pytest", "-v", *arguments)


def test_a_marked_test_runs_on_both_backends_and_orders_are_told(pytester: pytest.Pytester) -> None:
    done = run(pytester, "--sluiceway-report=report.html")
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(
        ["*test_both?asyncio? PASSED*", "*test_both?trio? PASSED*", "upper, digits: all 2 orders agree (1 pair,*"]
    )
    assert Path(pytester.path, "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_report_is_written_as_the_name_says(pytester: pytest.Pytester) -> None:
    assert run(pytester, "--sluiceway-report=report.txt", "-k", "order").ret == 0
    text = Path(pytester.path, "report.txt").read_text(encoding="utf-8")
    assert text.startswith("upper, digits: all 2 orders agree")


def test_a_report_of_an_unknown_kind_is_refused_at_once(pytester: pytest.Pytester) -> None:
    done = run(pytester, "--sluiceway-report=report.pdf")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*report.pdf: the name has to end in one of .json, .html, .htm, .txt*"])


SEVERAL = """
import pytest
from sluiceway.testing import behaving

@pytest.mark.parametrize("name", ["upper", "spaces", "at-signs", "warn"])
def test_order(sluiceway_order, name):
    assert sluiceway_order([behaving(name), behaving("digits")], examples=3).commutes
"""


def test_the_reports_of_all_workers_are_in_the_file(pytester: pytest.Pytester) -> None:
    """Each worker of pytest-xdist has a part of them."""
    pytester.makepyfile(SEVERAL)
    arguments = ["-p", "no:sluiceway", "-p", "sluiceway._pytest", "-n", "2", "--sluiceway-report=report.json"]
    done = pytester.runpytest_subprocess(*arguments)
    done.assert_outcomes(passed=4)
    reports = json.loads(Path(pytester.path, "report.json").read_text(encoding="utf-8"))
    names = ["at-signs", "spaces", "upper", "warn"]
    assert [report["ids"] for report in reports] == [[name, "digits"] for name in names]
    done.stdout.fnmatch_lines([f"{name}, digits: all 2 orders agree*" for name in names])


def test_who_has_no_use_for_it_does_not_pay_for_it() -> None:
    """What pytest loads in every run is a module of its own, not the library."""
    source = (
        "import sys, sluiceway._pytest; print(sorted(name for name in sys.modules if name.startswith('sluiceway')))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['sluiceway', 'sluiceway._pytest', 'sluiceway.errors']"


def test_other_tests_run_as_without_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(): pass\n\nclass TestTwo:\n    async def test_async(self): pass\n")
    with_it = pytester.runpytest_subprocess("-p", "no:sluiceway", "-p", "sluiceway._pytest", "-q")
    without = pytester.runpytest_subprocess("-p", "no:sluiceway", "-q")
    assert _told(with_it) == _told(without)


def _told(done: pytest.RunResult) -> list[str]:
    return [re.sub(r" in [0-9.]+s", "", line) for line in done.outlines]
