"""What other programs make of a graph: Graphviz draws its DOT, Mermaid reads its flowchart."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from sluiceway import step
from sluiceway.graphs import AgentParts, Sketch, Workflow, agent_graph, to_dot, to_mermaid
from sluiceway.graphs._drawn import sketch_of
from tests.integration.graphs.conftest import program
from tests.support.random_graphs import agents, workflows

Drawable = Workflow | AgentParts
drawables: st.SearchStrategy[Drawable] = st.one_of(workflows(depth=2, entries=3), agents())

SVG = "{http://www.w3.org/2000/svg}"
NODE = Path(__file__).parent / "node"
MERMAID = NODE / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"


def sketched(thing: Drawable) -> Sketch:
    return agent_graph(thing) if isinstance(thing, AgentParts) else sketch_of(thing)


@given(thing=drawables)
@settings(max_examples=200)
def test_graphviz_draws_every_node_and_edge(thing: Drawable) -> None:
    sketch = sketched(thing)
    drawn = graphviz(to_dot(sketch))
    assert drawn.count('class="node"') == len(sketch.nodes)
    assert drawn.count('class="edge"') == len(sketch.edges)


def graphviz(text: str) -> str:
    """Return the SVG that `dot` draws; a warning is an error."""
    done = subprocess.run([program("dot"), "-Tsvg"], input=text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_graphviz_shows_the_names_as_they_are() -> None:
    names = ['say "hi"', "<b>x</b>", "&amp;", "a & b", "back\\slash\\n", "שלום"]
    workflow = Workflow("wf")
    for name in names:
        workflow = workflow.then(step(json.dumps, id=name))
    tree = ET.fromstring(graphviz(to_dot(workflow)))
    nodes = [g for g in tree.iter(f"{SVG}g") if g.get("class") == "node"]
    assert [text.text for g in nodes for text in g.iter(f"{SVG}text")] == names


@pytest.fixture(scope="module")
def mermaid(page: Page) -> Page:
    if not MERMAID.exists():
        subprocess.run(
            [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=NODE,
            check=True,
            capture_output=True,
        )
    page.goto("about:blank")
    page.add_script_tag(path=MERMAID)
    page.evaluate("mermaid.initialize({startOnLoad: false, maxTextSize: 1e7, maxEdges: 1e5})")
    return page


PARSE = """
async (text) => {
  try { return (await mermaid.parse(text)).diagramType; } catch (error) { return String(error.message ?? error); }
}
"""
LABELS = """
async (text) => {
  document.body.innerHTML = (await mermaid.render("drawn", text)).svg;
  return [...document.querySelectorAll(".node .nodeLabel")].map((e) => e.textContent);
}
"""


@given(thing=drawables)
@settings(max_examples=200)
def test_mermaid_reads_it(mermaid: Page, thing: Drawable) -> None:
    text = to_mermaid(sketched(thing))
    assert mermaid.evaluate(PARSE, text) == "flowchart-v2", text


def test_mermaid_shows_the_names_as_they_are(mermaid: Page) -> None:
    names = ['say "hi"', "<b>x</b>", "#quot;", "a & b", "`md **x**`", "שלום"]
    workflow = Workflow("wf")
    for name in names:
        workflow = workflow.then(step(json.dumps, id=name))
    labels = [label.strip() for label in mermaid.evaluate(LABELS, to_mermaid(workflow))]
    assert labels == ["start", *names, "end"]
