"""The pages, each made of what is known now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from sluiceway.graphs import CommittedWorkflow, Drawn, Workflow
from sluiceway.processors import HOOKS_OF, ListKind, hooks_of
from sluiceway.serve._house import House, Listed, Served, hooks_in
from sluiceway.serve._http import Outgoing
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._runs import RunLog, RunRecord
from sluiceway.serve.page._form import form, texts, value
from sluiceway.serve.page._frame import framed, live
from sluiceway.serve.page._html import Markup, Piece, chip, el
from sluiceway.serve.page._told import facts, hooks_table, picture, runs_table
from sluiceway.serve.page._trial import Attempt, Trial

__all__ = ["Views"]

_MOST_RUNS: Final = 50
_TITLES: Final[dict[ListKind, str]] = {"input": "Before the model", "output": "After the model", "error": "On errors"}


class Views:
    """Makes pages.

    Args:
        house: What is served.
        log: The last runs.
        options: Of the server.
    """

    def __init__(self, house: House, log: RunLog, options: ServeOptions) -> None:
        self._house = house
        self._log = log
        self._options = options

    def home(self) -> Outgoing:
        """Return what there is: agents, workflows, the last runs."""
        workflows = self._house.workflows
        body: list[Piece] = [
            el("h1", None, "Agents"),
            el("div", {"class": "cards"}, [self._agent_card(served) for served in self._house.agents]),
        ]
        if workflows:
            told = "Workflows that stand in the lists of the agents. Each can be tried on a text of its own."
            body += [
                el("h2", None, "Workflows"),
                el("p", {"class": "lead"}, told),
                el("div", {"class": "cards"}, [_workflow_card(listed) for listed in workflows]),
            ]
        body += [el("h2", None, "Last runs"), live("runs", self._runs(self._log, self._how_to_call()))]
        return framed("Agents", body)

    def agent(self, served: Served) -> Outgoing:
        """Return an agent: its graph, its lists, its last runs."""
        agent = served.agent
        mine = (record for record in self._log if record.subject == agent.id and not record.workflow)
        return framed(
            agent.id,
            [
                el("h1", None, agent.id, " ", chip("agent")),
                el("p", {"class": "lead"}, agent.description) if agent.description else None,
                picture(agent),
                el("h2", None, "Lists"),
                el("div", {"class": "lists"}, [self._list(kind, items) for kind, items in agent.lists.items()]),
                el("h2", None, "Last runs"),
                live("runs", self._runs(mine, "It has not been asked anything yet.")),
            ],
            trail=["agent", agent.id],
        )

    def workflow(self, listed: Listed, attempt: Attempt | None = None, *, problem: str = "") -> Outgoing:
        """Return a workflow: its graph, where it stands, and a form to try it."""
        workflow = listed.workflow
        mine = (record for record in self._log if record.workflow == listed.number)
        return framed(
            workflow.id,
            [
                *_workflow_head(listed),
                picture(workflow),
                el("h2", {"id": "try"}, "Try it"),
                el("p", {"class": "problem", "role": "alert"}, problem) if problem else None,
                form(listed, attempt or Attempt("")),
                el("h2", None, "Last trials"),
                live("runs", self._runs(mine, "It has not been tried yet.")),
            ],
            trail=["workflow", workflow.id],
            status=400 if problem else 200,
        )

    def trial(self, listed: Listed, attempt: Attempt, trial: Trial) -> Outgoing:
        """Return what came of a trial."""
        record = trial.record
        return framed(
            f"{listed.workflow.id}, tried",
            [
                *_workflow_head(listed),
                facts(record),
                picture(listed.workflow, record.events),
                el("h2", None, "Hook by hook"),
                texts(trial.seen, trial.answer if record.state in ("passed", "edited") else None)
                if attempt.texts
                else el(
                    "p",
                    {"class": "lead"},
                    "The texts are hidden. Tick “show the texts” to see what each hook made of them.",
                ),
                hooks_table(record.events, record.left_out),
                el("h2", {"id": "try"}, "Try it again"),
                form(listed, attempt),
            ],
            trail=["workflow", el("a", {"href": f"/workflows/{listed.number}"}, listed.workflow.id), "tried"],
        )

    def run(self, record: RunRecord) -> Outgoing:
        """Return a run in detail."""
        thing, link = self._subject(record)
        return framed(
            f"Run of {record.subject}",
            [
                el("h1", None, "Run of ", record.subject, " ", chip(record.via, record.via)),
                live(
                    "run",
                    facts(record),
                    picture(thing, record.events) if thing is not None else None,
                    el("h2", None, "Hook by hook"),
                    hooks_table(record.events, record.left_out),
                ),
                self._values(record),
            ],
            trail=["workflow" if record.workflow else "agent", link, "run"],
        )

    # -- pieces

    def _subject(self, record: RunRecord) -> tuple[Drawn | None, Piece]:
        if record.workflow:
            found = next((listed for listed in self._house.workflows if listed.number == record.workflow), None)
            thing, where = (found.workflow, f"/workflows/{found.number}") if found else (None, "/")
        else:
            served = next((served for served in self._house.agents if served.agent.id == record.subject), None)
            thing, where = (served.agent, f"/agents/{served.number}") if served else (None, "/")
        return thing, el("a", {"href": where}, record.subject)

    def _runs(self, records: Iterable[RunRecord], empty: str) -> Markup:
        return runs_table(islice(records, _MOST_RUNS), empty=empty)

    def _how_to_call(self) -> str:
        return "Nothing has been asked yet. Point a client's base URL at /v1 of this address."

    def _agent_card(self, served: Served) -> Markup:
        agent = served.agent
        told = [
            el("div", None, el("b", None, kind), " ", _names(items))
            for kind, items in agent.lists.items()
            if items != ()
        ]
        held = {"none": "text at once", "step": "text after each step", "run": "text after the last hook"}[served.hold]
        return el(
            "div",
            {"class": "card"},
            el("h3", None, el("a", {"href": f"/agents/{served.number}"}, agent.id)),
            el("p", None, agent.description) if agent.description else None,
            el("div", {"class": "small"}, told),
            el("div", {"class": "chips"}, chip(held), chip("model of the request") if served.guarding else None),
        )

    def _list(self, kind: ListKind, items: Sequence[object] | None) -> Markup:
        if items is None:
            entries: Piece = el("li", {"class": "empty"}, "made for each request")
        elif not items:
            entries = el("li", {"class": "empty"}, "nothing")
        else:
            entries = [self._entry(item, kind) for item in items]
        return el("section", None, el("h3", None, _TITLES[kind]), el("ol", None, entries))

    def _entry(self, item: object, kind: ListKind) -> Markup:
        known = next((listed for listed in self._house.workflows if _same(listed.workflow, item)), None)
        name = str(getattr(item, "id", type(item).__name__))
        if known is not None:
            link = el("a", {"href": f"/workflows/{known.number}"}, name)
            return el("li", None, link, " ", chip("workflow"), _hooks(hooks_in(known.workflow, kind)))
        hooks = [hook for hook in hooks_of(item) if hook in HOOKS_OF[kind]]
        return el("li", None, el("code", None, name), " ", chip(type(item).__name__), _hooks(hooks))

    def _values(self, record: RunRecord) -> Markup | None:
        if record.said is None:
            told = "What was said and answered is not kept."
            if not record.workflow:
                told += " Start the server with --show-values to see it here."
            return el("p", {"class": "lead"}, told)
        return el(
            "div",
            {"class": "values"},
            value("said", "What was said", record.said),
            value("answered", "What was answered", record.answered or ""),
        )


def _same(workflow: CommittedWorkflow, item: object) -> bool:
    return workflow is item or (isinstance(item, Workflow) and item.id == workflow.id)


def _names(items: Sequence[object] | None) -> str:
    if items is None:
        return "made for each request"
    return ", ".join(str(getattr(item, "id", type(item).__name__)) for item in items)


def _hooks(hooks: Iterable[str]) -> Markup:
    return el("div", {"class": "chips"}, [chip(hook, "hook") for hook in hooks])


def _workflow_head(listed: Listed) -> list[Piece]:
    places = [
        el("li", None, "in the ", el("b", None, kind), " list of ", el("code", None, agent.id))
        for agent, kind in listed.places
    ]
    description = listed.workflow.definition.description
    return [
        el("h1", None, listed.workflow.id, " ", chip("workflow")),
        el("p", {"class": "lead"}, description) if description else None,
        el("ul", {"class": "places"}, places),
    ]


def _workflow_card(listed: Listed) -> Markup:
    places = ", ".join(f"{kind} of {agent.id}" for agent, kind in listed.places)
    steps = len(listed.workflow.processors)
    return el(
        "div",
        {"class": "card"},
        el("h3", None, el("a", {"href": f"/workflows/{listed.number}"}, listed.workflow.id)),
        el("div", {"class": "small"}, places),
        el("div", {"class": "chips"}, chip(f"{steps} processor{'' if steps == 1 else 's'}"), chip("try it", "go")),
    )
