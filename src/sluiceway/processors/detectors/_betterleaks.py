"""`BetterleaksDetector`: credentials of several hundred services, found by Betterleaks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from sluiceway.errors import ConfigurationError
from sluiceway.processors.detectors._port import Detection, Span

__all__ = ["BetterleaksDetector"]

_SCORES: Final[Mapping[str, float]] = {"high": 0.95, "medium": 0.8, "low": 0.65}
_UNSAID: Final = 0.8


class BetterleaksDetector:
    """Finds credentials with Betterleaks: extra `secrets`. Safe to share; works in a worker thread.

    Knows several hundred kinds of keys, and values that a name calls secret, where the built-in
    rules know some thirty. A finding's rule is `betterleaks:` and the name of theirs; its score
    is 0.95, 0.8 or 0.65 for their confidence high, medium or low.

    Args:
        config: A configuration file of Betterleaks (TOML) in place of its own rules, or None.
        type: What a finding is; by default the type of the built-in rules for keys.

    Raises:
        ConfigurationError: There is no such file; at the first use, Betterleaks is not installed.

    Examples:
        >>> from sluiceway.processors import PIIDetector
        >>> PIIDetector(detector=BetterleaksDetector()).id
        'pii-detector'
    """

    __slots__ = ("_config", "_type")

    def __init__(self, config: str | Path | None = None, *, type: str = "api-key") -> None:  # noqa: A002 - a span's
        if config is not None and not Path(config).is_file():
            raise ConfigurationError(f"BetterleaksDetector: config={os.fspath(config)!r}: there is no such file")
        self._config = None if config is None else os.fspath(config)
        self._type = type

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return what is in `text`."""
        return await anyio.to_thread.run_sync(self._detect, text)

    def _detect(self, text: str) -> Detection:
        # It takes a C string, and no halves of characters: something else stands for these, one for one.
        raw = text.replace("\0", " ").encode("utf-8", "replace")
        found = list(_matches(_betterleaks().scan_string(raw.decode(), config_path=self._config)))
        lines = list(accumulate((len(line) + 1 for line in raw.split(b"\n")), initial=0))
        places = [_place(raw, lines, match) for _, _, match in found]
        offsets = _in_characters(raw, (end for place in places for end in place))
        spans = {
            Span(offsets[start], offsets[end], self._type, _SCORES.get(confidence, _UNSAID), f"betterleaks:{rule}")
            for (start, end), (rule, confidence, _) in zip(places, found, strict=True)
        }
        return Detection.of(tuple(sorted(spans, key=lambda span: (span.start, span.end, span.rule))))


def _matches(findings: Iterable[Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield rule, confidence and match of each finding, and of what belongs to it, such as the other half of a key."""
    for finding in findings:
        yield finding.rule_id, finding.confidence, finding.raw
        for linked in finding.component_sets:
            for component in linked["components"]:
                yield component["rule_id"], finding.confidence, component


def _place(raw: bytes, lines: list[int], found: Mapping[str, Any]) -> tuple[int, int]:
    """Return where in the encoded text the value stands; lines and columns count from 1, columns in bytes."""
    at: Mapping[str, int] = found["location"]
    start = lines[at["start_line"] - 1] + at["start_column"] - 1
    end = lines[at["end_line"] - 1] + at["end_column"]
    value = found["match"]["value"].encode()
    inside = raw.find(value, start, end) if value else -1
    return (start, end) if inside < 0 else (inside, inside + len(value))


def _in_characters(raw: bytes, offsets: Iterable[int]) -> dict[int, int]:
    """Return for offsets in bytes those in characters, in one pass."""
    counted = {0: 0}
    last = 0
    for offset in sorted(set(offsets)):
        counted[offset] = counted[last] + len(raw[last:offset].decode())
        last = offset
    return counted


def _betterleaks() -> Any:
    try:
        import betterleaks
    except ImportError as error:
        raise ConfigurationError("BetterleaksDetector needs Betterleaks: pip install 'sluiceway[secrets]'") from error
    return betterleaks
