"""A PostgreSQL server for tests: one that is given, or a private one on a free port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

__all__ = ["fresh_schema", "has_postgres", "postgres_server"]

GIVEN = "SLUICEWAY_TEST_POSTGRES_URL"


@contextmanager
def postgres_server() -> Generator[str]:
    """Give the URL of a server: that of the environment, else of one that runs meanwhile."""
    given = os.environ.get(GIVEN)
    if given:
        yield given
        return
    programs = _programs()
    if programs is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing(f"there is no PostgreSQL on this machine; install one, or set {GIVEN}")
    folder = Path(tempfile.mkdtemp(prefix="sluiceway-postgres-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        data = folder / "data"
        _run(programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N")
        port = _free_port()
        settings = f"-p {port} -h 127.0.0.1 -c unix_socket_directories= -c fsync=off -c shared_buffers=16MB"
        _run(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", settings, "start")
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def has_postgres() -> bool:
    """Whether `postgres_server` gives one here."""
    return bool(os.environ.get(GIVEN)) or _programs() is not None


def fresh_schema(url: str) -> str:
    """Return the URL of the same database with an empty schema of its own."""
    name = f"t{uuid4().hex[:16]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return f"{url}{'&' if '?' in url else '?'}options={quote(f'-csearch_path={name}')}"


def _programs() -> Path | None:
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    if os.getuid() == 0:  # the server refuses to run as root
        words = ["runuser", "-u", "postgres", "--", *words]
    # The server inherits what is captured, so it goes to a file: a pipe would never end.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(words, stdout=output, stderr=output, cwd="/", check=False)
        if done.returncode:
            output.seek(0)
            raise RuntimeError(f"{words}: {output.read().decode(errors='replace')}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
