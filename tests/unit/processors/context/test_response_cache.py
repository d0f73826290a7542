"""`ResponseCache`, its keys and its values, beyond the cases from practice."""

from __future__ import annotations

import json
import logging
import random
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from sluiceway import Agent, Processor, Tool, tool
from sluiceway.engine import StepResult, ToolCall, ToolOutcome, use_clock
from sluiceway.errors import MessageError
from sluiceway.messages import Chunk, FilePart, Message, Prompt, PromptMessage, PromptText, SourcePart, Usage
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import (
    CacheInputs,
    InMemoryCache,
    PIIDetector,
    ResponseCache,
    build_response_cache_key,
)
from sluiceway.processors.context._cache_values import decoded, encoded, processed_chunks, with_results
from sluiceway.tools import RequestContext
from tests.support.models import StallingModel
from tests.support.runs import Entry, by, calls_tool, collect, each_entry, lines, make_agent
from tests.support.workflows import FakeClock

pytestmark = pytest.mark.anyio

KEY = "response:a6c6902e89544cbacf758ff27772206ea862fccae63cc7578d7795c871de56b1"

ANSWERS = ("a0", "a1", "a2", "a3")


class Recording(InMemoryCache):
    """Notes the keys it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.written: list[str] = []

    async def get(self, key: str) -> bytes | None:
        self.read.append(key)
        return await super().get(key)

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        self.written.append(key)
        await super().set(key, value, ttl_s)


# --- keys


def inputs(**changed: Any) -> CacheInputs:
    prompt = Prompt((PromptMessage("user", (PromptText("q"),), "message-1", "input"),))
    return CacheInputs(
        **{"agent_id": "a", "step_number": 0, "scope": None, "model": ("p", "m"), "prompt": prompt, **changed}
    )


def test_a_key_is_the_same_for_the_same_and_differs_for_everything_else() -> None:
    renamed = Prompt((PromptMessage("user", (PromptText("q"),), "message-2", "memory"),))
    assert build_response_cache_key(inputs(prompt=renamed)) == build_response_cache_key(inputs())

    others: list[dict[str, Any]] = [
        {"agent_id": "b"},
        {"step_number": 1},
        {"scope": "u1"},
        {"scope": ""},
        {"model": ("p", "m2")},
        {"model": ("p", "m", "http://127.0.0.1:1/v1")},
        {"prompt": Prompt((PromptMessage("user", (PromptText("q2"),)),))},
        {"prompt": Prompt((PromptMessage("system", (PromptText("q"),)),))},
        {"prompt": Prompt((PromptMessage("user", (PromptText("q", {"p": {"cache": 1}}),)),))},
        {"tools": (Tool("t"),)},
        {"tools": (Tool("t", "text"),)},
        {"tools": (Tool("t", run=lambda: 1),)},
        {"tools": (Tool("t", parameters={"type": "object"}),)},
        {"tool_choice": "none"},
        {"model_settings": {"seed": 1}},
        {"provider_options": {"p": {"x": 1}}},
        {"structured_output": {"type": "object"}},
        {"structured_output": int},
    ]
    keys = [build_response_cache_key(inputs(**changed)) for changed in ({}, *others)]
    assert len(set(keys)) == len(keys)
    assert all(key.startswith("response:") and len(key) == len("response:") + 64 for key in keys)


def test_keys_stay_the_same_from_one_program_to_the_next() -> None:
    """What one process has kept another finds; whoever changes the key on purpose counts its version up."""
    assert build_response_cache_key(inputs()) == KEY


def test_a_processed_step_becomes_the_chunks_it_was_delivered_as() -> None:
    source, file = SourcePart("s", "https://x.test"), FilePart(b"ii", "text/a")
    calls = (ToolCall("c1", "look", {"q": 1}), ToolCall("c2", "search", {}, True))
    step = StepResult(
        0,
        text="hi",
        reasoning="hm",
        tool_calls=calls,
        tool_results=(ToolOutcome("c1", "look", 7), ToolOutcome("c2", "search", 8)),
        sources=(source,),
        files=(file,),
        finish_reason="tool-calls",
        usage=Usage(1, 2),
    )
    raw = [Chunk("text-delta", {"id": "t", "text": "raw"}, "r"), Chunk("finish", {"reason": "length"}, "r")]
    made = processed_chunks(step, raw)
    assert made is not None
    local = {"tool_call_id": "c1", "tool_name": "look", "provider_executed": False}
    remote = {"tool_call_id": "c2", "tool_name": "search", "provider_executed": True}
    assert [(chunk.type, dict(chunk.payload)) for chunk in made] == [
        ("reasoning-start", {"id": "reasoning-1"}),
        ("reasoning-delta", {"id": "reasoning-1", "text": "hm"}),
        ("reasoning-end", {"id": "reasoning-1"}),
        ("text-start", {"id": "text-1"}),
        ("text-delta", {"id": "text-1", "text": "hi"}),
        ("text-end", {"id": "text-1"}),
        ("source", {"part": source}),
        ("file", {"part": file}),
        ("tool-call", {**local, "args": {"q": 1}}),
        ("tool-call", {**remote, "args": {}}),
        ("tool-result", {**remote, "result": 8}),
        ("tool-result", {**local, "result": 7}),
        ("finish", {"reason": "length", "usage": Usage(1, 2)}),
    ]
    assert {chunk.run_id for chunk in made} == {"r"}


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"key": "faq", "scope": None}, "faq:0"),
        ({"key": "faq", "scope": "team a"}, "team%20a:faq:0"),
        ({"key": "faq", "scope": lambda ctx: ctx["team"]}, "red:faq:0"),
        ({"key": lambda inputs: f"mine/{inputs.agent_id}/{inputs.model[1]}"}, "mine/tested/scripted"),
    ],
)
async def test_keys_of_ones_own(options: dict[str, Any], key: str) -> None:
    cache = Recording()
    agent, _ = make_agent(input_processors=[ResponseCache(cache, **options)])
    await agent.generate("q", request_context={"team": "red"})
    assert (cache.read, cache.written) == ([key], [key])


async def test_a_key_function_may_be_async_and_must_give_text(caplog: pytest.LogCaptureFixture) -> None:
    async def key(inputs: CacheInputs) -> Any:
        return "k" if inputs.step_number == 0 else 5

    cache = Recording()
    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("look")]), "ok", tools=[look], input_processors=[ResponseCache(cache, key=key)]
    )
    with caplog.at_level(logging.WARNING, "sluiceway"):
        await agent.generate("q")
    assert cache.read[0] == "k"
    assert cache.read[1].startswith("response:")
    assert "returned no text" in caplog.text


@tool
def look() -> str:
    """Look."""
    return "seen"


async def test_users_do_not_share_unless_told_to() -> None:
    def agent_of(model: ScriptedModel, **options: Any) -> Agent:
        return Agent(id="a", model=model, input_processors=[ResponseCache(cache, **options)])

    cache = InMemoryCache()
    users: list[Any] = [{"request_context": {"resource_id": user}} for user in ("u1", "u2", "u1")]
    model = ScriptedModel(list(ANSWERS))
    assert [(await agent_of(model).generate("q", **user)).text for user in users] == ["a0", "a1", "a0"]

    model = ScriptedModel(list(ANSWERS))
    assert [(await agent_of(model, scope=None).generate("q", **user)).text for user in users] == ["a0"] * 3

    model = ScriptedModel(["b0", "b1"])
    told = [ResponseCache.context(scope="team") for _ in users]
    for ctx, user in zip(told, users, strict=True):
        ctx.set("resource_id", user["request_context"]["resource_id"])
    assert [(await agent_of(model).generate("q", request_context=ctx)).text for ctx in told] == ["b0"] * 3


async def test_agents_share_under_one_agent_id() -> None:
    cache = InMemoryCache()
    model = ScriptedModel(list(ANSWERS))
    for id_, agent_id in (("a", None), ("b", None), ("a", "x"), ("b", "x")):
        await Agent(id=id_, model=model, input_processors=[ResponseCache(cache, agent_id=agent_id)]).generate("q")
    assert len(model.calls) == 3


@pytest.mark.parametrize(
    "callers",
    [
        [{"request_context": {"user": "ann"}}, {"request_context": {"user": "bob"}}],
        [{"request_context": {"user": "ann"}}, {}],
        [{"request_context": RequestContext(thread_id="t1")}, {"request_context": RequestContext(thread_id="t2")}],
        [{"request_context": RequestContext(resource_id="ann")}, {"request_context": {"user": "bob"}}],
    ],
    ids=["context", "context-and-nobody", "threads", "resource-and-context"],
)
@pytest.mark.parametrize("key", [None, "orders"])
async def test_callers_that_cannot_be_told_apart_share_nothing(
    callers: list[dict[str, Any]], key: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Whose an answer is nobody can say without a resource id, but the context may hold the user: a tool's results
    are replayed, so what one is shown could be another's."""
    agent, _ = make_agent(*ANSWERS, input_processors=[ResponseCache(key=key)])
    with caplog.at_level(logging.WARNING, "sluiceway"):
        texts = [(await agent.generate("my orders?", **caller)).text for caller in (*callers, *callers)]
    assert not set(texts[:1]) & set(texts[1::2])
    assert caplog.text.count("no resource id") == 1


async def test_a_call_that_tells_nothing_of_its_caller_is_cached(caplog: pytest.LogCaptureFixture) -> None:
    agent, model = make_agent(*ANSWERS, input_processors=[ResponseCache()])
    contexts = [{}, ResponseCache.context(bust=False), RequestContext()]
    assert [(await agent.generate("q", request_context=context)).text for context in contexts] == ["a0"] * 3
    assert len(model.calls) == 1
    assert not caplog.text


async def test_a_call_can_say_how_it_is_cached() -> None:
    cache = Recording()
    agent, _ = make_agent(*ANSWERS, input_processors=[ResponseCache(cache)])
    context = RequestContext({"team": "red"})
    ResponseCache.apply_context(context, key="once", scope=None)
    plain: dict[str, Any] = {"team": "red"}
    ResponseCache.apply_context(plain, key="twice", scope="red")

    await agent.generate("q", request_context=context)
    await agent.generate("q", request_context=plain)

    assert cache.read == ["once:0", "red:twice:0"]


# --- what is written


async def test_nothing_rejected_is_written() -> None:
    cache = Recording()
    guard = Processor.of(
        "guard", process_output_step=lambda ctx: ctx.abort("no", retry=True) if "bad" in ctx.text else None
    )
    agent, model = make_agent(
        "bad",
        "good",
        input_processors=[ResponseCache(cache, key="k")],
        output_processors=[guard],
        max_processor_retries=1,
    )
    assert [(await agent.generate("q")).text for _ in range(2)] == ["good", "good"]
    assert (len(model.calls), len(cache.written)) == (2, 1)


@pytest.mark.parametrize("hook", ["process_output_step", "process_output_stream", "process_llm_response"])
async def test_a_tripwire_leaves_nothing(hook: str) -> None:
    cache = Recording()
    hooks: dict[str, Any] = {hook: lambda ctx: ctx.abort("no")}
    stop = Processor.of("stop", **hooks)
    lists: dict[str, Any] = {"input_processors": [ResponseCache(cache)], "output_processors": []}
    lists["input_processors" if hook == "process_llm_response" else "output_processors"].append(stop)
    agent, _ = make_agent("a", **lists)
    assert (await agent.generate("q")).tripwire is not None
    assert cache.written == []


async def test_a_broken_stream_leaves_nothing() -> None:
    cache = Recording()
    agent, _ = make_agent(Reply(text="so far", stream_error="gone"), input_processors=[ResponseCache(cache)])
    assert (await by("generate", agent, "q")).error is not None
    assert cache.written == []


async def test_a_cached_answer_that_a_guard_rejects_is_not_served_again() -> None:
    """The retry asks the model, though the key is the same."""
    allowed = ["old", "new"]
    guard = Processor.of(
        "guard", process_output_step=lambda ctx: None if ctx.text in allowed else ctx.abort("no", retry=True)
    )
    agent, model = make_agent(
        "old", "new", input_processors=[ResponseCache(key="k")], output_processors=[guard], max_processor_retries=1
    )
    assert (await agent.generate("q")).text == "old"
    allowed.remove("old")
    assert [(await agent.generate("q")).text for _ in range(2)] == ["new", "new"]
    assert len(model.calls) == 2


async def test_a_step_with_a_failed_tool_is_made_anew() -> None:
    runs: list[int] = []

    @tool
    def flaky() -> int:
        """Fail once."""
        runs.append(1)
        if len(runs) == 1:
            raise ValueError("not now")
        return 7

    agent, _ = make_agent(
        Reply(tool_calls=[calls_tool("flaky")]),
        "failed",
        Reply(tool_calls=[calls_tool("flaky")]),
        "done",
        tools=[flaky],
        input_processors=[ResponseCache()],
    )
    assert [(await agent.generate("q")).text for _ in range(3)] == ["failed", "done", "done"]
    assert len(runs) == 2


async def test_a_call_for_the_client_is_replayed_open() -> None:
    asks = Tool("ask", "Ask the user.", {"type": "object", "properties": {}}, run=None)
    agent, model = make_agent(Reply(tool_calls=[calls_tool("ask")]), tools=[asks], input_processors=[ResponseCache()])
    results = [await agent.generate("q") for _ in range(2)]
    assert [result.finish_reason for result in results] == ["tool-calls"] * 2
    assert [result.steps[0].tool_calls[0].tool_name for result in results] == ["ask"] * 2
    assert len(model.calls) == 1


async def test_a_replay_shows_the_model_what_the_tool_shows_it() -> None:
    """The next prompt, and so the next key, is the same."""
    rows = Tool(
        "rows",
        "List.",
        {"type": "object", "properties": {}},
        run=lambda: list(range(3)),
        to_model_output=lambda r: f"{len(r)} rows",
    )
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("rows")]), "done", tools=[rows], input_processors=[ResponseCache()]
    )
    results = [await agent.generate("q") for _ in range(2)]
    assert lines(model.prompts[1])[-1] == 'tool: c1 -> "3 rows"'
    assert len(model.calls) == 2
    assert [result.steps[0].tool_results[0].result for result in results] == [[0, 1, 2]] * 2


@each_entry
async def test_the_raw_answer_passes_the_guards_again(entry: Entry) -> None:
    cache = InMemoryCache()
    model = ScriptedModel(["write to ann@example.org"])
    for store in ("raw", "processed"):
        cache.clear()
        plain = Agent(id="a", model=model, input_processors=[ResponseCache(cache, store=store)])
        guarded = Agent(
            id="a",
            model=model,
            input_processors=[ResponseCache(cache, store=store)],
            output_processors=[PIIDetector(redaction_method="placeholder")],
        )
        calls = len(model.calls)
        assert (await by(entry, guarded, "q")).result.text == "write to [EMAIL]"
        assert (await by(entry, guarded, "q")).result.text == "write to [EMAIL]"
        again = (await by(entry, plain, "q")).result.text
        assert again == ("write to ann@example.org" if store == "raw" else "write to [EMAIL]")
        assert len(model.calls) == calls + 1


async def test_what_was_processed_is_replayed_with_its_calls() -> None:
    agent, model = make_agent(
        Reply(text="one moment", reasoning="hm", tool_calls=[calls_tool("look")]),
        "done",
        tools=[look],
        input_processors=[ResponseCache(store="processed")],
    )
    first, second = [await collect(agent, "q") for _ in range(2)]
    assert len(model.calls) == 2
    assert second.types == first.types
    assert second.result.steps[0].reasoning == "hm"
    assert second.result.text == first.result.text == "one momentdone"


async def test_a_hit_books_no_usage_and_says_that_it_is_one() -> None:
    seen: list[bool] = []
    tells = Processor.of("tells", process_llm_response=lambda ctx: seen.append(ctx.from_cache))
    agent, _ = make_agent(Reply(text="a", usage=Usage(5, 7)), input_processors=[ResponseCache(), tells])
    results = [await agent.generate("q") for _ in range(2)]
    assert [result.usage.total_tokens for result in results] == [12, 0]
    assert [result.steps[0].usage.total_tokens for result in results] == [12, 12]
    assert seen == [False, True]


# --- single flight


class SlowModel(ScriptedModel):
    """Answers when it is told to."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(list(replies))
        self.go = anyio.Event()

    def stream(self, request: Any) -> Any:
        return _Waiting(super().stream(request), self.go)


class _Waiting:
    def __init__(self, inner: Any, go: anyio.Event) -> None:
        self.inner = inner
        self.go = go

    async def __aenter__(self) -> Any:
        await self.go.wait()
        return await self.inner.__aenter__()

    async def __aexit__(self, *error: Any) -> Any:
        return await self.inner.__aexit__(*error)


async def test_two_calls_at_once_ask_the_model_once() -> None:
    model = SlowModel("a0", "a1")
    agent = Agent(id="a", model=model, input_processors=[ResponseCache()])
    texts: list[str] = []

    async def ask() -> None:
        texts.append((await agent.generate("q")).text)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        model.go.set()

    assert texts == ["a0"] * 5
    assert len(model.calls) == 1


@pytest.mark.parametrize("end", ["error", "tripwire", "cancelled"])
async def test_who_waits_goes_on_when_the_first_fails(end: str) -> None:
    """However the first one ends, the next asks the model itself, and the others wait for that one."""
    model = SlowModel(Reply(error="gone") if end == "error" else "bad", "good")
    guard = Processor.of("guard", process_output_step=lambda ctx: ctx.abort("no") if ctx.text == "bad" else None)
    agent = Agent(id="a", model=model, input_processors=[ResponseCache()], output_processors=[guard])
    texts: list[str] = []
    first = anyio.CancelScope()

    async def fail() -> None:
        with first:
            await by("generate", agent, "q")

    async def ask() -> None:
        texts.append((await agent.generate("q")).text)

    async with anyio.create_task_group() as group:
        group.start_soon(fail)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        if end == "cancelled":
            first.cancel()
            model._replies.pop(0)
            await anyio.wait_all_tasks_blocked()
        model.go.set()

    assert texts == ["good"] * 3
    assert len(model.calls) == (1 if end == "cancelled" else 2)


async def test_who_waits_does_not_wait_for_ever() -> None:
    """Another call with the key that nobody reads any further: it can never end."""
    stalling = StallingModel("so ")
    cache = ResponseCache(key="k", wait_s=0.01)
    slow = Agent(id="a", model=stalling, input_processors=[cache])
    quick = Agent(id="a", model=ScriptedModel(["quick"]), input_processors=[cache])
    async with slow.stream("q") as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                break
        assert (await quick.generate("q")).text == "quick"


async def test_a_retry_does_not_wait_for_itself() -> None:
    guard = Processor.of(
        "guard", process_output_step=lambda ctx: ctx.abort("no", retry=True) if ctx.text == "bad" else None
    )
    agent, _ = make_agent(
        "bad",
        "good",
        input_processors=[ResponseCache(key="k", wait_s=60)],
        output_processors=[guard],
        max_processor_retries=1,
    )
    with anyio.fail_after(10):
        assert (await agent.generate("q")).text == "good"


# --- caches


class Odd:
    """A cache with coroutines that does odd things."""

    def __init__(self, value: Any = None, *, hangs: bool = False) -> None:
        self.value = value
        self.hangs = hangs

    async def get(self, key: str) -> Any:
        if self.hangs:
            await anyio.sleep_forever()
        return self.value

    async def set(self, key: str, value: bytes, ttl_s: float | None) -> None:
        if self.hangs:
            await anyio.sleep_forever()


RUBBISH: list[Any] = [
    b"",
    b"\xff\xfe",
    "not json",
    b"[]",
    b"{}",
    b'{"version": 1}',
    b'{"version": 0, "chunks": []}',
    b'{"version": 99, "chunks": []}',
    b'{"version": 1, "chunks": [1]}',
    b'{"version": 1, "chunks": [{"type": 5, "payload": {}}]}',
    b'{"version": 1, "chunks": [{"type": "finish", "payload": {"usage": {"$usage": {"x": 1}}}}]}',
    b'{"version": 1, "chunks": [{"type": "file", "payload": {"part": {"$part": {"type": "file"}}}}]}',
    b"[" * 100_000,
    5,
    object(),
]


@pytest.mark.parametrize("value", RUBBISH, ids=range(len(RUBBISH)))
async def test_rubbish_in_a_cache_is_a_miss(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    agent, _ = make_agent(input_processors=[ResponseCache(Odd(value))])
    with caplog.at_level(logging.WARNING, "sluiceway"):
        assert (await agent.generate("q")).text == "ok"
    assert "the model is asked" in caplog.text


async def test_a_cache_that_hangs_is_given_up() -> None:
    agent, model = make_agent(input_processors=[ResponseCache(Odd(hangs=True), timeout_s=0.01)])
    with anyio.fail_after(10):
        assert (await agent.generate("q")).text == "ok"
    assert len(model.calls) == 1


async def test_the_cache_in_memory_is_bounded_and_drops_what_nobody_asks_for() -> None:
    cache = InMemoryCache(max_entries=2)
    for key in ("a", "b"):
        await cache.set(key, b"x")
    await cache.get("a")
    await cache.set("c", b"x")
    assert [await cache.get(key) for key in ("a", "b", "c")] == [b"x", None, b"x"]

    small = InMemoryCache(max_bytes=1000)
    await small.set("big", b"x" * 2000)
    await small.set("one", b"x" * 600)
    await small.set("two", b"x" * 600)
    assert [await small.get(key) for key in ("big", "one", "two")] == [None, None, b"x" * 600]


async def test_the_cache_in_memory_goes_by_the_clock() -> None:
    cache, clock = InMemoryCache(), FakeClock()
    with use_clock(clock):
        await cache.set("a", b"x", 10)
        await cache.set("b", b"x", None)
        clock.passed_s = 9.9
        assert (await cache.get("a"), len(cache)) == (b"x", 2)
        clock.passed_s = 10.1
        assert (await cache.get("a"), await cache.get("b"), len(cache)) == (None, b"x", 1)


# --- values


def test_chunks_come_back_as_they_were() -> None:
    chunks = [
        Chunk("text-delta", {"id": "t", "text": "ü \ud800 \x00"}),
        Chunk(
            "tool-call", {"tool_call_id": "c1", "tool_name": "t", "args": {"a": [1, 2.5, None, True], "b": b"\x00\xff"}}
        ),
        Chunk("response-metadata", {"id": "x", "timestamp": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)}),
        Chunk("finish", {"reason": "stop", "usage": Usage(1, 2, estimated=True), "warnings": []}),
    ]
    assert decoded(encoded(chunks)) == chunks


@pytest.mark.parametrize(
    "part", [FilePart(b"\x00\x01", "image/png"), SourcePart("s1", url="https://example.org", title="Ex")]
)
def test_parts_come_back_as_they_were(part: Any) -> None:
    [back] = decoded(encoded([Chunk("file", {"part": part})]))
    assert (
        Message(role="assistant", parts=[back.get("part")]).to_dict()["parts"]
        == (Message(role="assistant", parts=[part.copy()]).to_dict()["parts"])
    )


@pytest.mark.parametrize("value", [object(), {1: 2}, {"$bytes": "x"}, float("nan"), random.Random(1)])
async def test_what_would_not_come_back_is_not_kept(value: Any) -> None:
    with pytest.raises(MessageError, match="cannot be kept in a cache"):
        encoded([Chunk("tool-result", {"result": value})])

    odd = Tool("odd", "Odd.", {"type": "object", "properties": {}}, run=lambda: value)
    agent, model = make_agent(
        Reply(tool_calls=[calls_tool("odd")]), "ok", tools=[odd], input_processors=[ResponseCache()]
    )
    assert (await agent.generate("q")).text == "ok"
    assert len(model.calls) == 2


def test_results_come_before_the_end_and_some_that_are_open_keep_a_step_out() -> None:
    calls = [Chunk("tool-call", {"tool_call_id": id_, "tool_name": "t", "args": {}}) for id_ in ("c1", "c2")]
    raw = [*calls, Chunk("finish", {"reason": "tool-calls"})]

    def step(*outcomes: ToolOutcome) -> StepResult:
        return StepResult(0, tool_results=outcomes)

    both = with_results(raw, step(ToolOutcome("c1", "t", 1), ToolOutcome("c2", "t", 2)))
    assert both is not None
    assert [chunk.type for chunk in both] == ["tool-call", "tool-call", "tool-result", "tool-result", "finish"]
    assert with_results(raw, step(ToolOutcome("c1", "t", 1))) is None
    assert with_results(raw, step(ToolOutcome("c1", "t", 1), ToolOutcome("c2", "t", None, "no"))) is None
    assert with_results(raw, step()) == raw


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [{"type": "text-delta", "payload": {"id": "t"}}],
        [{"type": "text-delta", "payload": {"id": [], "text": "x"}}],
        [{"type": "text-delta", "payload": "x"}],
        [{"type": "text-start", "payload": None}],
        [{"type": "tool-call", "payload": {"tool_call_id": "c1", "tool_name": "t", "args": "x"}}],
        [{"type": "source", "payload": {"part": "x"}}],
        [{"type": "error", "payload": {"message": "x", "error": "x"}}],
        [{"type": "tripwire", "payload": {"reason": "x"}}],
        [{"type": "finish", "payload": {"reason": 5}}],
    ],
)
async def test_what_no_model_sends_is_a_miss(chunks: list[Any]) -> None:
    """Of the right version, too: a cache that others write to never breaks a call."""

    class Foreign:
        def get(self, key: str) -> bytes:
            del key
            return json.dumps({"version": 1, "chunks": chunks}).encode()

        def set(self, key: str, value: bytes, ttl_s: float | None) -> None: ...

    agent, model = make_agent("fresh", input_processors=[ResponseCache(Foreign())])

    assert (await agent.generate("q")).text == "fresh"
    assert len(model.calls) == 1
