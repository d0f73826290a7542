"""Brute-force search over the vectors of one owner, kept as a matrix between searches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.memory._vectors import Match

__all__ = ["Blocks", "VectorRow", "numpy", "to_blob"]

VectorRow: TypeAlias = "tuple[int, str, str, bytes]"
"""Sequence number, thread, message, and the numbers as little-endian float32."""

_MOST_BYTES: Final = 256 * 1024 * 1024
_LEAST_ROWS: Final = 64


def numpy() -> Any:
    """Return numpy, which is loaded at its first use.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        import numpy as np
    except ImportError as error:
        raise ConfigurationError("vectors need numpy: pip install 'sluiceway[vectors]'") from error
    return np


def to_blob(vector: Sequence[float]) -> bytes:
    """Return the numbers of a vector as bytes."""
    return numpy().asarray(vector, dtype="<f4").tobytes()


class _Block:
    __slots__ = ("deletions", "keys", "last", "matrix")

    def __init__(self, deletions: int, dimension: int) -> None:
        self.deletions = deletions
        self.last = 0
        self.keys: list[tuple[str, str]] = []
        self.matrix: Any = numpy().zeros((_LEAST_ROWS, dimension), dtype="<f4")

    def extend(self, rows: Sequence[VectorRow]) -> None:
        np = numpy()
        count = len(self.keys)
        dimension = self.matrix.shape[1]
        need = count + len(rows)
        if need > len(self.matrix):
            larger = np.zeros((max(need, 2 * len(self.matrix)), dimension), dtype="<f4")
            larger[:count] = self.matrix[:count]
            self.matrix = larger
        new = np.frombuffer(b"".join([row[3] for row in rows]), dtype="<f4").reshape(len(rows), dimension)
        lengths = np.linalg.norm(new, axis=1, keepdims=True)
        self.matrix[count:need] = new / np.where(lengths == 0, 1, lengths)
        self.keys += [(row[1], row[2]) for row in rows]
        self.last = rows[-1][0]


class Blocks:
    """Matrices of normalised vectors by owner; the one used longest ago goes when they grow too large.

    A block takes in what was added since, and is read anew after anything was deleted. Not for
    several threads at once: the database object that it belongs to calls it one at a time.
    """

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: OrderedDict[Hashable, _Block] = OrderedDict()

    def search(
        self,
        owner: Hashable,
        deletions: int,
        rows_since: Callable[[int], Sequence[VectorRow]],
        vector: Sequence[float],
        top_k: int,
    ) -> list[Match]:
        """Return the nearest, the nearest first.

        Args:
            owner: What the block is of.
            deletions: How often anything was deleted from the index.
            rows_since: Returns the owner's rows after a sequence number, in order.
            vector: What to be near to.
            top_k: How many.
        """
        np = numpy()
        block = self._blocks.get(owner)
        if block is None or block.deletions != deletions:
            block = _Block(deletions, len(vector))
        rows = rows_since(block.last)
        if rows:
            block.extend(rows)
        self._keep(owner, block)
        count = len(block.keys)
        if not count or top_k <= 0:
            return []
        wanted = np.asarray(vector, dtype="<f4")
        length = float(np.linalg.norm(wanted))
        scores = block.matrix[:count] @ (wanted / (length or 1))
        best = np.argpartition(-scores, top_k - 1)[:top_k] if top_k < count else np.arange(count)
        found = [Match(*block.keys[int(i)], float(scores[i])) for i in best]
        found.sort(key=lambda match: (-match.score, match.thread_id, match.message_id))
        return found

    def _keep(self, owner: Hashable, block: _Block) -> None:
        self._blocks[owner] = block
        self._blocks.move_to_end(owner)
        size = sum(kept.matrix.nbytes for kept in self._blocks.values())
        while size > _MOST_BYTES and len(self._blocks) > 1:
            _, gone = self._blocks.popitem(last=False)
            size -= gone.matrix.nbytes
