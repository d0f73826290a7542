"""What `structured_output=` of a call comes to: a processor, and a shape that the model is asked for."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from sluiceway.errors import ConfigurationError
from sluiceway.processors import Chain, StructuredOutputProcessor

__all__ = ["Shapes", "requested_shape", "structuring"]

_KEPT: Final = 32


class Shapes:
    """The processors of the shapes that calls have asked for, the last 32."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: OrderedDict[int, StructuredOutputProcessor] = OrderedDict()

    def processor(self, wanted: Any) -> StructuredOutputProcessor:
        """Return the processor of a shape; it keeps the shape, so that its id stays its own.

        Raises:
            ConfigurationError: It is no shape.
        """
        key = id(wanted)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = StructuredOutputProcessor(wanted)
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return made


def requested_shape(given: Any, output: Chain) -> Any:
    """Return what the agent's own model is asked for: what the call says, else what a processor wants.

    Raises:
        ConfigurationError: The call says one shape, and a processor of its list another.
    """
    found = structuring(output)
    if found is None:
        return given
    if given is not None and given is not found.schema and given != found.schema:
        raise ConfigurationError(
            f"structured_output={given!r} is another shape than that of {found.id!r} in output_processors, "
            f"{found.schema!r}; give one of them, or the list without it on the call"
        )
    return found.requested


def structuring(output: Chain) -> StructuredOutputProcessor | None:
    """Return the processor of a list that makes objects, or None."""
    listed = (step.processor for step in output.processors)
    return next((one for one in listed if isinstance(one, StructuredOutputProcessor)), None)
