"""LangGraph: state graphs."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from benchmarks.peers._langchain import ScriptedStream, looks, streamed
from benchmarks.peers._work import CALLS, CHUNKS, FANS, HOOKS, WORDS, Peer


class Total(TypedDict):
    """The state of a fan-out."""

    data: int
    found: Annotated[list[int], operator.add]
    total: int


class Piece(TypedDict):
    """The state of a chunk."""

    text: str


async def nothing(state: Any) -> dict[str, Any]:
    """Change nothing."""
    return {}


async def answer(state: Any) -> dict[str, Any]:
    """Answer."""
    return {"messages": [AIMessage("fine")]}


def chained(state: type[Any], names: list[str], nodes: dict[str, Any]) -> Any:
    """Return a graph of nodes one after the other."""
    graph: Any = StateGraph(state)
    for before, name in zip([START, *names], names, strict=False):
        graph.add_node(name, nodes.get(name, nothing))
        graph.add_edge(before, name)
    graph.add_edge(names[-1], END)
    return graph


def fanned() -> Any:
    """Return three nodes side by side and one behind them."""

    def adds(number: int) -> Any:
        async def add(state: Total) -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"found": [state["data"] + number]}

        return add

    async def join(state: Total) -> dict[str, Any]:
        return {"total": sum(state["found"])}

    graph: Any = StateGraph(Total)
    graph.add_node("join", join)
    for number, name in enumerate(("one", "two", "three"), start=1):
        graph.add_node(name, adds(number))
        graph.add_edge(START, name)
    graph.add_edge(["one", "two", "three"], "join")
    graph.add_edge("join", END)
    return graph.compile()


def peer() -> Peer:
    """Return its work."""
    model = ScriptedStream()

    async def ask(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    names = [*(f"before-{n}" for n in range(10)), "model", *(f"after-{n}" for n in range(10))]
    graph = chained(MessagesState, names, {"model": answer}).compile()
    looking = chained(MessagesState, ["model"], {"model": ask}).compile(transformers=looks())
    per_chunk = chained(Piece, [f"step-{n}" for n in range(HOOKS)], {}).compile()
    fan = fanned()

    async def call() -> None:
        for _ in range(CALLS):
            result = await graph.ainvoke({"messages": [("user", "go")]})
            assert result["messages"][-1].content == "fine"

    async def chunk() -> None:
        assert await streamed(looking) == "".join(WORDS)

    async def fan_out() -> None:
        for _ in range(FANS):
            assert (await fan.ainvoke({"data": 1}))["total"] == 9

    async def workflow() -> None:
        for word in WORDS[: CHUNKS // 10]:
            assert (await per_chunk.ainvoke({"text": word}))["text"] == word

    return Peer(
        "LangGraph",
        ("langgraph",),
        {
            "call": (call, CALLS),
            "chunk": (chunk, CHUNKS),
            "fan-out": (fan_out, FANS),
            "workflow": (workflow, CHUNKS // 10),
        },
        {
            "call": "a graph of ten nodes, the answer and ten nodes",
            "chunk": "a graph with one node, five stream transformers, read with astream_events v3",
            "fan-out": "three nodes after START and one that waits for them",
            "workflow": "a graph of five nodes called for each chunk: nodes do not see single chunks otherwise",
        },
    )
