"""From the body of an answer to chunks, whatever the provider's events mean."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol, cast

from sluiceway.messages import Chunk
from sluiceway.models._errors import Refusals, parsed, said_by
from sluiceway.models._exchange import Exchange
from sluiceway.models._sse import EventTooLong, ServerEvent, SSEDecoder

__all__ = ["EventMapper", "chunks_of"]

_WHOLE_BYTES = 32 * 1024 * 1024
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,2000})", re.IGNORECASE)


class EventMapper(Protocol):
    """Knows what one provider's events mean."""

    @property
    def done(self) -> bool:
        """Whether the event that ends an answer has come."""
        ...

    def take(self, event: ServerEvent) -> Sequence[Chunk]:
        """Return the chunks of an event; `ModelError` where it reports an error or is broken."""
        ...

    def end(self) -> Sequence[Chunk]:
        """Return the last chunks; `ModelError` where the answer was broken off."""
        ...


async def chunks_of(answer: Exchange, mapper: EventMapper, refusals: Refusals) -> AsyncGenerator[Chunk]:
    """Read an answer to its end.

    Raises:
        ModelError: It is no event stream, is broken off, or reports an error.
    """
    if answer.content_type not in ("", "text/event-stream"):
        for chunk in mapper.take(await _whole(answer, refusals)):
            yield chunk
    else:
        decoder = SSEDecoder()
        while not mapper.done and (data := await answer.read()) is not None:
            for event in _events(decoder, data, refusals):
                for chunk in mapper.take(event):
                    yield chunk
        for event in () if mapper.done else decoder.end():
            for chunk in mapper.take(event):
                yield chunk
    for chunk in mapper.end():
        yield chunk
    await answer.finish()


def _events(decoder: SSEDecoder, data: bytes, refusals: Refusals) -> list[ServerEvent]:
    try:
        return decoder.feed(data)
    except EventTooLong:
        raise refusals.error("an event is longer than 32 MiB") from None


async def _whole(answer: Exchange, refusals: Refusals) -> ServerEvent:
    """Return the answer of a server that does not stream, as its only event.

    Raises:
        ModelError: It is no JSON, or an error with status 200.
    """
    body = await answer.read_all(_WHOLE_BYTES)
    value: object = parsed(body)
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else None
    if answer.content_type.endswith("json") and fields is not None and not fields.get("error"):
        return ServerEvent("", body)
    title = _TITLE.search(body.decode("utf-8", "replace"))
    said = said_by(cast("object", fields or value)) or (
        " ".join(title.group(1).split()) if title else refusals.outline(body)
    )
    raise refusals.error(
        f"expected an event stream, received {answer.content_type} ({len(body)} bytes): {refusals.clean(said)[:200]}",
        headers=answer.headers,
    )
