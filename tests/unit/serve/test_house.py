"""What is served: agents, what stands in their lists, and guards without a model."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.processors import PIIDetector, UnicodeNormalizer
from sluiceway.serve import ServeOptions, Server
from sluiceway.serve._guarding import default_hold, lists_for
from sluiceway.serve._house import House, hooks_in


def agent(id_: str, **options: Any) -> Agent:
    return Agent(id=id_, model="echo/echo", **options)


class OnlyOut(Processor):
    """Stands behind the model only."""

    def process_output_step(self, ctx: Any) -> None:
        """Pass."""


def test_every_workflow_of_a_list_stands_once_with_all_its_places() -> None:
    shared = Workflow("shared").then(PIIDetector(strategy="redact")).commit()
    opened = Workflow("opened").then(UnicodeNormalizer())
    one = agent("one", input_processors=[shared, opened], output_processors=[shared])
    two = agent("two", output_processors=[shared])
    house = House([one, two], ServeOptions())
    assert [(w.number, w.workflow.id, [(a.id, kind) for a, kind in w.places]) for w in house.workflows] == [
        (1, "shared", [("one", "input"), ("one", "output"), ("two", "output")]),
        (2, "opened", [("one", "input")]),
    ]
    assert house.workflows[0].kinds == ("input", "output")
    assert house.workflows[1].hooks == ("process_input",)
    assert hooks_in(shared, "output") == [
        "process_output_stream",
        "finish_output_stream",
        "process_tool_result",
        "process_output_result",
    ]


def test_names() -> None:
    house = House([agent("one"), agent("two")], ServeOptions())
    assert [served and served.agent.id for served in map(house.named, ("one", "two", "three", ""))] == [
        "one", "two", None, None
    ]  # fmt: skip
    alone = House([agent("one")], ServeOptions())
    assert [served and served.agent.id for served in map(alone.named, ("one", "", "two"))] == ["one", "one", None]
    with pytest.raises(ConfigurationError, match="two agents have the same id"):
        House([agent("one"), agent("one")], ServeOptions())
    with pytest.raises(ConfigurationError, match="no agent to serve"):
        Server([])


def test_a_guard_stands_in_every_list_in_which_it_has_hooks() -> None:
    both, before, behind = PIIDetector(strategy="redact"), UnicodeNormalizer(), OnlyOut("out")
    assert lists_for([both, before, behind]) == {"input": [both, before], "output": [both, behind]}
    workflow = Workflow("mixed").then(both).then(before).commit()
    assert lists_for([workflow]) == {"input": [workflow], "output": []}
    with pytest.raises(ConfigurationError, match="none of the hooks"):
        lists_for([Workflow("neither").then(before).then(behind).commit()])


def test_a_guard_without_a_server_behind_stands_in_front_of_an_echo() -> None:
    [served] = House([Workflow("w").then(PIIDetector(strategy="redact"))], ServeOptions()).agents
    assert (served.agent.id, served.guarding) == ("w", False)
    [served] = House([UnicodeNormalizer()], ServeOptions(upstream="http://127.0.0.1:1/v1")).agents
    assert (served.agent.id, served.guarding) == ("unicode-normalizer", True)


@pytest.mark.parametrize(
    ("options", "hold"),
    [
        ({}, "none"),
        ({"max_processor_retries": 0}, "none"),
        ({"max_processor_retries": 2}, "step"),
        ({"error_processors": [Processor.of("e", process_api_error=lambda ctx: None)]}, "step"),
        ({"error_processors": lambda ctx: []}, "step"),
        ({"prefill_recovery": False}, "none"),
    ],
)
def test_text_is_held_where_it_could_be_taken_back(options: dict[str, Any], hold: str) -> None:
    made = agent("a", **options)
    assert default_hold(made) == hold
    assert House([made], ServeOptions()).agents[0].hold == hold
    assert House([made], ServeOptions(hold="run")).agents[0].hold == "run"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hold": "never"}, "hold='never'"),
        ({"max_body_bytes": 0}, "max_body_bytes=0"),
        ({"max_requests": -1}, "max_requests=-1"),
        ({"timeout_s": 0}, "timeout_s=0"),
        ({"keys": ("a", " ")}, "an empty key"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ServeOptions(**options)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_the_page_is_there_on_loopback_unless_told_otherwise(host: str, loopback: bool) -> None:
    assert (ServeOptions(host=host).is_loopback, ServeOptions(host=host).has_page) == (loopback, loopback)
    assert ServeOptions(host=host, page=True).has_page
    assert not ServeOptions(host=host, page=False).has_page
