"""Which tools have been loaded, by thread."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from sluiceway.engine import clock
from sluiceway.tools import RequestContext

__all__ = ["LoadedTools", "Loads", "ThreadKey"]

ThreadKey = tuple[str | None, str]
"""A thread and whose it is: another user's thread of the same name is another."""


class Loads:
    """The names that one conversation has loaded, in that order."""

    __slots__ = ("names", "used_s")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: dict[str, None] = dict.fromkeys(names)
        self.used_s = 0.0

    def add(self, names: Iterable[str]) -> None:
        """Load some more."""
        self.names.update(dict.fromkeys(names))


class LoadedTools:
    """The loads of threads, kept until nobody has used them for a time.

    May be used from several threads of the program.

    Args:
        ttl_s: How long the loads of a thread are kept after their last use; 0: for ever.
    """

    __slots__ = ("_lock", "_threads", "_ttl_s")

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._lock = threading.Lock()
        self._threads: OrderedDict[ThreadKey, Loads] = OrderedDict()

    def of(self, context: RequestContext) -> Loads | None:
        """Return the loads of the thread that a request goes on with; None where it names none."""
        if context.thread_id is None:
            return None
        key = (context.resource_id, context.thread_id)
        with self._lock:
            self._sweep()
            loads = self._threads.setdefault(key, Loads())
            loads.used_s = clock().monotonic_s()
            self._threads.move_to_end(key)
        return loads

    def cleanup(self) -> int:
        """Forget what is too old; return how many threads that were."""
        with self._lock:
            return self._sweep()

    def clear(self, key: ThreadKey | None = None) -> int:
        """Forget the loads of one thread, or of all; return how many threads that were."""
        with self._lock:
            gone = list(self._threads.values()) if key is None else [self._threads[key]] if key in self._threads else []
            if key is None:
                self._threads.clear()
            else:
                self._threads.pop(key, None)
        for loads in gone:
            loads.names.clear()  # for a run at work, too
        return len(gone)

    def stats(self) -> dict[str, int]:
        """Return how many threads there are, and how many tools they have loaded together."""
        with self._lock:
            return {
                "threads": len(self._threads),
                "loaded_tools": sum(len(loads.names) for loads in self._threads.values()),
            }

    def _sweep(self) -> int:
        if not self._ttl_s:
            return 0
        before = len(self._threads)
        oldest_s = clock().monotonic_s() - self._ttl_s
        while self._threads and next(iter(self._threads.values())).used_s < oldest_s:
            self._threads.popitem(last=False)
        return before - len(self._threads)
