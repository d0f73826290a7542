"""Text that a processor holds back in a stream, and how it goes out again with edits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk

__all__ = ["Edit", "HeldText", "Release", "block_key", "edit_deltas", "keys_named"]

Edit: TypeAlias = tuple[int, int, str]
"""`(start, end, text)`: in the released stretch, the characters from start to end become text."""


_TEXT = "text:"
_REASONING = "reasoning:"


class Release(NamedTuple):
    """What a processor let go of a block at once.

    Args:
        block: The block's key; see `block_key`.
        n: How many characters.
        edits: What it changed in them, in order.
        chunks: What goes out for them.
        exact: Whether the edits say all that it changed.
    """

    block: str
    n: int
    edits: tuple[Edit, ...]
    chunks: tuple[Chunk, ...]
    exact: bool


def block_key(chunk: Chunk) -> str:
    """Return what names the block of a chunk: the id of a text, `reasoning:<id>` of reasoning.

    A text whose own id begins like a prefix gets one too, so that no two blocks share a key.
    """
    name = str(chunk.get("id", ""))
    if chunk.type.startswith("reasoning-"):
        return _REASONING + name
    return _TEXT + name if name.startswith((_TEXT, _REASONING)) else name


def keys_named(name: str) -> tuple[str, str, str]:
    """Return the keys that somebody can mean who names a block: its key, or its bare id."""
    return name, _REASONING + name, _TEXT + name


class HeldText:
    """The deltas of one block that a processor has taken in and not let go.

    Characters are counted over the deltas joined; what was let go counts no more.

    Args:
        key: The block's key.
    """

    __slots__ = ("_changed", "_deltas", "_skip", "key", "length")

    def __init__(self, key: str = "") -> None:
        self.key = key
        self._deltas: deque[Chunk] = deque()
        self._skip = 0
        self._changed = False
        """Whether what has gone out of the first delta was changed."""
        self.length = 0

    @property
    def text(self) -> str:
        """What is kept."""
        return "".join([delta.text for delta in self._deltas])[self._skip :]

    def add(self, delta: Chunk) -> None:
        """Take in the next delta."""
        self._deltas.append(delta)
        self.length += len(delta.text)

    def release(self, n: int, edits: Iterable[Edit] = ()) -> list[Chunk]:
        """Let go of the next `n` characters, edited.

        Deltas that are not changed go out as they came in, whole or split at the end. The text
        of an edit that spans several goes out with its last character; a delta that is left
        empty does not go out. What a provider noted beside a delta (tokens, a signature) goes out
        with its end, unless something of the delta was changed: it may spell what is gone.

        Raises:
            ConfigurationError: More characters than there are, or edits that are out of the
                stretch, out of order or overlap.
        """
        if not 0 <= n <= self.length:
            raise ConfigurationError(f"release({n}): this block holds {self.length} characters")
        checked = _checked(edits, n)
        pieces = self._take(n)
        self.length -= n
        if self._skip:  # the last piece is the beginning of a delta, of which more is held
            from_ = n - len(pieces[-1].text) if pieces else n
            self._changed = (self._changed and self._skip > n) or any(end > from_ for _, end, _ in checked)
        return edit_deltas(pieces, checked)

    def _take(self, n: int) -> list[Chunk]:
        pieces: list[Chunk] = []
        while self._deltas and (n > 0 or not self._deltas[0].text):
            delta = self._deltas[0]
            text = delta.text
            left = len(text) - self._skip
            if left <= n:
                piece = delta if not self._skip else delta.replace(text=text[self._skip :])
                pieces.append(_bare(piece) if self._changed else piece)
                self._deltas.popleft()
                self._skip, self._changed = 0, False
                n -= left
            else:
                pieces.append(_bare(delta.replace(text=text[self._skip : self._skip + n])))
                self._skip += n
                n = 0
        return pieces


def _bare(delta: Chunk) -> Chunk:
    """Return a delta without what a provider noted beside it."""
    if "provider_metadata" not in delta.payload:
        return delta
    return delta.replace(payload={key: value for key, value in delta.payload.items() if key != "provider_metadata"})


def _checked(edits: Iterable[Edit], n: int) -> list[Edit]:
    ordered = sorted(edits, key=lambda edit: (edit[0], edit[1]))
    last = 0
    for start, end, _ in ordered:
        if not last <= start <= end <= n:
            raise ConfigurationError(
                f"release({n}): the edit ({start}, {end}) is out of the stretch or overlaps another"
            )
        last = end
    return ordered


def edit_deltas(deltas: Sequence[Chunk], edits: Sequence[Edit]) -> list[Chunk]:
    """Apply edits, in order and apart from each other, to the text of deltas taken together."""
    if not edits:
        return [delta for delta in deltas if delta.text]
    out: list[Chunk] = []
    start = 0
    total = sum(len(delta.text) for delta in deltas)
    pending = deque(edits)
    for delta in deltas:
        text = delta.text
        end = start + len(text)
        if not text:
            continue
        new = _edited(text, start, end, pending, is_last=end == total)
        if new == text:
            out.append(delta)
        elif new:
            out.append(_bare(delta.replace(text=new)))
        start = end
    return out


def _edited(text: str, start: int, end: int, pending: deque[Edit], *, is_last: bool) -> str:
    """Return the text of one delta, at `start` to `end`, with what of the edits goes out with it."""
    out: list[str] = []
    at = start
    while pending:
        first, last, replacement = pending[0]
        if first > end or (first == end and not is_last):
            break
        if first > at:
            out.append(text[at - start : first - start])
        at = max(at, min(last, end))
        if last > end:  # the edit goes on in the next delta, and its text with it
            break
        out.append(replacement)
        pending.popleft()
    out.append(text[at - start :])
    return "".join(out)
