"""`ToolContext`: what a running tool may know and do besides its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from sluiceway.tools._request_context import RequestContext

__all__ = ["ChunkWriter", "SilentWriter", "ToolContext"]


class ChunkWriter(Protocol):
    """Sends data chunks into the stream of the run."""

    async def custom(self, type: str, data: object, transient: bool = False) -> None:  # noqa: A002
        """Send a `data-*` chunk.

        Args:
            type: Such as `data-progress`; another prefix is an error.
            data: Anything JSON.
            transient: Whether it is only shown, and not saved with the reply.
        """
        ...


class SilentWriter:
    """A writer for a tool that runs outside of a run: what it is given goes nowhere."""

    async def custom(self, type: str, data: object, transient: bool = False) -> None:  # noqa: A002
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool is given where a parameter of its function is annotated `ToolContext`.

    Args:
        request_context: Of the run.
        writer: Sends data chunks to the client while the tool works.
        run_id: The run.
        tool_call_id: The call that this is the execution of.
    """

    request_context: RequestContext = field(default_factory=RequestContext)
    writer: ChunkWriter = field(default_factory=SilentWriter)
    run_id: str = ""
    tool_call_id: str = ""
