"""`House`: the agents that are served, and the workflows that stand in their lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sluiceway.agent import Agent
from sluiceway.errors import ConfigurationError
from sluiceway.graphs import CommittedWorkflow, Workflow
from sluiceway.processors import ALL_HOOKS, HOOKS_OF, HookName, ListKind, hooks_of
from sluiceway.serve._guarding import as_items, default_hold, guarding_agent, lists_for, name_of
from sluiceway.serve._options import ServeOptions

__all__ = ["House", "Listed", "Served", "hooks_in"]

_OF_FUNCTIONS: Final = frozenset({"process_input", "process_output_result"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A workflow, and where it stands.

    Args:
        number: From 1, in the order of agents and lists.
        workflow: The workflow.
        places: The agents, and in which of their lists it stands.
    """

    number: int
    workflow: CommittedWorkflow
    places: tuple[tuple[Agent, ListKind], ...]

    @property
    def kinds(self) -> tuple[ListKind, ...]:
        """The lists that it stands in, each once."""
        return tuple(dict.fromkeys(kind for _, kind in self.places))

    @property
    def hooks(self) -> tuple[HookName, ...]:
        """The hooks that it runs in where it stands, in the order of a run."""
        return tuple(hook for hook in ALL_HOOKS if any(hook in hooks_in(self.workflow, kind) for kind in self.kinds))


@dataclass(frozen=True, slots=True)
class Served:
    """An agent as it is served.

    Args:
        number: From 1.
        agent: The agent.
        guarding: Whether its model is that of each request.
        hold: When its text is delivered.
    """

    number: int
    agent: Agent
    guarding: bool
    hold: str


class House:
    """What is served.

    Args:
        things: Agents; workflows and processors become an agent of their own, in front of the
            server behind, or of an echo.
        options: Of the server.

    Raises:
        ConfigurationError: Nothing, or two agents of one id.
    """

    def __init__(self, things: Sequence[object], options: ServeOptions) -> None:
        if not things:
            raise ConfigurationError("there is no agent to serve")
        self.agents: list[Served] = []
        for number, thing in enumerate(things, start=1):
            agent, guarding = (thing, False) if isinstance(thing, Agent) else (_around(thing, options), True)
            guarding = guarding and options.upstream is not None
            self.agents.append(Served(number, agent, guarding, options.hold or default_hold(agent)))
        self._by_id = {served.agent.id: served for served in self.agents}
        if len(self._by_id) < len(self.agents):
            raise ConfigurationError("two agents have the same id; a client would not know which one answers")
        self.workflows = _listed([served.agent for served in self.agents])

    def named(self, model: str) -> Served | None:
        """Return the agent that a client calls so; the only one answers where no name is given."""
        if model in self._by_id:
            return self._by_id[model]
        return self.agents[0] if not model and len(self.agents) == 1 else None

    def in_lists_of(self, agent: Agent) -> list[Listed]:
        """Return the workflows in the lists of an agent."""
        return [listed for listed in self.workflows if any(owner is agent for owner, _ in listed.places)]


def hooks_in(workflow: CommittedWorkflow, kind: ListKind) -> list[HookName]:
    """Return the hooks that a workflow runs in where it stands in such a list."""
    found: set[str] = {hook for processor in workflow.processors.values() for hook in hooks_of(processor)}
    return [hook for hook in HOOKS_OF[kind] if hook in (found or _OF_FUNCTIONS)]


def _around(thing: object, options: ServeOptions) -> Agent:
    items = as_items(thing)
    lists = lists_for(items)
    name = name_of(items)
    if options.upstream is not None:
        return guarding_agent(name, lists)
    return Agent(name, model="echo/echo", input_processors=lists["input"], output_processors=lists["output"])


def _listed(agents: Sequence[Agent]) -> list[Listed]:
    found: dict[int, tuple[CommittedWorkflow, list[tuple[Agent, ListKind]]]] = {}
    for agent in agents:
        for kind, item in _items(agent.lists):
            if isinstance(item, (Workflow, CommittedWorkflow)):
                # An open workflow is committed anew by everyone; it is the same one if it is the same object.
                workflow = item if isinstance(item, CommittedWorkflow) else item.commit()
                found.setdefault(id(item), (workflow, []))[1].append((agent, kind))
    return [Listed(n, workflow, tuple(places)) for n, (workflow, places) in enumerate(found.values(), start=1)]


def _items(lists: Mapping[ListKind, Sequence[object] | None]) -> list[tuple[ListKind, object]]:
    return [(kind, item) for kind, items in lists.items() for item in items or ()]
