"""Text and reasoning of a message, editable by span."""

# pyright: reportPrivateUsage=false
# The modules of this package share the insides of messages, parts and lists.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from sluiceway.errors import MessageError
from sluiceway.messages._hunks import Hunk, Track, apply_hunks, changed_span, diff
from sluiceway.messages._part import Part

__all__ = ["ReasoningPart", "TextPart"]


class TextPart(Part):
    """A piece of text.

    Args:
        text: The text.
        id: The block's id in the stream it came from, or None.
        provider_metadata: What providers attached, by provider.
    """

    __slots__ = ("_tail", "_text", "_track", "id")

    type = "text"

    def __init__(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MessageError(f"The text of a {self.type} part is a str, not {type(text).__name__}.")
        super().__init__(provider_metadata)
        self._text = text
        self._tail: list[str] | None = None
        self._track: Track | None = None
        self.id = id

    @property
    def text(self) -> str:
        """The text. Assigning another one is one edit, of what differs."""
        if self._tail is not None:
            self._text += "".join(self._tail)
            self._tail = None
        return self._text

    @text.setter
    def text(self, value: str) -> None:
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MessageError(f"The text of a {self.type} part is a str, not {type(value).__name__}.")
        old = self.text
        if old == value:
            return
        start, end, new_end = changed_span(old, value)
        self._text = value
        if self._track is not None:
            self._track.add(start, end, value[start:new_end], redact=False, exact=False)
        self._note("text", start, end, new_end - start)

    def edit(self, start: int, end: int, text: str, redact: bool = False) -> None:
        """Replace the characters from `start` up to `end` of the current text.

        Args:
            start: Offset of the first character that goes.
            end: Offset behind the last one; equal to `start` to insert.
            text: What stands there afterwards.
            redact: Whether this takes out something that must not come back in a merge.

        Raises:
            MessageError: The span does not lie inside the text.
        """
        old = self.text
        if not 0 <= start <= end <= len(old):
            raise MessageError(f"The span {start}:{end} does not lie inside a text of {len(old)} characters.")
        self._text = old[:start] + text + old[end:]
        if self._track is not None:
            self._track.add(start, end, text, redact=redact, exact=True)
        self._note("text", start, end, len(text))

    def edit_all(self, edits: Iterable[tuple[int, int, str]], redact: bool = False) -> None:
        """Make several edits at once, all by offsets of the current text. Linear.

        Args:
            edits: Start, end and new text of each; disjoint, in any order.
            redact: As for `edit`.

        Raises:
            MessageError: A span lies outside the text or overlaps another.
        """
        ordered = sorted(edits, key=lambda edit: (edit[0], edit[1]))
        if not ordered:
            return
        old = self.text
        out: list[str] = []
        position = 0
        for start, end, text in ordered:
            if not position <= start <= end <= len(old):
                raise MessageError(
                    f"The span {start}:{end} does not lie inside a text of {len(old)} characters, "
                    "or overlaps another of these edits."
                )
            out += (old[position:start], text)
            position = end
        out.append(old[position:])
        self._text = "".join(out)
        if self._track is not None:
            self._track.add_all(ordered, redact=redact)
        for start, end, text in reversed(ordered):  # from behind, so that each offset holds
            self._note("text", start, end, len(text))

    def append(self, text: str) -> None:
        """Add to the end while the text is still being received. Not an edit; cheap."""
        self._revision += 1
        if self._tail is None:
            self._tail = [text]
        else:
            self._tail.append(text)

    def rebase(self) -> None:
        """Count hunks from the text as it stands."""
        self._track = Track(self.text)

    def hunks(self) -> tuple[Hunk, ...]:
        """Return the edits since `rebase` or since the fork, in offsets of the text then.

        A part that was never rebased nor forked keeps no base, and has none.
        """
        track = self._track
        if track is None or (not track.edited and track.base == self.text):
            return ()
        hunks = track.hunks()
        if apply_hunks(track.base, hunks) != self.text:  # grown, or set back by a restore
            return diff(track.base, self.text)
        return hunks

    def copy(self) -> Self:
        """Return a copy that shares nothing which could be changed; its edits go on from these."""
        new = super().copy()
        new._track = None if self._track is None else self._track.copy()
        return new

    def _state(self) -> tuple[Any, ...]:
        if self._tail is not None:
            self._text += "".join(self._tail)
            self._tail = None
        return (self._text, self.id, None if self._meta is None else self._meta_state())

    def _load(self, state: tuple[Any, ...]) -> None:
        self._text, self.id, meta = state
        self._tail = None
        self._track = None
        self._load_meta(meta)

    def _fork(self) -> Self:
        """Return a copy that keeps its edits as hunks against this text."""
        new = object.__new__(self.__class__)
        new._held = True
        new._log = None
        new._origin = self
        new._revision = 0
        new._tail = None
        if self._tail is not None:
            self._text += "".join(self._tail)
            self._tail = None
        new._text = self._text
        new._track = Track(self._text)
        new.id = self.id
        if self._meta is None:
            new._meta = None
        else:
            new._load_meta(self._meta_state())
        return new

    def __repr__(self) -> str:
        text = self.text
        return f"{self.__class__.__name__}({text[:60]!r}{'…' if len(text) > 60 else ''})"


class ReasoningPart(TextPart):
    """A piece of the model's reasoning."""

    __slots__ = ()

    type = "reasoning"
