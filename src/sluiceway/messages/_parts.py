"""The remaining parts of messages: sources, data, step boundaries, and what is not known."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluiceway.errors import MessageError
from sluiceway.messages._box import Box
from sluiceway.messages._part import Noted, Part

__all__ = ["DataPart", "SourcePart", "StepStartPart", "UnknownPart"]


class SourcePart(Part):
    """Something that the answer draws on.

    Args:
        id: The provider's id of it.
        url: Where it is, or None for a document.
        title: What it is called.
        media_type: Of a document, or None.
        filename: Of a document, or None.
        provider_metadata: What providers attached, by provider.
    """

    __slots__ = ("_filename", "_id", "_media_type", "_title", "_url")

    type = "source"
    id = Noted[str]()
    url = Noted["str | None"]()
    title = Noted["str | None"]()
    media_type = Noted["str | None"]()
    filename = Noted["str | None"]()

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's own name
        url: str | None = None,
        title: str | None = None,
        *,
        media_type: str | None = None,
        filename: str | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(provider_metadata)
        self._id = id
        self._url = url
        self._title = title
        self._media_type = media_type
        self._filename = filename

    def _state(self) -> tuple[Any, ...]:
        return (self._id, self._url, self._title, self._media_type, self._filename, self._meta_state())

    def _load(self, state: tuple[Any, ...]) -> None:
        self._id, self._url, self._title, self._media_type, self._filename, meta = state
        self._load_meta(meta)


class _ValuePart(Part):
    """A part of some type that holds one plain value."""

    __slots__ = ("_data", "type")

    def __init__(self, kind: str, data: Any, provider_metadata: Mapping[str, Any] | None) -> None:
        super().__init__(provider_metadata)
        self.type = kind
        self._data = Box.of(data)

    @property
    def data(self) -> Any:
        """The value; may be changed in place."""
        return self._data.get()

    @data.setter
    def data(self, value: Any) -> None:
        if self._data.set(value):
            self._note("data")

    def _sync(self) -> None:
        super()._sync()
        if self._data.sync():
            self._note("data")


class DataPart(_ValuePart):
    """Data that a processor or tool wrote for the client; in no prompt.

    Args:
        type: `data-` and a name.
        data: The value.
        id: An id by which a later one replaces it, or None.
        transient: Whether it is left out of what is saved.
        provider_metadata: What providers attached, by provider.

    Raises:
        MessageError: The type does not begin with `data-`.
    """

    __slots__ = ("id", "transient")

    def __init__(
        self,
        type: str,  # noqa: A002 - the field's own name
        data: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        transient: bool = False,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if not type.startswith("data-"):
            raise MessageError(f"The type of a data part begins with `data-`; {type!r} does not.")
        super().__init__(type, data, provider_metadata)
        self.id = id
        self.transient = transient

    def _state(self) -> tuple[Any, ...]:
        return (self.type, self._data.state(), self.id, self.transient, self._meta_state())

    def _load(self, state: tuple[Any, ...]) -> None:
        self.type, data, self.id, self.transient, meta = state
        self._data = Box(data)
        self._load_meta(meta)


class UnknownPart(_ValuePart):
    """A part of a type that the library does not know; kept as it came, in no prompt.

    Args:
        type: The type.
        data: The whole part as it came.
        provider_metadata: What providers attached, by provider.
    """

    __slots__ = ()

    def __init__(
        self,
        type: str,  # noqa: A002 - the field's own name
        data: Any = None,
        *,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(type, data, provider_metadata)

    def _state(self) -> tuple[Any, ...]:
        return (self.type, self._data.state(), self._meta_state())

    def _load(self, state: tuple[Any, ...]) -> None:
        self.type, data, meta = state
        self._data = Box(data)
        self._load_meta(meta)


class StepStartPart(Part):
    """The boundary between two steps of one reply."""

    __slots__ = ()

    type = "step-start"

    def __init__(self, *, provider_metadata: Mapping[str, Any] | None = None) -> None:
        super().__init__(provider_metadata)
