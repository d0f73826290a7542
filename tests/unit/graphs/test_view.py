"""What stands in a graph: nodes with stable paths, edges, and how they are nested."""

from __future__ import annotations

from typing import Any

import networkx as nx

from sluiceway import Agent, Processor, Workflow, step, tool
from sluiceway.graphs import AgentParts, agent_graph
from sluiceway.models import ScriptedModel
from sluiceway.processors import Effects


def double(number: int) -> int:
    return 2 * number


def square(number: int) -> int:
    return number * number


def redactor(identity: str = "redactor") -> Processor:
    return Processor.of(
        identity,
        process_input=lambda ctx: None,
        process_output_result=lambda ctx: None,
        effects={"process_input": Effects(("messages",), ("messages",), aborts=False)},
    )


def edges(graph: Any) -> list[tuple[str, str]]:
    return [(a.removeprefix("wf › "), b.removeprefix("wf › ")) for a, b in graph.edges]


def test_a_workflow_is_a_graph_of_its_steps_between_start_and_end() -> None:
    graph = Workflow("wf").then(str.strip).parallel([double, step(square, id="sq")]).map("sq").graph
    assert isinstance(graph, nx.DiGraph)
    assert edges(graph) == [
        ("[start]", "strip"),
        ("strip", "parallel[1]"),
        ("parallel[1]", "parallel[1] › double"),
        ("parallel[1]", "parallel[1] › sq"),
        ("parallel[1] › double", "parallel[1] › [join]"),
        ("parallel[1] › sq", "parallel[1] › [join]"),
        ("parallel[1] › [join]", "map[2]"),
        ("map[2]", "[end]"),
    ]
    assert nx.is_directed_acyclic_graph(graph)


def test_a_node_says_what_it_is() -> None:
    workflow = Workflow("wf").then(step(redactor(), timeout=3, retries=2, on_error="block", ignore=["SW101"]))
    assert workflow.graph.nodes["wf › processor:redactor"] == {
        "kind": "processor",
        "label": "redactor",
        "step_id": "redactor",
        "hooks": ["process_input", "process_output_result"],
        "effects": {
            "process_input": {"reads": ["messages"], "writes": ["messages"], "aborts": False, "external": False}
        },
        "timeout_s": 3,
        "retries": 2,
        "on_error": "block",
        "ignore": ["SW101"],
        "classes": [],
        "facts": ["redacts"],
        "picks": None,
        "condition": "",
        "description": "",
        "run": None,
        "change": None,
    }


def test_a_branch_has_its_conditions_on_its_edges() -> None:
    def is_big(number: int) -> bool:
        return number > 9

    graph = Workflow("wf").branch([(lambda n: n > 99, double), (is_big, square)]).graph
    told = [
        (b.removeprefix("wf › branch[0]"), data["label"]) for _, b, data in graph.out_edges("wf › branch[0]", data=True)
    ]
    assert told == [(" › double", "if n > 99"), (" › square", "else if is_big"), (" › [join]", "otherwise")]


def test_a_loop_leads_back_to_its_beginning() -> None:
    graph = Workflow("wf").do_until(double, lambda n: (n > 5) and (n < 7), max_iterations=4).graph
    assert edges(graph) == [
        ("[start]", "do_until[0] › double"),
        ("do_until[0] › double", "do_until[0]"),
        ("do_until[0]", "do_until[0] › double"),
        ("do_until[0]", "[end]"),
    ]
    assert graph.edges["wf › do_until[0]", "wf › do_until[0] › double"]["kind"] == "back"
    assert graph.nodes["wf › do_until[0]"]["condition"] == "until (n > 5) and (n < 7)"


def test_nested_workflows_are_groups() -> None:
    inner = Workflow("inner").then(double).then(square)
    graph = Workflow("wf").then(step(inner, timeout=2)).foreach(double, concurrency=3).sleep(2).graph
    groups: dict[str, Any] = graph.graph["groups"]
    assert [(key, group["kind"], group["members"]) for key, group in groups.items()] == [
        ("", "root", ["wf › [start]", "wf › inner", "wf › foreach[1] › [all]", "wf › sleep[2]", "wf › [end]"]),
        ("wf › inner", "workflow", ["wf › inner › double", "wf › inner › square"]),
        (
            "wf › foreach[1] › [all]",
            "foreach",
            ["wf › foreach[1]", "wf › foreach[1] › double", "wf › foreach[1] › [join]"],
        ),
    ]
    assert (groups["wf › inner"]["timeout_s"], groups["wf › foreach[1] › [all]"]["label"]) == (
        2,
        "for each item · 3 at once",
    )


def test_a_step_that_is_called_like_a_node_of_the_graph_gets_an_id_of_its_own() -> None:
    graph = Workflow("wf").then(step(double, id="[start]")).then(step(double, id="[end]")).graph
    assert list(graph) == ["wf › [start]", "wf › [start] #2", "wf › [end]", "wf › [end] #2"]


def test_an_agent_is_its_loop_with_its_lists_in_their_places() -> None:
    @tool
    def lookup(name: str) -> str:
        return name

    agent = Agent(
        id="support",
        model=ScriptedModel(["hi"]),
        tools=[lookup],
        input_processors=[redactor(), Workflow("checks").then(redactor("inner"))],
        output_processors=[redactor()],
        max_processor_retries=2,
    )
    graph = agent.graph
    assert list(graph.edges) == [
        ("[start]", "input › processor:redactor"),
        ("input › processor:redactor", "input › checks › processor:inner"),
        ("input › checks › processor:inner", "model"),
        ("model", "output › processor:redactor"),
        ("model", "error › processor:prefill-error-handler"),
        ("output › processor:redactor", "step › more"),
        ("step › more", "tools › lookup"),
        ("step › more", "[end]"),
        ("tools › lookup", "input › processor:redactor"),
        ("error › processor:prefill-error-handler", "input › processor:redactor"),
    ]
    assert graph.nodes["model"]["label"] == "scripted/scripted"
    assert graph.graph["groups"]["step"]["label"] == "each step · at most 5 · tried again 2× at most"


def test_what_is_made_for_each_request_is_one_node() -> None:
    parts = AgentParts("a", lists={"input": None, "output": ()}, models=None, tools=None)
    kinds = {node.id: node.kind for node in agent_graph(parts).nodes.values()}
    assert kinds == {
        "[start]": "start",
        "input › [per request]": "dynamic",
        "model": "model",
        "step › more": "loop",
        "tools › [per request]": "dynamic",
        "[end]": "end",
    }


def test_only_the_graph_itself_needs_networkx() -> None:
    """Each time a new one: changing it changes nothing else."""
    workflow = Workflow("wf").then(double).commit()
    workflow.graph.remove_node("wf › double")
    assert "wf › double" in workflow.graph
