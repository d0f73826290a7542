"""`permutations_of`: try the orders of a list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.graphs import check
from sluiceway.processors import HookName
from sluiceway.testing._hypothesis import smallest_failure
from sluiceway.testing._law import subjects
from sluiceway.testing._laws_order import shared_hooks
from sluiceway.testing._order_report import Difference, OrderReport, PairReport
from sluiceway.testing._outcome import Outcome, Subject, hooks_in, run_outcome
from sluiceway.testing._running import Backend, run_blocking

__all__ = ["permutations_of"]

_Order: TypeAlias = "tuple[int, ...]"
_MOST_ORDERS: Final = 120


def permutations_of(
    chain: Sequence[object], texts: Iterable[str] | None = None, *, examples: int = 100, backend: Backend = "asyncio"
) -> OrderReport:
    """Try the orders of a list: which agree, which differ, and on what smallest case.

    Every pair is tried alone, and then, for up to five entries, all orders of the whole list.
    Where a run is aborted, that it is counts, not by which of them.

    Args:
        chain: Processors and workflows, in order.
        texts: The texts in what they are run on; None: made up.
        examples: How many cases are tried for each hook and pair.
        backend: The event loop.

    Raises:
        ConfigurationError: Fewer than two entries, or two with one id.

    Example:
        >>> from sluiceway.testing import behaving
        >>> report = permutations_of([behaving("upper"), behaving("digits")], examples=10)
        >>> report.commutes
        True
    """
    items = list(chain)
    ids = tuple(str(getattr(item, "id", item)) for item in items)
    if len(items) < 2 or len(set(ids)) < len(ids):
        raise ConfigurationError(f"an order needs two entries or more, with ids of their own; there are {list(ids)}")
    search = _Search(items, None if texts is None else tuple(texts), examples, backend)
    found = {pair: search.smallest(pair) for pair in itertools.combinations(range(len(items)), 2)}
    pairs = tuple(
        PairReport(ids[a], ids[b], _difference(cases), _rules(items[a], items[b])) for (a, b), cases in found.items()
    )
    groups: list[list[_Order]] = []
    if math.factorial(len(items)) <= _MOST_ORDERS:
        known = [case for cases in found.values() for case, _ in cases]
        groups = search.groups(known)
    shown = tuple(tuple(tuple(ids[one] for one in order) for order in group) for group in groups)
    return OrderReport(ids, pairs, shown, examples)


def _difference(cases: list[tuple[Subject, list[Outcome]]]) -> Difference | None:
    if not cases:
        return None
    case, outcomes = cases[0]
    return Difference(case.hook, str(case), tuple(str(outcome) for outcome in outcomes))


def _rules(first: object, second: object) -> tuple[str, ...]:
    """Return the rules that speak about the two together, in one order or the other."""
    alone = {(one.rule, one.why) for item in (first, second) for one in check([item])}
    both = [one for pair in ([first, second], [second, first]) for one in check(pair)]
    return tuple(sorted({one.rule for one in both if (one.rule, one.why) not in alone}))


class _Search:
    """Looks for cases on which orders differ."""

    def __init__(self, items: list[object], texts: tuple[str, ...] | None, examples: int, backend: Backend) -> None:
        self.items = items
        self.texts = texts
        self.examples = examples
        self.backend: Backend = backend

    def smallest(self, pair: tuple[int, int]) -> list[tuple[Subject, list[Outcome]]]:
        """Return for each hook the smallest case on which the two orders of a pair differ."""
        orders = [pair, (pair[1], pair[0])]
        hooks = shared_hooks(self.items[pair[0]], self.items[pair[1]])
        found = [case for hook in hooks if (case := self._differing(orders, hook)) is not None]
        return [(case, self._outcomes(orders, case)) for case in found]

    def groups(self, known: list[Subject]) -> list[list[_Order]]:
        """Return all orders, those that agree in one group; the list's own comes first."""
        groups: list[list[_Order]] = [[*itertools.permutations(range(len(self.items)))]]
        for case in known:
            groups = [part for group in groups for part in self._split(group, case)]
        for hook in hooks_in(self.items):
            at = 0
            while at < len(groups):
                case = self._differing(groups[at], hook) if len(groups[at]) > 1 else None
                if case is None:
                    at += 1
                else:
                    groups[at : at + 1] = self._split(groups[at], case)
        return groups

    def _differing(self, orders: Sequence[_Order], hook: HookName) -> Subject | None:
        def wrong(case: Subject) -> str | None:
            outcomes = [outcome.decided() for outcome in self._outcomes(orders, case)]
            return "differs" if any(outcome != outcomes[0] for outcome in outcomes) else None

        budget = max(5, self.examples * 2 // len(orders))
        found = smallest_failure(subjects(hook, self.texts), wrong, examples=min(budget, self.examples))
        return None if found is None else found.case

    def _split(self, group: list[_Order], case: Subject) -> list[list[_Order]]:
        parts: dict[Outcome, list[_Order]] = {}
        for order, outcome in zip(group, self._outcomes(group, case), strict=True):
            parts.setdefault(outcome.decided(), []).append(order)
        return [*parts.values()]

    def _outcomes(self, orders: Sequence[_Order], case: Subject) -> list[Outcome]:
        async def ran() -> list[Outcome]:
            return [(await run_outcome([self.items[one] for one in order], case))[0] for order in orders]

        return run_blocking(ran, self.backend)
