"""What a model says of a text: read leniently, checked, and turned into a `Detection`."""

from __future__ import annotations

import logging
import math
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

    flagged: bool | None = Field(None, validation_alias=AliasChoices("flagged", "blocked", "block"))
    scores: dict[str, float | None] = {}
    spans: list[_Quote] = Field([], validation_alias=AliasChoices("spans", "detections", "findings"))
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
    def _from_list(cls, value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            pairs = [cast("Mapping[str, Any]", item) for item in cast("Sequence[Any]", value)]
            return {pair["type"]: pair.get("score") for pair in pairs if isinstance(pair, Mapping) and "type" in pair}  # pyright: ignore[reportUnnecessaryIsInstance]
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
            value = repair_json(text, return_objects=True)
        return cls.model_validate(value)

    def detection(self, text: str, types: Sequence[str]) -> Detection:
        """Return what this says of a text, of the types asked for.

        A category that nobody asked about is ignored; one without a score is not flagged, and
        logged. A quote is looked for in the text; one that is not there has no span, but its
        type has its score.
        """
        scores = {type_: _score(type_, score) for type_, score in self.scores.items() if type_ in types}
        spans: list[Span] = []
        for quote in self.spans:
            if quote.type not in types:
                continue
            score = 1.0 if quote.score is None else _score(quote.type, quote.score)
            scores[quote.type] = max(score, scores.get(quote.type, 0.0))
            spans.extend(_places(text, quote, score, _MOST_FOUND - len(spans)))
        if self.flagged:
            scores[FLAGGED] = 1.0
        spans.sort(key=lambda span: (span.start, span.end))
        return Detection(scores, tuple(spans), self.reason, self.text)


def _score(type_: str, score: float | None) -> float:
    if score is None or math.isnan(score):
        _log.warning("the model gave no score for %r; it counts as not flagged", type_)
        return 0.0
    return min(1.0, max(0.0, score))


def _places(text: str, quote: _Quote, score: float, most: int) -> list[Span]:
    places: list[Span] = []
    start = text.find(quote.text) if quote.text else -1
    while start >= 0 and len(places) < most:
        end = start + len(quote.text)
        places.append(Span(start, end, quote.type, score, "model"))
        start = text.find(quote.text, end)
    return places


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
