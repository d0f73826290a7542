"""The mutants that mutmut's operators make of a package, and a sample of them that edits elsewhere leave alone."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.file_mutation import Mutation, create_mutations

SEED = "sluiceway-1"
LOGS = {"log", "_log"}


@dataclass(frozen=True)
class Mutant:
    """One changed expression or statement in one function."""

    id: str
    path: Path
    function: str
    # The first line of the function, its decorators counted; the lines of its body.
    function_line: int
    body: tuple[int, int]
    # The lines of what is changed, and of the statement around it.
    lines: tuple[int, int]
    statement: tuple[int, int]
    before: str
    after: str
    # Which of the file's mutations it is.
    number: int

    @property
    def in_header(self) -> bool:
        """Whether a default of a parameter is changed, which is computed when the function is made."""
        return self.lines[0] < self.body[0]


@dataclass(frozen=True)
class _File:
    """The mutations of one file, with where everything in it stands."""

    module: cst.Module
    mutations: list[Mutation]
    positions: Mapping[cst.CSTNode, CodeRange]
    parents: Mapping[cst.CSTNode, cst.CSTNode]

    def lines(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self.positions[node]
        return place.start.line, place.end.line

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node and what it stands in, from the inside out."""
        current: cst.CSTNode | None = node
        while current is not None:
            yield current
            current = self.parents.get(current)


def _read(path: Path) -> _File:
    module, mutations, _, _ = create_mutations(str(path), path.read_text(encoding="utf-8"))
    # The mutations point at the nodes of this very tree.
    tree = MetadataWrapper(module, unsafe_skip_copy=True)
    return _File(module, mutations, tree.resolve(PositionProvider), tree.resolve(ParentNodeProvider))


def mutants_of(package: Path, root: Path) -> list[Mutant]:
    """Every mutant of the functions of a package, in the order of the files.

    Args:
        package: A folder.
        root: What the ids of the mutants take the paths from.
    """
    return [
        mutant for path in sorted(package.rglob("*.py")) for mutant in _of_file(path, path.relative_to(root).as_posix())
    ]


def sample(mutants: list[Mutant], size: int) -> list[Mutant]:
    """The mutants with the lowest ids: random, the same each time, and hardly touched by an edit elsewhere."""
    return sorted(mutants, key=lambda mutant: mutant.id)[:size]


def sources_of(mutants: Iterable[Mutant]) -> dict[str, str]:
    """By the id of each mutant the whole file with it in."""
    sources: dict[str, str] = {}
    for path, group in groupby(sorted(mutants, key=lambda mutant: mutant.path), lambda mutant: mutant.path):
        file = _read(path)
        for mutant in group:
            mutation = file.mutations[mutant.number]
            changed = file.module.deep_replace(mutation.original_node, mutation.mutated_node)
            assert isinstance(changed, cst.Module)
            sources[mutant.id] = changed.code
    return sources


def _of_file(path: Path, name: str) -> Iterator[Mutant]:
    file = _read(path)
    functions = dict(_functions(file.module))
    same: Counter[tuple[str, str, str]] = Counter()
    for number, mutation in enumerate(file.mutations):
        function = mutation.contained_by_top_level_function
        # Like mutmut: what stands outside of functions is not mutated.
        if not isinstance(function, cst.FunctionDef) or _means_nothing(file, mutation):
            continue
        before = file.module.code_for_node(mutation.original_node).strip()
        after = file.module.code_for_node(mutation.mutated_node).strip()
        qualified = functions[function]
        key = (qualified, before, after)
        text = "\0".join((SEED, name, *key, str(same[key])))
        same[key] += 1
        yield Mutant(
            id=hashlib.sha256(text.encode()).hexdigest()[:12],
            path=path,
            function=qualified,
            function_line=file.lines(function.decorators[0] if function.decorators else function)[0],
            body=file.lines(function.body),
            lines=file.lines(mutation.original_node),
            statement=_statement(file, mutation.original_node),
            before=before,
            after=after,
            number=number,
        )


def _functions(module: cst.Module) -> Iterator[tuple[cst.FunctionDef, str]]:
    for statement in module.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement, statement.name.value
        elif isinstance(statement, cst.ClassDef):
            for inner in statement.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield inner, f"{statement.name.value}.{inner.name.value}"


def _statement(file: _File, node: cst.CSTNode) -> tuple[int, int]:
    """The lines of the statement, or of the head of the block, that a node belongs to."""
    for outer in file.around(node):
        if isinstance(outer, cst.SimpleStatementLine):
            return file.lines(outer)
        if isinstance(outer, cst.BaseCompoundStatement):
            start, _ = file.lines(outer)
            body = outer.cases[0] if isinstance(outer, cst.Match) else outer.body
            return start, max(start, file.lines(body)[0] - 1)
    return file.lines(node)


def _means_nothing(file: _File, mutation: Mutation) -> bool:
    """Whether the change is in text for a log, in a type, or in what only a type checker reaches."""
    inner: cst.CSTNode | None = None
    for node in file.around(mutation.original_node):
        if isinstance(node, cst.Call):
            if _is_log(node.func) or _named(node.func, "assert_never"):
                return True
            if _named(node.func, "cast") and (inner is node.args[0] or _type_changed(node, mutation)):
                return True
        inner = node
    return False


def _type_changed(call: cst.Call, mutation: Mutation) -> bool:
    changed = mutation.mutated_node
    return (
        mutation.original_node is call
        and isinstance(changed, cst.Call)
        and len(changed.args) == len(call.args)
        and changed.args[0] is not call.args[0]
    )


def _named(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_log(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value in LOGS
