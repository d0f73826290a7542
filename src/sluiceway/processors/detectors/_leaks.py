"""Rules that find where a text repeats one that is to stay secret."""

from __future__ import annotations

import re
from functools import lru_cache

from sluiceway.processors.detectors._rule import Rule
from sluiceway.processors.detectors._words import Words

__all__ = ["leak_rules"]

_SHINGLE_WORDS = 5
_MOST_SHINGLES = 20_000
_LEAST_CHARS = 6
_WORD = re.compile(r"[^\W_]+")
_GATE = re.compile(r"(?<![^\W_])[^\W_]")


@lru_cache(maxsize=16)
def leak_rules(secrets: tuple[str, ...], type_: str) -> tuple[Rule, ...]:
    """Return the rules that find pieces of the secrets: so many words of one in a row.

    Case, punctuation and white space between the words make no difference. Pieces that
    overlap become one finding, so that of a longer copy nothing is left but what is shorter
    than a piece. A piece is five words, or a whole secret that has fewer but six characters.
    Of a very long secret every n-th piece is looked for, so that a longer copy is still found.

    Args:
        secrets: The texts.
        type_: What a finding is called.
    """
    pieces: dict[tuple[str, ...], None] = {}
    for secret in secrets:
        words = _WORD.findall(secret.lower())
        if len(words) <= _SHINGLE_WORDS:
            if sum(map(len, words)) >= _LEAST_CHARS:
                pieces[tuple(words)] = None
            continue
        step = -(-len(words) // _MOST_SHINGLES)
        for start in range(0, len(words) - _SHINGLE_WORDS + 1, step):
            pieces[tuple(words[start : start + _SHINGLE_WORDS])] = None
    if not pieces:
        return ()
    return (Rule(type_, type_, Words(pieces), gate=_GATE, lookbehind_chars=1),)
