"""A graph as a tree of lines, in a notebook, and the errors of what has none."""

from __future__ import annotations

import pytest

from sluiceway import Workflow, step
from sluiceway.errors import ConfigurationError, GraphError
from sluiceway.graphs import graph_from_json, to_svg, to_text
from sluiceway.processors import PIIDetector, PromptInjectionDetector, UnicodeNormalizer


def work(data: object) -> object:
    return data


def test_a_tree_shows_how_steps_are_put_together() -> None:
    inner = Workflow("inner").then(step(work, id="within", timeout=2))
    workflow = (
        Workflow("wf")
        .then(inner)
        .branch([(lambda d: d == 1, step(work, id="one"))], default=step(work, id="rest"))
        .do_while(step(work, id="again"), lambda d: d < 9)
        .map(lambda d: [d])
        .foreach(step(work, id="each"), concurrency=2)
        .parallel([step(work, id="left"), step(work, id="right", retries=1, on_error="continue")], wait="all")
        .sleep(1)
    )
    assert workflow.to_text() == (
        "wf (workflow)\n"
        "├─ inner\n"
        "│  └─ within  [timeout 2 s]\n"
        "├─ branch\n"
        "│  ├─ if d == 1\n"
        "│  │  └─ one\n"
        "│  └─ otherwise\n"
        "│     └─ rest\n"
        "├─ repeat while d < 9\n"
        "│  └─ again\n"
        "├─ map: [d]\n"
        "├─ for each item · 2 at once\n"
        "│  └─ each\n"
        "├─ parallel, wait for all\n"
        "│  ├─ left\n"
        "│  └─ right  [retries 1 · on error: continue]\n"
        "└─ sleep 1 s\n"
    )


def test_a_list_of_processors_has_a_graph_too() -> None:
    items = [UnicodeNormalizer(), Workflow("checks").parallel([PIIDetector(), PromptInjectionDetector()])]
    assert to_text(items) == (
        "list (workflow)\n"
        "├─ unicode-normalizer  [input | edits]\n"
        "└─ checks\n"
        "   └─ parallel\n"
        "      ├─ pii-detector  [input · stream · tool result · result | redacts · may block]\n"
        "      └─ prompt-injection-detector  [input · tool result | may block]\n"
    )


def test_a_notebook_shows_the_picture_and_a_builder_that_is_not_finished_its_error() -> None:
    bundle = Workflow("wf").then(work)._repr_mimebundle_()
    assert sorted(bundle) == ["image/svg+xml", "text/plain"]
    assert bundle["image/svg+xml"] == Workflow("wf").then(work).to_svg()
    assert Workflow("wf")._repr_mimebundle_() == {
        "text/plain": "<Workflow 'wf', 0 entries>: wf: the workflow is empty; add a step: .then(…)"
    }


def test_a_theme_is_fixed_or_the_viewers() -> None:
    workflow = Workflow("wf").then(work)
    light, dark, auto = (workflow.to_svg(theme=theme) for theme in ("light", "dark", "auto"))
    assert ("prefers-color-scheme" in light, "prefers-color-scheme" in dark, "prefers-color-scheme" in auto) == (
        False,
        False,
        True,
    )
    assert ('fill="#ffffff"' in light, 'fill="#10141c"' in dark) == (True, True)
    with pytest.raises(ConfigurationError, match="theme='blue' is not allowed; give 'auto', 'light' or 'dark'"):
        workflow.to_svg(theme="blue")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not a graph in node-link form: Expecting"),
        ("[]", "not a graph in node-link form: not an object"),
        ('{"graph": {}}', "not a graph in node-link form: KeyError: 'format'"),
        ('{"graph": {"format": 2}}', "a graph of format 2; this version reads 1"),
        (
            '{"graph": {"format": 1, "id": "x", "groups": {}}, "nodes": [], "edges": []}',
            "its groups do not hold each node once",
        ),
    ],
)
def test_what_is_not_a_stored_graph_is_refused(text: str, why: str) -> None:
    with pytest.raises(GraphError, match=why):
        graph_from_json(text)


def test_what_has_no_graph_is_refused() -> None:
    with pytest.raises(GraphError, match="a str has no graph"):
        to_svg("wf")
