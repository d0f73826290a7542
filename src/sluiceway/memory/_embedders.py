"""`Embedder`: texts as vectors, and the embedders that need no network."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import anyio.to_thread

from sluiceway.errors import ConfigurationError

__all__ = ["Embedder", "HashEmbedder", "WordLlamaEmbedder"]

_WORD: Final = re.compile(r"\w+")


class Embedder(Protocol):
    """Turns texts into vectors of one length, near to each other where the texts are about one thing."""

    @property
    def model_id(self) -> str:
        """What it is called; an index holds the vectors of one model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, in order."""
        ...


class HashEmbedder:
    """An embedder for tests and first steps: it counts words and parts of words, and knows no meaning.

    Offline, deterministic on every machine, without any package.

    Args:
        dimension: The length of its vectors.

    Examples:
        >>> HashEmbedder(64).model_id
        'hash-64'
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise ConfigurationError(f"dimension={dimension!r} is not allowed; give a whole number from 1")
        self.dimension = dimension
        self.model_id = f"hash-{dimension}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in _WORD.findall(text.casefold()):
            padded = f" {word} "
            grams = [padded[i : i + 3] for i in range(len(padded) - 2)]
            for feature, weight in [(word, 1.0), *((gram, 0.5) for gram in grams)]:
                number = zlib.crc32(feature.encode("utf-8", "replace"))
                vector[(number >> 1) % self.dimension] += weight if number & 1 else -weight
        length = math.sqrt(sum(x * x for x in vector))
        return [x / length for x in vector] if length else vector


class WordLlamaEmbedder:
    """A small static model that runs offline in 0.1 ms a text: extra `embed`.

    Raises:
        ConfigurationError: wordllama is not installed (at the first use).
    """

    model_id = "wordllama-l2-supercat-256"

    def __init__(self) -> None:
        self._model: Any = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order."""
        return await anyio.to_thread.run_sync(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> list[list[float]]:
        if self._model is None:
            self._model = _load()
        return [[float(x) for x in vector] for vector in self._model.embed(texts)]


def _load() -> Any:
    try:
        import wordllama  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise ConfigurationError("WordLlamaEmbedder needs wordllama: pip install 'sluiceway[embed]'") from error
    # The wheel brings the model along; without these two it would look for it on the network.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
