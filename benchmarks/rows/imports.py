"""What `import sluiceway` costs in a new interpreter."""

from __future__ import annotations

import os
import sys

import anyio

from benchmarks._row import Row, Size, ratio

TIMED = "import time; a = time.perf_counter(); {}; print(time.perf_counter() - a)"


async def seconds(statement: str) -> float:
    """Run the statement in a new interpreter, all modules compiled, and return how long it took."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = await anyio.run_process([sys.executable, "-c", TIMED.format(statement)], env=env)
    return float(done.stdout)


async def measure(size: Size) -> list[Row]:
    """Measure the root, with what loading all its names costs beside it, against pydantic and anyio."""
    statements = ("import pydantic, anyio", "import sluiceway", "from sluiceway import *")
    base, root, names = [min([await seconds(s) for _ in range(size.rounds)]) * 1e3 for s in statements]
    return [ratio("import sluiceway", "pydantic and anyio", root / base, 1.3, base_ms=base, with_all_names_ms=names)]
