"""Rules of the user's own: a pattern, or a list of words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from sluiceway.errors import ConfigurationError
from sluiceway.processors.detectors._mask import placeholder_of
from sluiceway.processors.detectors._probe import tokens
from sluiceway.processors.detectors._rule import Rule, opens_with

__all__ = ["custom_rule"]

_TIMEOUT_S = 2.0
_LOOKBEHIND_CHARS = 1000
_SAMPLES = ("", "a", "A1", "0", " ", "\n", ".", "-", "ab cd", "a@b.c", "é", "_", "\t1")
_FUZZY = re.compile(r"\{[^{}]*[a-z][^{}]*(?:<|<=|=)[^{}]*\}|\{[eids](?:,[^{}]*)?\}", re.IGNORECASE)
_OPENING = re.compile(r"(?:\(\?[aimsux]+\))?(?:\\b|\(\?<![^()]*\))?")
_PLAIN = re.compile(r"[A-Za-z0-9_ @#:/=,;%&~<>!\"'-]")
_REFUSED_FLAGS = (
    (regex.REVERSE, "it searches backwards ((?r))"),
    (regex.POSIX, "it asks for the longest match ((?p))"),
    (regex.WORD, "its word boundaries follow the (?w) flag"),
    (regex.BESTMATCH, "it matches fuzzily ((?b))"),
    (regex.ENHANCEMATCH, "it matches fuzzily ((?e))"),
)
_REFUSED_ESCAPES = {
    r"\X": r"it uses \X, whose end is never sure",
    r"\G": r"it uses \G",
    r"\K": r"it uses \K",
}
_REFUSED_GROUPS = ("(?R)", "(?0)", "(*PRUNE)", "(*SKIP)")


def custom_rule(
    type_: str,
    definition: str | regex.Pattern[str] | re.Pattern[str] | Sequence[str],
    *,
    option: str,
    score: float = 1.0,
) -> Rule:
    r"""Return the rule for a pattern or for a list of words.

    Args:
        type_: What a match is called.
        definition: A pattern of the module `regex` (a string or compiled), or words, which
            are found whole and in any case.
        option: The name of the option, for errors.
        score: How sure a match is.

    Raises:
        ConfigurationError: The pattern cannot be compiled, or cannot be used on a stream:
            fuzzy, reverse, `\X`, one that matches the empty text, or one that takes seconds
            for a few characters.
    """
    if isinstance(definition, (str, regex.Pattern, re.Pattern)):
        return _pattern_rule(type_, definition, option, score)
    return _word_rule(type_, definition, option, score)


def _pattern_rule(
    type_: str, definition: str | regex.Pattern[str] | re.Pattern[str], option: str, score: float
) -> Rule:
    source = definition if isinstance(definition, str) else definition.pattern
    try:
        if isinstance(definition, regex.Pattern):
            pattern = definition
        else:
            flags = 0 if isinstance(definition, str) else _flags(definition)
            pattern = regex.compile(source, flags)
        rule = Rule(
            type_,
            type_,
            pattern,
            gate=_gate(pattern),
            score=score,
            bounded=False,
            timeout_s=_TIMEOUT_S,
            lookbehind_chars=_LOOKBEHIND_CHARS if "(?<" in source else 1,
        )
    except regex.error as error:
        message = f"{option}[{type_!r}] is no valid pattern: {error}; give one for the module `regex`"
        raise ConfigurationError(message) from None
    why = _refusal(pattern)
    if why is not None:
        raise ConfigurationError(
            f"{option}[{type_!r}] = {source!r} cannot be used on a stream: {why}; "
            "write it so that every match has an end that the text itself shows"
        )
    return rule


def _gate(pattern: regex.Pattern[str]) -> re.Pattern[str] | None:
    """Return a gate for the letters that every match begins with; None if there are none.

    It is what makes a pattern cheap on text that holds no match.
    """
    if pattern.flags & (regex.VERBOSE | regex.V1):
        return None
    pieces = list(tokens(pattern))
    if any(piece == "|" for piece, in_set in pieces if not in_set):
        return None
    letters = ""
    opening = _OPENING.match(pattern.pattern)
    skipped = opening.end() if opening else 0
    for piece, _ in pieces:
        if skipped > 0:
            skipped -= len(piece)
        elif len(piece) == 1 and _PLAIN.match(piece):
            letters += piece
        else:
            # What is repeated or left out is no beginning.
            letters = letters[:-1] if piece in ("*", "?", "{", "+") else letters
            break
    flags = re.IGNORECASE if pattern.flags & regex.IGNORECASE else 0
    return opens_with([letters], edge="", flags=flags) if letters else None


def _flags(pattern: re.Pattern[str]) -> int:
    flags = 0
    for name in ("IGNORECASE", "MULTILINE", "DOTALL", "VERBOSE", "ASCII"):
        if pattern.flags & getattr(re, name):
            flags |= getattr(regex, name)
    return flags


def _refusal(pattern: regex.Pattern[str]) -> str | None:
    """Why a pattern cannot be used on a stream; None if it can."""
    for flag, why in _REFUSED_FLAGS:
        if pattern.flags & flag:
            return why
    outside = [piece for piece, in_set in tokens(pattern) if not in_set]
    for piece in outside:
        if piece in _REFUSED_ESCAPES:
            return _REFUSED_ESCAPES[piece]
    plain = "".join(" " if piece[0] == "\\" else piece for piece in outside)
    for group in _REFUSED_GROUPS:
        if group in plain:
            return f"it uses {group}"
    if _FUZZY.search(plain):
        return "it matches fuzzily"
    return _fault_on_samples(pattern)


def _fault_on_samples(pattern: regex.Pattern[str]) -> str | None:
    for sample in _SAMPLES:
        try:
            if any(match.start() == match.end() for match in pattern.finditer(sample, timeout=_TIMEOUT_S)):
                return "it matches the empty text"
        except TimeoutError:
            return f"it takes longer than {_TIMEOUT_S:g} s on a text of {len(sample)} characters"
    return None


def _word_rule(type_: str, words: Sequence[str], option: str, score: float) -> Rule:
    cleaned = [word for word in words if type(word) is str and word.strip()]
    if not cleaned or len(cleaned) != len(words):
        raise ConfigurationError(
            f"{option}[{type_!r}] = {words!r}: must be a pattern or a list of words that are not empty"
        )
    # A word that begins or ends with a sign, such as `C++`, has no boundary there.
    arms = [
        (r"(?<!\w)" if word[0].isalnum() else "") + regex.escape(word) + (r"(?!\w)" if word[-1].isalnum() else "")
        for word in sorted(set(cleaned), key=lambda w: (-len(w), w))
    ]
    # What stands in the place of a finding may be the word itself: `[FALCON]` is not found again.
    placeholder = rf"(?!(?<=\[)(?-i:{regex.escape(placeholder_of(type_)[1:-1])})\])"
    pattern = regex.compile(f"{placeholder}(?:{'|'.join(arms)})", regex.IGNORECASE)
    lowered = [word.lower() for word in cleaned]
    gate = opens_with(lowered, edge="", flags=re.IGNORECASE) if all(w.isascii() for w in lowered) else None
    return Rule(type_, type_, pattern, gate=gate, score=score, lookbehind_chars=1)
