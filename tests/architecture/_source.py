"""The source tree as the tests of this folder read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "sluiceway"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: Path

    @cached_property
    def name(self) -> str:
        """Such as `sluiceway.messages._chunk`."""
        parts = ["sluiceway", *self.path.relative_to(PACKAGE).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def package(self) -> str:
        """The dotted name of the package the module stands in (its own, for an `__init__`)."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse("\n".join(self.lines))

    def at(self, node: ast.AST) -> str:
        """Where a node stands, as `src/sluiceway/x.py:12`."""
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def modules() -> list[Module]:
    """Every module of the package, in the order of their paths."""
    return [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]


def functions(tree: ast.AST) -> Iterator[FunctionNode]:
    """Every function and method in the tree, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported(node: ast.AST) -> list[str]:
    """The modules that an import statement names; of `from a import b` only `a`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module]
    return []
