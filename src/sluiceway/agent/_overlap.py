"""Checks of the input that run while the model answers already: `Agent(..., overlap=True)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sluiceway.engine import Plan
from sluiceway.processors import Check, HookCall, HookScope, Kept, run_checks

__all__ = ["PutOff"]


@dataclass(slots=True)
class _Item:
    """A check, or something to be done once those before it have passed; and what came after it."""

    check: Check | None = None
    act: Callable[[], Awaitable[None]] | None = None
    is_input: bool = False
    after: Kept | None = None


class PutOff:
    """Checks that were put off, and what hooks after them did, until it is known that they passed.

    Args:
        scope: The run. While anything is put off, it keeps what hooks do.
    """

    __slots__ = ("_items", "_outer", "_scope", "failed_in_input")

    def __init__(self, scope: HookScope) -> None:
        self._scope = scope
        self._items: list[_Item] = []
        self._outer = Kept()
        self.failed_in_input = False
        """Whether the check that failed was one of `process_input`."""

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, entry: Plan, call: HookCall) -> None:
        """Put off a check. It sees the messages as they are now."""
        self._follow()
        self._items.append(_Item(Check(entry, call, self._scope), is_input=call.hook == "process_input"))

    def act(self, act: Callable[[], Awaitable[None]]) -> None:
        """Put off something that must not happen before the checks have passed."""
        self._follow()
        self._items.append(_Item(act=act))

    async def settle(self, deliver: Callable[[], Awaitable[None]]) -> None:
        """Run the checks side by side and put everything into effect, in list order.

        Args:
            deliver: Sends the data chunks that hooks have written.

        Raises:
            TripWire, SluicewayError: What the first of the checks that did not pass raised.
        """
        scope = self._scope
        items, self._items = self._items, []
        items[-1].after = scope.take()
        scope.put(self._outer)
        await run_checks([item.check for item in items if item.check is not None])
        for item in items:
            if item.check is not None:
                await self._commit(item.check, deliver, is_input=item.is_input)
            elif item.act is not None:
                await item.act()
            if item.after is not None:
                await scope.commit(item.after)

    async def _commit(self, check: Check, deliver: Callable[[], Awaitable[None]], *, is_input: bool) -> None:
        await self._scope.commit(check.take())
        if check.error is not None:
            self.failed_in_input = is_input
            raise check.error
        if self._scope.written:
            await deliver()

    def _follow(self) -> None:
        """What hooks did since the last item belongs behind it."""
        kept = self._scope.take()
        if self._items:
            self._items[-1].after = kept
        else:
            self._outer = kept
