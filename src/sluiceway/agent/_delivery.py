"""What reaches the client, and when: `hold`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from sluiceway.messages import Chunk

__all__ = ["Blocks", "Delivery", "Hold"]

Hold: TypeAlias = Literal["none", "step", "run"]
Blocks: TypeAlias = Mapping[str, Sequence[str]]
"""The texts of a step's blocks, in order, under `text-delta` and `reasoning-delta`."""

_DELTAS: Final = ("text-delta", "reasoning-delta")
_TEXT: Final = frozenset({"text-start", "text-delta", "text-end"})
_REJECTED: Final = frozenset(
    {
        *_TEXT,
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "tool-call",
        "tool-result",
        "tool-error",
        "source",
        "file",
        "object",
    }
)
"""What of a rejected attempt is withheld while it is held."""


class Delivery:
    """The chunks on their way to the client.

    Args:
        hold: `none` hands each chunk on at once; `step` keeps those of a step until it is
            accepted, `run` until the run's last hook has passed.
    """

    __slots__ = ("_held", "_steps", "hold", "ready")

    def __init__(self, hold: Hold = "none") -> None:
        self.hold: Hold = hold
        self.ready: deque[Chunk] = deque()
        """What the client gets next."""
        self._held: list[Chunk] = []
        self._steps: list[tuple[list[Chunk], Blocks]] = []

    @property
    def sender(self) -> Callable[[Chunk], None]:
        """What `send` comes to, for the hot path."""
        return self.ready.append if self.hold == "none" else self.send

    def send(self, chunk: Chunk) -> None:
        """Hand on a chunk, or keep it."""
        if self.hold == "none":
            self.ready.append(chunk)
        else:
            self._held.append(chunk)

    def send_now(self, chunk: Chunk) -> None:
        """Hand on what ends the stream; what was kept before and may go out goes first."""
        self.ready.append(chunk)

    def reject(self, notice: Chunk) -> None:
        """The attempt does not count: drop its text, reasoning and tool chunks, and say so."""
        kept = [chunk for chunk in self._held if chunk.type not in _REJECTED]
        kept.append(notice)
        self._held = []
        if self.hold == "run":
            self._steps.append((kept, {}))
        else:
            self.ready.extend(kept)

    def accept(self, blocks: Blocks) -> None:
        """The step counts, and its blocks are these, as edited."""
        held, self._held = self._held, []
        if self.hold == "run":
            self._steps.append((held, blocks))
        elif self.hold == "step":
            self.ready.extend(_rewritten(held, blocks))

    def release(self, steps: Sequence[Blocks]) -> None:
        """The run's last hook has passed: hand on everything.

        Args:
            steps: The blocks of each accepted step as they are now.
        """
        if self._steps and self._held:  # what a last hook sent belongs to the last step
            last, blocks = self._steps[-1]
            self._steps[-1] = ([*last, *self._held], blocks)
            self._held = []
        accepted = 0
        for chunks, blocks in self._steps:
            if any(chunk.type == "step-finish" and chunk.get("reason") != "retry" for chunk in chunks):
                self.ready.extend(_rewritten(chunks, steps[accepted] if accepted < len(steps) else {}))
                accepted += 1
            else:
                self.ready.extend(_rewritten(chunks, blocks))
        self._steps = []
        self.ready.extend(self._held)
        self._held = []

    def drop(self) -> None:
        """The run ends early: of what is kept only what is no part of the answer goes out."""
        if self.hold == "none":
            return
        for chunks, _ in self._steps:
            self.ready.extend(chunk for chunk in chunks if chunk.type not in _REJECTED)
        self.ready.extend(chunk for chunk in self._held if chunk.type not in _REJECTED)
        self._steps = []
        self._held = []


def _rewritten(chunks: Sequence[Chunk], blocks: Blocks) -> list[Chunk]:
    """Return the chunks with one delta per block, its text the edited one, the rest in order."""
    final = {kind: _by_id(chunks, kind, blocks.get(kind, ())) for kind in _DELTAS}
    # Text that a hook added to a step without any.
    whole = _unchanged_reasoning(chunks, final["reasoning-delta"])
    late = "" if final["text-delta"] else "".join(blocks.get("text-delta", ()))
    out: list[Chunk] = []
    for chunk in chunks:
        if chunk.type in _DELTAS:
            id_ = str(chunk.get("id", ""))
            if (chunk.type, id_) in whole:
                out.append(chunk)
                continue
            text = final[chunk.type].pop(id_, "")
            if text:
                out.append(chunk.replace(text=text))
            continue
        if late and chunk.type == "step-finish" and chunk.get("reason") != "retry":
            out.extend(_block(late, chunk.run_id))
        out.append(chunk)
    return out


def _unchanged_reasoning(chunks: Sequence[Chunk], final: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the blocks of reasoning that nobody edited: they go out as they came."""
    joined: dict[str, str] = {}
    for chunk in chunks:
        if chunk.type == "reasoning-delta":
            id_ = str(chunk.get("id", ""))
            joined[id_] = joined.get(id_, "") + chunk.text
    return {("reasoning-delta", id_) for id_, text in joined.items() if final.get(id_) == text}


def _by_id(chunks: Sequence[Chunk], kind: str, texts: Sequence[str]) -> dict[str, str]:
    ids = list(dict.fromkeys(str(c.get("id", "")) for c in chunks if c.type == kind))
    return dict(zip(ids, _fitted(texts, len(ids)), strict=True))


def _block(text: str, run_id: str) -> list[Chunk]:
    id_ = {"id": "text-added"}
    return [
        Chunk("text-start", id_, run_id),
        Chunk("text-delta", {**id_, "text": text}, run_id),
        Chunk("text-end", id_, run_id),
    ]


def _fitted(texts: Sequence[str], count: int) -> list[str]:
    """Spread the final texts over so many blocks; where the numbers differ the first takes what is over."""
    if len(texts) == count:
        return list(texts)
    if not count:
        return []
    return ["".join(texts), *[""] * (count - 1)]
