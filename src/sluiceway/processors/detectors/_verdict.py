"""What a model says of a text: read leniently, checked, and turned into a `Detection`."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from json_repair import repair_json
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import from_json

from sluiceway.processors.detectors._port import Detection, Span

__all__ = ["FLAGGED", "Verdict", "verdict_schema"]

_log = logging.getLogger(__name__)

FLAGGED = "flagged"
"""The type of a finding where a model only says that something is wrong."""

_MOST_FOUND = 1000
_MOST_REPAIRED_CHARS = 50_000
_PARTED = re.compile(r"[\s_-]+")
_SAYING = (
    "scores",
    "spans",
    "flagged",
    "text",
    "language",
    "blocked",
    "block",
    "detections",
    "findings",
    "rewritten",
    "translation",
)


class _Quote(BaseModel):
    """A stretch of the text, quoted: models cannot count characters."""

    model_config = ConfigDict(extra="ignore")

    text: str
    type: str
    score: float | None = None


class Verdict(BaseModel):
    """The answer of a guard's model. What it says beyond this is ignored."""

    model_config = ConfigDict(extra="ignore")

    # Models mix the names up, and where they use two the worse counts.
    flagged: bool = False
    blocked: bool = False
    block: bool = False
    scores: list[tuple[str, float | None]] = []
    spans: list[_Quote] = []
    detections: list[_Quote] = []
    findings: list[_Quote] = []
    reason: str = ""
    text: str | None = Field(None, validation_alias=AliasChoices("text", "rewritten", "translation"))
    language: str | None = None
    confidence: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _says_something(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("the answer is not a JSON object")
        given = cast("Mapping[str, Any]", value)
        if not any(given.get(name) is not None for name in _SAYING):
            raise ValueError(f"the answer has none of: {', '.join(_SAYING)}")
        return {key: item for key, item in given.items() if item is not None}

    @field_validator("scores", mode="before")
    @classmethod
    def _as_pairs(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return list(cast("Mapping[Any, Any]", value).items())
        if isinstance(value, Sequence) and not isinstance(value, str):
            pairs = [cast("Mapping[str, Any]", item) for item in cast("Sequence[Any]", value)]
            return [(pair["type"], pair.get("score")) for pair in pairs if isinstance(pair, Mapping) and "type" in pair]  # pyright: ignore[reportUnnecessaryIsInstance]
        return value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an answer: JSON, also with a fence around it or slightly broken.

        Raises:
            ValueError: It is nothing of the kind.
        """
        try:
            value = from_json(text)
        except ValueError:
            value = _repaired(text)
        return cls.model_validate(value)

    def detection(self, text: str, types: Sequence[str]) -> Detection:
        """Return what this says of a text, of the types asked for.

        A category that nobody asked about is ignored; one without a score is not flagged, and
        logged. Case and what parts the words of a category do not matter. A quote is looked for
        in the text; one that is not there has no span, but its type has its score.
        """
        asked = {_folded(type_): type_ for type_ in types}
        scores: dict[str, float] = {}
        for name, given in self.scores:
            type_ = asked.get(_folded(name))
            if type_ is not None:
                scores[type_] = max(_score(type_, given), scores.get(type_, 0.0))
        spans: list[Span] = []
        for quote in (*self.spans, *self.detections, *self.findings):
            type_ = asked.get(_folded(quote.type))
            if type_ is None:
                continue
            score = 1.0 if quote.score is None else _score(type_, quote.score)
            scores[type_] = max(score, scores.get(type_, 0.0))
            spans.extend(_places(text, quote.text, type_, score, _MOST_FOUND - len(spans)))
        if self.flagged or self.blocked or self.block:
            scores[FLAGGED] = 1.0
        spans.sort(key=lambda span: (span.start, span.end))
        return Detection(scores, tuple(spans), self.reason, self.text)


def _score(type_: str, score: float | None) -> float:
    if score is None or math.isnan(score):
        _log.warning("the model gave no score for %r; it counts as not flagged", type_)
        return 0.0
    return min(1.0, max(0.0, score))


def _places(text: str, quote: str, type_: str, score: float, most: int) -> list[Span]:
    places: list[Span] = []
    start = text.find(quote) if quote else -1
    while start >= 0 and len(places) < most:
        end = start + len(quote)
        places.append(Span(start, end, type_, score, "model"))
        start = text.find(quote, end)
    return places


def _folded(name: str) -> str:
    return _PARTED.sub("-", name.strip().casefold())


def _repaired(text: str) -> Any:
    """Return what a broken answer means; None for one that is too long or too deep to say."""
    if len(text) > _MOST_REPAIRED_CHARS:  # it takes the square of the length, and nothing else runs meanwhile
        return None
    try:
        return repair_json(text, return_objects=True)
    except RecursionError:
        return None


def verdict_schema(types: Sequence[str], *, spans: bool, text: bool) -> dict[str, Any]:
    """Return the JSON schema that a model is asked to answer in.

    Args:
        types: The categories.
        spans: Whether it shall quote what it found.
        text: Whether it shall write the text anew.
    """
    number = {"type": "number", "minimum": 0, "maximum": 1}
    fields: dict[str, Any] = {
        "scores": {
            "type": "object",
            "properties": dict.fromkeys(types, number),
            "required": list(types),
            "additionalProperties": False,
        },
        "reason": {"type": "string"},
    }
    if spans:
        quote = {"text": {"type": "string"}, "type": {"type": "string", "enum": list(types)}, "score": number}
        item = {"type": "object", "properties": quote, "required": list(quote), "additionalProperties": False}
        fields["spans"] = {"type": "array", "items": item}
    if text:
        fields["text"] = {"type": "string"}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
