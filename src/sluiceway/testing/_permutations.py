"""`permutations_of`: try the orders of a list."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.graphs import check
from sluiceway.processors import HookName
from sluiceway.testing._hypothesis import smallest_failure, some_cases
from sluiceway.testing._law import subjects
from sluiceway.testing._laws_order import shared_hooks
from sluiceway.testing._order_report import Difference, OrderReport, PairReport
from sluiceway.testing._outcome import Outcome, Subject, hooks_in, run_outcome
from sluiceway.testing._running import Backend, run_blocking
from sluiceway.testing._texts import checked_texts

__all__ = ["cases_of_a_pair", "permutations_of"]

_Order: TypeAlias = "tuple[int, ...]"
_MOST_ORDERS: Final = 120
_MOST_CASES: Final = 3000
"""How many cases all pairs of a list get together; a long list is not to take hours."""


_LEAST_CASES: Final = 10
"""How many cases all orders of a list are run on for each hook, at least."""


def permutations_of(
    chain: Sequence[object],
    texts: Iterable[str] | None = None,
    *,
    examples: int = 100,
    orders: int = _MOST_ORDERS,
    backend: Backend = "asyncio",
) -> OrderReport:
    """Try the orders of a list: which agree, which differ, and on what smallest case.

    Every pair is tried alone, and then orders of the whole list: all of them where there are no
    more than `orders`, as of five entries; else a sample, the same one each time: the list
    itself, each swap of two neighbours, the list turned round, and others at random. Where a
    run is aborted, that it is counts, not by which of them.

    Args:
        chain: Processors and workflows, in order.
        texts: The texts in what they are run on; None: made up.
        examples: How many cases are tried for each hook and pair; fewer, but 10 at least, where
            all pairs together would come to more than 3,000. The report says how many.
        orders: How many orders of the whole list are tried, at most; from 2.
        backend: The event loop.

    Raises:
        ConfigurationError: Fewer than two entries, two with one id, or `orders` is no such count.

    Examples:
        >>> from sluiceway.testing import behaving
        >>> report = permutations_of([behaving("upper"), behaving("digits")], examples=10)
        >>> report.commutes
        True
    """
    items = list(chain)
    ids = tuple(str(getattr(item, "id", item)) for item in items)
    if len(items) < 2 or len(set(ids)) < len(ids):
        raise ConfigurationError(f"an order needs two entries or more, with ids of their own; there are {list(ids)}")
    if orders < 2:
        raise ConfigurationError(f"orders={orders!r} is not allowed; give a whole number from 2")
    among = [*itertools.combinations(range(len(items)), 2)]
    examples = cases_of_a_pair(examples, len(among))
    search = _Search(items, checked_texts(texts), examples, backend)
    found = {pair: search.smallest(pair) for pair in among}
    pairs = tuple(
        PairReport(ids[a], ids[b], _difference(cases), _rules(items[a], items[b])) for (a, b), cases in found.items()
    )
    known = [case for cases in found.values() for case, _ in cases]
    groups = search.groups(_orders(len(items), orders), known)
    shown = tuple(tuple(tuple(ids[one] for one in order) for order in group) for group in groups)
    return OrderReport(ids, pairs, shown, examples)


def cases_of_a_pair(examples: int, pairs: int) -> int:
    """Return how many cases each pair gets: as many as asked for, and fewer of a long list."""
    return min(examples, max(10, _MOST_CASES // pairs))


def _orders(size: int, most: int) -> list[_Order]:
    """Return the orders that are tried; the list's own is the first."""
    own = tuple(range(size))
    if math.factorial(size) <= most:
        return [*itertools.permutations(own)]
    swaps = [(*own[:at], at + 1, at, *own[at + 2 :]) for at in range(size - 1)]
    tried = dict.fromkeys([own, *swaps, own[::-1]][:most])
    draw = random.Random(size)  # noqa: S311 - a sample, the same one each time
    while len(tried) < most:
        tried[tuple(draw.sample(own, size))] = None
    return [*tried]


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
    """Looks for cases on which orders differ. Cases are drawn once for each hook, and all orders run on them."""

    def __init__(self, items: list[object], texts: tuple[str, ...] | None, examples: int, backend: Backend) -> None:
        self.items = items
        self.texts = texts
        self.examples = examples
        self.backend: Backend = backend
        self._cases: dict[HookName, list[Subject]] = {}

    def smallest(self, pair: tuple[int, int]) -> list[tuple[Subject, list[Outcome]]]:
        """Return for each hook the smallest case on which the two orders of a pair differ."""
        orders = [pair, (pair[1], pair[0])]
        hooks = shared_hooks(self.items[pair[0]], self.items[pair[1]])
        found = [case for hook in hooks if (case := self._smallest(orders, hook)) is not None]
        return [(case, self._outcomes(orders, [case])[0]) for case in found]

    def groups(self, orders: list[_Order], known: list[Subject]) -> list[list[_Order]]:
        """Return orders, those that agree in one group; the list's own comes first."""
        each = max(_LEAST_CASES, self.examples * 2 // len(orders))
        cases = known + [case for hook in hooks_in(self.items) for case in self._drawn(hook)[:each]]
        groups: dict[tuple[Outcome, ...], list[_Order]] = {}
        outcomes = self._outcomes(orders, cases)
        for place, order in enumerate(orders):
            groups.setdefault(tuple(of_case[place].decided() for of_case in outcomes), []).append(order)
        return [*groups.values()]

    def _smallest(self, orders: Sequence[_Order], hook: HookName) -> Subject | None:
        def differ(outcomes: list[Outcome]) -> bool:
            return any(outcome.decided() != outcomes[0].decided() for outcome in outcomes)

        def wrong(case: Subject) -> str | None:
            return "differs" if differ(self._outcomes(orders, [case])[0]) else None

        cases = self._drawn(hook)
        first = next(
            (case for case, came in zip(cases, self._outcomes(orders, cases), strict=True) if differ(came)), None
        )
        if first is None:
            return None
        found = smallest_failure(subjects(hook, self.texts), wrong, examples=self.examples)
        return first if found is None else found.case

    def _drawn(self, hook: HookName) -> list[Subject]:
        if hook not in self._cases:
            self._cases[hook] = some_cases(subjects(hook, self.texts), examples=self.examples)
        return self._cases[hook]

    def _outcomes(self, orders: Sequence[_Order], cases: Sequence[Subject]) -> list[list[Outcome]]:
        """Return for each case what comes of it in each order."""

        async def ran() -> list[list[Outcome]]:
            return [
                [(await run_outcome([self.items[one] for one in order], case))[0] for order in orders] for case in cases
            ]

        return run_blocking(ran, self.backend)
