"""Files and images: URL, data URL or bytes."""

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import FilePart, ImagePart

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.mark.parametrize(
    ("source", "media_type", "url", "data"),
    [
        (PNG, "image/png", None, PNG),
        (b"\xff\xd8\xff\xe0", "image/jpeg", None, b"\xff\xd8\xff\xe0"),
        (b"GIF89a", "image/gif", None, b"GIF89a"),
        (b"RIFF0000WEBPx", "image/webp", None, b"RIFF0000WEBPx"),
        (b"?", "image/*", None, b"?"),
        ("data:image/png;base64,AAEC", "image/png", "data:image/png;base64,AAEC", b"\x00\x01\x02"),
        ("data:image/svg+xml,%3Csvg%2F%3E", "image/svg+xml", "data:image/svg+xml,%3Csvg%2F%3E", b"<svg/>"),
        ("https://x.test/a.png", "image/*", "https://x.test/a.png", None),
        ("AAEC", "image/*", None, b"\x00\x01\x02"),
    ],
)
def test_an_image_knows_what_it_is(source: str | bytes, media_type: str, url: str | None, data: bytes | None) -> None:
    part = ImagePart(source)
    assert (part.media_type, part.url, part.data) == (media_type, url, data)


def test_a_given_media_type_wins() -> None:
    assert FilePart(PNG, "application/x-own").media_type == "application/x-own"
    assert FilePart(b"%PDF-1.7").media_type == "application/pdf"
    assert FilePart(url="https://x.test/a").media_type == "application/octet-stream"


def test_a_data_url_becomes_another_url() -> None:
    part = ImagePart("data:image/png;base64,AAEC", filename="a.png")
    part.url = "https://x.test/a.png"
    assert (part.url, part.data, part.media_type, part.revision) == ("https://x.test/a.png", None, "image/png", 1)


def test_bytes_as_a_data_url() -> None:
    assert FilePart(b"\x00\x01\x02", "application/x-a").data_url() == "data:application/x-a;base64,AAEC"
    assert FilePart(url="https://x.test/a").data_url() == "https://x.test/a"


def test_nothing_and_other_types_are_refused() -> None:
    with pytest.raises(MessageError, match="made from bytes or a URL, not NoneType"):
        FilePart()
    with pytest.raises(MessageError, match="not int"):
        ImagePart(7)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("url", ["data:image/png;base64", "data:;base64,A", "data:text/plain,\ud800"])
def test_a_broken_data_url_is_an_error_when_it_is_read(url: str) -> None:
    part = FilePart(url=url)
    with pytest.raises(MessageError):
        _ = part.data


def test_what_is_given_as_a_url_is_never_taken_for_base64() -> None:
    part = FilePart(url="AAEC")
    assert (part.url, part.data) == ("AAEC", None)
    part.url = "AAED"
    assert (part.url, part.data) == ("AAED", None)
