"""What a browser makes of a picture, with the fonts it has: judged by geometry."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from sluiceway.graphs import AgentParts, Sketch, Workflow, agent_graph, diff, diff_to_svg, to_svg
from tests.support.random_graphs import agents, workflows

Drawable = Workflow | AgentParts
drawables: st.SearchStrategy[Drawable] = st.one_of(workflows(entries=3), agents())

LOOK = """
(text) => {
  document.body.innerHTML = text;
  const svg = document.querySelector("svg");
  const found = [];
  const rect = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const within = (a, b, x, y) => a[0] >= b[0] - x && a[2] <= b[2] + x && a[1] >= b[1] - y && a[3] <= b[3] + y;
  const apart = (a, b) => a[2] <= b[0] + .5 || b[2] <= a[0] + .5 || a[3] <= b[1] + .5 || b[3] <= a[1] + .5;
  const page = rect(svg);
  const nodes = [...svg.querySelectorAll("g.node")].map((g) => ({
    n: g.dataset.n, box: rect(g.querySelector("rect, circle, path")), texts: [...g.querySelectorAll("text")],
  }));
  for (const node of nodes) {
    if (!within(node.box, page, 0, 0)) found.push(`box ${node.n} leaves the picture`);
    for (const t of node.texts)
      if (!within(rect(t), node.box, 0, 3)) found.push(`${t.textContent} leaves box ${node.n}: ${rect(t)} ${node.box}`);
  }
  nodes.forEach((a, i) => nodes.slice(0, i).forEach((b) => {
    if (!apart(a.box, b.box)) found.push(`boxes ${a.n} and ${b.n}`);
  }));
  for (const g of svg.querySelectorAll("g.frame"))
    if (!within(rect(g.querySelector("text")), rect(g.querySelector("rect")), 0, 0))
      found.push("a title leaves its frame");
  const labels = [...svg.querySelectorAll("g.label text")].map(rect);
  labels.forEach((a, i) => {
    for (const node of nodes) if (!apart(a, node.box)) found.push(`a label on box ${node.n}`);
    for (const b of labels.slice(0, i)) if (!apart(a, b)) found.push("a label on another");
  });
  for (const edge of svg.querySelectorAll("path.edge")) {
    const long = edge.getTotalLength(), to = edge.getScreenCTM(), ends = [edge.dataset.from, edge.dataset.to];
    for (let at = 0; at <= long; at += 4) {
      const p = edge.getPointAtLength(at).matrixTransform(to);
      for (const node of nodes) {
        const [l, t, r, b] = node.box, room = ends.includes(node.n) ? 1.5 : 0;
        if (p.x > l + room && p.x < r - room && p.y > t + room && p.y < b - room)
          found.push(`edge ${ends} in box ${node.n}`);
      }
    }
  }
  return [nodes.length, [...new Set(found)]];
}
"""


def drawn(thing: Drawable) -> Any:
    return agent_graph(thing) if isinstance(thing, AgentParts) else thing


def look(page: Page, svg: str) -> tuple[int, list[str]]:
    count, found = page.evaluate(LOOK, svg.replace("max-width:100%;height:auto", ""))
    return count, found


@given(thing=drawables)
@settings(max_examples=200)
def test_no_boxes_overlap_no_text_leaves_its_box_and_no_edge_crosses_one(page: Page, thing: Drawable) -> None:
    graph = drawn(thing)
    count, found = look(page, to_svg(graph))
    assert found == []
    if isinstance(graph, Sketch):
        assert count == len(graph.nodes)


@given(old=workflows(depth=1), new=workflows(depth=1))
@settings(max_examples=20)
def test_two_graphs_in_one_picture_do_not_touch(page: Page, old: Workflow, new: Workflow) -> None:
    assert look(page, diff_to_svg(diff(old, new), theme="dark"))[1] == []


def test_the_judge_sees_what_is_wrong(page: Page) -> None:
    """Boxes moved by hand onto each other, and a text made longer, are found."""
    workflow = Workflow("wf").then(str.upper).then(str.lower)
    svg = to_svg(workflow)
    moved = svg.replace('class="node" data-n="2"', 'class="node" data-n="2" transform="translate(-60 0)"')
    assert any("boxes" in line for line in look(page, moved)[1])
    assert any("leaves box" in line for line in look(page, svg.replace(">upper<", ">upper upper upper upper<"))[1])
    assert any("in box" in line for line in look(page, moved)[1])
    assert look(page, svg)[1] == []


def test_it_turns_dark_with_the_viewer_and_is_named_for_screen_readers(page: Page) -> None:
    svg = to_svg(Workflow('a "b" <c>').then(str.upper))
    colours: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.set_content(svg)
        colours.append(page.evaluate("getComputedStyle(document.querySelector('svg > rect')).fill"))
    assert colours == ["rgb(255, 255, 255)", "rgb(16, 20, 28)"]
    image = page.get_by_role("img")
    assert image.evaluate(
        "e => document.getElementById(e.getAttribute('aria-labelledby').split(' ')[0]).textContent"
    ) == ('Workflow a "b" <c>')
