"""A token counter that is easy to foresee: a word is a token."""

from __future__ import annotations

import re

__all__ = ["WordCounter", "words"]

_WORD = re.compile(r"\S+")


class WordCounter:
    """A word is a token, with the space before it."""

    def __init__(self) -> None:
        self.counted: list[str] = []

    def count(self, text: str) -> int:
        """Return how many words there are."""
        self.counted.append(text)
        return len(_WORD.findall(text))

    def cut(self, text: str, tokens: int) -> str:
        """Return the text up to the end of so many words."""
        found = list(_WORD.finditer(text))
        if len(found) <= tokens:
            return text
        return text[: found[tokens - 1].end()] if tokens > 0 else ""


def words(count: int, word: str = "w") -> str:
    """Return a text of so many words."""
    return " ".join([word] * count)
