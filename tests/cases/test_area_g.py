"""Area G: the token limiter."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Tool
from sluiceway.messages import ImagePart, Message, TextPart, ToolPart
from sluiceway.models import Reply
from sluiceway.processors import TokenLimiter, ToolCallFilter
from tests.support.counting import WordCounter, words
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio

CONVERSATION = 24
MESSAGE = 3.8


def limiter(limit: int, **options: Any) -> TokenLimiter:
    return TokenLimiter(limit, encoding=WordCounter(), **options)


def answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def ask(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def spoken(prompt: Any) -> list[str]:
    """Return the first word of every message but the system's."""
    return [line.split(": ", 1)[1].split()[0] for line in lines(prompt) if not line.startswith("system")]


def size(prompt: Any) -> float:
    return CONVERSATION + sum(MESSAGE + len(message.text.split()) for message in prompt.messages)


@each_entry
async def test_b126_the_reason_names_what_does_not_fit(entry: Entry) -> None:
    """The conversation's own cost is not blamed on the system messages."""
    agent, model = make_agent(input_processors=[limiter(25)])
    ran = await by(entry, agent, words(200), instructions=words(6))

    assert ran.result.tripwire is not None
    assert "no message fits" in ran.result.tripwire.reason
    assert ran.result.tripwire.metadata == {"limit": 25, "system": 10, "tools": 0, "newest": 204, "needed": 238}
    assert model.calls == []

    ran = await by(entry, agent, words(200), instructions=words(60))
    assert ran.result.tripwire is not None
    assert "the system messages alone are 64 tokens, over the limit of 25" in ran.result.tripwire.reason


async def test_b127_history_from_memory_is_trimmed() -> None:
    """The newest turns stay, and the new message is always last."""
    memory = new_memory()
    agent, model = make_agent(memory=memory, input_processors=[limiter(200)])
    for turn in range(10):
        await agent.generate(f"q{turn} {words(24)}", memory=THREAD)

    await agent.generate(f"now {words(24)}", memory=THREAD)

    sent = spoken(model.prompts[-1])
    assert sent == ["q6", "ok", "q7", "ok", "q8", "ok", "q9", "ok", "now"]
    assert size(model.prompts[-1]) <= 200
    assert len(await stored(memory)) == 22


@each_entry
async def test_b128_system_messages_count(entry: Entry) -> None:
    """They are always sent, and what is left is for the messages."""
    agent, model = make_agent(input_processors=[limiter(240)])

    await by(entry, agent, [ask(words(100, "old")), answer("yes"), ask("now")], instructions=words(150))
    assert spoken(model.prompts[0]) == ["now"]
    assert size(model.prompts[0]) <= 240

    ran = await by(entry, agent, "now", instructions=words(300))
    assert ran.result.tripwire is not None
    assert "system messages alone" in ran.result.tripwire.reason
    assert len(model.calls) == 1


@each_entry
async def test_b129_every_steps_prompt_is_within_the_limit(entry: Entry) -> None:
    """History goes first; when the run's own calls and results no longer fit it ends."""

    def look() -> str:
        """Look."""
        return words(90)

    history = [ask(words(100, "old")), answer(words(100, "reply"))]
    calls = [Reply(tool_calls=[calls_tool("look", id=f"c{n}")]) for n in range(6)]
    agent, model = make_agent(*calls, tools=[look], input_processors=[limiter(400)], max_steps=6)

    ran = await by(entry, agent, [*history, ask("now")])

    sizes = [len(prompt.messages) for prompt in model.prompts]
    assert spoken(model.prompts[2])[0] == "now"
    assert sizes == [4, 6, 6, 8]  # from the third on the history is gone
    assert ran.result.tripwire is not None
    assert "this run's own tool calls and results" in ran.result.tripwire.reason


@each_entry
async def test_b130_the_result_just_asked_for_is_never_trimmed(entry: Entry) -> None:
    """The run ends instead of asking for it again and again."""

    def look() -> str:
        """Look."""
        return words(400)

    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("look")]), "done", tools=[look], input_processors=[limiter(150)]
    )

    ran = await by(entry, agent, "now")

    assert len(model.calls) == 1
    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "token-limiter"
    assert "this run's own tool calls and results" in ran.result.tripwire.reason


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("best-fit", ["old", "mid", "m2", "now"]), ("contiguous", ["mid", "m2", "now"])],
)
async def test_b132_a_gap_or_a_continuous_end(mode: Any, expected: list[str]) -> None:
    history = [ask(words(30, "old")), ask(words(300, "big")), ask("mid"), ask("m2"), ask("now")]
    agent, model = make_agent(input_processors=[limiter(200, trim_mode=mode)])

    await agent.generate(history)

    assert spoken(model.prompts[0]) == expected


@pytest.mark.parametrize("filter_first", [True, False])
async def test_b133_the_limiter_measures_what_filters_before_it_left(*, filter_first: bool) -> None:
    call = ToolPart("look", "c1", {}, "result", words(60))
    history = [
        Message("question"),
        Message(role="assistant", parts=[TextPart("looking"), call]),
        Message("now"),
    ]
    order = [ToolCallFilter(), limiter(60)]
    agent, model = make_agent(input_processors=order if filter_first else order[::-1])

    await agent.generate(history)

    assert spoken(model.prompts[0]) == (["question", "looking", "now"] if filter_first else ["question", "now"])


@pytest.mark.parametrize("image", [ImagePart("A" * 400_000, "image/png"), ImagePart("https://example.org/a.png")])
async def test_b134_images_count_at_a_flat_rate(image: ImagePart) -> None:
    shown = ToolPart("look", "c1", {}, "result", {"type": "image", "mimeType": "image/png", "data": "A" * 400_000})
    history = [
        Message("first"),
        Message(role="assistant", parts=[TextPart("here"), shown]),
        Message(role="user", parts=[TextPart("what is this"), image]),
    ]
    agent, model = make_agent(input_processors=[TokenLimiter(3000)])

    result = await agent.generate(history)

    assert result.text == "ok"
    assert [message.role for message in model.prompts[0].messages] == ["system", "user", "assistant", "tool", "user"]


EIGHT = [f"{word} " for word in ["one", "two", "three", "four", "five", "six", "seven", "eight"]]


async def test_b136_the_output_limit_counts_text_and_lets_tool_calls_pass() -> None:
    ran_with: list[str] = []

    def act(how: str) -> str:
        """Act."""
        ran_with.append(how)
        return "acted"

    agent, _ = make_agent(
        Reply(text=EIGHT, tool_calls=[calls_tool("act", {"how": "now"})]),
        "after",
        tools=[act],
        output_processors=[limiter(3, scope="step")],
    )

    ran = await collect(agent, "go")

    first = ran.chunks[: ran.types.index("step-finish")]
    assert "".join(chunk.text for chunk in first) == "one two three "
    notices = [chunk for chunk in ran.chunks if chunk.type == "data-token-limit-reached"]
    assert [(chunk.data, chunk.get("transient")) for chunk in notices] == [({"limit": 3}, True)]
    assert ran_with == ["now"]


@pytest.mark.parametrize(
    ("scope", "final", "notices"), [("step", "one two three after", 1), ("run", "one two three ", 2)]
)
async def test_b137_the_scope_of_the_count_is_an_option(scope: Any, final: str, notices: int) -> None:
    """A step of its own each, or the run together: then the later step says that it is withheld."""

    def act() -> str:
        """Act."""
        return "acted"

    agent, _ = make_agent(
        Reply(text=EIGHT, tool_calls=[calls_tool("act")]),
        "after",
        tools=[act],
        output_processors=[limiter(3, scope=scope)],
    )

    ran = await collect(agent, "go")

    assert ran.result.text == final
    assert ran.emitted == final
    assert len(ran.of("data-token-limit-reached")) == notices


@pytest.mark.parametrize("deltas", [EIGHT, ["".join(EIGHT)], ["one tw", "o three fo", "ur five"]])
async def test_b138_abort_comes_after_exactly_what_fits(deltas: list[str]) -> None:
    calls: list[int] = []

    def act() -> str:
        """Act."""
        calls.append(1)
        return "acted"

    agent, _ = make_agent(
        Reply(text=deltas, tool_calls=[calls_tool("act")]),
        tools=[act],
        output_processors=[limiter(3, strategy="abort")],
    )

    ran = await collect(agent, "go")

    assert ran.emitted.split() == ["one", "two", "three"]
    assert ran.result.tripwire is not None
    assert ran.result.tripwire.processor_id == "token-limiter"
    assert (ran.result.text, calls) == ("", [])


async def test_b141_each_message_is_in_the_prompt_once() -> None:
    memory = new_memory()
    agent, model = make_agent(memory=memory, input_processors=[limiter(10_000)])
    for text in ("a", "b", "c", "new"):
        await agent.generate(text, memory=THREAD)

    assert spoken(model.prompts[-1]) == ["a", "ok", "b", "ok", "c", "ok", "new"]


async def test_b142_the_definitions_of_tools_count() -> None:
    described = Tool("look", words(500), {"type": "object", "properties": {}}, run=lambda: 1)
    agent, model = make_agent(tools=[described], input_processors=[limiter(400)])

    result = await agent.generate("now")
    assert result.tripwire is not None
    assert result.tripwire.metadata is not None
    assert result.tripwire.metadata["tools"] == 500

    result = await agent.generate("now", active_tools=[])
    assert (result.tripwire, len(model.calls)) == (None, 1)
