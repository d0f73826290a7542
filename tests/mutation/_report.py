"""What became of the mutants, for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutation._mutants import SEED
from tests.mutation._run import Result

NOTICED = ("killed", "timeout")
KINDS = (*NOTICED, "survived", "no test")


def score(results: Sequence[Result]) -> float:
    """The share of the mutants that a test noticed, in per cent."""
    return 100 * sum(result.kind in NOTICED for result in results) / len(results)


def as_json(area: str, mutants: int, results: Sequence[Result], root: Path) -> dict[str, object]:
    """Everything about a run that can be compared with another."""
    return {
        "area": area,
        "seed": SEED,
        "mutants": mutants,
        "sample": len(results),
        "score": round(score(results), 1),
        **_counts(results),
        "results": [
            {
                "id": result.mutant.id,
                "kind": result.kind,
                "path": result.mutant.path.relative_to(root).as_posix(),
                "line": result.mutant.lines[0],
                "function": result.mutant.function,
                "before": result.mutant.before,
                "after": result.mutant.after,
                "test": result.test,
            }
            for result in results
        ],
    }


def table(rows: Sequence[tuple[str, int, Sequence[Result]]]) -> str:
    """A line for each area: its name, how many mutants it has, and what became of the sample."""
    lines = ["| package | mutants | sample | " + " | ".join(KINDS) + " | score |", "| --- |" + " ---: |" * 7]
    for area, mutants, results in rows:
        counts = _counts(results)
        cells = [area, mutants, len(results), *(counts[kind] for kind in KINDS), f"{score(results):.1f} %"]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


def unnoticed(results: Sequence[Result], root: Path) -> list[str]:
    """A line for each mutant that no test noticed."""
    return [
        f"{result.mutant.id} {result.kind}: {result.mutant.path.relative_to(root).as_posix()}:{result.mutant.lines[0]} "
        f"{result.mutant.function}: {_short(result.mutant.before)}  ->  {_short(result.mutant.after)}"
        for result in results
        if result.kind not in NOTICED
    ]


def _counts(results: Sequence[Result]) -> dict[str, int]:
    found = Counter(result.kind for result in results)
    return {kind: found[kind] for kind in KINDS}


def _short(code: str) -> str:
    return " ".join(code.split())
