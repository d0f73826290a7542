"""`python -m tests.mutation [AREA ...]`: plant faults in a sample of places and see which ones a test notices."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from tests.mutation._report import NOTICED, as_json, score, table, unnoticed
from tests.mutation._run import Area, Result, Settings, run

ROOT = Path(__file__).resolve().parents[2]
AREAS = {
    "messages": Area(
        "src/sluiceway/messages",
        (
            "tests/unit/messages",
            "tests/property/test_messages_formats.py",
            "tests/property/test_messages_hostile.py",
            "tests/property/test_messages_list.py",
            "tests/property/test_messages_texts.py",
            "tests/property/test_merge_of_branches.py",
            "tests/fuzz/test_message_input.py",
        ),
    ),
    "engine": Area(
        "src/sluiceway/engine",
        (
            "tests/unit/engine",
            "tests/property/test_engine_flow.py",
            "tests/property/test_engine_parallel.py",
            "tests/fuzz/test_stored.py",
            "tests/conformance",
            "tests/scenarios",
        ),
    ),
    "processors": Area(
        "src/sluiceway/processors",
        (
            "tests/unit/processors",
            "tests/property",
            "tests/conformance",
            "tests/cases",
            "tests/scenarios",
            "tests/integration/context",
            "tests/integration/guardrails",
        ),
    ),
}


def main(args: Sequence[str] | None = None) -> int:
    """Run the areas and say what was found: 1 when a score is below the one asked for."""
    parser = ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}; without a name all of them")
    parser.add_argument("--size", type=int, default=400, help="mutants of each area")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutation", help="a folder for the results")
    parser.add_argument("--workers", type=int, default=2, help="processes at once")
    parser.add_argument("--min-score", type=float, default=85.0, help="in per cent")
    parser.add_argument("--keep-map", action="store_true", help="which test reaches which line is as in the last run")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="these mutants of the sample")
    parser.add_argument("--survivors", action="store_true", help="those that no test noticed in the last run")
    options = parser.parse_args(args)
    unknown = set(options.areas) - AREAS.keys()
    if unknown:
        parser.error(f"no such area: {', '.join(sorted(unknown))}")
    rows: list[tuple[str, int, list[Result]]] = []
    passed = True
    for area in options.areas or AREAS:
        out = options.out / area
        only = frozenset[str](options.only) | (_survivors(out) if options.survivors else frozenset())
        settings = Settings(ROOT, out, options.size, options.workers, options.keep_map, only)
        mutants, results = run(AREAS[area], settings)
        if not results:
            parser.error(f"{area}: none of these mutants is in the sample")
        rows.append((area, mutants, results))
        # Some that were picked say nothing about the whole.
        passed = passed and (bool(only) or score(results) >= options.min_score)
        report = as_json(area, mutants, results, ROOT)
        (out / ("some.json" if only else "report.json")).write_text(json.dumps(report, indent=1), encoding="utf-8")
        sys.stdout.write("\n".join([*unnoticed(results, ROOT), ""]))
    sys.stdout.write(table(rows) + "\n")
    return int(not passed)


def _survivors(out: Path) -> frozenset[str]:
    last = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return frozenset(one["id"] for one in last["results"] if one["kind"] not in NOTICED)


if __name__ == "__main__":
    sys.exit(main())
