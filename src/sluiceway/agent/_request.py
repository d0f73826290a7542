"""From what the step hooks left to what the model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sluiceway.agent._setup import resolve_models
from sluiceway.errors import ConfigurationError
from sluiceway.models import Model, ModelRequest
from sluiceway.processors import HookCall
from sluiceway.tools import Tool

__all__ = ["build_request", "models_of", "offered_tools"]


def offered_tools(overrides: Mapping[str, Any]) -> dict[str, Tool]:
    """Return the tools that the model is offered in this step.

    Raises:
        ConfigurationError: `active_tools` names a tool that is not there.
    """
    tools = cast("Mapping[str, Tool]", overrides.get("tools") or {})
    active = cast("Sequence[str] | None", overrides.get("active_tools"))
    if active is None:
        return dict(tools)
    if isinstance(active, str):
        raise ConfigurationError(f"active_tools must be a list of names, not the text {active!r}")
    unknown = [name for name in active if name not in tools]
    if unknown:
        there = ", ".join(tools) or "none"
        raise ConfigurationError(f"active_tools names {unknown[0]!r}, but the step's tools are: {there}")
    return {name: tool for name, tool in tools.items() if name in set(active)}


def models_of(chosen: Any, fallbacks: Sequence[Model]) -> tuple[Model, ...]:
    """Return the models to try: the step's own first, the agent's further ones behind it, each once."""
    first = (chosen,) if any(chosen is model for model in fallbacks) else resolve_models(chosen)
    return tuple(_each_once((*first, *fallbacks[1:])))


def _each_once(models: Sequence[Model]) -> list[Model]:
    kept: list[Model] = []
    for model in models:
        if not any(_same(model, other) for other in kept):
            kept.append(model)
    return kept


def _same(model: Model, other: Model) -> bool:
    if model is other:
        return True
    # Two objects that were made from one string ask the same model of the same provider.
    same_name = (model.provider, model.model_id) == (other.provider, other.model_id)
    return same_name and type(model) is type(other) and getattr(model, "from_string", False)


def build_request(call: HookCall, offered: Mapping[str, Tool], run_id: str, step_number: int) -> ModelRequest:
    """Return what the model is asked."""
    overrides = call.overrides
    assert call.prompt is not None
    return ModelRequest(
        prompt=call.prompt,
        tools=tuple(offered.values()),
        tool_choice=overrides.get("tool_choice"),
        settings=overrides.get("model_settings") or {},
        provider_options=overrides.get("provider_options") or {},
        structured_output=overrides.get("structured_output"),
        run_id=run_id,
        step_number=step_number,
    )
