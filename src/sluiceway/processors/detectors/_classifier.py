"""`ClassifierDetector`: what scores texts, such as a provider's endpoint, as a detector."""

from __future__ import annotations

from typing import Any

from sluiceway.processors.detectors._port import Classifier, Detection

__all__ = ["ClassifierDetector"]


class ClassifierDetector:
    """Asks a classifier for the scores of a text. Safe to share.

    Args:
        classifier: Such as `models.OpenAIModerations`, or a small model of your own.
    """

    __slots__ = ("_classifier",)

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return the scores of `text`.

        Raises:
            ValueError: The classifier did not answer for one text.
        """
        (scores,) = await self._classifier.classify([text])
        return Detection(dict(scores))
