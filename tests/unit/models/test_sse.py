"""SSEDecoder: the same events however the bytes are cut."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from httpx_sse._decoders import SSEDecoder as OtherDecoder
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.models._sse import EventTooLong, ServerEvent, SSEDecoder

LINE_ENDS = re.compile(r"[\r\n\0\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

lines = st.one_of(
    st.text(max_size=6).map(lambda text: f"data: {text}"),
    st.text(max_size=6).map(lambda text: f"data:{text}"),
    st.sampled_from(["", "", "", ":", ": ping", "event: x", "event", "id: 7", "retry: 5", "data", "odd: a"]),
    st.text(max_size=6),
)
streams = st.lists(st.tuples(lines, st.sampled_from(["\n", "\r", "\r\n"])), max_size=20).map(
    lambda parts: "".join(LINE_ENDS.sub("", line) + end for line, end in parts)
)


def decoded(*pieces: bytes, end: bool = False) -> list[tuple[str, str]]:
    decoder = SSEDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    if end:
        events += decoder.end()
    return [(event.name, event.data.decode()) for event in events]


def by_another(stream: str) -> list[tuple[str, str]]:
    """What httpx-sse makes of it, empty data left out as the standard has it."""
    decoder, events = OtherDecoder(), []
    for line in stream.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]:
        event = decoder.decode(line)
        if event is not None:
            events.append(event)
    return [(event.event, event.data) for event in events]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\r\n\r\n", [("", "a")]),
        (b"data: a\r\ndata: b\r\n\r\n", [("", "a\nb")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data: a\n\ndata: b\n\ndata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
        (b"event: ping\ndata: {}\n\n", [("ping", "{}")]),
        (b"data: a\ndata:  b\ndata\n\n", [("", "a\n b\n")]),
        (b": keep-alive\n\n: keep-alive\n\ndata: a\n\n", [("", "a")]),
        (b"event: lost\n\ndata: a\n\n", [("", "a")]),
        (b"id: 1\nretry: 5\nodd: x\ndata: a\n\n", [("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        ("data: \u2028é\x85\n\n".encode(), [("", "\u2028é\x85")]),
        (b"data: a", []),
        (b"", []),
    ],
)
def test_a_stream_gives_its_events(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert decoded(stream) == events
    assert decoded(*(stream[i : i + 1] for i in range(len(stream)))) == events


@pytest.mark.parametrize("stream", [b"data: a", b"data: a\n", b"data: a\r", b"data: a\r\n"])
def test_an_event_that_nothing_ends_is_given_at_the_end(stream: bytes) -> None:
    assert (decoded(stream), decoded(stream, end=True)) == ([], [("", "a")])


def test_nothing_more_is_given_at_the_end_of_a_whole_stream() -> None:
    assert decoded(b"data: a\n\n: bye\n", end=True) == [("", "a")]


@given(streams, st.lists(st.integers(min_value=0, max_value=200), max_size=6))
def test_cuts_change_nothing(stream: str, places: list[int]) -> None:
    data = stream.encode()
    cuts = [0, *sorted(place for place in places if place <= len(data)), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(cuts)]
    assert decoded(*pieces) == decoded(data)


@given(streams)
def test_it_agrees_with_another_decoder(stream: str) -> None:
    """httpx-sse dispatches an event that has a name or an id but no data; the standard does not."""
    ours = decoded(stream.encode())
    theirs = [event for event in by_another(stream) if event in ours or event[1]]
    assert [data for _, data in ours if data] == [data for _, data in theirs if data]


def fed(decoder: SSEDecoder, stream: bytes, cut: int) -> list[ServerEvent]:
    pieces = [stream[start : start + cut] for start in range(0, len(stream), cut)]
    return [event for piece in pieces for event in decoder.feed(piece)]


@pytest.mark.parametrize("cut", [1, 7, 64 * 1024])
def test_an_event_past_the_limit_is_refused_however_it_comes(cut: int) -> None:
    for stream in (b"data: " + b"x" * 2000, b"data: xxxxxxxxxxxx\n" * 200, b": " + b"x" * 2000):
        with pytest.raises(EventTooLong):
            fed(SSEDecoder(limit_bytes=1000), stream, cut)


def test_the_limit_is_for_one_event_not_for_the_stream() -> None:
    decoder = SSEDecoder(limit_bytes=100)
    stream = b"data: " + b"x" * 90 + b"\n\n"
    events = fed(decoder, stream * 50, 40)
    assert events == [ServerEvent("", b"x" * 90)] * 50


def test_a_long_line_in_small_pieces_takes_linear_time() -> None:
    def seconds(pieces: int) -> float:
        decoder, piece = SSEDecoder(), b"x" * 64
        started = time.thread_time()
        for _ in range(pieces):
            decoder.feed(piece)
        decoder.feed(b"\n\n")
        return time.thread_time() - started

    few = min(seconds(4_000) for _ in range(3))
    many = min(seconds(64_000) for _ in range(3))
    assert many / few < 80  # 16 where it is linear, 256 where it is not
