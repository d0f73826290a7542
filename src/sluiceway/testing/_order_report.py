"""What trying the orders of a list came to, as text, JSON and HTML."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Final, Literal, Self, TypeAlias

from pydantic import TypeAdapter

__all__ = ["Difference", "OrderFormat", "OrderReport", "PairReport", "tell_orders"]

OrderFormat: TypeAlias = Literal["text", "json", "html"]
"""How a report of orders is told."""

_SHOWN_ORDERS: Final = 10

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; padding: .4rem .7rem; vertical-align: top }}
tr + tr {{ border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent) }}
code {{ white-space: pre-wrap; overflow-wrap: anywhere }}
.matters td:nth-child(2) {{ font-weight: 600 }}
@media (max-width: 45rem) {{
  tr:first-child {{ display: none }}
  td {{ display: block; padding: .1rem 0 }}
  tr {{ display: block; padding: .5rem 0 }}
}}
</style></head><body>{sections}
</body></html>
"""

_SECTION = """<h1>{title}</h1>
<p>{summary}</p>
<h2>Pairs</h2><table><tr><th>pair</th><th>order</th><th>smallest example</th><th>rules</th></tr>{pairs}</table>
<h2>Orders</h2>{orders}
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """The smallest case found on which orders differ.

    Args:
        hook: The hook.
        case: What it was run on.
        outcomes: What came of it: in the order of the list first, then the other way round.
    """

    hook: str
    case: str
    outcomes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairReport:
    """Two processors of a list, alone.

    Args:
        first: The id of the one that stands first.
        second: The other.
        difference: Where their order matters; None: nowhere that was tried.
        rules: The rules of `check` that speak about one of the two orders.
    """

    first: str
    second: str
    difference: Difference | None
    rules: tuple[str, ...] = ()

    @property
    def commutes(self) -> bool:
        """Whether no case was found on which the order matters."""
        return self.difference is None


@dataclass(frozen=True, slots=True)
class OrderReport:
    """The orders of a list.

    Args:
        ids: The list, in its order.
        pairs: Every pair of it.
        groups: Orders that agree on every case, in one group; the list's own in the first. A
            sample of all orders where there are too many.
        cases: How many cases were tried for each hook and pair, at most.

    Examples:
        >>> report = OrderReport(("a", "b"), (PairReport("a", "b", None),), ((("a", "b"), ("b", "a")),), 50)
        >>> print(report.to_text(), end="")
        a, b: all 2 orders agree (1 pair, up to 50 cases each)
        a / b: either order
    """

    ids: tuple[str, ...]
    pairs: tuple[PairReport, ...]
    groups: tuple[tuple[tuple[str, ...], ...], ...]
    cases: int

    @property
    def possible(self) -> int:
        """How many orders there are."""
        return math.factorial(len(self.ids))

    @property
    def is_sample(self) -> bool:
        """Whether not all of them were tried."""
        return sum(map(len, self.groups)) < self.possible

    @property
    def commutes(self) -> bool:
        """Whether no order was found that differs."""
        return len(self.groups) <= 1 and all(pair.commutes for pair in self.pairs)

    @property
    def summary(self) -> str:
        """One line."""
        count = len(self.pairs)
        tried = f"{count} pair{'' if count == 1 else 's'}, up to {self.cases} cases each"
        orders = sum(map(len, self.groups))
        if len(self.groups) == 1:
            swaps = " with every swap of neighbours" if orders >= len(self.ids) else ""
            some = f" that were tried of {self.possible} agree, a sample{swaps}"
            return f"{', '.join(self.ids)}: all {orders} orders{some if self.is_sample else ' agree'} ({tried})"
        same = len(self.groups[0]) - 1
        agree = f"that were tried agree with it, a sample of {self.possible}" if self.is_sample else "agree with it"
        return f"{', '.join(self.ids)}: {same} of {orders - 1} other orders {agree} ({tried})"

    def to_text(self) -> str:
        """Return it as lines."""
        lines = [self.summary]
        for pair in self.pairs:
            found = pair.difference
            rules = f" [{', '.join(pair.rules)}]" if pair.rules else ""
            if found is None:
                lines.append(f"{pair.first} / {pair.second}: either order{rules}")
                continue
            lines.append(f"{pair.first} / {pair.second}: the order matters in {found.hook}{rules or ' [no rule]'}")
            lines.append(f"  on {found.case}")
            lines.append(f"  {pair.first} first: {found.outcomes[0]}")
            lines.append(f"  {pair.second} first: {found.outcomes[1]}")
        if len(self.groups) > 1:
            for number, group in enumerate(self.groups):
                lines.append("as it is:" if number == 0 else "differs:")
                lines += [f"  {line}" for line in _lines(group)]
        # What was found may hold half characters, which no file takes.
        return "\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n"

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps({"summary": self.summary, "commutes": self.commutes, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the report that `to_json` has written."""
        return TypeAdapter(cls).validate_json(text)

    def to_html(self) -> str:
        """Return it as a page that needs nothing else."""
        return tell_orders([self], "html")

    def to(self, form: OrderFormat) -> str:
        """Return it in one of the three forms."""
        return {"text": self.to_text, "json": self.to_json, "html": self.to_html}[form]()


def tell_orders(reports: Sequence[OrderReport], form: OrderFormat) -> str:
    """Return several reports as one text, one JSON list or one page.

    Args:
        reports: The reports.
        form: `text`, `json` or `html`.
    """
    if form == "json":
        return f"[{','.join(report.to_json() for report in reports)}]\n"
    if form == "text":
        return "\n".join(report.to_text() for report in reports)
    title = f"Orders of {', '.join(reports[0].ids)}" if len(reports) == 1 else "Orders"
    page = _PAGE.format(title=escape(title), sections="".join(map(_section, reports)))
    return page.encode("utf-8", "backslashreplace").decode()


def _section(report: OrderReport) -> str:
    orders = "".join(
        f"<h3>{'As it is' if number == 0 else 'Differs'}</h3><ul>{_items(group)}</ul>"
        for number, group in enumerate(report.groups)
    )
    return _SECTION.format(
        title=escape(f"Orders of {', '.join(report.ids)}"),
        summary=escape(report.summary),
        pairs="".join(_row(pair) for pair in report.pairs),
        orders=orders,
    )


def _lines(group: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the first orders of a group, and how many there are behind them."""
    left = len(group) - _SHOWN_ORDERS
    return [*(", ".join(order) for order in group[:_SHOWN_ORDERS]), *([f"… and {left} more"] if left > 0 else [])]


def _items(group: tuple[tuple[str, ...], ...]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in _lines(group))


def _row(pair: PairReport) -> str:
    found = pair.difference
    example = ""
    if found is not None:
        shown = f"{found.case}\n{pair.first} first: {found.outcomes[0]}\n{pair.second} first: {found.outcomes[1]}"
        example = f"<code>{escape(shown)}</code>"
    order = "either" if found is None else f"matters in {found.hook}"
    matters = "" if found is None else ' class="matters"'
    rules = ", ".join(pair.rules) or ("" if found is None else "no rule")
    return (
        f"<tr{matters}><td>{escape(pair.first)} / {escape(pair.second)}</td>"
        f"<td>{escape(order)}</td><td>{example}</td><td>{escape(rules)}</td></tr>"
    )
