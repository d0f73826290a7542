"""Every public name says what it is, and every one of its options what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import griffe
import pytest

from tests.docs.public import public_objects

OBJECTS = {value.canonical_path: value for value in public_objects().values()}
SECTIONS = {griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.attributes}


def told(thing: griffe.Object) -> set[str]:
    """What a docstring names: in its sections, or as code in its sentences."""
    if thing.docstring is None:
        return set()
    listed = {
        item.name.lstrip("*")
        for section in thing.docstring.parsed
        if section.kind in SECTIONS
        for item in section.value
    }
    return listed | set(re.findall(r"`(\w+)=?`", thing.docstring.value))


def untold(thing: griffe.Object) -> Iterator[str]:
    """The parameters of a function, class or public method that nothing is said about."""
    if isinstance(thing, griffe.Function):
        known = told(thing)
        yield from (p.name for p in thing.parameters if p.name not in {"self", "cls"} and p.name not in known)
    if isinstance(thing, griffe.Class):
        known = told(thing).union(*(told(base) for base in thing.mro()))
        known |= {name for name, member in thing.all_members.items() if member.is_attribute and member.has_docstring}
        yield from (p.name for p in thing.parameters if p.name not in {"self", "cls"} and p.name not in known)


def methods() -> Iterator[tuple[str, griffe.Function, set[str]]]:
    """The methods of public classes, with what is told of each, there or by the port or base that it follows."""
    ports = [value for value in OBJECTS.values() if isinstance(value, griffe.Class) and "Protocol" in str(value.bases)]
    for path, value in OBJECTS.items():
        if not isinstance(value, griffe.Class):
            continue
        for name, method in value.members.items():
            if isinstance(method, griffe.Function) and not name.startswith("_"):
                same = [cls.members[name] for cls in (value, *value.mro(), *ports) if name in cls.members]
                yield (
                    f"{path}.{name}",
                    method,
                    set().union(*(told(it) for it in same if isinstance(it, griffe.Function))),
                )


def test_every_public_name_has_a_docstring() -> None:
    assert sorted(path for path, value in OBJECTS.items() if value.docstring is None) == []


def test_every_option_of_a_public_name_is_told() -> None:
    assert {path: missing for path, value in OBJECTS.items() if (missing := list(untold(value)))} == {}


def test_every_option_of_a_method_is_told() -> None:
    """What has a default, or can be given by name only; of the rest the sentence speaks."""
    missing = {
        path: options
        for path, method, known in methods()
        if (
            options := [
                parameter.name
                for parameter in method.parameters
                if (parameter.default is not None or parameter.kind is griffe.ParameterKind.keyword_only)
                and parameter.name not in known
            ]
        )
    }
    assert missing == {}


@pytest.mark.parametrize("title", ["Example", "Keys"])
def test_titles_are_those_that_the_reference_knows(title: str) -> None:
    """`Examples:` and `Attributes:`; anything else is shown as a box of its own."""
    pattern = re.compile(rf"^\s*{title}:$", re.MULTILINE)
    assert [path for path, value in OBJECTS.items() if value.docstring and pattern.search(value.docstring.value)] == []
