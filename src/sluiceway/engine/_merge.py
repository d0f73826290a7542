"""`merge`: what to make of the branches of a `parallel` or `branch`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sluiceway._types import MISSING
from sluiceway.engine._step import Data, can_fork
from sluiceway.errors import GraphError, MergeConflict

__all__ = ["Merge", "merge"]


class Merge(ABC):
    """A map that is told what went into the branches as well as what came out.

    Args:
        keys: The branches it names; `commit()` checks that they are there.
        label: How it is shown.
    """

    __slots__ = ("keys", "label")

    combines = False
    """Whether it takes the edits of all branches together."""

    def __init__(self, keys: tuple[str, ...], label: str) -> None:
        self.keys = keys
        self.label = label

    @abstractmethod
    def merge(self, base: Data, outputs: Mapping[str, Data]) -> Data:
        """Return what goes on.

        Args:
            base: What went into the branches.
            outputs: Branch key to output, in list order.
        """
        ...

    def __call__(self, outputs: Mapping[str, Data], scope: object) -> Data:
        """Merge where the data before the branches is not at hand."""
        del scope
        return self.merge(None, outputs)

    def __repr__(self) -> str:
        return f"merge.{self.label}"


class _First(Merge):
    __slots__ = ()

    def merge(self, base: Data, outputs: Mapping[str, Data]) -> Data:
        for key in self.keys:
            if key in outputs:
                output = outputs[key]
                forked = output is not base and type(output) is type(base) and can_fork(base)
                return base.join({key: output}) if forked else output
        wanted, there = ", ".join(map(repr, self.keys)), ", ".join(map(repr, outputs))
        raise GraphError(f"{self!r}: no branch {wanted} has run; there are {there}. Name one of these.")


class _All(Merge):
    __slots__ = ("prefer",)

    combines = True

    def __init__(self, prefer: str | None) -> None:
        super().__init__((prefer,) if prefer else (), f"prefer({prefer!r})" if prefer else "all()")
        self.prefer = prefer

    def merge(self, base: Data, outputs: Mapping[str, Data]) -> Data:
        if can_fork(base):
            return base.join(outputs, prefer=self.prefer)
        return self._plain(base, outputs)

    def _plain(self, base: Data, outputs: Mapping[str, Data]) -> Data:
        changed = [(key, value) for key, value in outputs.items() if value is not base and value != base]
        if not changed:
            return base
        key, value = changed[0]
        preferred = next((output for name, output in changed if name == self.prefer), MISSING)
        if preferred is not MISSING:
            return preferred
        for other_key, other in changed[1:]:
            if other == value:
                continue
            message = f"branches {key!r} and {other_key!r} give different data; pick one with a map"
            raise MergeConflict(message, keys=(key, other_key))
        return value


class merge:  # noqa: N801 - a namespace, written as one: merge.pick("processor:x")
    """What to make of the branches before: pass one of these to `.map`."""

    @staticmethod
    def pick(key: str) -> Merge:
        """Go on with the output of one branch."""
        return _First((key,), f"pick({key!r})")

    @staticmethod
    def first(keys: Sequence[str]) -> Merge:
        """Go on with the first of these branches that ran, falsy outputs included."""
        if isinstance(keys, str) or not keys:
            raise GraphError(f"merge.first takes a list of branch keys, not {keys!r}")
        return _First(tuple(keys), f"first({list(keys)!r})")

    @staticmethod
    def all() -> Merge:
        """Go on with the edits of all branches together.

        No branch changed anything: the input goes on. One did: that. Several changed
        different things: all edits. Otherwise the run ends with a `MergeConflict`.
        """
        return _All(None)

    @staticmethod
    def prefer(key: str) -> Merge:
        """As `all()`, but what is in conflict goes to this branch."""
        return _All(key)
