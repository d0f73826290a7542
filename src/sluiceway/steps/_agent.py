"""An agent as a step."""

from __future__ import annotations

from typing import Any, Protocol, cast

from sluiceway.engine import AnyScope, Data
from sluiceway.errors import TripWire

__all__ = ["AgentStep", "Generates"]


class Generates(Protocol):
    """What of an agent a step needs."""

    @property
    def id(self) -> str:
        """The agent's id."""
        ...

    async def generate(self, input: Any, *, request_context: Any = None) -> Any:  # noqa: A002
        """Run the agent and return its result."""
        ...


class AgentStep:
    """An agent: gets what `generate` takes, gives the structured answer or else the text.

    In a hook it gets the text of the call. A tripwire of the agent is one of the workflow.

    Args:
        agent: The agent.
        id: Its name; None: its own.
        hooks: The hooks it runs in, or None: the usual ones.
    """

    __slots__ = ("agent", "can_suspend", "hooks", "id", "input", "key", "opaque", "output")

    def __init__(
        self,
        agent: Generates,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        hooks: frozenset[str] | None = None,
    ) -> None:
        self.agent = agent
        self.id = self.key = id or agent.id
        self.hooks = hooks
        self.can_suspend = False
        self.input = self.output = None
        self.opaque = True

    async def run(self, data: Data, scope: AnyScope) -> Data:
        """Run the agent.

        Raises:
            TripWire: The agent's run ended in one.
        """
        context = getattr(scope, "request_context", None)
        result = await self.agent.generate(_prompt(data), request_context=context)
        trip = result.tripwire
        if trip is not None:
            raise TripWire(
                trip.reason,
                metadata=trip.metadata,
                processor_id=trip.processor_id,
                path=trip.path,
                retry_count=trip.retry_count,
            )
        return result.text if result.object is None else result.object


def _prompt(data: Data) -> Data:
    """Return what the agent is asked: the text of a hook's call, or of `{"text": …}`, else the data."""
    if isinstance(data, str | list):
        return cast("Any", data)
    if isinstance(data, dict):
        given = cast("dict[str, Any]", data)
        return given["text"] if set(given) == {"text"} else given
    return data.text if hasattr(data, "hook") and hasattr(data, "text") else data
