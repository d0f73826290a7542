"""`CostGuardProcessor`: no further step once a budget is spent."""

# What a model call used is told with who answered it.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias, cast

from sluiceway._types import new_id
from sluiceway.engine import clock
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Usage
from sluiceway.models import Model
from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import HookContext, InputStepContext, ResponseContext
from sluiceway.processors._effects import Effects
from sluiceway.processors.guardrails._ledger import CostEntry, CostLedger, InMemoryLedger
from sluiceway.processors.guardrails._options import checked_one_of
from sluiceway.processors.guardrails._prices import Price, PriceTable
from sluiceway.tools import RequestContext

__all__ = ["CostGuardProcessor"]

Scope: TypeAlias = Literal["run", "resource", "thread", "user", "organization", "session"]
Window: TypeAlias = Literal["1h", "6h", "24h", "7d", "30d", "365d"]
MaxCost: TypeAlias = "float | Callable[[RequestContext], Any]"

_HOUR_US: Final = 3_600_000_000
_WINDOWS: Final[Mapping[str, int]] = {
    "1h": _HOUR_US,
    "6h": 6 * _HOUR_US,
    "24h": 24 * _HOUR_US,
    "7d": 7 * 24 * _HOUR_US,
    "30d": 30 * 24 * _HOUR_US,
    "365d": 365 * 24 * _HOUR_US,
}
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("user_id", "user"),
    "organization": ("organization_id", "organization"),
    "session": ("session_id", "session"),
}
_SCOPES: Final = ("run", "resource", "thread", "user", "organization", "session")
_NANO: Final = 1_000_000_000
_MOST: Final = 10**16
"""More does not fit the ledgers, added up, and no call costs or takes as much."""
_MESSAGE: Final = "the budget is spent: {usage} of {limit}"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a model that is to be booked."""

    id: str
    at_us: int
    usage: Usage
    model: Any
    settles: str | None


class CostGuardProcessor(Processor):
    """Keeps books of what model calls cost, and ends a run before the step that a budget has no money for.

    Hooks: `process_input_step`, `process_llm_response`, and `on_usage`. List it among the input
    processors. Every call of a model is booked before the next step starts: aborted, failed and
    cancelled ones too, and those that guards make of their own models; where the provider does
    not say what a call took, an estimate, marked as such. A booking that fails is made up for
    before the next step, or that step fails.

    Runs that share a ledger share the budget. A step that is running elsewhere may overshoot
    by what it costs, unless `reserve_usd` sets that aside.

    Args:
        max_cost: The budget in US dollars, or a function of the request context (sync or async)
            that returns it.
        scope: Whose budget it is: of the `run`; of the `resource` or `thread` of the request
            context; of the `user`, `organization` or `session`, which the request context names
            as `user_id` and so on. Calls without a resource share one budget; without one of
            the others it is an error.
        window: What counts: the costs of so long, up to now. Of a `run` all counts.
        strategy: `block` ends the run; `warn` reports, once per run.
        warn_at_percent: Report, once per run, when so much of the budget is spent; None: not.
        message: What is said when it is spent, with `{usage}` and `{limit}`.
        prices: A `PriceTable`, or a mapping of `provider/model` to `Price` that is looked at
            before the prices that come with the library.
        on_unknown_price: What a model costs that has no price: `error`, when the agent is built
            or at the latest before the step; `zero`; or a `Price`.
        reserve_usd: What is set aside for each step while it runs; None: nothing. It comes back at
            once where the step ends before a model is asked, however it ends.
        ledger: Where the books are kept: `SQLiteLedger`, `PostgresLedger` or your own. None: in
            memory, of this process and this processor; what is older than the window is dropped.
        id: Unique within a list; part of the key of the budget.
        on_violation: Called when the budget is spent, and for `warn_at_percent`.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed; a model without a price
            (when the agent is built).

    Examples:
        >>> CostGuardProcessor(max_cost=5.0, window="24h").id
        'cost-guard'
    """

    def __init__(
        self,
        *,
        max_cost: MaxCost,
        scope: Scope = "resource",
        window: Window = "7d",
        strategy: Literal["block", "warn"] = "block",
        warn_at_percent: float | None = None,
        message: str = _MESSAGE,
        prices: PriceTable | Mapping[str, Price] | None = None,
        on_unknown_price: Literal["error", "zero"] | Price = "error",
        reserve_usd: float | None = None,
        ledger: CostLedger | None = None,
        id: str = "cost-guard",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        checked_one_of(id, "scope", scope, _SCOPES)
        checked_one_of(id, "window", window, _WINDOWS)
        checked_one_of(id, "strategy", strategy, ("block", "warn"))
        if not isinstance(on_unknown_price, Price):
            checked_one_of(id, "on_unknown_price", on_unknown_price, ("error", "zero"))
        self.max_cost = max_cost if callable(max_cost) else _usd(id, "max_cost", max_cost)
        self.scope: Scope = scope
        self.window: Window = window
        self.strategy = strategy
        self.warn_at_percent = None if warn_at_percent is None else _usd(id, "warn_at_percent", warn_at_percent)
        self.message = _template(id, message)
        self.prices = prices if isinstance(prices, PriceTable) else PriceTable(prices)
        self.on_unknown_price = on_unknown_price
        self.reserve_usd = None if reserve_usd is None else _usd(id, "reserve_usd", reserve_usd)
        self.ledger: CostLedger = InMemoryLedger() if ledger is None else ledger
        self.effects = Effects(reads=("overrides", "context"), writes=("state",))
        # Of whatever run: the last call of one is made up for before the first step of another.
        self._owed: list[tuple[CostEntry, str | None]] = []
        self._unreturned: list[str] = []

    # --- hooks ----------------------------------------------------------------------------------

    def check_models(self, models: Sequence[Model]) -> None:
        """Refuse an agent's models that have no price.

        Raises:
            ConfigurationError: One has none, and `on_unknown_price` is `error`.
        """
        for model in models:
            self._price(model)

    async def process_input_step(self, ctx: InputStepContext) -> None:
        """End the run if the budget is spent, else set aside what the step may cost."""
        given = ctx.model
        for model in cast("Sequence[Any]", given) if isinstance(given, list | tuple) else (given,):
            if hasattr(model, "model_id"):
                self._price(model)
        await self._make_up(ctx)
        limit = await self._limit(ctx)
        self._take_back(ctx.state)
        await self._return()
        owner, now = self._owner(ctx), _now_us()
        if self.reserve_usd is None:
            spent = await self.ledger.spent(owner, self._since(now), now)
            over = spent >= limit
        else:
            entry = CostEntry(
                id=new_id("cost"),
                owner=owner,
                at_us=now,
                nano_usd=_nano(self.reserve_usd),
                reserved=True,
                run_id=ctx.run_id,
                counts_us=self._counts_us(ctx, owner),
            )
            # Noted before it is there: who is cancelled while it is written does not hear of it.
            ctx.state["reserved"] = entry.id
            ctx._scope.links.ends.append(partial(self._give_back, ctx.state))
            spent = await self.ledger.reserve(entry, self._since(now), limit)
            over = spent is not None
            if over:
                ctx.state["reserved"] = None
        if over and spent is not None:
            self._spent(ctx, spent, limit)

    async def process_llm_response(self, ctx: ResponseContext) -> None:
        """Report when so much of the budget is spent; take back what was set aside for a replay."""
        self._take_back(ctx.state)
        await self._return()
        if self.warn_at_percent is None or ctx.state.get("near"):
            return
        await self._make_up(ctx)
        limit, now = await self._limit(ctx), _now_us()
        spent = await self.ledger.spent(self._owner(ctx), self._since(now), now)
        if spent * 100 >= limit * self.warn_at_percent:
            ctx.state["near"] = True
            self._warn(ctx, f"{self.warn_at_percent:g} % of the budget is spent", spent, limit)

    async def on_usage(self, usage: Usage, ctx: HookContext) -> None:
        """Book what a call of a model cost."""
        info = ctx._call.info
        settles = None
        if info.get("of_step"):
            settles, ctx.state["reserved"] = ctx.state.get("reserved"), None
        calls: list[_Call] = ctx.state.setdefault("unbooked", [])
        calls.append(_Call(new_id("cost"), _now_us(), usage, info.get("model"), settles))
        await self._make_up(ctx)

    # --- the books ------------------------------------------------------------------------------

    async def _make_up(self, ctx: HookContext) -> None:
        """Book what is not booked yet: a ledger that was down must not make calls free."""
        calls: list[_Call] = ctx.state.get("unbooked", [])
        while calls:
            entry = self._entry(ctx, calls[0])
            await self._add(entry, calls.pop(0).settles)
        while self._owed:
            await self._add(*self._owed.pop(0))
        await self._return()

    async def _add(self, entry: CostEntry, settles: str | None) -> None:
        try:
            await self.ledger.add(entry, settles)
        except BaseException:
            self._owed.append((entry, settles))
            raise

    def _take_back(self, state: dict[str, Any]) -> None:
        """Note that what a run has set aside is to be returned, if no call of a model has settled it."""
        reserved, state["reserved"] = state.get("reserved"), None
        if reserved is not None:
            self._unreturned.append(reserved)

    def _give_back(self, state: dict[str, Any]) -> Awaitable[None] | None:
        self._take_back(state)
        return self._return() if self._unreturned else None  # a hook may have been cancelled while it did that

    async def _return(self) -> None:
        while self._unreturned:
            reserved = self._unreturned.pop(0)
            try:
                await self.ledger.drop(reserved)
            except BaseException:
                self._unreturned.append(reserved)
                raise

    def _entry(self, ctx: HookContext, call: _Call) -> CostEntry:
        owner = self._owner(ctx)
        return CostEntry(
            id=call.id,
            owner=owner,
            at_us=call.at_us,
            nano_usd=min(_MOST, self._price(call.model).nano_usd(call.usage)),
            estimated=call.usage.estimated,
            run_id=ctx.run_id,
            model=f"{call.model.provider}/{call.model.model_id}",
            input_tokens=min(_MOST, call.usage.input_tokens),
            output_tokens=min(_MOST, call.usage.output_tokens),
            counts_us=self._counts_us(ctx, owner),
        )

    def _counts_us(self, ctx: HookContext, owner: str) -> int | None:
        """Return for how long an entry counts; one of a run, in memory, to the end of that run."""
        if self.scope != "run":
            return _WINDOWS[self.window]
        if isinstance(self.ledger, InMemoryLedger) and not ctx.state.get("forgets"):
            ctx.state["forgets"] = True
            links = ctx._scope.links
            links.run_ends = (*links.run_ends, partial(self.ledger.forget, owner))
        return None

    def _price(self, model: Any) -> Price:
        price = self.prices.find(model.provider, model.model_id)
        if price is not None:
            return price
        if isinstance(self.on_unknown_price, Price):
            return self.on_unknown_price
        if self.on_unknown_price == "zero":
            return Price(0, 0)
        name = f"{model.provider}/{model.model_id}"
        raise ConfigurationError(
            f"{self.id}: the price of {name} is not known; give prices={{{name!r}: Price(input_usd, output_usd)}}, "
            "in US dollars per million tokens, or on_unknown_price"
        )

    async def _limit(self, ctx: HookContext) -> int:
        limit: Any = self.max_cost
        if callable(limit):
            limit = limit(ctx.request_context)
            limit = _usd(self.id, "max_cost", await limit if inspect.isawaitable(limit) else limit)
        return _nano(limit)

    def _since(self, now_us: int) -> int:
        return 0 if self.scope == "run" else now_us - _WINDOWS[self.window]

    def _owner(self, ctx: HookContext) -> str:
        """Return the key of the budget; parts are set apart so that no two owners can have one key."""
        context = ctx.request_context
        if self.scope == "run":
            parts: tuple[str, ...] = (ctx.run_id,)
        elif self.scope == "resource":
            parts = ("",) if context.resource_id is None else (context.resource_id,)
        elif self.scope == "thread":
            if context.thread_id is None:
                raise self._nobody("memory={'thread': …, 'resource': …}")
            parts = (context.resource_id or "", context.thread_id)
        else:
            names = _KEYS[self.scope]
            value = next((context.get(name) for name in names if context.get(name) is not None), None)
            if value is None:
                raise self._nobody(f"request_context={{{names[0]!r}: …}}")
            parts = (str(value),)
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in (self.id, self.scope, *parts))

    def _nobody(self, fix: str) -> ConfigurationError:
        return ConfigurationError(f"{self.id}: scope={self.scope!r}, but the call does not name one; give {fix}")

    def _spent(self, ctx: HookContext, spent: int, limit: int) -> None:
        said = self.message.format(usage=_shown(spent), limit=_shown(limit))
        if self.strategy == "block":
            ctx.abort(said, metadata=self._figures(spent, limit))
        if not ctx.state.get("told"):
            ctx.state["told"] = True
            self._warn(ctx, said, spent, limit)

    def _warn(self, ctx: HookContext, said: str, spent: int, limit: int) -> None:
        ctx.warn(said, self._figures(spent, limit))

    def _figures(self, spent: int, limit: int) -> dict[str, Any]:
        return {"usage": spent / _NANO, "limit": limit / _NANO, "scope": self.scope, "window": self.window}


def _usd(owner: str, option: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ConfigurationError(f"{owner}: {option}={value!r} is not allowed; give a number from 0 up")
    return float(value)


def _template(owner: str, message: Any) -> str:
    try:
        if isinstance(message, str):
            message.format(usage="", limit="")
            return message
    except (KeyError, IndexError, ValueError, AttributeError):
        pass
    raise ConfigurationError(
        f"{owner}: message={message!r} is not allowed; give a text with nothing but {{usage}} and {{limit}} in braces"
    )


def _nano(usd: float) -> int:
    return round(usd * _NANO)


def _shown(nano_usd: int) -> str:
    usd = nano_usd / _NANO
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.6f}".rstrip("0")


def _now_us() -> int:
    return int(clock().now().timestamp() * 1_000_000)
