"""`python -m tests.conformance DIR`: run the cases of a folder."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from tests.conformance.load import CASES, Case, expected_failures, load_cases
from tests.conformance.run import BACKENDS, ENTRIES, faults_of

__all__ = ["main"]


def say(line: object, to: TextIO | None = None) -> None:
    """Write a line to the standard output, or where it is told."""
    (to or sys.stdout).write(f"{line}\n")


def first_fault(case: Case) -> str | None:
    """Return the first difference over both entry points and backends, or None."""
    for backend in BACKENDS:
        for entry in ENTRIES:
            faults = faults_of(case, entry, backend)
            if faults:
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                return f"[{entry} {backend}] {' '.join(faults[0].split())}{more}"
    return None


def main(arguments: Sequence[str], expected: Mapping[str, str] | None = None) -> int:
    """Run all cases of a folder; return 0 where exactly those fail that are expected to.

    Args:
        arguments: The folder; the project's own cases where it is left out.
        expected: The cases that are expected to fail, each with its issue; None: as listed.
    """
    if len(arguments) > 1:
        say("usage: python -m tests.conformance [DIR]", sys.stderr)
        return 2
    folder = Path(arguments[0]) if arguments else CASES
    try:
        cases = load_cases(folder)
    except (OSError, ValueError) as error:
        say(error, sys.stderr)
        return 2
    listed = expected_failures() if expected is None else expected
    failed: set[str] = set()
    surprises = 0
    for case in cases:
        fault, issue = first_fault(case), listed.get(case.id)
        if fault is not None:
            failed.add(case.id)
            say(f"{case.id}: {fault}" + (f" (expected until issue {issue})" if issue else ""))
        elif issue is not None:
            say(f"{case.id}: passes, but is listed as failing until issue {issue}")
        surprises += (fault is None) == (issue is not None)
    say(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
    return 1 if surprises else 0


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main(sys.argv[1:]))
