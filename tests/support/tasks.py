"""What runs on the event loop, on either backend, and how to stop it at any point."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import sniffio
import trio

from sluiceway.testing import CancelAt

__all__ = ["CancelAt", "living_tasks", "settle"]


def living_tasks() -> int:
    """Return how many tasks there are on the running loop, system tasks included."""
    if sniffio.current_async_library() == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


async def settle(rounds: int = 5) -> None:
    """Let everything that can run do so."""
    for _ in range(rounds):
        await anyio.lowlevel.checkpoint()
