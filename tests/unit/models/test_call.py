"""ModelCall: retries and fallbacks, all before the first chunk."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sluiceway.errors import ConfigurationError, ModelError, TripWire
from sluiceway.messages import Chunk, Prompt
from sluiceway.models import Backoff, Model, ModelCall, ModelRequest, ScriptedModel

pytestmark = pytest.mark.anyio


def request(**settings: Any) -> ModelRequest:
    return ModelRequest(Prompt(()), settings=settings, run_id="r")


def refusing(status: int | None, *, then: str | None = None, retries: int = 2, **more: Any) -> ScriptedModel:
    error = {"status": status, "message": f"refused {status}", **more}
    replies: list[Any] = [{"error": error}] if then is None else [{"error": error}, then]
    return ScriptedModel(replies, model_id=f"m{status}", max_retries=retries)


async def text_of(models: Sequence[Model], asked: ModelRequest | None = None) -> str:
    call = ModelCall(models, asked or request())
    try:
        await call.open()
        text = ""
        while (chunk := await call.next()) is not None:
            text += chunk.text
        return text
    finally:
        await call.close()


class Watched:
    """A model that counts how many of its streams are open."""

    provider = "watched"
    model_id = "watched"
    structured = True

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.open = 0
        self.calls = 0

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        self.calls += 1
        async with self.inner.stream(request) as chunks:
            self.open += 1
            try:
                yield chunks
            finally:
                await anyio.lowlevel.checkpoint()  # as a real connection does when it is closed
                self.open -= 1


async def test_a_call_gives_every_chunk_and_then_none() -> None:
    call = ModelCall([ScriptedModel([["a", "b"]])], request())
    await call.open()
    types: list[str] = []
    while (chunk := await call.next()) is not None:
        types.append(chunk.type)
    assert types == ["text-start", "text-delta", "text-delta", "text-end", "finish"]
    assert await call.next() is None
    await call.close()


@pytest.mark.parametrize(
    ("status", "calls"),
    [(401, 1), (403, 1), (400, 1), (404, 1), (408, 3), (409, 3), (429, 3), (500, 3), (529, 3), (None, 1)],
)
async def test_b114_only_what_may_pass_later_is_tried_again(status: int | None, calls: int) -> None:
    model = refusing(status)
    with pytest.raises(ModelError, match=f"refused {status}"):
        await text_of([model])
    assert len(model.calls) == calls


async def test_b114_an_unknown_error_is_tried_again_where_that_is_switched_on() -> None:
    model = refusing(None)
    with pytest.raises(ModelError):
        await text_of([model], request(retry_unknown_errors=True))
    refused = refusing(401)
    with pytest.raises(ModelError):
        await text_of([refused], request(retry_unknown_errors=True))
    assert (len(model.calls), len(refused.calls)) == (3, 1)


async def test_a_refused_call_succeeds_on_being_made_again() -> None:
    model = refusing(500, then="fine")
    call = ModelCall([model], request())
    await call.open()
    assert [str(error) for error in call.failures] == ["refused 500"]
    assert call.model is model
    await call.close()
    assert len(model.calls) == 2


async def test_b113_retries_do_not_multiply_over_a_fallback_list() -> None:
    first, second = refusing(500), refusing(503)
    with pytest.raises(ModelError, match="refused 503"):
        await text_of([first, second])
    assert (len(first.calls), len(second.calls)) == (3, 3)


@pytest.mark.parametrize("status", [400, 401, 500, None])
async def test_any_refusal_falls_back(status: int | None) -> None:
    refused, other = refusing(status, retries=0), ScriptedModel("from the other")
    call = ModelCall([refused, other], request())
    await call.open()
    assert call.model is other
    assert [str(error) for error in call.failures] == [f"refused {status}"]
    await call.close()
    assert await text_of([refused, other]) == "from the other"


async def test_the_setting_goes_before_what_the_model_says() -> None:
    never, often = refusing(500), refusing(500, retries=0)
    for model, retries in ((never, 0), (often, 3)):
        with pytest.raises(ModelError):
            await text_of([model], request(max_retries=retries))
    assert (len(never.calls), len(often.calls)) == (1, 4)


@pytest.mark.parametrize("retries", [-1, "2", 1.5])
async def test_a_setting_that_is_no_count_is_refused(retries: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_retries is a number from 0 up"):
        await text_of([ScriptedModel("a")], request(max_retries=retries))


async def test_b121_a_tripwire_passes_untouched() -> None:
    trip = TripWire("stop here")
    first, second = ScriptedModel([{"error": trip}], max_retries=2), ScriptedModel("never")
    with pytest.raises(TripWire) as caught:
        await text_of([first, second])
    assert caught.value is trip
    assert (len(first.calls), len(second.calls)) == (1, 0)


async def test_b122_a_fault_of_the_program_is_neither_tried_again_nor_passed_over() -> None:
    first, second = ScriptedModel([{"error": ValueError("bug")}], max_retries=2), ScriptedModel("never")
    with pytest.raises(ValueError, match="bug"):
        await text_of([first, second], request(retry_unknown_errors=True))
    assert (len(first.calls), len(second.calls)) == (1, 0)


@pytest.mark.parametrize("reply", [{"text": ["a"], "stream_error": {"status": 500, "message": "broke"}}])
async def test_after_the_first_chunk_nothing_is_tried_again(reply: Any) -> None:
    first, second = ScriptedModel([reply], max_retries=2), ScriptedModel("never")
    with pytest.raises(ModelError, match="broke"):
        await text_of([first, second])
    assert (len(first.calls), len(second.calls)) == (1, 0)


async def test_an_error_before_the_first_chunk_of_an_open_stream_is_tried_again() -> None:
    watched = Watched(ScriptedModel([{"stream_error": {"status": 500, "message": "broke"}}, "fine"]))
    assert await text_of([watched], request(max_retries=1)) == "fine"
    assert (watched.calls, watched.open) == (2, 0)


async def test_every_stream_is_closed_also_when_its_reader_is_cancelled() -> None:
    watched = Watched(ScriptedModel([{"text": ["a", "b"], "delay_s": 10}]))
    call = ModelCall([watched], request())
    with anyio.move_on_after(0.02):
        await call.open()
        assert (await call.next(), watched.open) != (None, 0)
        await call.next()
    await call.close()
    await call.close()
    assert (watched.open, await call.next()) == (0, None)


async def test_a_cancelled_opening_leaves_nothing_open() -> None:
    watched = Watched(ScriptedModel([{"text": ["a"], "delay_s": 10}]))

    call = ModelCall([Slow(watched)], request())
    with anyio.move_on_after(0.02) as scope:
        await call.open()
    await call.close()
    assert (scope.cancelled_caught, watched.calls, watched.open) == (True, 1, 0)


class Slow:
    """A model whose first chunk takes long."""

    provider = model_id = "slow"
    structured = True

    def __init__(self, inner: Watched) -> None:
        self.inner = inner

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async with self.inner.stream(request) as chunks:
            yield self._late(chunks)

    async def _late(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        await anyio.sleep(10)
        async for chunk in chunks:
            yield chunk


async def test_a_call_can_be_closed_in_a_cancelled_scope() -> None:
    watched = Watched(ScriptedModel([["a", "b"]]))
    call = ModelCall([watched], request())
    await call.open()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await call.close()
    assert watched.open == 0


def test_a_call_needs_a_model() -> None:
    with pytest.raises(ConfigurationError, match="a call needs a model"):
        ModelCall([], request())


async def test_a_provider_that_asks_for_a_wait_gets_it() -> None:
    model = refusing(429, then="fine", retry_after_s=0.05)
    started = anyio.current_time()
    assert await text_of([model]) == "fine"
    assert anyio.current_time() - started >= 0.049


async def test_a_provider_that_asks_for_too_long_a_wait_is_not_asked_again() -> None:
    slow, other = refusing(429, then="late", retry_after_s=3600), ScriptedModel("at once")
    assert await text_of([slow, other]) == "at once"
    assert len(slow.calls) == 1


def test_waits_double_up_to_a_limit_and_vary_by_half() -> None:
    most = Backoff(first_s=1, most_s=5, jitter=lambda: 1.0)
    least = Backoff(first_s=1, most_s=5, jitter=lambda: 0.0)
    assert [most.wait_s(retry, None) for retry in (0, 1, 2, 3, 500)] == [1, 2, 4, 5, 5]
    assert [least.wait_s(retry, None) for retry in (0, 1, 2, 3, 500)] == [0.5, 1, 2, 2.5, 2.5]


def test_an_asked_wait_goes_before_the_backoff() -> None:
    backoff = Backoff(most_asked_s=10)
    assert [backoff.wait_s(0, asked) for asked in (0, -1, 7.5, 10, 10.5)] == [0, 0, 7.5, 10, None]
