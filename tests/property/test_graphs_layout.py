"""Whatever the graph, a picture of it is tidy: judged by geometry."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway import step
from sluiceway.graphs import AgentParts, Sketch, Workflow, agent_graph, to_svg
from sluiceway.graphs._drawn import sketch_of
from sluiceway.graphs._layout import layout
from sluiceway.graphs._scene import Box, Frame, Label, Point, Scene
from tests.support.random_graphs import agents, workflows

Drawable = Workflow | AgentParts
drawables: st.SearchStrategy[Drawable] = st.one_of(workflows(), agents())


def sketched(thing: Drawable) -> Sketch:
    return agent_graph(thing) if isinstance(thing, AgentParts) else sketch_of(thing)


def overlap(a: Box | Label, b: Box | Label) -> bool:
    return a.x < b.x + b.w and b.x < a.x + a.w and a.y < b.y + b.h and b.y < a.y + a.h


def inside(a: Box | Label | Frame, b: Frame) -> bool:
    return b.x <= a.x and b.y <= a.y and a.x + a.w <= b.x + b.w and a.y + a.h <= b.y + b.h


def crosses(p: Point, q: Point, box: Box | Label, room: float) -> bool:
    """Whether a straight stretch comes nearer to a box than `room`, or runs through it."""
    across = min(p[0], q[0]) < box.x + box.w + room and max(p[0], q[0]) > box.x - room
    return across and min(p[1], q[1]) < box.y + box.h + room and max(p[1], q[1]) > box.y - room


def apart(scene: Scene) -> list[str]:
    """Name what overlaps, in order of place."""
    things: list[Box | Label] = [*scene.boxes, *scene.labels]
    found: list[str] = []
    for number, thing in enumerate(things):
        found += [f"{number} on {other}" for other in range(number) if overlap(thing, things[other])]
    return found


def pierced(scene: Scene) -> list[tuple[str, str]]:
    """Name the edges that run through a box or label, or close by one that they do not join."""
    found: list[tuple[str, str]] = []
    for line in scene.lines:
        ends = (line.edge.source, line.edge.target)
        for p, q in pairwise(line.points):
            found += [ends for box in scene.boxes if crosses(p, q, box, -0.25 if box.card.node.id in ends else 2)]
            found += [ends for label in scene.labels if crosses(p, q, label, 0.5)]
    return found


def loose(sketch: Sketch, scene: Scene) -> list[tuple[str, str]]:
    """Name the edges whose line does not begin and end at the nodes; tools are reached through their frame."""
    at = {box.card.node.id: box for box in scene.boxes}
    piles = {frame.group.id: frame for frame in scene.frames if frame.group.kind == "tools"}

    def touches(point: Point, node: str) -> bool:
        place = piles.get(sketch.parent(node).id) or at[node]
        across = place.x - 0.1 <= point[0] <= place.x + place.w + 0.1
        return across and place.y - 0.1 <= point[1] <= place.y + place.h + 0.1

    return [
        (line.edge.source, line.edge.target)
        for line in scene.lines
        if not touches(line.points[0], line.edge.source) or not touches(line.points[-1], line.edge.target)
    ]


def spilled(sketch: Sketch, scene: Scene) -> list[str]:
    """Name the frames that hold another set of nodes than their group, or whose title does not fit."""
    return [
        frame.group.id
        for frame in scene.frames
        if {box.card.node.id for box in scene.boxes if inside(box, frame)}
        != {node.id for node in sketch.inside(frame.group.id)}
        or frame.title.width > frame.w - 36 + 0.1
    ]


@given(drawables)
def test_nothing_overlaps_and_every_line_keeps_clear_of_what_it_does_not_join(thing: Drawable) -> None:
    sketch = sketched(thing)
    scene = layout(sketch)
    assert apart(scene) == []
    assert pierced(scene) == []
    assert loose(sketch, scene) == []
    assert spilled(sketch, scene) == []


@given(drawables)
@settings(max_examples=60)
def test_every_node_and_every_edge_is_drawn_once(thing: Drawable) -> None:
    """The edges of tools are drawn together: one to their frame and one from it."""
    sketch = sketched(thing)
    scene = layout(sketch)
    tools = {node.id for node in sketch.nodes.values() if sketch.parent(node.id).kind == "tools"}
    assert sorted(box.card.node.id for box in scene.boxes) == sorted(sketch.nodes)
    drawn = sorted((line.edge.source, line.edge.target) for line in scene.lines)
    assert len(drawn) == len(set(drawn))
    assert [pair for pair in drawn if not tools & set(pair)] == sorted(
        (edge.source, edge.target) for edge in sketch.edges if not tools & {edge.source, edge.target}
    )
    assert len([pair for pair in drawn if tools & set(pair)]) == (2 if tools else 0)


@given(drawables)
@settings(max_examples=60)
def test_the_picture_is_xml_and_the_same_every_time(thing: Drawable) -> None:
    text = to_svg(sketched(thing))
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert text.encode() == to_svg(sketched(thing)).encode()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=4))
@settings(max_examples=25)
def test_many_branches_stand_in_rows(counts: list[int]) -> None:
    made = Workflow("wf")
    for number, count in enumerate(counts):
        made = made.parallel([step(str.upper, id=f"{'x' * (index % 9)}{number}-{index}") for index in range(count)])
    sketch = sketch_of(made)
    scene = layout(sketch)
    assert (apart(scene), pierced(scene), loose(sketch, scene)) == ([], [], [])
    assert sorted((line.edge.source, line.edge.target) for line in scene.lines) == sorted(
        (edge.source, edge.target) for edge in sketch.edges
    )
    assert scene.height <= 1000 * len(counts)
