"""What the vector stores do that a random walk over them does not show."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.memory import InMemoryVectors, Match, SQLiteVectors, VectorEntry, VectorStore
from sluiceway.memory import _blocks as blocks

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["in-memory", "sqlite"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> VectorStore:
    """An empty vector store of each kind."""
    return InMemoryVectors() if request.param == "in-memory" else SQLiteVectors(tmp_path / "v.db")


def entry(name: str, *numbers: float, thread: str = "t1", resource: str | None = "u1") -> VectorEntry:
    return VectorEntry(thread, name, resource, numbers)


async def test_the_nearest_come_first(vectors: VectorStore) -> None:
    await vectors.prepare("i", 2, "m")
    await vectors.upsert("i", [entry("a", 1, 0), entry("b", 1, 1), entry("c", 0, 2), entry("z", 0, 0)])

    found = await vectors.query("i", [0, 1], top_k=3, resource_id="u1")

    assert [(match.message_id, round(match.score, 4)) for match in found] == [("c", 1.0), ("b", 0.7071), ("a", 0.0)]
    assert await vectors.query("i", [0, 1], top_k=1, resource_id="u1") == [Match("t1", "c", 1.0)]
    assert await vectors.query("j", [0, 1], top_k=1, resource_id="u1") == []


async def test_an_index_is_of_one_model(vectors: VectorStore) -> None:
    await vectors.prepare("i", 2, "m")
    await vectors.prepare("i", 2, "m")
    for dimension, model in ((3, "m"), (2, "n")):
        with pytest.raises(ConfigurationError, match="the vector index 'i' holds vectors of 'm' with 2 numbers"):
            await vectors.prepare("i", dimension, model)
    await vectors.prepare("j", 3, "n")


async def test_what_another_object_wrote_is_found(tmp_path: Path) -> None:
    """Another process, say: added, replaced and deleted behind a search that keeps what it has read."""
    one, two = SQLiteVectors(tmp_path / "v.db"), SQLiteVectors(tmp_path / "v.db")
    await one.prepare("i", 2, "m")

    async def names() -> list[str]:
        return [match.message_id for match in await one.query("i", [1, 0], top_k=9, resource_id="u1")]

    await two.upsert("i", [entry("a", 1, 0)])
    assert await names() == ["a"]
    await two.upsert("i", [entry(f"b{n}", 1, n) for n in range(1, 100)])
    assert (await names())[:3] == ["a", "b1", "b2"]
    await two.upsert("i", [entry("a", -1, 0)])
    assert (await names())[:2] == ["b1", "b2"]
    await two.delete([("t1", "b1"), ("t1", "gone")])
    assert (await names())[:2] == ["b2", "b3"]
    await two.delete_thread("t1")
    assert await names() == []


async def test_what_is_kept_between_searches_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_MOST_BYTES", 3 * 64 * 8 * 4)
    vectors = SQLiteVectors(tmp_path / "v.db")
    await vectors.prepare("i", 8, "m")
    for number in range(6):
        await vectors.upsert("i", [entry("a", *[1.0] * 8, thread=f"t{number}")])
    for _ in range(2):
        for number in range(6):
            found = await vectors.query("i", [1.0] * 8, top_k=1, thread_id=f"t{number}")
            assert [match.thread_id for match in found] == [f"t{number}"]
    assert len(vectors._blocks._blocks) == 3


async def test_a_search_agrees_with_plain_arithmetic(tmp_path: Path) -> None:
    numbers = random.Random(7)
    plain, quick = InMemoryVectors(), SQLiteVectors(tmp_path / "v.db")
    entries = [entry(f"m{n:03}", *(numbers.gauss(0, 1) for _ in range(16))) for n in range(500)]
    for store in (plain, quick):
        await store.prepare("i", 16, "m")
        await store.upsert("i", entries)
    for _ in range(5):
        wanted = [numbers.gauss(0, 1) for _ in range(16)]
        expected = await plain.query("i", wanted, top_k=10, resource_id="u1")
        found = await quick.query("i", wanted, top_k=10, resource_id="u1")
        assert [match.message_id for match in found] == [match.message_id for match in expected]
        assert [match.score for match in found] == pytest.approx([match.score for match in expected], abs=1e-5)


async def test_nothing_is_found_that_was_in_a_file_before(tmp_path: Path) -> None:
    vectors = SQLiteVectors(tmp_path / "v.db")
    for message in ("old", "new"):
        await vectors.prepare("i", 2, "m")
        await vectors.upsert("i", [VectorEntry("t1", message, "u1", [1.0, 0.0])])
        found = await vectors.query("i", [1.0, 0.0], top_k=9, resource_id="u1")
        assert [match.message_id for match in found] == [message]
        (tmp_path / "v.db").unlink()
