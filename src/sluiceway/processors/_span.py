"""The span a hook may write to: OpenTelemetry's current one, or one that does nothing."""

from __future__ import annotations

import sys
from typing import Any, Final, Protocol, cast

__all__ = ["Span", "current_span"]


class Span(Protocol):
    """What of an OpenTelemetry span a hook may count on."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Note a value."""
        ...

    def add_event(self, name: str, attributes: Any = None) -> None:
        """Note that something happened."""
        ...


class _NoSpan:
    __slots__ = ()

    def set_attribute(self, key: str, value: Any) -> None:
        """Do nothing."""

    def add_event(self, name: str, attributes: Any = None) -> None:
        """Do nothing."""


_NO_SPAN: Final = _NoSpan()


def current_span() -> Span:
    """Return the current span, if the program uses OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    return _NO_SPAN if trace is None else cast("Span", trace.get_current_span())
