"""`Message`: one turn of a conversation."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol, Self, TypeAlias, cast

from sluiceway._types import MISSING, Missing, new_id
from sluiceway.errors import MessageError
from sluiceway.messages._box import Box, same_value
from sluiceway.messages._chat import aware, chat_fields, moment
from sluiceway.messages._content import content_parts, mapping_of
from sluiceway.messages._json import part_record, parts_from_records
from sluiceway.messages._jsonable import jsonable
from sluiceway.messages._part import Part
from sluiceway.messages._text import ReasoningPart, TextPart

__all__ = ["Message", "Saved", "Source", "SystemMessage"]

Source: TypeAlias = str
"""Where a message of a list came from: `memory`, `input`, `response` or `context`."""

Saved: TypeAlias = "tuple[list[Part], list[tuple[Any, ...]], tuple[Any, ...]]"
"""What a message was: its parts, the state of each, and its own fields."""

_ROLES: Final = ("user", "assistant", "signal")


class Keeper(Protocol):
    """The list that a message lives in."""

    def touch(self, message: Message) -> None:
        """Keep what the message is, before it may be changed."""
        ...


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A text for the model that stands apart from the conversation.

    Args:
        text: The text.
        tag: A name to find it by, such as `retry-feedback`.
    """

    text: str
    tag: str | None = None


class Message:
    """One turn of a conversation: who said it, and its parts. Mutable.

    A part belongs to one message: one that already does is copied.

    Args:
        content: A str, a list of parts or content dicts, or a whole chat dict.
        role: `user`, `assistant` or `signal`.
        parts: The parts, in place of `content`.
        id: Its id; None: a new one.
        metadata: Anything; may be changed in place.
        created_at: When it was made, with a time zone; None: now.
        thread_id: The conversation it belongs to, or None.
        resource_id: Whose conversation that is, or None.
        attachments: Files that came beside the text.
        provider_metadata: What providers attached, by provider.

    Raises:
        MessageError: A shape that nothing can be made of; the text says where.
    """

    __slots__ = (
        "_armed",
        "_attachments",
        "_base",
        "_cache",
        "_created_at",
        "_id",
        "_keeper",
        "_meta",
        "_metadata",
        "_parts",
        "_resource_id",
        "_role",
        "_seen",
        "_source",
        "_thread_id",
    )

    def __init__(
        self,
        content: str | Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        role: str = "user",
        parts: Sequence[Part | Mapping[str, Any]] | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        attachments: Sequence[Part | Mapping[str, Any]] = (),
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(content, Mapping):
            fields = chat_fields(content)
            role = fields.get("role", role)
            parts = fields["parts"] if parts is None else parts
            id = id or fields.get("id")  # noqa: A001
            metadata = metadata or fields.get("metadata")
            attachments = attachments or fields.get("attachments", ())
            provider_metadata = provider_metadata or fields.get("provider_metadata")
            created_at = created_at or fields.get("created_at")
            content = None
        if role not in _ROLES:
            raise MessageError(f"The role of a message is user, assistant or signal, not {role!r}.")
        self._id: str = new_id("msg") if id is None else _checked_id(id)
        self._role = role
        self._parts: list[Part] | None = _own(
            content_parts(content, "content") if parts is None else content_parts(parts, "parts")
        )
        self._metadata = Box.of(_mapping(metadata, "metadata")) if metadata else Box({})
        self._created_at = datetime.now(UTC) if created_at is None else aware(created_at)
        self._thread_id = thread_id
        self._resource_id = resource_id
        self._attachments: list[Part] = _own(content_parts(attachments, "attachments")) if attachments else []
        self._meta = Box.of(_mapping(provider_metadata, "provider_metadata")) if provider_metadata else None
        self._base: Message | None = None
        self._cache: Any = None
        self._keeper: weakref.ref[Any] | None = None
        self._armed = False
        self._seen: list[Part] | None = None
        self._source: Source = ""

    @property
    def id(self) -> str:
        """Its id, unique within a list; fixed."""
        return self._id

    @property
    def role(self) -> str:
        """`user`, `assistant` or `signal`; fixed."""
        return self._role

    @property
    def parts(self) -> list[Part]:
        """Its parts; the list and what is in it may be changed in place."""
        if self._armed:
            self._touch()
        parts = self._parts
        return self._own_parts() if parts is None else parts

    @parts.setter
    def parts(self, value: Sequence[Part | Mapping[str, Any]]) -> None:
        if self._armed:
            self._touch()
        held = set(map(id, self._peek()))
        self._parts = _own(content_parts(value, "parts"), held)
        self._cache = None

    @property
    def text(self) -> str:
        """The text of its text parts, joined."""
        parts = self._peek()
        if len(parts) == 1:
            part = parts[0]
            return part.text if type(part) is TextPart else ""
        return "".join([part.text for part in parts if type(part) is TextPart])

    @property
    def text_parts(self) -> list[TextPart]:
        """Its texts as a model reads them, those of attachments last and no reasoning; to be edited in place."""
        return [
            part
            for part in (*self.parts, *self.attachments)
            if isinstance(part, TextPart) and not isinstance(part, ReasoningPart)
        ]

    @property
    def metadata(self) -> dict[str, Any]:
        """Anything that was attached to it; may be changed in place."""
        if self._armed:
            self._touch()
        return self._metadata.get()

    @metadata.setter
    def metadata(self, value: Mapping[str, Any]) -> None:
        if self._armed:
            self._touch()
        self._metadata.set(_mapping(value, "metadata"))

    @property
    def provider_metadata(self) -> dict[str, Any]:
        """What providers attached, by provider; may be changed in place."""
        if self._armed:
            self._touch()
        if self._meta is None:
            self._meta = Box({})
        return self._meta.get()

    @provider_metadata.setter
    def provider_metadata(self, value: Mapping[str, Any]) -> None:
        if self._armed:
            self._touch()
        self._meta = self._meta or Box({})
        self._meta.set(_mapping(value, "provider_metadata"))

    @property
    def attachments(self) -> list[Part]:
        """Files that came beside the text; may be changed in place."""
        if self._armed:
            self._touch()
        if self._base is not None and self._parts is None:
            self._own_parts()
        return self._attachments

    @attachments.setter
    def attachments(self, value: Sequence[Part | Mapping[str, Any]]) -> None:
        if self._armed:
            self._touch()
        self._attachments = _own(content_parts(value, "attachments"), set(map(id, self._attachments)))

    @property
    def created_at(self) -> datetime:
        """When it was made; always with a time zone."""
        return self._created_at

    @created_at.setter
    def created_at(self, value: datetime) -> None:
        if self._armed:
            self._touch()
        self._created_at = aware(value)

    @property
    def thread_id(self) -> str | None:
        """The conversation it belongs to."""
        return self._thread_id

    @thread_id.setter
    def thread_id(self, value: str | None) -> None:
        if self._armed:
            self._touch()
        self._thread_id = value

    @property
    def resource_id(self) -> str | None:
        """Whose conversation it belongs to."""
        return self._resource_id

    @resource_id.setter
    def resource_id(self, value: str | None) -> None:
        if self._armed:
            self._touch()
        self._resource_id = value

    @property
    def revision(self) -> int:
        """The revisions of its parts, added up."""
        return sum(part.revision for part in self._peek())

    def replace(
        self,
        *,
        parts: Sequence[Part | Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        role: str | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
        created_at: datetime | None = None,
        thread_id: str | Missing | None = MISSING,
        resource_id: str | Missing | None = MISSING,
        attachments: Sequence[Part | Mapping[str, Any]] | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """Return a copy with some of it changed; the id stays unless another is given.

        Args:
            parts: The parts; None keeps them, as for each of these.
            metadata: The metadata.
            role: `user`, `assistant` or `signal`.
            id: Another id.
            created_at: When it was made.
            thread_id: Its thread; None: no thread.
            resource_id: Whose it is; None: nobody's.
            attachments: File and image parts.
            provider_metadata: By provider name.
        """
        new = Message(
            None,
            role=role or self._role,
            parts=self._peek() if parts is None else parts,
            id=id or self._id,
            metadata=self._metadata.peek() if metadata is None else metadata,
            created_at=created_at or self._created_at,
            thread_id=self._thread_id if thread_id is MISSING else thread_id,
            resource_id=self._resource_id if resource_id is MISSING else resource_id,
            attachments=self._peek_attachments() if attachments is None else attachments,
            provider_metadata=self._peek_meta() if provider_metadata is None else provider_metadata,
        )
        new._source = self._source
        return new

    def copy(self) -> Self:
        """Return a copy, with the same id, that shares nothing which could be changed."""
        new = object.__new__(self.__class__)
        new._id = self._id
        new._role = self._role
        new._parts = [_held(part.copy()) for part in self._peek()]
        new._attachments = [_held(part.copy()) for part in self._peek_attachments()]
        new._metadata = self._metadata.fork()
        new._meta = None if self._meta is None else self._meta.fork()
        new._created_at = self._created_at
        new._thread_id = self._thread_id
        new._resource_id = self._resource_id
        new._source = self._source
        new._base = new._cache = new._keeper = new._seen = None
        new._armed = False
        return new

    def same_as(self, other: Message) -> bool:
        """Say whether the other message has the same id and content."""
        if self is other:
            return True
        mine, theirs = self._peek(), other._peek()
        return (
            self._id == other._id
            and same_value(self._fields(), other._fields())
            and len(mine) == len(theirs)
            and all(map(Part.same_as, mine, theirs))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the message as a record that JSON can hold, for `from_dict`."""
        out: dict[str, Any] = {
            "id": self._id,
            "role": self._role,
            "parts": [part_record(part) for part in self._peek()],
            "created_at": self._created_at.isoformat(),
            "metadata": jsonable(self._metadata.peek()),
            "thread_id": self._thread_id,
            "resource_id": self._resource_id,
        }
        if self._peek_attachments():
            out["attachments"] = [part_record(part) for part in self._peek_attachments()]
        if self._peek_meta():
            out["provider_metadata"] = jsonable(self._peek_meta())
        return out

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the message of a record; missing parts and fields are empty.

        Raises:
            MessageError: A record that no message can be made of; the text says where.
        """
        fields = mapping_of(record, "record")
        content = fields.get("content")
        parts = parts_from_records(fields.get("parts"), "parts")
        if content is not None and not parts:
            parts = content_parts(content, "content")
        created = fields.get("created_at")
        return cls(
            role=fields.get("role") or "user",
            parts=parts,
            id=fields.get("id"),
            metadata=fields.get("metadata"),
            created_at=None if created is None else moment(created, "created_at"),
            thread_id=fields.get("thread_id"),
            resource_id=fields.get("resource_id"),
            attachments=parts_from_records(fields.get("attachments"), "attachments"),
            provider_metadata=fields.get("provider_metadata"),
        )

    def _fields(self) -> tuple[Any, ...]:
        return (
            self._role,
            self._metadata.state(),
            self._created_at,
            self._thread_id,
            self._resource_id,
            None if self._meta is None else self._meta.state() or None,
            [(part.__class__, part._state()) for part in self._peek_attachments()],
        )

    def _touch(self) -> None:
        """Tell the list, before the first change since it last looked."""
        self._armed = False
        keeper: Keeper | None = None if self._keeper is None else self._keeper()
        if keeper is not None:
            keeper.touch(self)

    def _peek(self) -> list[Part]:
        """Return the parts to look at only; those of the base while a fork has none of its own."""
        parts = self._parts
        if parts is None:
            assert self._base is not None
            return self._base._peek()
        return parts

    def _peek_attachments(self) -> list[Part]:
        return self._base._peek_attachments() if self._parts is None and self._base else self._attachments

    def _peek_meta(self) -> dict[str, Any] | None:
        return None if self._meta is None else self._meta.peek()

    def _save(self) -> Saved:
        parts = self._peek()
        attachments = self._attachments
        own = (
            self._metadata.state(),
            None if self._meta is None else self._meta.state(),
            self._created_at,
            self._thread_id,
            self._resource_id,
            [(part, part._state()) for part in attachments] if attachments else (),
            self._source,
        )
        return parts.copy(), [part._state() for part in parts], own

    def _load(self, saved: Saved) -> None:
        """Become what was saved; the parts stay the same objects."""
        parts, states, own = saved
        metadata, meta, self._created_at, self._thread_id, self._resource_id, attachments, self._source = own
        if self._parts is None:
            self._parts = parts.copy()
        else:
            self._parts[:] = parts
        for part, state in zip(parts, states, strict=True):
            part._load(state)
            part._log = None
        self._metadata = Box(metadata)
        self._meta = None if meta is None else Box(meta)
        self._attachments[:] = [part for part, _ in attachments]
        for part, state in attachments:
            part._load(state)
        self._cache = None

    def _shell(self) -> Message:
        """Return a message for a fork that reads this one until its parts are taken."""
        new = object.__new__(Message)
        new._id = self._id
        new._role = self._role
        new._base = self
        new._parts = None
        new._metadata = self._metadata.fork()
        new._meta = None if self._meta is None else self._meta.fork()
        new._created_at = self._created_at
        new._thread_id = self._thread_id
        new._resource_id = self._resource_id
        new._attachments = []
        new._source = self._source
        new._cache = new._keeper = new._seen = None
        new._armed = False
        return new

    def _own_parts(self) -> list[Part]:
        base = self._base
        assert base is not None
        self._parts = parts = [part._fork() for part in base._peek()]
        self._attachments = [part._fork() for part in base._peek_attachments()]
        return parts

    def __repr__(self) -> str:
        text = self.text
        return f"Message({self._role!r}, {text[:60]!r}{'…' if len(text) > 60 else ''}, id={self._id!r})"


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise MessageError(f"{name}: expected a dict, got {type(value).__name__}.")
    return dict(cast("Mapping[str, Any]", value))


def _checked_id(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise MessageError(f"The id of a message is a str that is not empty, not {value!r}.")
    return value


def _held(part: Part) -> Part:
    part._held = True
    return part


def _own(parts: list[Part], mine: set[int] | None = None) -> list[Part]:
    for i, part in enumerate(parts):
        if not part._held:
            part._held = True
        elif mine is None or id(part) not in mine:
            parts[i] = _held(part.copy())
    return parts
