"""The options of a guardrail about its model or detector, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sluiceway.errors import ConfigurationError
from sluiceway.processors.detectors import Detector, ModelChoice, ModelDetector, ModelTask
from sluiceway.processors.guardrails._inquiry import ErrorStrategy, Inquiry, OnDetection
from sluiceway.processors.guardrails._options import checked_one_of

__all__ = ["Asked", "checked_asked", "checked_inquiry"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options.

    Args:
        model: See `ModelDetector`; None: no model, or the agent's own with `own_model`.
        detector: Something else to ask; not together with a model.
        instructions: What a model is told.
        types: The types it is asked about.
        provider_options: Options for one provider, by its name.
        timeout_s: How long one text may take.
        error_strategy: `strict` or `warn`.
        on_detection: See `Inquiry`.
        spans: Whether it shall quote what it found.
        text: Whether it shall write the text anew.
        own_model: Whether the agent's own model is asked where nothing is given.
    """

    model: ModelChoice | None
    detector: Detector | None
    instructions: str
    types: Sequence[str]
    provider_options: Mapping[str, Any] | None
    timeout_s: float | None
    error_strategy: ErrorStrategy
    on_detection: OnDetection | None
    spans: bool = field(default=True, kw_only=True)
    text: bool = field(default=False, kw_only=True)
    own_model: bool = field(default=False, kw_only=True)


def checked_asked(owner: str, asked: Asked) -> Asked:
    """Return the options, each of a value that is allowed.

    Raises:
        ConfigurationError: One of them is not.
    """
    checked_one_of(owner, "error_strategy", asked.error_strategy, ("strict", "warn"))
    _check_timeout(owner, asked.timeout_s)
    options: Any = asked.provider_options
    if options is not None and not isinstance(options, Mapping):
        raise ConfigurationError(f"{owner}: provider_options={options!r} is not allowed; give a mapping by provider")
    if not isinstance(asked.instructions, str) or not asked.instructions.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"{owner}: instructions must be a text that is not empty, or None")
    detector: Any = asked.detector
    if detector is not None and not callable(getattr(detector, "detect", None)):
        raise ConfigurationError(f"{owner}: detector={detector!r} is not allowed; give an object with `detect`")
    return asked


def checked_inquiry(owner: str, asked: Asked) -> Inquiry | None:
    """Return how the guardrail asks; None if there is nobody to ask.

    Raises:
        ConfigurationError: An option of a value that is not allowed.
    """
    checked_asked(owner, asked)
    if asked.model is not None and asked.detector is not None:
        raise ConfigurationError(f"{owner}: give model= or detector=, not both")
    if asked.detector is not None:
        return Inquiry(asked.detector, asked.timeout_s, asked.error_strategy, asked.on_detection)
    if asked.model is None and not asked.own_model:
        if asked.on_detection is not None:
            raise ConfigurationError(f"{owner}: on_detection tells of a model or detector; give model= or detector=")
        return None
    task = ModelTask(
        instructions=asked.instructions,
        types=asked.types,
        spans=asked.spans,
        text=asked.text,
        provider_options=dict(asked.provider_options or {}),
    )
    model = ModelDetector(asked.model, task)
    return Inquiry(model, asked.timeout_s, asked.error_strategy, asked.on_detection)


def _check_timeout(owner: str, timeout_s: Any) -> None:
    if timeout_s is None or (not isinstance(timeout_s, bool) and isinstance(timeout_s, int | float) and timeout_s > 0):
        return
    raise ConfigurationError(f"{owner}: timeout={timeout_s!r} is not allowed; give seconds above 0, or None")
