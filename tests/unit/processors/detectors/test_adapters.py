"""Recognisers of others, where they are installed; without them a clear error."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import ClassifierDetector, Detection, PresidioDetector, SpacyDetector, Span

pytestmark = pytest.mark.anyio


class _Label:
    def __init__(self, start: int, end: int, label: str) -> None:
        self.start_char, self.end_char, self.label_ = start, end, label


async def test_spacy_entities_become_spans_of_the_types_asked_for() -> None:
    loaded = lambda text: SimpleNamespace(ents=[_Label(0, 3, "PERSON"), _Label(8, 14, "GPE"), _Label(15, 19, "DATE")])  # noqa: E731
    detection = await SpacyDetector(loaded).detect("Ann met Berlin 2020", None)
    assert detection.spans == (Span(0, 3, "name", 0.85, "spacy"), Span(8, 14, "address", 0.85, "spacy"))


async def test_a_real_spacy_pipeline() -> None:
    spacy: Any = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Ann Lee"}])
    detection = await SpacyDetector(nlp).detect("Hi Ann Lee!", None)
    assert detection.spans == (Span(3, 10, "name", 0.85, "spacy"),)


async def test_a_real_presidio_analyzer() -> None:
    presidio: Any = pytest.importorskip("presidio_analyzer")
    recogniser = presidio.PatternRecognizer("PERSON", deny_list=["Ann Lee"])
    spacy: Any = pytest.importorskip("spacy")
    engine = presidio.nlp_engine.SpacyNlpEngine()
    engine.nlp = {"en": spacy.blank("en")}
    registry = presidio.RecognizerRegistry(recognizers=[recogniser])
    analyzer = presidio.AnalyzerEngine(nlp_engine=engine, registry=registry, supported_languages=["en"])
    detection = await PresidioDetector(analyzer).detect("Hi Ann Lee!", None)
    assert detection.spans == (Span(3, 10, "name", 1.0, "presidio"),)


async def test_presidio_results_become_spans() -> None:
    class Analyzer:
        def analyze(self, text: str, language: str) -> list[Any]:
            assert language == "de"
            kinds = [(8, 14, "LOCATION"), (0, 3, "PERSON"), (4, 5, "NRP")]
            return [SimpleNamespace(start=a, end=b, entity_type=kind, score=0.7) for a, b, kind in kinds]

    detection = await PresidioDetector(Analyzer(), language="de").detect("Ann met Berlin", None)
    assert detection.spans == (Span(0, 3, "name", 0.7, "presidio"), Span(8, 14, "address", 0.7, "presidio"))


@pytest.mark.parametrize(
    ("made", "module", "extra"),
    [(SpacyDetector("en_core_web_sm"), "spacy", "ner"), (PresidioDetector(), "presidio_analyzer", "presidio")],
)
async def test_what_is_not_installed_is_named(
    made: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=rf"pip install 'sluiceway\[{extra}\]'"):
        await made.detect("x", None)


async def test_a_classifier_gives_scores() -> None:
    class Sure:
        async def classify(self, texts: Any) -> Any:
            return [{"hate": 0.25} for _ in texts]

    assert await ClassifierDetector(Sure()).detect("x", None) == Detection({"hate": 0.25})
