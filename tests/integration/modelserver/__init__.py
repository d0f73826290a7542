"""A model provider on loopback that says what it is told to, well or badly."""

from tests.integration.modelserver._answers import (
    Answer,
    Close,
    Hang,
    Pause,
    Reset,
    Step,
    anthropic,
    chat,
    refusal,
    sse,
    transcript,
)
from tests.integration.modelserver._server import ModelServer, Received

__all__ = [
    "Answer",
    "Close",
    "Hang",
    "ModelServer",
    "Pause",
    "Received",
    "Reset",
    "Step",
    "anthropic",
    "chat",
    "refusal",
    "sse",
    "transcript",
]
