"""Random workflows with ids that try to break every format that a graph is written in."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from sluiceway import Workflow, step
from sluiceway.graphs import AgentParts
from sluiceway.processors import ALL_HOOKS, Effects, Processor

__all__ = ["agents", "ids", "processors", "workflows"]

_HOSTILE = [
    'say "hi"',
    "it's",
    "<script>alert(1)</script>",
    "&amp; & &#60;",
    "a\nb\r\nc",
    "tab\tand\x00nul\x1b[31m",
    "back\\slash\\",
    "שלום עולם",
    "مرحبا بالعالم",
    "\u202eright to left\u202c",
    "日本語のとても長い名前です" * 3,
    "👩‍👩‍👧‍👦🇩🇪👍🏽",
    "zalgo" + "\u0301" * 12,
    "नमस्ते दुनिया",
    "ภาษาไทยยาวมาก" * 2,
    "\ud800lone",
    "﷽",
    "W" * 120,
    "i" * 200,
    "end",
    "subgraph x",
    "]]>",
    "a --> b",
    "{{x}}|y|(z)",
    "wf > [start]",
    "%%{init: {}}%%",
    "`md **bold**`",
    "#quot;",
    " spaced  out ",
    "-",
    "0",
]


def ids() -> st.SearchStrategy[str]:
    """Texts that may be the id of a step: not empty."""
    text = st.text(st.characters(), min_size=1, max_size=30)
    return st.one_of(st.sampled_from(_HOSTILE), text, st.from_regex(r"[a-z][a-z-]{2,18}", fullmatch=True)).filter(
        lambda t: bool(t.strip()) and "›" not in t
    )


def _pass(data: Any) -> Any:
    return data


def _long_condition_with_a_name_that_does_not_fit(data: Any) -> bool:
    return bool(data)


def _steps(number: int, name: str) -> Any:
    options: dict[str, Any] = {}
    if number % 5 == 1:
        options = {"timeout": 2.5, "retries": 3}
    elif number % 7 == 2:
        options = {"on_error": "continue"}
    return step(_pass, id=f"{name}~{number}", **options)


@st.composite
def workflows(draw: st.DrawFn, *, depth: int = 3, entries: int = 4) -> Workflow:
    """Open workflows of all combinators, nested."""
    counter = iter(range(10_000))
    return _workflow(draw, depth, entries, counter)


def _workflow(draw: st.DrawFn, depth: int, entries: int, counter: Any) -> Workflow:
    made = Workflow(f"{draw(ids())}~w{next(counter)}")
    for _ in range(draw(st.integers(1, entries))):
        made = _entry(draw, made, depth, counter)
    return made


def _thing(draw: st.DrawFn, depth: int, counter: Any) -> Any:
    if depth > 0 and draw(st.integers(0, 3)) == 0:
        return _workflow(draw, depth - 1, 3, counter)
    return _steps(next(counter), draw(ids()))


def _entry(draw: st.DrawFn, made: Workflow, depth: int, counter: Any) -> Workflow:
    kind = draw(st.sampled_from(["then", "then", "parallel", "branch", "map", "foreach", "loop", "sleep"]))
    if kind == "then":
        return made.then(_thing(draw, depth, counter))
    if kind == "parallel":
        things = [_thing(draw, depth, counter) for _ in range(draw(st.sampled_from([1, 2, 3, 4, 5, 13])))]
        return made.parallel(things, wait=draw(st.sampled_from(["first", "all"])))
    if kind == "branch":
        conditions = [lambda d: d == "<x & y>", _long_condition_with_a_name_that_does_not_fit, lambda d: True]
        arms = [
            (draw(st.sampled_from(conditions)), _thing(draw, depth, counter)) for _ in range(draw(st.integers(1, 4)))
        ]
        default = _thing(draw, depth, counter) if draw(st.booleans()) else None
        return made.branch(arms, default=default)
    if kind == "map":
        return made.map(lambda d: {"a": d, "quote": '"'})
    if kind == "foreach":
        made = made.map(lambda d: [d])
        return made.foreach(_thing(draw, depth, counter), concurrency=draw(st.integers(1, 9)))
    if kind == "loop":
        return made.do_until(_thing(draw, depth, counter), lambda d: d > 3 and "done" in d, max_iterations=7)
    return made.sleep(1.5)


@st.composite
def processors(draw: st.DrawFn, number: int, hooks: list[str]) -> Processor:
    """Processors with hooks of one list and any effects."""
    chosen: list[Any] = draw(st.lists(st.sampled_from(hooks), min_size=1, max_size=4, unique=True))
    more: list[Any] = draw(st.lists(st.sampled_from(ALL_HOOKS), max_size=3, unique=True))
    surfaces: list[Any] = draw(
        st.lists(st.sampled_from(["messages", "prompt", "chunk", "system"]), max_size=3, unique=True)
    )
    effects = draw(
        st.sampled_from([None, Effects(("messages",), surfaces, external=True), Effects.none(), Effects(aborts=False)])
    )
    made = Processor(f"{draw(ids())}~{number}", on_error=draw(st.sampled_from(["raise", "block", "continue"])))
    made.effects = effects
    for hook in (*chosen, *more):
        setattr(made, hook, lambda ctx: None)
    return made


@st.composite
def agents(draw: st.DrawFn) -> AgentParts:
    """Agents with lists, tools and retries."""
    lists: dict[Any, Any] = {}
    hooks = {
        "input": ["process_input", "process_llm_request"],
        "output": ["process_output_stream", "process_output_result"],
        "error": ["process_api_error"],
    }
    number = 0
    for kind, own in hooks.items():
        count = draw(st.integers(0, 5))
        items: list[Any] = []
        for _ in range(count):
            number += 2
            if draw(st.integers(0, 2)) == 0:
                pair = [draw(processors(number, own)), draw(processors(number + 1, own))]
                items.append(Workflow(f"{draw(ids())}~p{number}").parallel(pair).map(lambda results: results["x"]))
            else:
                items.append(draw(processors(number, own)))
        lists[kind] = draw(st.sampled_from([items, items, items, None]))
    names = draw(st.lists(ids(), max_size=9, unique=True))
    return AgentParts(
        draw(ids()),
        lists=lists,
        models=draw(st.sampled_from([None, ["openai/gpt-5-mini"], ["a/b", "c/d"]])),
        tools=draw(st.sampled_from([None, dict.fromkeys(names, "")])),
        max_processor_retries=draw(st.sampled_from([None, 3])),
    )
