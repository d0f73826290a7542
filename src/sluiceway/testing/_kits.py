"""Conformance kits: everything that a port asks for, tried on an implementation of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import anyio

from sluiceway.errors import ModelError, StorageError
from sluiceway.memory import MemoryStore, MessageRow, Resource, Thread, Turn, WorkingChange
from sluiceway.messages import Chunk, MessageList, Usage
from sluiceway.models import Model, ModelRequest
from sluiceway.processors import ALL_HOOKS, Cache, Detector, Effects, Span, hooks_of
from sluiceway.testing._laws_leaks import LeakSurface, assert_never_leaks
from sluiceway.testing._laws_runs import assert_cancel_safe, assert_fails_closed, assert_state_isolated
from sluiceway.testing._laws_text import assert_split_invariant
from sluiceway.testing._outcome import hooks_in, inside, is_workflow
from sluiceway.testing._texts import SAMPLES

__all__ = ["check_cache", "check_detector", "check_model", "check_processor", "check_store"]

T = TypeVar("T")

_NOW = datetime(2030, 1, 1, tzinfo=UTC)
_HOSTILE = ("", " ", "\x00", "\ud800", "e\u0301", "👩‍👩‍👧", "a" * 20_000, *SAMPLES)
_TYPES = {
    "text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end", "tool-call",
    "tool-result", "source", "file", "response-metadata", "finish",
}  # fmt: skip


def _require(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def check_processor(
    processor: object,
    texts: Iterable[str] | None = None,
    *,
    secrets: Iterable[str] = (),
    surfaces: Iterable[LeakSurface] | None = None,
    examples: int = 30,
) -> None:
    """Try a processor of one's own: its shape, and every law that holds for any processor.

    Args:
        processor: The processor, or a workflow: itself and all processors in it.
        texts: The texts it is tried on; None: made up.
        secrets: Texts that it has to catch.
        surfaces: Where they are hidden; see `assert_never_leaks`.
        examples: How many cases each law tries.

    Raises:
        AssertionError: Something is not as it has to be; the text says what.
    """
    given = None if texts is None else tuple(texts)
    if is_workflow(processor):
        for one in inside(processor):
            check_processor(one, given, examples=examples)
        _check_laws(processor, given, examples)
    else:
        _check_shape(processor)
        _check_laws(processor, given, examples)
        if hooks_in([processor]):
            assert_fails_closed(processor, given, examples=examples)
    hidden = tuple(secrets)
    if hidden:
        assert_never_leaks(processor, hidden, surfaces=surfaces, examples=examples)


def _check_shape(processor: object) -> None:
    identity = getattr(processor, "id", None)
    _require(isinstance(identity, str) and identity.strip(), f"{processor!r} has no id that is a text")
    hooks = hooks_of(processor)
    _require(hooks, f"{identity!r} has none of the hooks {', '.join(ALL_HOOKS)}")
    _check_effects(str(identity), getattr(processor, "effects", None))


def _check_laws(item: object, texts: tuple[str, ...] | None, examples: int) -> None:
    hooks = hooks_in([item])
    if "process_output_stream" in hooks:
        assert_split_invariant(item, texts, examples=examples)
    if hooks:
        assert_state_isolated(item, texts, examples=examples)
        assert_cancel_safe(item, texts, examples=examples)


def _check_effects(identity: str, effects: Any) -> None:
    if effects is None or isinstance(effects, Effects):
        return
    _require(isinstance(effects, dict), f"{identity!r}: effects is an Effects, or a dict of them by hook")
    odd = [hook for hook, one in effects.items() if hook not in ALL_HOOKS or not isinstance(one, Effects)]
    _require(not odd, f"{identity!r}: effects has {odd!r}, which are no hooks or no Effects")


async def check_detector(detector: Detector, texts: Iterable[str] = _HOSTILE) -> None:
    """Try a detector: scores from 0 to 1, spans inside the text and in order, the same answer each time.

    Args:
        detector: The detector.
        texts: What it is tried on; also odd ones, unless others are given.

    Raises:
        AssertionError: Something is not as the port asks.
    """
    for text in texts:
        first = await detector.detect(text, None)
        again = await detector.detect(text, None)
        shown = repr(text[:60])
        _require(first == again, f"on {shown} it says {first!r} and then {again!r}")
        off = {name: score for name, score in first.scores.items() if not 0 <= score <= 1}
        _require(not off, f"on {shown} scores are outside of 0 to 1: {off!r}")
        _check_spans(first.spans, text, shown)
    several = [text for text in texts if text][:4]
    alone = [await detector.detect(text, None) for text in several]
    beside = await _beside([lambda text=text: detector.detect(text, None) for text in several])
    _require(alone == beside, f"several calls at once give {beside!r}, one after the other {alone!r}")


def _check_spans(spans: tuple[Span, ...], text: str, shown: str) -> None:
    last = 0
    for span in spans:
        _require(0 <= span.start < span.end <= len(text), f"on {shown} the span {span!r} is not inside the text")
        _require(span.start >= last, f"on {shown} the span {span!r} is not in text order")
        _require(0 <= span.score <= 1, f"on {shown} the score of {span!r} is outside of 0 to 1")
        last = span.start


async def check_cache(cache: Cache) -> None:
    """Try a cache: what is set is got, under its own key, the newest value, and an unknown key is None.

    Args:
        cache: An empty cache, for at least three small entries.

    Raises:
        AssertionError: Something is not as the port asks.
    """
    _require(await _asked(cache.get("kit:none")) is None, "an unknown key does not give None")
    values = {"kit:a": b"one", "kit:b": b"", "kit:\u00e9 /?*": bytes(range(256))}
    for key, value in values.items():
        await _asked(cache.set(key, value, 60.0))
    for key, value in values.items():
        got = await _asked(cache.get(key))
        _require(got == value, f"under {key!r} was set {value!r}, and it gives {got!r}")
    await _asked(cache.set("kit:a", b"two", None))
    got = await _asked(cache.get("kit:a"))
    _require(got == b"two", f"a key that is set again gives {got!r}")


async def _asked(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _beside(calls: list[Callable[[], Awaitable[T]]]) -> list[T]:
    results: dict[int, T] = {}

    async def run(number: int) -> None:
        results[number] = await calls[number]()

    async with anyio.create_task_group() as group:
        for number in range(len(calls)):
            group.start_soon(run, number)
    return [results[number] for number in range(len(calls))]


async def check_model(model: Model, request: ModelRequest | None = None) -> None:
    """Try a model: names, known chunks, blocks that open and close, one `finish` at the end, calls side by side.

    The model is called four times.

    Args:
        model: The model.
        request: What it is asked; None: to say hello.

    Raises:
        AssertionError: Something is not as the port asks.
    """
    for name in ("provider", "model_id"):
        value = getattr(model, name, None)
        _require(isinstance(value, str) and value, f"{name} is {value!r}; it is a text")
    _require(isinstance(getattr(model, "structured", None), bool), "structured is not True or False")
    asked = ModelRequest(_hello(), run_id="run-kit") if request is None else request
    _check_chunks(await _read(model, asked), asked.run_id)
    for chunks in await _beside([lambda: _read(model, asked)] * 2):
        _check_chunks(chunks, asked.run_id)
    async with model.stream(asked) as left_early:
        await anext(left_early)


def _hello() -> Any:
    messages = MessageList()
    messages.add("Say hello.")
    return messages.to_prompt()


async def _read(model: Model, request: ModelRequest) -> list[Chunk]:
    try:
        async with model.stream(request) as chunks:
            return [chunk async for chunk in chunks]
    except ModelError as error:
        raise AssertionError(f"the model refused: {error}") from error


def _check_chunks(chunks: list[Chunk], run_id: str) -> None:
    types = [chunk.type for chunk in chunks]
    unknown = sorted(set(types) - _TYPES)
    _require(not unknown, f"it sends chunks of unknown types: {unknown}")
    _require(types.count("finish") == 1 and types[-1] == "finish", f"the chunks do not end with one finish: {types}")
    usage = chunks[-1].get("usage")
    _require(usage is None or isinstance(usage, Usage), f"the usage of finish is {usage!r}, no Usage and not None")
    odd = {chunk.run_id for chunk in chunks} - {run_id}
    _require(not odd, f"chunks carry the run ids {odd!r}; the request's is {run_id!r}")
    opened: set[tuple[str, Any]] = set()
    for chunk in chunks:
        kind, _, what = chunk.type.rpartition("-")
        if kind not in ("text", "reasoning"):
            continue
        block = (kind, chunk.get("id"))
        _require((block in opened) == (what != "start"), f"{chunk.type} of block {block[1]!r} is out of place: {types}")
        opened = opened - {block} if what == "end" else opened | {block}
    _require(not opened, f"blocks are never closed: {sorted(str(name) for _, name in opened)}")


async def check_store(store: MemoryStore) -> None:
    """Try a store of memory: turns, order, owners, replacing, deleting, working memory, pending texts, leases.

    Args:
        store: An empty store.

    Raises:
        AssertionError: Something is not as the port asks.
    """
    async with store:
        await _check_turns(store)
        await _check_owner(store)
        await _check_working(store)
        await _check_leases(store)
        _require(await store.delete_thread("kit"), "delete_thread does not find the thread")
        _require(await store.thread("kit") is None, "a deleted thread is still there")
        _require(await store.newest("kit") == [], "a deleted thread still has messages")


async def _check_turns(store: MemoryStore) -> None:
    rows = [MessageRow("kit", f"m{n}", "user" if n % 2 else "assistant", _NOW, f'"é {n}"') for n in range(4)]
    await store.save_turn(Turn("kit", "u1", _NOW, rows, [("index", "m0")]))
    got = await store.newest("kit")
    _require([row.id for row in got] == ["m0", "m1", "m2", "m3"], f"newest gives {[row.id for row in got]}")
    _require([row.document for row in got] == [row.document for row in rows], "documents come back changed")
    two = [row.id for row in await store.newest("kit", 2)]
    _require(two == ["m2", "m3"], f"the newest 2 are {two}")
    before = [row.id for row in await store.newest("kit", 2, before="m2")]
    _require(before == ["m0", "m1"], f"the newest 2 before m2 are {before}")
    await store.save_turn(Turn("kit", "u1", _NOW, [MessageRow("kit", "m1", "user", _NOW, '"new"')]))
    again = [(row.id, row.document) for row in await store.newest("kit")]
    _require(again[1] == ("m1", '"new"') and len(again) == 4, f"a message that is saved again gives {again}")
    around = [row.id for row in await store.around("kit", ["m2"], 1, 1)]
    _require(around == ["m1", "m2", "m3"], f"m2 with a neighbour on each side is {around}")
    pending = [row.id for row in await store.pending("index", "u1", 10)]
    _require(pending == ["m0"], f"pending gives {pending}")
    await store.clear_pending("index", [("kit", "m0")])
    _require(await store.pending("index", "u1", 10) == [], "what was cleared is still pending")
    _require(await store.delete_messages([("kit", "m3"), ("kit", "none")]) == 1, "delete_messages miscounts")


async def _check_owner(store: MemoryStore) -> None:
    from_other = Turn("kit", "u2", _NOW, [MessageRow("kit", "x", "user", _NOW, '"x"')])
    _require(await _refuses(store.save_turn(from_other)), "a turn of another resource is saved into the thread")
    _require(await store.find(["x"], "kit") == [], "a refused turn left a message")
    await store.save_thread(Thread("kit", "u1", _NOW, _NOW, "title", {"a": 1}))
    thread = await store.thread("kit")
    _require(thread is not None and thread.title == "title" and dict(thread.metadata) == {"a": 1}, f"got {thread!r}")
    _require([one.id for one in await store.threads("u1")] == ["kit"], "threads of a resource are not found")
    _require(await store.threads("u2") == [], "another resource sees the thread")
    await store.save_resource(Resource("u1", {"b": 2}, _NOW, _NOW))
    kept = await store.resource("u1")
    _require(kept is not None and dict(kept.metadata) == {"b": 2}, f"the resource comes back as {kept!r}")


async def _check_working(store: MemoryStore) -> None:
    _require(await store.working("resource", "u1") is None, "a working memory is there before one was written")
    await _beside([lambda: store.change_working(WorkingChange("resource", "u1", lambda old: (old or "") + "x"))] * 5)
    got = await store.working("resource", "u1")
    _require(got == "xxxxx", f"five changes at once leave {got!r}, not 'xxxxx'")
    _require(await store.working("thread", "u1") is None, "the working memories of a thread and a resource are one")


async def _check_leases(store: MemoryStore) -> None:
    _require(await store.acquire("kit", "one", 60), "a free lease is not given")
    _require(not await store.acquire("kit", "two", 60), "a lease that somebody holds is given to another")
    _require(await store.renew("kit", "one", 60), "a lease that is held cannot be renewed")
    _require(not await store.renew("kit", "two", 60), "a lease is renewed by somebody who does not hold it")
    lost = Turn("kit", "u1", _NOW, [MessageRow("kit", "y", "user", _NOW, '"y"')], lease="two")
    _require(await _refuses(store.save_turn(lost)), "a turn is saved with a lease that is not held")
    await store.release("kit", "one")
    _require(await store.acquire("kit", "two", 60), "a lease that was given back is not free")
    await store.release("kit", "two")


async def _refuses(call: Awaitable[Any]) -> bool:
    try:
        await call
    except StorageError:
        return True
    return False
