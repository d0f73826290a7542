"""LangChain: agents with middleware, and its runnables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnableParallel
from langgraph.stream import StreamTransformer

from benchmarks.peers._work import CALLS, CHUNKS, FANS, HOOKS, WORDS, Peer


class Scripted(BaseChatModel):
    """Answers `fine`, or in a stream the words."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("fine"))])


class ScriptedStream(Scripted):
    """The same with a stream."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in WORDS:
            yield ChatGenerationChunk(message=AIMessageChunk(word, id="m1"))


class Looks(StreamTransformer):
    """Sees each event of the stream before it is handed on, and changes nothing."""

    required_stream_modes = ("messages",)
    before_builtins = True

    def init(self) -> dict[str, Any]:
        """Add nothing."""
        return {}

    def process(self, event: Any) -> bool:
        """Hand it on."""
        return True


def looks() -> list[type[Looks]]:
    """Return five of them; of one class an agent takes only one."""
    return [type(f"Looks{number}", (Looks,), {}) for number in range(HOOKS)]


def before(number: int) -> AgentMiddleware:
    """Return a middleware that does nothing before the model."""

    async def abefore_model(self: Any, state: Any, runtime: Any) -> None:
        return None

    return type(f"Before{number}", (AgentMiddleware,), {"abefore_model": abefore_model})()


def after(number: int) -> AgentMiddleware:
    """Return a middleware that does nothing after the model."""

    async def aafter_model(self: Any, state: Any, runtime: Any) -> None:
        return None

    return type(f"After{number}", (AgentMiddleware,), {"aafter_model": aafter_model})()


def adds(number: int) -> RunnableLambda[int, int]:
    """Return a step that gives way once and adds a number."""

    async def add(data: int) -> int:
        await asyncio.sleep(0)
        return data + number

    return RunnableLambda(lambda data: data, afunc=add)


async def streamed(graph: Any) -> str:
    """Stream one answer through what looks at its events; return its text."""
    run = await graph.astream_events({"messages": [("user", "go")]}, version="v3")
    out: list[str] = []
    async for message in run.messages:
        async for text in message.text:
            out.append(text)  # noqa: PERF401 - as it arrives
    return "".join(out)


async def hands_on(chunks: AsyncIterator[str]) -> AsyncIterator[str]:
    """Hand on each chunk."""
    async for chunk in chunks:
        yield chunk


async def words() -> AsyncIterator[str]:
    """Give the words."""
    for word in WORDS:
        yield word


def peer() -> Peer:
    """Return its work."""
    middleware = [*(before(n) for n in range(10)), *(after(n) for n in range(10))]
    agent = create_agent(model=Scripted(), tools=[], middleware=middleware)
    looking = create_agent(model=ScriptedStream(), tools=[], transformers=looks())
    fan: Any = RunnableParallel(one=adds(1), two=adds(2), three=adds(3)) | RunnableLambda(lambda r: sum(r.values()))
    chain: Any = RunnableGenerator(hands_on)
    for _ in range(HOOKS - 1):
        chain |= RunnableGenerator(hands_on)

    async def call() -> None:
        for _ in range(CALLS):
            result = await agent.ainvoke({"messages": [("user", "go")]})
            assert result["messages"][-1].content == "fine"

    async def chunk() -> None:
        assert await streamed(looking) == "".join(WORDS)

    async def fan_out() -> None:
        for _ in range(FANS):
            assert await fan.ainvoke(1) == 9

    async def workflow() -> None:
        assert "".join([chunk async for chunk in chain.atransform(words())]) == "".join(WORDS)

    return Peer(
        "LangChain",
        ("langchain", "langchain-core"),
        {
            "call": (call, CALLS),
            "chunk": (chunk, CHUNKS),
            "fan-out": (fan_out, FANS),
            "workflow": (workflow, CHUNKS),
        },
        {
            "call": "create_agent with ten abefore_model and ten aafter_model middlewares",
            "chunk": "create_agent with five stream transformers, read with astream_events v3",
            "fan-out": "RunnableParallel, then a RunnableLambda",
            "workflow": "five RunnableGenerators in a sequence; no agent and no model in it",
        },
    )
