"""Texts made of personal data, of what looks like it, of prose and of odd characters."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["NEAR", "REAL", "cuts", "parted_texts", "pieces", "texts"]

REAL = [
    "ann@example.org",
    "bob.o'neil+x@mail.example.co.uk",
    "4111 1111 1111 1111",
    "4111111111111111",
    "378282246310005",
    "30569309025904",
    "4111\u20111111\u20111111\u20111111",
    "４１１１ １１１１ １１１１ １１１１",
    "4111 1111\n1111 1111",
    "4111.1111.1111.1111",
    "**4111 1111 1111 1111**",
    "123-45-6780",
    "123\u201145\n6780",
    "SSN: 123456780",
    "415-555-0100",
    "+49 30 901820",
    "+49\u00a030\n901820",
    "(415) 555-0100",
    "020 7946 0958",
    "DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432",
    "10.0.0.1",
    "2001:db8::1",
    "https://ann@host.example/a?b=1",
    "www.acme.test/x",
    "550e8400-e29b-41d4-a716-446655440000",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2",
    "sk-proj-abc123def456ghi789jkl",
    "password=hunter2hunter2xx",
    "Bearer abcdef0123456789",
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "0x52908400098527886E0F7030069857D2E4169EE7",
]
NEAR = [
    "ann@", "@example.org", "ann@example", "bob@x.", "4111 1111", "411111111111111", "12345678901234567890",
    "2468-1357-2468-1358", "1700000000000", "2024-01-15 10:30", "12.10.2024", "123-45", "000-12-3456", "415-555-",
    "+49", "(415", "DE89 3704", "GB82WEST", "10.0.0", "version 1.2.3.4", "12:34:56", "::1", "fe80:", "http", "https://",
    "www.", "550e8400-", "AKIA", "AK", "sk-", "ghp_", "password", "token:", "1A1zP", "bc1q", "0x5290", "-----BEGIN ",
    "PRIVATE KEY-----", "eyJhbGciOi.", "****", "*1111", "[EMAIL]",
]  # fmt: skip
JOINTS = [
    "",
    " ",
    "\n",
    "\u2011",
    "\u00a0",
    "1\n",
    "* ",
    "**",
    ".",
    ",",
    ", ",
    "-",
    "(",
    ")",
    ":",
    "/",
    "@",
    "'",
    '"',
    "0",
    "1",
    "a",
    "_",
    "*",
    "é",
    "字",
    "\u200b",
    "👩‍👧",
    "\x00",
    "\ud800",
]
PROSE = ["Please call", "the order", "see", "my mail is", "I'm", "No. 5 of 12", "über", "at 3.14"]


def texts(extra: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Texts of up to a dozen pieces with odd joints between them."""
    piece = st.one_of(
        st.sampled_from(REAL),
        st.sampled_from(NEAR),
        st.sampled_from([*extra, *PROSE]),
        st.text("0123456789 -", max_size=20),
        st.text(max_size=6),
    )
    joint = st.sampled_from(JOINTS)
    return st.lists(st.tuples(piece, joint), max_size=10).map(lambda xs: "".join(a + b for a, b in xs))


def parted_texts() -> st.SearchStrategy[str]:
    """Texts of up to a dozen pieces, each parted from the next as people part them."""
    piece = st.one_of(st.sampled_from(REAL), st.sampled_from(NEAR), st.sampled_from(PROSE))
    joint = st.sampled_from(["\n", ", ", "; ", " (", ") ", ": ", " and "])
    return st.lists(st.tuples(piece, joint), max_size=10).map(lambda xs: "".join(a + b for a, b in xs))


def cuts(text: str) -> st.SearchStrategy[list[int]]:
    """Places to cut a text at: none, one, a few, or between all characters."""
    some = st.lists(st.integers(0, len(text)), max_size=8).map(sorted)
    return st.one_of(some, st.just(list(range(len(text)))))


def pieces(text: str, places: Sequence[int]) -> list[str]:
    """Cut a text at these places; pieces may be empty."""
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
