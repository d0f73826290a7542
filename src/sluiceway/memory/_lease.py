"""`Claim`: the right of one run to a thread, held from load to save."""

from __future__ import annotations

import logging
import weakref
from functools import partial
from typing import Final

import anyio

from sluiceway.engine import Owned, clock
from sluiceway.errors import StorageError
from sluiceway.memory._port import MemoryStore
from sluiceway.storage import holder_token

__all__ = ["LEASE_S", "Claim"]

log: Final = logging.getLogger("sluiceway.memory")

LEASE_S: Final = 30.0
"""How long a lease holds that is not renewed, in seconds; it is renewed three times in that time."""

_FIRST_PAUSE_S: Final = 0.005
_LONGEST_PAUSE_S: Final = 0.25


class Claim:
    """A lease on a thread, held by one run.

    Args:
        store: Where the thread is.
        thread_id: The thread.
    """

    __slots__ = ("__weakref__", "_renewal", "ending", "held", "store", "thread_id", "token")

    def __init__(self, store: MemoryStore, thread_id: str) -> None:
        self.store = store
        self.thread_id = thread_id
        self.token = holder_token("lease")
        self.held = False
        self.ending = False
        """Whether it ends with the turn that is being saved, so that a renewal may find it gone."""
        self._renewal = Owned()

    async def take(self, wait_s: float) -> None:
        """Wait for the lease.

        Raises:
            StorageError: Another run still has it after so many seconds, or the store failed.
        """
        until = clock().monotonic_s() + wait_s
        pause_s = _FIRST_PAUSE_S
        while not await self.store.acquire(self.thread_id, self.token, LEASE_S):
            left_s = until - clock().monotonic_s()
            if left_s <= 0:
                raise StorageError(
                    f"another run has been at work on thread {self.thread_id!r} for {wait_s:g} s; try again, "
                    "raise thread_wait_s, or read only"
                )
            await clock().sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self.held = True

    def keep(self) -> None:
        """Renew it from now on, until it is given back, or nobody has it any more; the store is held meanwhile."""
        self._renewal.start(partial(_renew, weakref.ref(self), self.store, self.thread_id, self.token))

    async def stop(self, *, release: bool) -> None:
        """End the renewal, and give the lease back where the store has not done so already."""
        self.held = False
        self._renewal.cancel()
        await self._renewal.join()
        if not release:
            return
        try:
            await self.store.release(self.thread_id, self.token)
        except StorageError as error:
            log.warning("the lease of a thread runs out by itself, since giving it back failed: %s", error)


async def _renew(ref: weakref.ref[Claim], store: MemoryStore, thread_id: str, token: str) -> None:
    """Renew a claim for as long as it lives; for a stream that was dropped unclosed, give all back."""
    while True:
        await anyio.sleep(LEASE_S / 3)
        try:
            if ref() is None:
                await store.release(thread_id, token)
                await store.__aexit__(None, None, None)
                return
            kept = await store.renew(thread_id, token, LEASE_S)
        except StorageError as error:
            log.warning("the lease of a thread could not be renewed: %s", error)
            continue
        if not kept:
            claim = ref()
            if claim is None or not claim.ending:
                log.warning("the lease of a thread was lost; the turn will not be saved")
            return
