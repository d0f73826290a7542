"""The public names of the library, read from its source: what the packages list in `__all__`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

SOURCE = Path(__file__).resolve().parents[2] / "src"


@cache
def public_objects() -> dict[str, griffe.Object]:
    """Return what each public name stands for, as `package.name`."""
    root = griffe.load("sluiceway", search_paths=[SOURCE], docstring_parser="google", resolve_aliases=True)
    if not isinstance(root, griffe.Module):
        raise TypeError("sluiceway is a package")
    return {
        f"{package.path}.{name}": _meant(package[str(name)])
        for package in _packages(root)
        for name in package.exports or ()
    }


def _packages(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for inner in module.modules.values():
        if isinstance(inner, griffe.Module) and not inner.name.startswith("_"):
            yield from _packages(inner)


def _meant(value: griffe.Object | griffe.Alias) -> griffe.Object:
    return value.final_target if isinstance(value, griffe.Alias) else value
