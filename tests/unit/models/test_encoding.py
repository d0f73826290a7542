"""unpacker: bodies that were compressed on the way."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluiceway.models._encoding import BadEncoding, unpacker


@given(st.binary(max_size=300), st.integers(min_value=1, max_value=50))
def test_a_body_is_unpacked_piece_by_piece(body: bytes, size: int) -> None:
    for name, packed in (
        ("gzip", gzip.compress(body)),
        (" X-GZIP ", gzip.compress(body)),
        ("deflate", zlib.compress(body)),
        ("identity", body),
        ("", body),
    ):
        unpack = unpacker(name)
        pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
        assert b"".join(unpack(piece) for piece in pieces) == body


def test_a_small_piece_that_unpacks_to_a_huge_one_is_refused() -> None:
    with pytest.raises(BadEncoding, match=r"\Agzip that unpacks to more than 32 MiB at once\Z"):
        unpacker("gzip")(gzip.compress(bytes(33 * 1024 * 1024)))


def test_what_is_not_packed_as_it_says_is_refused() -> None:
    with pytest.raises(BadEncoding, match="no deflate: "):
        unpacker("deflate")(b"plain")
    with pytest.raises(BadEncoding, match=r"encoded as br, which was not asked for"):
        unpacker("br")
