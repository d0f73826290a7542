"""Workflows: the combinators, what they compile to, pictures of them, and checks."""

from sluiceway.graphs._agent_view import AgentParts, agent_graph
from sluiceway.graphs._check import check, findings_to_json, findings_to_sarif, findings_to_text
from sluiceway.graphs._committed import CommittedWorkflow
from sluiceway.graphs._diff import GraphDiff, NodeChange
from sluiceway.graphs._drawn import (
    Drawn,
    diff,
    diff_to_svg,
    graph_from_json,
    graph_to_json,
    outline,
    overlay,
    to_dot,
    to_mermaid,
    to_svg,
    to_text,
)
from sluiceway.graphs._finding import Finding, Severity
from sluiceway.graphs._outline import Outline
from sluiceway.graphs._overlay import RunLike
from sluiceway.graphs._palette import Theme
from sluiceway.graphs._sketch import Edge, Group, Node, NodeRun, Sketch
from sluiceway.graphs._workflow import Workflow

__all__ = [
    "AgentParts",
    "CommittedWorkflow",
    "Drawn",
    "Edge",
    "Finding",
    "GraphDiff",
    "Group",
    "Node",
    "NodeChange",
    "NodeRun",
    "Outline",
    "RunLike",
    "Severity",
    "Sketch",
    "Theme",
    "Workflow",
    "agent_graph",
    "check",
    "diff",
    "diff_to_svg",
    "findings_to_json",
    "findings_to_sarif",
    "findings_to_text",
    "graph_from_json",
    "graph_to_json",
    "outline",
    "overlay",
    "to_dot",
    "to_mermaid",
    "to_svg",
    "to_text",
]
