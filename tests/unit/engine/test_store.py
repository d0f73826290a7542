"""Where runs are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from sluiceway.engine import Claim, RunStore, StoredRun
from sluiceway.errors import RunError, StorageError

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "deep" / "runs.db")


async def begun(store: RunStore, run_id: str = "r1") -> Claim:
    claim = await store.claim_new(run_id, "w")
    assert isinstance(claim, Claim)
    return claim


async def test_a_run_is_kept_and_found(store: RunStore) -> None:
    claim = await begun(store)
    assert await store.load("r1") == StoredRun("r1", "w", "running", None)
    await store.save("r1", "w", "success", "{}", claim=claim)

    assert await store.load("r1") == StoredRun("r1", "w", "success", "{}")
    assert await store.claim_new("r1", "w") == StoredRun("r1", "w", "success", "{}")
    assert await store.load("other") is None


async def test_a_run_that_was_given_up_is_as_before(store: RunStore) -> None:
    await store.release(await begun(store))
    assert await store.load("r1") is None

    await store.save("r1", "w", "suspended", "{1}")
    claim = await store.claim_suspended("r1")
    await store.release(claim)
    assert await store.load("r1") == StoredRun("r1", "w", "suspended", "{1}")
    assert (await store.claim_suspended("r1")).stored == StoredRun("r1", "w", "suspended", "{1}")


async def test_only_one_holds_a_run(store: RunStore) -> None:
    await begun(store)
    with pytest.raises(RunError, match="'r1' was already resumed or started, and is being worked on"):
        await store.claim_new("r1", "w")

    await store.save("r2", "w", "suspended", "{}")
    await store.claim_suspended("r2")
    with pytest.raises(RunError, match="'r2' was already resumed"):
        await store.claim_suspended("r2")


@pytest.mark.parametrize(("status", "said"), [(None, "no run 'r1'"), ("success", "not suspended but success")])
async def test_what_does_not_wait_cannot_be_resumed(store: RunStore, status: str | None, said: str) -> None:
    if status == "success":
        await store.save("r1", "w", "success", "{}")
    with pytest.raises(RunError, match=said):
        await store.claim_suspended("r1")


async def test_a_claim_that_is_not_renewed_ends(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever lost it cannot save over the other's work."""
    now = 1000.0
    monkeypatch.setattr("sluiceway.engine._store.time.time", lambda: now)
    await store.save("r1", "w", "suspended", "{}")
    lost = await store.claim_suspended("r1")
    now = 1020.0
    await store.renew(lost)
    now = 1045.0
    with pytest.raises(RunError):
        await store.claim_suspended("r1")
    now = 1051.0
    other = await store.claim_suspended("r1")

    with pytest.raises(RunError, match="taken over by another"):
        await store.save("r1", "w", "success", "mine", claim=lost)
    await store.renew(lost)
    await store.release(lost)
    await store.save("r1", "w", "success", "theirs", claim=other)
    assert await store.load("r1") == StoredRun("r1", "w", "success", "theirs")


async def test_the_claim_of_a_process_that_is_gone_ends_at_once(store: RunStore) -> None:
    await store.save("r1", "w", "suspended", "{}")
    code = (
        "import anyio, sys; from sluiceway.engine import RunStore;"
        "anyio.run(RunStore(sys.argv[1]).claim_suspended, 'r1')"
    )
    done = await anyio.run_process([sys.executable, "-c", code, str(store.path)], env=dict(os.environ))
    assert done.returncode == 0

    assert (await store.claim_suspended("r1")).stored is not None


async def test_a_run_id_is_taken_once(store: RunStore) -> None:
    await store.save("r1", "w", "suspended", "first")
    with pytest.raises(RunError, match="taken over"):
        await store.save("r1", "w", "suspended", "second")
    assert (await store.load("r1")) == StoredRun("r1", "w", "suspended", "first")


async def test_runs_are_listed_the_newest_first(store: RunStore) -> None:
    for run_id, workflow, status in [("1", "a", "success"), ("2", "b", "suspended"), ("3", "a", "suspended")]:
        await store.save(run_id, workflow, status, "{}")  # pyright: ignore[reportArgumentType]

    assert [run.run_id for run in await store.list()] == ["3", "2", "1"]
    assert [run.run_id for run in await store.list(workflow_id="a")] == ["3", "1"]
    assert [run.run_id for run in await store.list(status="suspended")] == ["3", "2"]
    await store.delete("3")
    await store.delete("none")
    assert [run.run_id for run in await store.list(workflow_id="a", status="suspended")] == []


def open_files() -> list[str]:
    return [path.readlink().name for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]


async def test_no_file_stays_open_and_only_the_owner_may_read_it(store: RunStore) -> None:
    await begun(store)
    assert [name for name in open_files() if "runs.db" in name] == []
    assert [path.name for path in store.path.parent.iterdir()] == ["runs.db"]
    assert (store.path.stat().st_mode & 0o777, store.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_a_held_store_keeps_its_file_open_for_the_block(store: RunStore) -> None:
    async with store:
        await begun(store)
        assert (store.path.parent / "runs.db-wal").exists()
    assert not (store.path.parent / "runs.db-wal").exists()


async def test_a_store_in_memory_lives_as_long_as_it_is_open() -> None:
    store = RunStore.in_memory()
    await begun(store)
    assert await store.load("r1") == StoredRun("r1", "w", "running", None)
    await store.aclose()
    assert await store.load("r1") is None
    await store.aclose()


async def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_text("this is no database, but quite a long text " * 50)
    with pytest.raises(StorageError, match="something else, or damaged"):
        await RunStore(path).load("r1")
    assert path.read_text().startswith("this is no database")


async def test_a_path_that_cannot_be_made_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="file"):
        await RunStore(tmp_path / "file" / "runs.db").load("r1")


def test_the_default_store_lies_in_the_users_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert RunStore().path == tmp_path / "sluiceway" / "runs.db"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert RunStore().path == Path.home() / ".local/state/sluiceway/runs.db"


async def test_two_processes_share_one_file(store: RunStore) -> None:
    """Each of them writes many runs; none is lost."""
    await store.load("x")
    code = (
        "import anyio, sys\nfrom sluiceway.engine import RunStore\n"
        "async def main():\n    store = RunStore(sys.argv[1])\n"
        "    for n in range(20): await store.save(f'{sys.argv[2]}{n}', 'w', 'success', '{}')\n"
        "anyio.run(main)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(store.path), name])  # noqa: ASYNC220
        for name in ("a", "b")
    ]
    assert [await anyio.to_thread.run_sync(process.wait) for process in processes] == [0, 0]
    assert len(await store.list()) == 40
