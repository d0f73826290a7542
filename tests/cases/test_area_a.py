"""Area A: redaction and chunk handling while the answer streams."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest

from sluiceway import Agent, Processor, Workflow
from sluiceway.errors import ModelError, ProcessorError
from sluiceway.messages import Chunk
from sluiceway.models import Reply
from sluiceway.processors import PIIDetector
from tests.support.models import ChunkModel, deltas
from tests.support.processors import TailHolder
from tests.support.redactors import redactor
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, make_agent, parts_of
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def cuts_of(text: str) -> list[list[str]]:
    """Return a text in every way cut once, in many ways cut twice, and letter by letter."""
    once = [[text[:i], text[i:]] for i in range(1, len(text))]
    pairs = itertools.islice(itertools.combinations(range(1, len(text)), 2), 0, None, 7)
    return [*once, *([text[:i], text[i:j], text[j:]] for i, j in pairs), list(text)]


async def test_b001_a_secret_is_redacted_wherever_it_is_cut() -> None:
    """Reader, result and reply hold the redaction of the whole text, for every cut."""
    whole = "Here is the key: tok-abcd1234567890 done"
    seen: set[tuple[str, ...]] = set()

    for cut in cuts_of(whole):
        memory = new_memory()
        guard = redactor("key", r"tok-[a-z0-9]{10,}")
        agent, _ = make_agent(cut, output_processors=[guard], memory=memory)
        ran = await collect(agent, "hi", memory=THREAD)
        seen.add((ran.emitted, ran.result.text, *(await stored(memory))))

    right = "Here is the key: [KEY] done"
    assert seen == {(right, right, "user: hi", f"assistant: {right}")}


async def test_b002_no_piece_of_a_match_is_ever_on_the_screen() -> None:
    """After every chunk the text so far is a beginning of the redacted text."""
    whole, right = "Contact bob@acme.test now", "Contact [EMAIL] now"
    detector = PIIDetector(detection_types=["email"], redaction_method="placeholder")

    for cut in [["Contact bob@", "acme.test now"], *cuts_of(whole)]:
        agent, _ = make_agent(cut, output_processors=[detector])
        ran = await collect(agent, "hi")
        so_far = list(itertools.accumulate(chunk.text for chunk in ran.of("text-delta")))
        assert [text for text in so_far if not right.startswith(text)] == []
        assert so_far[-1] == right


async def test_b003_a_mask_has_its_shape_across_a_cut() -> None:
    """The masked number looks as if the text had come in one piece, and is reported once."""
    found: list[Any] = []
    detector = PIIDetector(
        detection_types=["ssn"], redaction_method="mask", on_violation=lambda v: found.extend(v.detail)
    )
    texts: list[str] = []
    for cut in (["SSN 123-45-", "6780 ok"], ["SSN 123-45-6780 ok"]):
        found.clear()
        agent, _ = make_agent(cut, output_processors=[detector])
        texts.append((await collect(agent, "hi")).emitted)
        assert len(found) == 1

    assert texts == ["SSN ***-**-6780 ok"] * 2


@each_entry
async def test_b004_block_sees_a_match_that_spans_deltas(entry: Entry) -> None:
    """The run is blocked before any piece of the match is out."""
    guard = redactor("key", r"tok-[a-z0-9]{10,}", strategy="block")
    memory = new_memory()
    agent, _ = make_agent(["key tok-", "abcd1234567890", " end"], output_processors=[guard], memory=memory)

    ran = await by(entry, agent, "hi", memory=THREAD)

    assert ran.result.tripwire is not None
    assert (ran.result.text, ran.result.response.messages, await stored(memory)) == ("", (), [])
    if entry == "stream":
        assert "key ".startswith(ran.emitted)
        assert ran.types[-2:] == ["tripwire", "finish"]
        assert ran.types.count("tripwire") == 1


async def test_b006_held_text_comes_before_the_chunk_that_ends_it() -> None:
    """What a guard holds goes out at the end of the block, and before a tool call."""

    def one() -> int:
        """Give one."""
        return 1

    ended, _ = make_agent(["short ", "text"], output_processors=[TailHolder("hold", 128)])
    called, _ = make_agent(
        Reply(text="short text", tool_calls=[calls_tool("one")]),
        "done",
        tools=[one],
        output_processors=[TailHolder("hold", 128)],
    )

    first, second = await collect(ended, "hi"), await collect(called, "hi")

    assert first.emitted == "short text"
    assert first.types[-4:] == ["text-delta", "text-end", "step-finish", "finish"]
    assert [c.text or c.type for c in second.of("text-delta", "tool-call", "tool-result")] == [
        "short text",
        "tool-call",
        "tool-result",
        "done",
    ]


@each_entry
async def test_b006_held_text_comes_before_the_error_of_a_stream_without_end(entry: Entry) -> None:
    """A provider that just closes the stream is an error, behind the text it had sent."""
    model = ChunkModel(deltas("short ", "text")[:-1])
    agent = Agent(id="a", model=model, output_processors=[TailHolder("hold", 128)])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ModelError)
    if entry == "stream":
        assert ran.emitted == "short text"
        assert ran.types[-3:] == ["text-delta", "error", "finish"]


@each_entry
async def test_b007_a_tool_call_ends_what_may_match(entry: Entry) -> None:
    """Text before and behind a call is not joined to a match, and stays where it was."""

    def one() -> int:
        """Give one."""
        return 1

    agent, _ = make_agent(
        Reply(text="call 415-", tool_calls=[calls_tool("one")]),
        "555-0100 now",
        tools=[one],
        output_processors=[PIIDetector(detection_types=["phone"])],
    )

    ran = await by(entry, agent, "hi")

    assert parts_of(ran.result) == [["text:call 415-", "tool:one:result", "step-start", "text:555-0100 now"]]
    if entry == "stream":
        wanted = ran.of("text-delta", "tool-call", "tool-result")
        kinds = [kind for kind, _ in itertools.groupby(chunk.type for chunk in wanted)]
        assert kinds == ["text-delta", "tool-call", "tool-result", "text-delta"]
        assert ran.emitted == "call 415-555-0100 now"


def shouting() -> Processor:
    """Return a processor that rewrites the finished reply, and has no stream hook."""

    def shout(ctx: Any) -> None:
        for message in ctx.messages:
            for part in message.parts:
                if part.type == "text":
                    part.text = part.text.upper()

    return Processor.of("shout", process_output_result=shout)


async def test_b008_a_late_rewrite_is_said_or_held() -> None:
    """Where the result differs from what was read it says so; with `hold` it does not differ."""
    agent, _ = make_agent(["my secret", " word"], output_processors=[shouting()])

    shown, held = await collect(agent, "hi"), await collect(agent, "hi", hold="run")

    assert (shown.emitted, shown.result.text) == ("my secret word", "MY SECRET WORD")
    assert shown.result.edited_after_stream is True
    assert (held.emitted, held.result.text) == ("MY SECRET WORD", "MY SECRET WORD")
    assert held.result.edited_after_stream is False


async def test_b008_a_built_in_redactor_leaves_no_difference() -> None:
    """What was read is what the result and the reply hold."""
    memory = new_memory()
    agent, _ = make_agent(["mail ann@", "corp.test"], output_processors=[PIIDetector()], memory=memory)

    ran = await collect(agent, "hi", memory=THREAD)

    assert ran.emitted == ran.result.text == ran.result.response.messages[0].text
    assert await stored(memory) == ["user: hi", f"assistant: {ran.emitted}"]
    assert "ann@corp.test" not in ran.emitted
    assert ran.result.edited_after_stream is False


async def test_b009_a_guard_that_finds_nothing_leaves_every_delta_alone() -> None:
    """A check at every fifth delta neither blanks nor joins anything."""

    def sample(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            ctx.state["n"] = ctx.state.get("n", 0) + 1
            if ctx.state["n"] % 5 == 0 and "forbidden" in "".join(p.text for p in ctx.stream_parts):
                ctx.abort("forbidden")
        return ctx.part

    words = [f"w{number} " for number in range(1, 13)]
    agent, _ = make_agent(words, output_processors=[Processor.of("sample", process_output_stream=sample)])

    ran = await collect(agent, "hi")

    assert [chunk.text for chunk in ran.of("text-delta")] == words


async def test_b012_metadata_and_unknown_chunks_go_through_a_redactor() -> None:
    """Text is matched as ever; the unknown chunk keeps its place; untouched deltas keep their metadata."""
    metadata = {"trace": "t-1"}
    start, *_, end = deltas()
    answer = [
        start,
        Chunk("text-delta", {"id": "text-1", "text": "mail ", "provider_metadata": metadata}),
        Chunk("text-delta", {"id": "text-1", "text": "ann@co"}),
        Chunk("weather", {"sky": "blue"}),
        Chunk("text-delta", {"id": "text-1", "text": "rp.test end. "}),
        Chunk("text-delta", {"id": "text-1", "text": "bye ", "provider_metadata": metadata}),
        end,
        Chunk("finish", {"reason": "stop"}),
    ]
    detector = PIIDetector(detection_types=["email"], redaction_method="placeholder")
    agent = Agent(id="a", model=ChunkModel(answer), output_processors=[detector])

    ran = await collect(agent, "hi")

    assert ran.emitted == "mail [EMAIL] end. bye "
    before = list(itertools.takewhile(lambda chunk: chunk.type != "weather", ran.chunks))
    assert "".join(chunk.text for chunk in before) == "mail "
    assert ran.of("weather")[0].payload["sky"] == "blue"
    marked = "".join(c.text for c in ran.of("text-delta") if c.get("provider_metadata") == metadata)
    assert (marked.startswith("mail "), marked.endswith("bye ")) == (True, True)


def drops_a() -> Processor:
    """Return a processor whose stream hook returns nothing for the delta `a`."""
    return Processor.of("drops", process_output_stream=lambda ctx: None if ctx.part.text == "a" else ctx.part)


async def test_b017_nothing_from_the_stream_hook_drops_the_chunk() -> None:
    """The delta is gone, and no empty chunk stands in its place."""
    agent, _ = make_agent(["a", "b"], output_processors=[drops_a()])

    ran = await collect(agent, "hi")

    assert [chunk.text for chunk in ran.of("text-delta")] == ["b"]
    assert ran.result.text == "b"
    assert [chunk for chunk in ran.chunks if not isinstance(chunk, Chunk)] == []


@pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a workflow"])
async def test_b018_a_dropped_chunk_is_shown_to_nobody(inside: bool) -> None:
    """The next processor is not called for it, in a list and in a workflow."""
    seen: list[Any] = []

    def note(ctx: Any) -> Any:
        if ctx.part is None or ctx.part.type == "text-delta":
            seen.append(ctx.part and ctx.part.text)
        return ctx.part

    notes = Processor.of("notes", process_output_stream=note)
    chain: list[Any] = [drops_a(), notes]
    if inside:
        chain = [Workflow("w").then(chain[0]).then(chain[1]).commit()]
    agent, _ = make_agent(["a", "b"], output_processors=chain)

    await collect(agent, "hi")

    assert seen == ["b"]


@each_entry
async def test_b019_a_broken_stream_hook_lets_nothing_through(entry: Entry) -> None:
    """The run ends with an error that names the processor, and no text is out."""

    def breaks(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            raise ValueError("kaput")
        return ctx.part

    agent, _ = make_agent(["x", "y"], output_processors=[Processor.of("p", process_output_stream=breaks)])

    ran = await by(entry, agent, "hi")

    assert isinstance(ran.error, ProcessorError)
    assert (ran.error.processor_id, str(ran.error.__cause__)) == ("p", "kaput")
    assert ran.emitted == ""


@each_entry
async def test_b019_going_on_after_an_error_has_to_be_asked_for(entry: Entry) -> None:
    """`on_error="continue"` is the explicit way to go on with what came in."""

    def breaks(ctx: Any) -> Any:
        raise ValueError("kaput")

    lenient = Processor.of("p", process_output_stream=breaks, on_error="continue")
    agent, _ = make_agent(["x", "y"], output_processors=[lenient])

    ran = await by(entry, agent, "hi")

    assert ran.result.text == "xy"


async def test_b021_work_per_chunk_does_not_grow_with_the_answer() -> None:
    """Twice the chunks are twice the work, and a processor without a stream hook costs nothing."""

    async def calls_for(count: int, *more: Processor) -> int:
        flow = Workflow("w").then(Processor.of("p", process_output_stream=lambda ctx: ctx.part)).commit()
        agent, _ = make_agent(["x "] * count, output_processors=[flow, *more])
        return await counted_calls(agent)

    quiet = Processor.of("quiet", process_output_result=lambda ctx: None)
    await calls_for(10)
    short, middle, long = [await calls_for(count) for count in (100, 200, 400)]
    with_quiet = [await calls_for(count, quiet) - await calls_for(count) for count in (100, 400)]

    assert long - middle <= 2.3 * (middle - short)
    assert with_quiet[1] - with_quiet[0] < 300 / 2, "fewer than one call for every second of 300 chunks more"


async def counted_calls(agent: Agent) -> int:
    """Return how many Python calls a run makes: work that no clock has to measure."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        await agent.generate("hi")
    finally:
        sys.setprofile(None)
    return calls


async def test_b023_a_violation_is_reported_once() -> None:
    """A guard that has tripped is not asked about the chunks behind."""
    told: list[str] = []

    def at_most_three(ctx: Any) -> Any:
        if ctx.part.type == "text-delta":
            ctx.state["words"] = ctx.state.get("words", 0) + 1
            if ctx.state["words"] > 3:
                ctx.abort("too many words")
        return ctx.part

    guard = Processor.of("words", process_output_stream=at_most_three, on_violation=lambda v: told.append(v.message))
    agent, _ = make_agent([f"{n} " for n in range(8)], output_processors=[guard])

    ran = await collect(agent, "hi")

    assert ran.emitted == "0 1 2 "
    assert ran.types[-2:] == ["tripwire", "finish"]
    assert (ran.types.count("tripwire"), told) == (1, ["too many words"])
