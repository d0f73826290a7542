"""Snapshots that are in people's stores keep loading, and what is written now is the same."""

from __future__ import annotations

import json

import pytest

from sluiceway.engine import RunStore
from tests.support.snapshots import FOLDER, SAMPLES, write

pytestmark = pytest.mark.anyio

STORED = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", STORED, ids=[path.stem for path in STORED])
async def test_a_stored_snapshot_loads_and_goes_on(path) -> None:
    sample = SAMPLES[path.stem.rpartition("-")[2]]
    store = RunStore.in_memory()
    document = path.read_text(encoding="utf-8")
    workflow = sample.build().commit()
    await store.save("sample", workflow.id, "suspended", document)

    loaded = await workflow.load("sample", store=store)
    result = await workflow.resume("sample", store=store, **sample.resume)

    assert (loaded.status, bool(loaded.suspended)) == ("suspended", True)
    if sample.output is None:
        assert [waits.step_id for waits in result.suspended] == ["b"]
    else:
        assert (result.status, result.output) == ("success", sample.output)
    await store.aclose()


@pytest.mark.parametrize("name", SAMPLES)
async def test_what_is_written_now_is_what_is_stored(name: str) -> None:
    """A change of the format is a new one, with samples of its own."""
    store = RunStore.in_memory()
    _, document = await write(SAMPLES[name], store)
    await store.aclose()
    stored = (FOLDER / f"format-1-{name}.json").read_text(encoding="utf-8")
    assert json.loads(document) == json.loads(stored)
    assert "never stored" not in document
