"""The builder and the checks of `commit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from sluiceway import Processor, Workflow, step
from sluiceway.engine import merge, nodes
from sluiceway.errors import GraphError
from tests.support.workflows import Named


def a(data: Any) -> Any:
    return data


def b(data: Any) -> Any:
    return data


def number(data: Any) -> int:
    return 1


def to_text(value: int) -> str:
    return str(value)


def listed(items: list[int]) -> list[str]:
    return list(map(str, items))


class Order(BaseModel):
    total: int


class Receipt(BaseModel):
    text: str


def make_order(data: Any) -> Order:
    return Order(total=1)


def take_receipt(receipt: Receipt) -> str:
    return receipt.text


@dataclass
class Needs:
    field: int


def processor(name: str = "x") -> Processor:
    return Processor.of(name, process_input=lambda ctx: None)


def test_every_call_returns_a_new_builder() -> None:
    start = Workflow("w").then(a)
    one, two = start.then(b), start.then(step(b, id="c"))
    assert [len(w.definition.entries) for w in (start, one, two)] == [1, 2, 2]
    assert [node.path for node in one.commit().plan] == ["w › a", "w › b"]
    assert [node.path for node in two.commit().plan] == ["w › a", "w › c"]


def test_a_generator_of_steps_is_read_once() -> None:
    workflow = Workflow("w").parallel(step(a, id=f"s{n}") for n in range(3))
    assert workflow.commit().fingerprint == workflow.commit().fingerprint


def test_paths_say_where_a_node_stands() -> None:
    committed = (
        Workflow("w")
        .then(a)
        .parallel([b, Workflow("inner").then(processor())])
        .map("b")
        .branch([(lambda d: True, step(a, id="yes"))], default=step(a, id="no"))
        .foreach(step(a, id="each"))
        .do_until(step(a, id="again"), lambda d: True)
        .do_while(step(a, id="more"), lambda d: False)
        .sleep(1)
        .commit()
    )
    assert [node.path for node in nodes(committed.plan)] == [
        "w › a",
        "w › parallel[1]",
        "w › parallel[1] › b",
        "w › parallel[1] › inner",
        "w › parallel[1] › inner › processor:x",
        "w › map[2]",
        "w › branch[3]",
        "w › branch[3] › yes",
        "w › branch[3] › no",
        "w › foreach[4]",
        "w › foreach[4] › each",
        "w › do_until[5]",
        "w › do_until[5] › again",
        "w › do_while[6]",
        "w › do_while[6] › more",
        "w › sleep[7]",
    ]
    assert list(committed.processors) == ["w › parallel[1] › inner › processor:x"]


SELF = Workflow("w").then(a)

REFUSED: list[tuple[str, Callable[[], Workflow], str]] = [
    ("empty", lambda: Workflow("w"), "w: the workflow is empty; add a step"),
    ("text", lambda: Workflow("w").then("x"), "w › then[0]: 'x' is not a step; a step is a processor"),
    ("none", lambda: Workflow("w").then(a).then(None), "w › then[1]: None is not a step"),
    (
        "class",
        lambda: Workflow("w").then(Processor),
        "w › then[0]: Processor is a class; give an object of it",
    ),
    ("lambda", lambda: Workflow("w").then(lambda d: d), "w › then[0]: a lambda has no name; give it one"),
    ("no branches", lambda: Workflow("w").parallel([]), "w › parallel[0]: is empty; give at least one"),
    ("no arms", lambda: Workflow("w").then(a).branch([]), "w › branch[1]: is empty"),
    ("no list", lambda: Workflow("w").parallel(a), "w › parallel[0]: takes a list of steps, not function"),  # pyright: ignore[reportArgumentType]
    (
        "text for a list",
        lambda: Workflow("w").parallel("ab"),
        "w › parallel[0]: takes a list of steps, not str",
    ),
    ("no pair", lambda: Workflow("w").branch([a]), "w › branch[0]: arm 0 is not a pair"),  # pyright: ignore[reportArgumentType]
    (
        "no condition",
        lambda: Workflow("w").branch([(True, a)]),  # pyright: ignore[reportArgumentType]
        "w › branch[0]: the condition of arm 0: True is not a function",
    ),
    ("wait", lambda: Workflow("w").parallel([a], wait="some"), "wait='some' must be 'first' or 'all'"),  # pyright: ignore[reportArgumentType]
    (
        "twice",
        lambda: Workflow("w").then(a).parallel([b, a]),
        "w › parallel[1] › a: the id 'a' is there already (w › a); give one of the two another",
    ),
    (
        "twice in arms",
        lambda: Workflow("w").branch([(lambda d: True, processor()), (lambda d: True, processor())]),
        "w › branch[0] › processor:x: the id 'processor:x' is there already",
    ),
    (
        "key",
        lambda: Workflow("w").parallel([a, b]).map("c"),
        "w › map[1]: merge.pick('c'): no branch has the key 'c'; there are 'a', 'b'",
    ),
    (
        "key without its kind",
        lambda: Workflow("w").parallel([processor(), b]).map("x"),
        "no branch has the key 'x'; write 'processor:x'",
    ),
    (
        "key of a merge",
        lambda: Workflow("w").branch([(lambda d: True, a)]).map(merge.first(["a", "z"])),
        "no branch has the key 'z'; there are 'a'",
    ),
    (
        "preferred key",
        lambda: Workflow("w").parallel([a, b]).map(merge.prefer("c")),
        "w › map[1]: merge.prefer('c'): no branch has the key 'c'",
    ),
    (
        "merge of nothing",
        lambda: Workflow("w").then(a).map(merge.all()),
        "w › map[1]: merge.all() merges branches",
    ),
    ("no map", lambda: Workflow("w").then(a).map(3), "w › map[1]: 3 is not a function of (data)"),  # pyright: ignore[reportArgumentType]
    ("itself", lambda: SELF.then(SELF), "w › w: workflow 'w' stands inside of itself (w)"),
    (
        "itself, deep",
        lambda: Workflow("w").parallel([Workflow("v").then(SELF)]),
        "w › parallel[0] › v › w: workflow 'w' stands inside of itself (w › v)",
    ),
    (
        "types",
        lambda: Workflow("w").then(make_order).then(take_receipt),
        "w › take_receipt: takes Receipt, but w › make_order gives Order; put a map between them",
    ),
    (
        "types of a branch",
        lambda: Workflow("w").then(make_order).parallel([a, take_receipt]),
        "w › parallel[1] › take_receipt: takes Receipt, but w › make_order gives Order",
    ),
    (
        "a parallel gives a dict",
        lambda: Workflow("w").parallel([a, b]).then(to_text),
        "w › to_text: takes int, but w › parallel[0] gives dict; put a map between them",
    ),
    (
        "the input",
        lambda: Workflow("w", input=Order).then(take_receipt),
        "w › take_receipt: takes Receipt, but the input of w gives Order",
    ),
    (
        "the output",
        lambda: Workflow("w", output=Receipt).then(make_order),
        "w: the declared output: takes Receipt, but w › make_order gives Order; mend one of the two",
    ),
    (
        "foreach of a number",
        lambda: Workflow("w").then(number).foreach(a),
        "w › foreach[1]: takes list, but w › number gives int; give it a list",
    ),
    (
        "a loop that cannot go round",
        lambda: Workflow("w").do_until(listed, lambda d: True).then(to_text),
        "w › to_text: takes int, but w › do_until[0] › listed gives list",
    ),
    (
        "concurrency",
        lambda: Workflow("w").foreach(a, concurrency=0),
        "w › foreach[0]: concurrency=0 must be 1 or more",
    ),
    (
        "iterations",
        lambda: Workflow("w").do_while(a, lambda d: True, max_iterations=0),
        "w › do_while[0]: max_iterations=0 must be a whole number from 1",
    ),
    (
        "loop condition",
        lambda: Workflow("w").do_until(a, "x"),  # pyright: ignore[reportArgumentType]
        "w › do_until[0]: the condition: 'x' is not a function",
    ),
    ("sleep", lambda: Workflow("w").sleep(-1), "w › sleep[0]: -1 is no number of seconds from 0"),
    ("endless sleep", lambda: Workflow("w").sleep(float("inf")), "w › sleep[0]: inf is no number of seconds"),
    ("state", lambda: Workflow("w", state=Needs).then(a), "w: state=Needs cannot be made without arguments"),
    (
        "options of a workflow",
        lambda: Workflow("w").then(step(Workflow("v").then(a), hooks=["process_input"])),
        "w › v: hooks= and thread= are for single steps, not for a workflow",
    ),
    (
        "no such hook",
        lambda: Workflow("w").then(step(processor(), hooks=["process_inputs"])),
        "w › processor:x: there is no hook 'process_inputs'",
    ),
    (
        "a hook it has not",
        lambda: Workflow("w").then(step(processor(), hooks=["process_output_result"])),
        "w › processor:x: has none of the hooks process_output_result",
    ),
    ("a path for an id", lambda: Workflow("w").then(step(a, id="x › y")), "w › then[0]: the id 'x › y' has a '›'"),
    (
        "step without an id",
        lambda: Workflow("w").then(type("Odd", (), {"id": "", "run": a})()),
        "w › then[0]: Odd has no id; give it one",
    ),
]


@pytest.mark.parametrize(("build", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_commit_refuses_what_cannot_run_and_says_where(build: Callable[[], Workflow], said: str) -> None:
    workflow = build()
    with pytest.raises(GraphError) as caught:
        workflow.commit()
    assert said in str(caught.value)


def test_a_coroutine_is_not_taken_for_its_function() -> None:
    async def work(data: Any) -> Any:
        return data

    coroutine = work(1)
    with pytest.raises(GraphError, match=r"w › then\[0\]: a coroutine is not a step; give the function"):
        Workflow("w").then(coroutine).commit()
    coroutine.close()


def test_a_workflows_id_is_no_path() -> None:
    with pytest.raises(GraphError, match="the id 'x › y' has a '›' in it"):
        Workflow("x › y")


@pytest.mark.parametrize("identity", ["", "  ", None, 7])
def test_a_workflow_needs_an_id(identity: Any) -> None:
    with pytest.raises(GraphError, match="a workflow's id must be a text that is not empty"):
        Workflow(identity)


ALLOWED: list[tuple[str, Callable[[], Workflow]]] = [
    ("the same id inside and outside", lambda: Workflow("w").then(a).then(Workflow("v").then(a))),
    ("a function and a processor of one name", lambda: Workflow("w").then(step(a, id="x")).then(processor())),
    ("text to a number", lambda: Workflow("w").then(to_text).then(step(to_text, id="t2"))),
    ("a dict to a model", lambda: Workflow("w").parallel([a, b]).then(step(take_receipt, id="t"))),
    ("a map in between", lambda: Workflow("w").parallel([a, b]).map(lambda r: 1).then(to_text)),
    ("a key of plain data", lambda: Workflow("w").then(a).map("field")),
    ("a workflow twice under two ids", lambda: Workflow("w").then(SELF_V).then(step(SELF_V, id="again"))),
    ("a list in a list", lambda: Workflow("w").foreach(Workflow("v").foreach(a))),
    ("an object with id and run", lambda: Workflow("w").then(Named("n", a))),
]
SELF_V = Workflow("v").then(a)


@pytest.mark.parametrize("build", [case[1] for case in ALLOWED], ids=[case[0] for case in ALLOWED])
def test_commit_lets_pass_what_may_run(build: Callable[[], Workflow]) -> None:
    assert build().commit().id == "w"


def test_the_fingerprint_follows_the_graph_and_not_the_code() -> None:
    def other(data: Any) -> Any:
        return [data]

    base = Workflow("w").then(a).parallel([b, processor()])
    same = Workflow("w").then(step(other, id="a")).parallel([b, processor()])
    changed = [
        Workflow("w").then(b).parallel([a, processor()]),
        Workflow("w").then(a).parallel([processor(), b]),
        base.sleep(1),
        base.map("b"),
        Workflow("w").then(a).branch([(lambda d: True, b), (lambda d: True, processor())]),
    ]
    prints = [workflow.commit().fingerprint for workflow in (base, same, *changed)]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 1 + len(changed)


def test_a_committed_workflow_shows_its_id() -> None:
    assert repr(Workflow("w").then(a)) == "<Workflow 'w', 1 entries>"
    assert repr(Workflow("w").then(a).commit()) == "<CommittedWorkflow 'w'>"


def test_workflows_can_stand_sixty_deep_in_each_other_and_not_without_end() -> None:
    made = Workflow("w0").then(str.upper)
    for number in range(1, 65):
        made = Workflow(f"w{number}").then(made)
    assert made.commit().id == "w64"
    with pytest.raises(GraphError, match="more than 64 deep"):
        Workflow("w65").then(made).commit()
