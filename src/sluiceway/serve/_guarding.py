"""Agents around workflows, and calls of agents on behalf of a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from sluiceway.agent import Agent, CallOptions
from sluiceway.errors import ConfigurationError
from sluiceway.graphs import CommittedWorkflow, Workflow
from sluiceway.models import ChatQuirks, Model
from sluiceway.processors import ListKind, StepOverrides, compile_chain
from sluiceway.serve._ask import Ask
from sluiceway.serve._refusal import Refusal
from sluiceway.tools import RequestContext, Tool

__all__ = ["as_items", "call_options", "default_hold", "guarding_agent", "lists_for", "name_of", "quirks_of"]

_MODEL: Final = "sluiceway.model"
_TOOLS: Final = "sluiceway.tools"
_KINDS: Final[tuple[ListKind, ...]] = ("input", "output")


def lists_for(items: Sequence[object]) -> dict[ListKind, list[object]]:
    """Return the lists that processors and workflows can stand in: each in all of which it has hooks.

    Raises:
        ConfigurationError: One that can stand in none; the text says why.
    """
    lists: dict[ListKind, list[object]] = {"input": [], "output": []}
    for item in items:
        refused: ConfigurationError | None = None
        fits = 0
        for kind in _KINDS:
            try:
                compile_chain([item], kind)
            except ConfigurationError as error:
                refused = refused or error
            else:
                lists[kind].append(item)
                fits += 1
        if refused is not None and not fits:
            raise refused
    return lists


def guarding_agent(
    id: str,  # noqa: A002 - the field's own name
    lists: Mapping[ListKind, Sequence[object]],
    *,
    max_processor_retries: int | None = None,
) -> Agent:
    """Return an agent whose model and tools are those of each request; see `call_options`."""
    return Agent(
        id,
        model=_model_of,
        tools=_tools_of,
        input_processors=lists.get("input", ()),
        output_processors=lists.get("output", ()),
        error_processors=lists.get("error", ()),
        max_processor_retries=max_processor_retries,
        max_steps=1,
    )


def _model_of(context: RequestContext) -> Any:
    if _MODEL not in context:
        raise ConfigurationError("this agent answers only on behalf of a client, whose request names the model")
    return context[_MODEL]


def _tools_of(context: RequestContext) -> Any:
    return list(context.get(_TOOLS, ()))


def call_options(ask: Ask, model: Model | None, *, guarding: bool) -> CallOptions:
    """Return what the call of an agent is told; reasoning is the client's to see where the model is the client's.

    Args:
        ask: The request.
        model: Who answers in place of the agent's own model, or None.
        guarding: Whether the agent is one of `guarding_agent`.
    """
    options = ask.options.copy()
    if ask.reasoning is None:
        ask.reasoning = guarding
    shape: Any = None
    if model is not None:
        # The server behind is asked in the client's own words, and what it answers is the client's to judge.
        options.pop("structured_output", None)
        options["provider_options"] = {model.provider: dict(ask.passed)}
    elif ask.tools:
        # An answer that is a call of the client's tool has no shape, which the agent would insist on.
        shape = options.pop("structured_output", None)
    if guarding:
        context = RequestContext()
        context.set(_MODEL, model, secret=True)
        context.set(_TOOLS, ask.tools, secret=True)
        options["request_context"] = context
    elif model is not None or ask.tools:
        options["prepare_step"] = _Preparing(ask.tools, model, shape)
    return options


class _Preparing:
    """Adds a client's tools to those of an agent, and puts another model in the place of its own."""

    def __init__(self, tools: tuple[Tool, ...], model: Model | None, shape: Any) -> None:
        self._tools = tools
        self._overrides: dict[str, Any] = {}
        if model is not None:
            self._overrides["model"] = model
        if shape is not None:
            self._overrides["structured_output"] = shape

    def __call__(self, ctx: Any) -> StepOverrides:
        tools = dict(cast("Mapping[str, Tool]", ctx.tools))
        for tool in self._tools:
            if tool.name in tools and tools[tool.name] is not tool:
                text = f"the agent has a tool {tool.name!r} of its own; call yours something else"
                raise Refusal(400, text, code="tool_name_taken", param="tools")
            tools[tool.name] = tool
        return StepOverrides(tools=tools, **self._overrides)


def default_hold(agent: Agent) -> Literal["none", "step"]:
    """Return when an agent's text may be delivered: after a step where it could be tried again.

    An API has no way to take back what was sent.
    """
    errors = agent.lists["error"]
    added = 1  # the handler that every agent has, which acts before anything is sent
    may_retry = (errors is None or len(errors) > added) if agent.max_processor_retries is None else True
    return "step" if may_retry and agent.max_processor_retries != 0 else "none"


def as_items(thing: object) -> list[object]:
    """Return a workflow, a processor, or a list of these as a list.

    Raises:
        ConfigurationError: Something else, or nothing.
    """
    items = [thing]
    if isinstance(thing, Sequence) and not isinstance(thing, (str, bytes)):
        items = list(cast("Sequence[object]", thing))
    if not items:
        raise ConfigurationError("there is nothing to guard with: the list is empty")
    return [item.commit() if isinstance(item, Workflow) else item for item in items]


def name_of(items: Sequence[object]) -> str:
    """Return what an agent around these is called."""
    first = items[0]
    return first.id if isinstance(first, CommittedWorkflow) else str(getattr(first, "id", "guard"))


def quirks_of(ask: Ask) -> ChatQuirks:
    """Return how a server behind is asked: as the client asks, which knows what it talks to."""
    return ChatQuirks(max_tokens=ask.max_tokens_name, bare_tool_choice=False)
