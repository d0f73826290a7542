"""Recognisers of others, where they are installed; without them a clear error."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import presidio_analyzer
import pytest
import spacy

from sluiceway.errors import ConfigurationError
from sluiceway.processors import (
    BetterleaksDetector,
    ClassifierDetector,
    Detection,
    PIIDetector,
    PresidioDetector,
    SpacyDetector,
    Span,
)
from tests.support.runs import collect, make_agent

presidio: Any = presidio_analyzer

pytestmark = pytest.mark.anyio


class _Label:
    def __init__(self, start: int, end: int, label: str) -> None:
        self.start_char, self.end_char, self.label_ = start, end, label


async def test_spacy_entities_become_spans_of_the_types_asked_for() -> None:
    loaded = lambda text: SimpleNamespace(ents=[_Label(0, 3, "PERSON"), _Label(8, 14, "GPE"), _Label(15, 19, "DATE")])  # noqa: E731
    detection = await SpacyDetector(loaded).detect("Ann met Berlin 2020", None)
    assert detection.spans == (Span(0, 3, "name", 0.85, "spacy"), Span(8, 14, "address", 0.85, "spacy"))


def ruled_pipeline() -> Any:
    """Return a spaCy pipeline that knows one person; a trained one would have to be downloaded."""
    nlp: Any = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Ann Lee"}])
    return nlp


async def test_a_real_spacy_pipeline() -> None:
    detection = await SpacyDetector(ruled_pipeline()).detect("\ud800Hi Ann Lee!", None)
    assert detection.spans == (Span(4, 11, "name", 0.85, "spacy"),)


async def test_a_spacy_model_is_loaded_by_its_name_at_the_first_use(tmp_path: Path) -> None:
    ruled_pipeline().to_disk(tmp_path / "people")
    named, missing = SpacyDetector(str(tmp_path / "people")), SpacyDetector("none_such")
    assert (await named.detect("Hi Ann Lee!", None)).spans == (Span(3, 10, "name", 0.85, "spacy"),)
    with pytest.raises(ConfigurationError, match="the spaCy model 'none_such' is not installed"):
        await missing.detect("Hi", None)


async def test_spacy_finds_names_for_the_pii_detector_on_a_stream_however_it_is_cut() -> None:
    guard = PIIDetector(detector=SpacyDetector(ruled_pipeline()), redaction_method="placeholder")
    for size in (1, 3, 100):
        text = "I asked Ann Lee at ann@example.org about it."
        agent, _ = make_agent([text[i : i + size] for i in range(0, len(text), size)], output_processors=[guard])
        assert (await collect(agent, "who?")).emitted == "I asked [NAME] at [EMAIL] about it."


async def test_presidio_with_its_defaults_fetches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="Presidio's spaCy model 'en_core_web_lg' is not installed"):
        await PresidioDetector().detect("Hi Ann Lee", None)
    ruled_pipeline().to_disk(tmp_path / "en_core_web_lg")
    text = "\ud800Hi Ann Lee, card 4111 1111 1111 1111, mail ann@example.org"
    found = [(span.type, text[span.start : span.end]) for span in (await PresidioDetector().detect(text, None)).spans]
    assert [entry for entry in found if entry[0] != "url"] == [
        ("name", "Ann Lee"),
        ("credit-card", "4111 1111 1111 1111"),
        ("email", "ann@example.org"),
    ]


async def test_a_real_presidio_analyzer() -> None:
    recogniser = presidio.PatternRecognizer("PERSON", deny_list=["Ann Lee"])
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
    [
        (SpacyDetector("en_core_web_sm"), "spacy", "ner"),
        (PresidioDetector(), "presidio_analyzer", "presidio"),
        (BetterleaksDetector(), "betterleaks", "secrets"),
    ],
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
