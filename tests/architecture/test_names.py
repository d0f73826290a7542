"""What the packages export: one home per name, described, and nothing else in `__init__`."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import sluiceway
from tests.architecture._source import Module, modules

MAX_PARAMETERS = 6
OPTIONS_BY_DESIGN = {"__init__", "generate", "generate_sync", "of", "replace", "step", "stream"}
"""Constructors and calls whose options the design lists one by one."""


def packages() -> list[Module]:
    return [m for m in modules() if m.path.name == "__init__.py" and m.name != "sluiceway"]


def public(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in module.__all__}


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.name)
def test_an_init_holds_a_docstring_imports_and_all(package: Module) -> None:
    allowed = (ast.Import, ast.ImportFrom)
    rest = [
        ast.unparse(node)
        for node in package.tree.body[1:]
        if not isinstance(node, allowed) and not ast.unparse(node).startswith("__all__")
    ]
    assert ast.get_docstring(package.tree), "the first statement is the docstring"
    assert rest == []


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.name)
def test_all_lists_what_the_init_imports_in_order(package: Module) -> None:
    bound = {
        alias.asname or alias.name
        for node in package.tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    }
    listed = importlib.import_module(package.name).__all__
    assert set(listed) == bound
    assert len(listed) == len(set(listed))


def test_every_name_has_one_home() -> None:
    """No two packages export one object; the root's dozen, and the rooms inside a package, point to homes."""
    homes: dict[int, list[str]] = {}
    for package in packages():
        if package.name.count(".") > 1:
            continue
        for name, value in public(importlib.import_module(package.name)).items():
            if getattr(value, "__module__", "").startswith("sluiceway"):
                homes.setdefault(id(value), []).append(f"{package.name}.{name}")
    assert [names for names in homes.values() if len({name.rpartition(".")[0] for name in names}) > 1] == []


def test_every_public_name_says_what_it_promises() -> None:
    homes = [*packages(), *(module for module in modules() if module.name == "sluiceway.errors")]
    silent = [
        f"{home.name}.{name}"
        for home in homes
        for name, value in public(importlib.import_module(home.name)).items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__
    ]
    assert silent == []


def test_the_root_exports_a_dozen_names_each_from_its_home() -> None:
    assert sluiceway.__all__ == [
        "Agent",
        "Message",
        "MessageList",
        "Processor",
        "RequestContext",
        "Tool",
        "ToolContext",
        "TripWire",
        "Workflow",
        "guard",
        "step",
        "tool",
    ]
    for name in sluiceway.__all__:
        home = importlib.import_module(sluiceway._HOMES[name])
        assert getattr(sluiceway, name) is getattr(home, name)
        assert name in home.__all__
    assert set(sluiceway.__all__) <= set(dir(sluiceway))


def test_the_root_knows_no_other_name() -> None:
    with pytest.raises(AttributeError, match="module 'sluiceway' has no attribute 'Agents'"):
        sluiceway.Agents  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_public_functions_take_few_parameters_and_no_keyword_bags() -> None:
    found = [
        f"{where}{inspect.signature(function)}"
        for where, function in signatures()
        if (many(function) and where.rpartition(".")[2] not in OPTIONS_BY_DESIGN) or has_bag(function)
    ]
    assert found == []


def signatures() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every function that a home exports, and every public method of a class that it exports."""
    for package in packages():
        for name, value in public(importlib.import_module(package.name)).items():
            where = f"{package.name}.{name}"
            if inspect.isfunction(value):
                yield where, value
            elif inspect.isclass(value) and value.__module__.startswith("sluiceway"):
                for attribute, member in vars(value).items():
                    function = getattr(member, "__func__", member)
                    if inspect.isfunction(function) and not attribute.startswith("_"):
                        yield f"{where}.{attribute}", function


def many(function: Callable[..., object]) -> bool:
    names = [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]
    return len(names) > MAX_PARAMETERS


def has_bag(function: Callable[..., object]) -> bool:
    """Whether it takes keywords that no type names; `**options: Unpack[CallOptions]` names them."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.kind is p.VAR_KEYWORD and not str(p.annotation).startswith("Unpack[") for p in parameters)
