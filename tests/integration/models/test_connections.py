"""Connections: shared, reused, closed on cancellation, and never left behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from sluiceway import Agent
from sluiceway.errors import ConfigurationError, ModelError
from sluiceway.models import ModelCall, OpenAIChat, hold_connections
from tests.integration.models._calls import BOTH, KEY, Make, answer, asking, failure, openai, quick, text
from tests.integration.modelserver import Answer, Hang, ModelServer, chat, sse, transcript

pytestmark = pytest.mark.anyio

STREAM = {"content-type": "text/event-stream"}
FIRST = sse({"id": "x", "choices": [{"delta": {"content": "first"}}]})


def ways(server: ModelServer) -> int:
    """How many connections the requests came by."""
    return len({request.connection for request in server.requests})


async def test_calls_apart_have_connections_of_their_own(server: ModelServer) -> None:
    server.play(chat("ok"))
    for _ in range(3):
        assert await text(openai(server)) == "ok"
    assert ways(server) == 3


@BOTH
async def test_an_entered_model_keeps_its_connection(server: ModelServer, make: Make, name: str, plain: str) -> None:
    server.play(Answer([transcript(plain)]))
    async with make(server) as model:
        for _ in range(3):
            await answer(model)
    await answer(model)
    assert ways(server) == 2


async def test_all_models_of_a_loop_share_what_somebody_holds_open(server: ModelServer) -> None:
    server.play(chat("ok"))
    held = hold_connections()
    other = hold_connections()
    await answer(openai(server))
    await answer(openai(server, provider="vllm"))
    await held.aclose()
    await held.aclose()
    await answer(openai(server))
    assert ways(server) == 1
    await other.aclose()
    await answer(openai(server))
    assert ways(server) == 2


async def test_what_is_let_go_cannot_be_used(server: ModelServer) -> None:
    held = hold_connections()
    await held.aclose()
    with pytest.raises(ConfigurationError, match="these connections are closed"):
        held.client()


async def test_a_connection_is_reused_only_after_a_whole_answer(server: ModelServer) -> None:
    server.play(Answer([FIRST, Hang()]), chat("ok"))
    async with openai(server) as model:
        async with model.stream(asking()) as chunks:
            await anext(chunks)
        assert await text(model) == "ok"
    assert ways(server) == 2
    assert server.requests[0].left.wait(2)


@BOTH
async def test_cancelling_closes_the_connection(server: ModelServer, make: Make, name: str, plain: str) -> None:
    for silence in (Answer([Hang()], framing="raw"), Answer([Hang()]), Answer([b": ping\n\n", Hang()])):
        server.play(silence)
        with anyio.move_on_after(0.3) as scope:
            await answer(make(server))
        assert scope.cancelled_caught
        assert server.requests[0].left.wait(2)


async def test_leaving_early_closes_the_connection_and_leaves_nothing_to_the_collector(
    server: ModelServer,
) -> None:
    """Warnings are errors here: an async generator left half-read would be one on trio."""
    server.play(Answer([FIRST, Hang()]))
    got: list[str] = []
    async with openai(server).stream(asking()) as chunks:
        async for chunk in chunks:
            got.append(chunk.text)
            if chunk.text:
                break
        leaving = anyio.current_time()
    assert anyio.current_time() - leaving < 3
    gc.collect()
    assert got == ["", "", "first"]
    assert server.requests[0].left.wait(2)


async def test_cancelling_at_every_await_leaves_the_next_call_working(server: ModelServer) -> None:
    """Cancels at the first checkpoint, the second, and so on, until the call is through."""
    server.play(Answer([FIRST, *([sse({"choices": [{"delta": {"content": "x"}}]})] * 3), *chat("end").steps]))
    through = False
    async with openai(server) as model:
        for steps in range(1, 400):
            async with anyio.create_task_group() as group:
                done = anyio.Event()

                async def call(done: anyio.Event = done) -> None:
                    await answer(model)
                    done.set()

                group.start_soon(call)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                through = done.is_set()
                group.cancel_scope.cancel()
            if through:
                break
        assert await text(model) == "firstxxxend"
    gc.collect()


async def test_a_hundred_calls_at_a_time_stay_apart(server: ModelServer) -> None:
    server.respond(lambda request: chat(*request.json["messages"][0]["content"]))
    got: dict[int, str] = {}

    async with openai(server) as model:

        async def ask(number: int) -> None:
            got[number] = await text(model, asking(f"n{number}"))

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(ask, number)
    assert got == {number: f"n{number}" for number in range(100)}


async def test_no_scope_stays_open_between_two_reads(server: ModelServer) -> None:
    """Two calls read in turns, closed in the wrong order, from tasks that did not open them."""
    server.play(chat("a", "b", "c"))
    one, two = (ModelCall([openai(server)], asking()) for _ in range(2))
    await one.open()
    await two.open()
    await one.next()
    await two.next()

    async def elsewhere() -> None:
        await one.next()
        await one.close()

    async with anyio.create_task_group() as group:
        group.start_soon(elsewhere)
    rest = ""
    while (chunk := await two.next()) is not None:
        rest += chunk.text
    await two.close()
    assert rest == "abc"


@pytest.mark.parametrize("kind", ["model", "agent"])
def test_one_model_or_agent_entered_in_the_loops_of_two_threads(
    server: ModelServer, kind: str, anyio_backend: str
) -> None:
    """The one that leaves first closes nothing of the other's, least of all from its own loop."""
    server.play(chat("ok"))
    model = openai(server)
    entered = model if kind == "model" else Agent(id="a", model=model)
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    async def first() -> None:
        async with entered:
            await text(model)
            first_in.set()
            await anyio.to_thread.run_sync(second_in.wait, 10)

    async def second() -> None:
        await anyio.to_thread.run_sync(first_in.wait, 10)
        async with entered:
            await text(model)
            second_in.set()
            await anyio.to_thread.run_sync(first_out.wait, 10)
            await text(model)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(anyio.run, work, backend=anyio_backend) for work in (first, second)]
        both[0].add_done_callback(lambda _: first_out.set())
        for done in both:
            done.result(20)
    assert [request.connection - server.requests[0].connection for request in server.requests] == [0, 1, 1]


class Stalling(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield FIRST
        await anyio.sleep(30)


async def test_a_client_of_the_users_own_is_used_and_not_closed(server: ModelServer) -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=transcript("chat_plain.sse"))

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle), headers={"x-mine": "1"}) as client:
        model = OpenAIChat("m-1", base_url="http://nowhere.test/v1", client=client)
        async with model:
            assert await text(model) == "Grüße aus Köln 🌉."
        assert await text(model) == "Grüße aus Köln 🌉."
        assert not client.is_closed
    assert [(str(request.url), request.headers["x-mine"]) for request in seen] == [
        ("http://nowhere.test/v1/chat/completions", "1")
    ] * 2


async def test_a_client_of_the_users_own_keeps_to_the_limits_too() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=STREAM, stream=Stalling()))
    async with httpx.AsyncClient(transport=transport) as client:
        model = OpenAIChat("m", base_url="http://nowhere.test", client=client, timeouts=quick(read_s=0.1))
        error, got = await failure(model)
    assert (str(error), got) == (
        f"openai: nothing came for 0.1 s, {len(FIRST)} bytes received before",
        "first",
    )


async def test_a_client_of_httpx2_does_as_well(server: ModelServer) -> None:
    server.play(Answer([transcript("chat_plain.sse")]), Answer([FIRST, Hang()]))
    async with httpx2.AsyncClient() as client:
        model = openai(server, client=client, timeouts=quick())
        assert await text(model) == "Grüße aus Köln 🌉."
        error, got = await failure(model)
        assert (got, "nothing came for 0.3 s" in str(error)) == ("first", True)
        async with model.stream(asking()) as chunks:
            await anext(chunks)
        refused, _ = await failure(OpenAIChat("m", base_url="http://127.0.0.1:9", client=client))
        assert str(refused).startswith("openai: no connection (ConnectError")
    gc.collect()


@pytest.mark.parametrize("client", [httpx.Client(), "client", httpx.Timeout(5)])
async def test_what_is_no_asynchronous_client_is_refused(client: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"client is an httpx.AsyncClient or None, not"):
        OpenAIChat("m", client=client)


async def test_an_error_in_the_readers_own_code_goes_through_and_closes(server: ModelServer) -> None:
    server.play(Answer([FIRST, Hang()]))
    own = ValueError("mine")

    async def read() -> None:
        async with openai(server).stream(asking()) as chunks:
            async for _ in chunks:
                raise own

    with pytest.raises(ValueError, match="mine") as caught:
        await read()
    assert caught.value is own
    assert server.requests[0].left.wait(2)


async def test_a_model_that_failed_answers_the_next_call(server: ModelServer) -> None:
    server.play(Answer([FIRST]), chat("ok"))
    async with openai(server) as model:
        with pytest.raises(ModelError):
            await answer(model)
        assert await text(model) == "ok"


def test_a_model_shows_no_key() -> None:
    model = OpenAIChat("m-1", api_key=KEY, headers={"x-token": KEY})
    assert repr(model) == "OpenAIChat('m-1', provider='openai')"
    assert KEY not in repr(vars(model))
