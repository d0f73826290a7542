"""openai-agents: agents with guardrails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    Model,
    ModelResponse,
    OutputGuardrail,
    Runner,
    Usage,
    set_tracing_disabled,
)
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from benchmarks.peers._work import CALLS, CHUNKS, HOOKS, WORDS, Peer


def message(text: str) -> ResponseOutputMessage:
    """Return an answer."""
    part = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="m1", content=[part], role="assistant", status="completed", type="message")


class Scripted(Model):
    """Answers `fine`, or in a stream the words."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Answer at once."""
        return ModelResponse(output=[message("fine")], usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Answer in words."""
        for number, word in enumerate(WORDS):
            yield ResponseTextDeltaEvent.model_construct(
                content_index=0, delta=word, item_id="m1", logprobs=[], output_index=0,
                sequence_number=number, type="response.output_text.delta",
            )  # fmt: skip
        response = Response.model_construct(
            id="r1", created_at=0, model="scripted", object="response", output=[message("".join(WORDS))],
            tool_choice="auto", tools=[], parallel_tool_calls=False, usage=None,
        )  # fmt: skip
        yield ResponseCompletedEvent.model_construct(
            response=response, sequence_number=len(WORDS), type="response.completed"
        )


async def passes(context: Any, agent: Any, text: Any) -> GuardrailFunctionOutput:
    """Find nothing."""
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


def same(event: Any) -> Any:
    """Hand on an event."""
    return event


def peer() -> Peer:
    """Return its work."""
    set_tracing_disabled(True)
    agent = Agent(
        name="call",
        model=Scripted(),
        input_guardrails=[InputGuardrail(guardrail_function=passes, name=f"before-{n}") for n in range(10)],
        output_guardrails=[OutputGuardrail(guardrail_function=passes, name=f"after-{n}") for n in range(10)],
    )
    plain = Agent(name="chunk", model=Scripted())
    hooks = [same] * HOOKS

    async def call() -> None:
        for _ in range(CALLS):
            assert (await Runner.run(agent, "go")).final_output == "fine"

    async def chunk() -> None:
        out: list[str] = []
        async for event in Runner.run_streamed(plain, "go").stream_events():
            for hook in hooks:
                event = hook(event)  # noqa: PLW2901 - as a program that uses it would
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                out.append(event.data.delta)
        assert "".join(out) == "".join(WORDS)

    return Peer(
        "openai-agents",
        ("openai-agents",),
        {"call": (call, CALLS), "chunk": (chunk, CHUNKS)},
        {
            "call": "ten input guardrails, which run beside the model, and ten output guardrails",
            "chunk": "no hook sees a chunk: the program calls five functions on each event itself",
            "fan-out": "nothing like it; a program uses asyncio.gather",
            "workflow": "nothing like it",
        },
    )
