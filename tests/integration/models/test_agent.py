"""An agent whose model is a server: streaming, with tools, cancelled, and without leftovers."""

from __future__ import annotations

import anyio
import pytest

from sluiceway import Agent
from sluiceway.errors import ModelError
from sluiceway.messages import Usage
from tests.integration.models._calls import BOTH, Make, openai
from tests.integration.modelserver import Answer, Hang, ModelServer, chat, refusal, sse, transcript

pytestmark = pytest.mark.anyio

RESULT = {"openai": "chat_plain.sse", "anthropic": "messages_plain.sse"}
CALL = {"openai": "chat_tools.sse", "anthropic": "messages_tools.sse"}


def get_weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


@BOTH
async def test_an_agent_streams_calls_its_tool_and_answers(
    server: ModelServer, make: Make, name: str, plain: str
) -> None:
    server.play(Answer([transcript(CALL[name])]), Answer([transcript(RESULT[name])]))
    agent = Agent(id="a", instructions="Be brief.", model=make(server), tools=[get_weather])
    async with agent, agent.stream("How is it?") as stream:
        texts = [chunk.text async for chunk in stream if chunk.type == "text-delta"]
        result = await stream.result()
    assert "".join(texts) == result.text == "Let me look.Grüße aus Köln 🌉."
    assert [outcome.result for outcome in result.steps[0].tool_results] == ["sunny in Paris"]
    sent = server.requests[1].json["messages"]
    if name == "openai":
        assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
        assert sent[-1] == {"role": "tool", "tool_call_id": "call_DdmO9pD3", "content": "sunny in Paris"}
        assert result.usage == Usage(38, 20, 58, (("cached_tokens", 16), ("reasoning_tokens", 8)))
    else:
        assert [message["role"] for message in sent] == ["user", "assistant", "user"]
        assert sent[-1]["content"] == [
            {"type": "tool_result", "tool_use_id": "toolu_01T1x1fJ", "content": "sunny in Paris"}
        ]


async def test_leaving_an_agents_stream_closes_the_connection(server: ModelServer) -> None:
    first = sse({"choices": [{"delta": {"content": "first"}}]})
    server.play(Answer([first, Hang()]))
    agent = Agent(id="a", model=openai(server))
    async with agent.stream("hi") as stream:
        async for chunk in stream:
            if chunk.text:
                break
    assert server.requests[0].left.wait(2)


async def test_cancelling_an_agents_run_closes_the_connection(server: ModelServer) -> None:
    server.play(Answer([Hang()], framing="raw"))
    agent = Agent(id="a", model=openai(server))
    with anyio.move_on_after(0.5) as scope:
        await agent.generate("hi")
    assert scope.cancelled_caught
    assert server.requests[0].left.wait(2)


async def test_a_refusal_ends_the_run_as_a_model_error(server: ModelServer) -> None:
    server.play(refusal(400, {"error": {"message": "no such thing"}}))
    agent = Agent(id="a", model=openai(server))
    with pytest.raises(ModelError) as caught:
        await agent.generate("hi")
    assert (str(caught.value), caught.value.status) == ("openai: HTTP 400: no such thing", 400)


async def test_a_fallback_answers_where_the_first_refuses(server: ModelServer) -> None:
    server.play(refusal(400, {"error": {"message": "no"}}), chat("here"))
    agent = Agent(id="a", model=[openai(server), openai(server, provider="vllm")])
    assert (await agent.generate("hi")).text == "here"
