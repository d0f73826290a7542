"""Habits that a linter does not know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture._source import ROOT, modules

BORDERS = {"sluiceway.processors._scope"}
"""Where what an observer or a callback raises is logged and dropped."""

STAND_INS = {"sluiceway.errors", "sluiceway.messages._box", "sluiceway.messages._jsonable"}
"""Where one expression runs code of somebody's object, and a stand-in serves if that cannot be had."""

FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "changelog.d", ".ci")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|NotImplemented" + r"Error")
MACHINE_PATH = re.compile(r"(?<![\w.:/\[])/(?:work|root|home|farm)(?:/|\b)")


def texts() -> Iterator[tuple[Path, list[str]]]:
    """Every text file of the project with its lines."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file() and path.suffix in {".md", ".toml", ""}]
    for path in sorted(files):
        if {"__pycache__", "node_modules"} & set(path.parts) or path.name.startswith(".coverage"):
            continue
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue


def matching(pattern: re.Pattern[str], *, under: str = "") -> list[str]:
    return [
        f"{path}:{number}: {line.strip()}"
        for path, lines in texts()
        if str(path).startswith(under)
        for number, line in enumerate(lines, start=1)
        if pattern.search(line)
    ]


def test_no_failure_is_dropped_but_at_the_observer_border() -> None:
    """A handler of everything raises, or hands on what it caught; a log line is not enough."""
    found = [
        module.at(handler)
        for module in modules()
        if module.name not in BORDERS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Try) and not (module.name in STAND_INS and _one_expression(node))
        for handler in node.handlers
        if _catches_all(handler) and not _keeps(handler)
    ]
    assert found == []


def _one_expression(tried: ast.Try) -> bool:
    return len(tried.body) == 1 and isinstance(tried.body[0], ast.Return)


def _catches_all(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(n, ast.Name) and n.id in {"Exception", "BaseException"} for n in names)


def _keeps(handler: ast.ExceptHandler) -> bool:
    """Whether the handler raises, or uses the exception for more than a log line."""
    for statement in handler.body:
        if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith(("log.", "logger.")):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise) or (isinstance(node, ast.Name) and node.id == handler.name):
                return True
    return False


def test_nothing_is_left_for_later() -> None:
    assert matching(UNFINISHED, under="src") == []


def test_no_file_names_a_folder_of_one_machine() -> None:
    """But for the attacks of the corpus, which ask for them."""
    assert [
        line for line in matching(MACHINE_PATH) if not line.startswith(("tests/data/eval/", "tests/data/practice/"))
    ] == []


def test_every_lock_entry_comes_from_the_public_index() -> None:
    """A lock made behind a mirror would not install elsewhere."""
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://([^/\"]+)", lock)) == {"pypi.org", "files.pythonhosted.org"}
