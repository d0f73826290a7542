"""Files that are held by value become URLs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sluiceway import Message
from sluiceway.errors import ConfigurationError
from sluiceway.memory import AttachmentUploader
from sluiceway.messages import FilePart, ImagePart, TextPart
from tests.support.memory import ON, remembering

pytestmark = pytest.mark.anyio


class Shelf:
    """Where files go."""

    def __init__(self) -> None:
        self.got: list[tuple[bytes, str, str | None]] = []

    async def put(self, data: bytes, media_type: str, filename: str | None) -> str:
        self.got.append((data, media_type, filename))
        return f"https://shelf/{len(self.got)}"


def asked(*parts: Any, **more: Any) -> Message:
    return Message(parts=[TextPart("look"), *parts], **more)


async def test_the_prompt_and_the_store_have_urls() -> None:
    shelf = Shelf()
    agent, model, memory = remembering(input_processors=[AttachmentUploader(shelf.put)])
    message = asked(
        FilePart(b"bytes", "application/x", filename="f.bin"),
        ImagePart("data:image/png;base64,aGk="),
        ImagePart(url="https://example.org/i.png"),
        attachments=[FilePart(b"more", "text/plain")],
    )

    await agent.generate(message, memory=ON)

    assert sorted(shelf.got, key=str) == sorted(
        [(b"bytes", "application/x", "f.bin"), (b"hi", "image/png", None), (b"more", "text/plain", None)], key=str
    )
    stored = (await memory.recall("t1"))[0]
    files = [part for part in (*stored.parts, *stored.attachments) if isinstance(part, FilePart)]
    assert [file.url for file in files] == [
        "https://shelf/1",
        "https://shelf/2",
        "https://example.org/i.png",
        "https://shelf/3",
    ]
    assert "aGk=" not in str(model.prompts[0])
    assert isinstance(message.parts[1], FilePart)
    assert message.parts[1].data == b"bytes", "the caller's own message stays as it is"


async def test_uploads_of_one_message_run_together() -> None:
    both, count = anyio.Event(), 0

    async def meet(data: bytes, media_type: str, filename: str | None) -> str:
        nonlocal count
        count += 1
        if count == 2:
            both.set()
        with anyio.fail_after(5):
            await both.wait()
        return "https://x"

    agent, _, _ = remembering(input_processors=[AttachmentUploader(meet)])
    result = await agent.generate(asked(FilePart(b"1"), FilePart(b"2")))
    assert result.tripwire is None


async def test_small_files_stay() -> None:
    shelf = Shelf()
    agent, _, _ = remembering(input_processors=[AttachmentUploader(shelf.put, min_bytes=3)])
    await agent.generate(asked(FilePart(b"12"), FilePart(b"123")))
    assert [data for data, _, _ in shelf.got] == [b"123"]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (FilePart(b"1", filename="cv.pdf"), "the file 'cv.pdf' could not be uploaded"),
        (ImagePart(b"\x89PNG\r\n\x1a\n"), "the file of type image/png could not be uploaded"),
        (FilePart("data:application/pdf", filename="cv.pdf"), "the file 'cv.pdf' cannot be read"),
    ],
)
async def test_a_failed_upload_is_an_abort_that_names_the_file(part: Any, reason: str) -> None:
    def fail(data: bytes, media_type: str, filename: str | None) -> str:
        raise OSError("disk /secret/path is full")

    agent, model, memory = remembering(input_processors=[AttachmentUploader(fail)])
    result = await agent.generate(asked(part), memory=ON)

    assert result.tripwire is not None
    assert result.tripwire.processor_id == "attachment-uploader"
    assert result.tripwire.reason.startswith(reason)
    assert "/secret/path" not in repr(result.tripwire)
    assert model.calls == []
    assert await memory.recall("t1") == []


@pytest.mark.parametrize("answer", [None, "", 7])
async def test_an_upload_that_gives_no_url_has_failed(answer: Any) -> None:
    agent, _, _ = remembering(input_processors=[AttachmentUploader(lambda data, media_type, filename: answer)])
    result = await agent.generate(asked(FilePart(b"1", filename="a")))
    assert result.tripwire is not None


@pytest.mark.parametrize(
    "options", [{"upload": None}, {"upload": print, "min_bytes": -1}, {"upload": print, "min_bytes": 1.5}]
)
def test_options_that_are_not_allowed(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        AttachmentUploader(**options)
