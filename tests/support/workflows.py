"""What tests of workflows share: data that forks, a clock that does not wait, steps that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import anyio

from sluiceway.engine import StepContext
from sluiceway.errors import MergeConflict
from sluiceway.testing import FakeClock

__all__ = ["Board", "Counting", "FakeClock", "Named", "asks"]


class Board:
    """Named fields that fork and merge: the smallest data that follows `Forkable`."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.before = dict(fields)

    def fork(self) -> Board:
        return Board(**self.fields)

    def join(self, forks: Mapping[str, Board], *, prefer: str | None = None) -> Board:
        writers: dict[str, str] = {}
        for key, fork in forks.items():
            for name, value in fork.fields.items():
                if name in fork.before and fork.before[name] == value:
                    continue
                other = writers.get(name)
                if other is not None and forks[other].fields[name] != value:
                    if prefer not in (other, key):
                        raise MergeConflict(f"{other} and {key} set {name}", keys=(other, key))
                    if prefer == other:
                        continue
                writers[name] = key
        for name, key in writers.items():
            self.fields[name] = forks[key].fields[name]
        return self


class Named:
    """A step of the engine that calls a function of the data."""

    def __init__(self, name: str, fn: Any, *, delay_s: float = 0) -> None:
        self.id = name
        self.key = name
        self.fn = fn
        self.delay_s = delay_s
        self.cancelled = False

    async def run(self, data: Any, scope: Any) -> Any:
        try:
            if self.delay_s:
                await anyio.sleep(self.delay_s)
        except BaseException:
            self.cancelled = True
            raise
        result = self.fn(data)
        return data if result is None else result


class Counting:
    """Counts how often each step ran."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()

    def step(self, name: str, fn: Any = None) -> Any:
        """Return a function step that counts itself and then calls `fn(data)`."""

        def counted(data: Any) -> Any:
            self.runs[name] += 1
            return data if fn is None else fn(data)

        counted.__name__ = name
        return counted


def asks(name: str = "ask", *, reply: Any = None) -> Any:
    """Return a function step that suspends with its data and goes on with `reply(data, answer)`."""

    def ask(data: Any, ctx: StepContext) -> Any:
        if not ctx.resumed:
            ctx.suspend(data)
        return ctx.resume_data if reply is None else reply(data, ctx.resume_data)

    ask.__name__ = name
    return ask
