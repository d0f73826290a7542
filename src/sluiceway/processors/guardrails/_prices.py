"""What tokens cost: a table that comes with the library, and your own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from math import ceil
from typing import Any, Final, cast

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Usage

__all__ = ["Price", "PriceTable", "shipped_prices"]

_DATED: Final = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_FREE: Final = frozenset({"echo"})


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars per million tokens.

    Args:
        input_usd: For what the prompt takes.
        output_usd: For what the answer takes.
        cached_input_usd: For what of the prompt the provider had kept; None: as the rest.

    Raises:
        ConfigurationError: A price that is no number from 0 up.
    """

    input_usd: float
    output_usd: float
    cached_input_usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("input_usd", "output_usd", "cached_input_usd"):
            value: Any = getattr(self, name)
            fine = not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < float("inf")
            if not fine and not (value is None and name == "cached_input_usd"):
                raise ConfigurationError(f"Price: {name}={value!r} is not allowed; give a number from 0 up")

    def nano_usd(self, usage: Usage) -> int:
        """Return what a call cost, in billionths of a US dollar, rounded up; fewer than no tokens are none."""
        sent, got = max(0, usage.input_tokens), max(0, usage.output_tokens)
        cached = max(0, min(sent, dict(usage.details).get("cached_tokens", 0)))
        cached_usd = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        return ceil(
            (sent - cached) * _nano_usd_per_token(self.input_usd)
            + cached * _nano_usd_per_token(cached_usd)
            + got * _nano_usd_per_token(self.output_usd)
        )


def _nano_usd_per_token(usd_per_million: float) -> Decimal:
    """Return a price as it is written, and not as the binary fraction next to it, which rounding up would show."""
    return Decimal(str(usd_per_million)) * 1000


class PriceTable:
    """Prices by `provider/model`.

    A name with a date behind it, such as `openai/gpt-5-2025-08-07`, has the price of the name
    without. The models of provider `echo` are free.

    Args:
        prices: Your own, looked at first; names without a provider are of any.
        shipped: Whether those of the library count where yours have none.

    Raises:
        ConfigurationError: Something that is no price.
    """

    __slots__ = ("_prices", "as_of")

    def __init__(self, prices: Mapping[str, Price] | None = None, *, shipped: bool = True) -> None:
        given: Any = {} if prices is None else prices
        if not isinstance(given, Mapping) or not all(
            isinstance(p, Price) for p in cast("Mapping[Any, Any]", given).values()
        ):
            raise ConfigurationError("prices must be a mapping of `provider/model` to Price")
        self.as_of = shipped_prices()[0] if shipped else None
        """The date of the library's prices, such as `2026-11-30`; None without them."""
        self._prices: dict[str, Price] = {
            **(shipped_prices()[1] if shipped else {}),
            **cast("Mapping[str, Price]", given),
        }

    def find(self, provider: str, model_id: str) -> Price | None:
        """Return the price of a model; None if it is not known."""
        if provider in _FREE:
            return Price(0, 0)
        for name in (model_id, _DATED.sub("", model_id)):
            price = self._prices.get(f"{provider}/{name}") or self._prices.get(name)
            if price is not None:
                return price
        return None


@cache
def shipped_prices() -> tuple[str, Mapping[str, Price]]:
    """Return the date of the prices that come with the library, and the prices."""
    text = files("sluiceway.processors.guardrails").joinpath("prices.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    prices = {
        name: Price(price["input"], price["output"], price.get("cached_input"))
        for name, price in table["prices"].items()
    }
    return table["as_of"], prices
