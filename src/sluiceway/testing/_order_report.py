"""What trying the orders of a list came to, as text, JSON and HTML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from html import escape
from typing import Literal, TypeAlias

__all__ = ["Difference", "OrderFormat", "OrderReport", "PairReport"]

OrderFormat: TypeAlias = Literal["text", "json", "html"]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; padding: .4rem .7rem; vertical-align: top }}
tr + tr {{ border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent) }}
code {{ white-space: pre-wrap; overflow-wrap: anywhere }}
</style></head><body><h1>{title}</h1>
<p>{summary}</p>
<h2>Pairs</h2><table><tr><th>pair</th><th>order</th><th>smallest example</th><th>rules</th></tr>{pairs}</table>
<h2>Orders</h2>{orders}
</body></html>
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
        groups: Orders that agree on every case, in one group; the list's own in the first.
            Empty if there are too many orders to try.
        cases: How many cases were tried for each hook and pair, at most.

    Example:
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
    def commutes(self) -> bool:
        """Whether no order was found that differs."""
        return len(self.groups) <= 1 and all(pair.commutes for pair in self.pairs)

    @property
    def summary(self) -> str:
        """One line."""
        count = len(self.pairs)
        tried = f"{count} pair{'' if count == 1 else 's'}, up to {self.cases} cases each"
        orders = sum(map(len, self.groups))
        if not self.groups:
            matter = sum(not pair.commutes for pair in self.pairs)
            return f"{', '.join(self.ids)}: the order matters in {matter} of {tried}; too many orders to try them all"
        if len(self.groups) == 1:
            return f"{', '.join(self.ids)}: all {orders} orders agree ({tried})"
        same = len(self.groups[0]) - 1
        return f"{', '.join(self.ids)}: {same} of {orders - 1} other orders agree with it ({tried})"

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
                lines += [f"  {', '.join(order)}" for order in group]
        # What was found may hold half characters, which no file takes.
        return "\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n"

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps({"summary": self.summary, "commutes": self.commutes, **asdict(self)}, indent=1) + "\n"

    def to_html(self) -> str:
        """Return it as a page that needs nothing else."""
        title = f"Orders of {', '.join(self.ids)}"
        orders = "".join(
            f"<h3>{'As it is' if number == 0 else 'Differs'}</h3><ul>{_items(group)}</ul>"
            for number, group in enumerate(self.groups)
        )
        page = _PAGE.format(
            title=escape(title),
            summary=escape(self.summary),
            pairs="".join(_row(pair) for pair in self.pairs),
            orders=orders or "<p>Too many to try.</p>",
        )
        return page.encode("utf-8", "backslashreplace").decode()

    def to(self, form: OrderFormat) -> str:
        """Return it in one of the three forms."""
        return {"text": self.to_text, "json": self.to_json, "html": self.to_html}[form]()


def _items(group: tuple[tuple[str, ...], ...]) -> str:
    return "".join(f"<li>{escape(', '.join(order))}</li>" for order in group)


def _row(pair: PairReport) -> str:
    found = pair.difference
    example = ""
    if found is not None:
        shown = f"{found.case}\n{pair.first} first: {found.outcomes[0]}\n{pair.second} first: {found.outcomes[1]}"
        example = f"<code>{escape(shown)}</code>"
    order = "either" if found is None else f"matters in {found.hook}"
    return (
        f"<tr><td>{escape(pair.first)} / {escape(pair.second)}</td><td>{escape(order)}</td>"
        f"<td>{example}</td><td>{escape(', '.join(pair.rules))}</td></tr>"
    )
