"""The example chat remembers across restarts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def chat(db: Path, said: str, *options: str) -> str:
    """Say some lines to a chat of its own process and return what it prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "chat.py"), "--db", str(db), "--user", "ann", *options],
        input=said,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_it_remembers_after_a_restart(tmp_path: Path) -> None:
    db = tmp_path / "chat.db"

    first = chat(db, "I live in Oslo\nmy card is 4111 1111 1111 1111\n/quit\n")
    again = chat(db, "/history\n/threads\n")
    other = chat(db, "/history\n", "--thread", "another")
    forgot = chat(db, "/forget\n/history\n/quit\n")
    empty = chat(db, "/history\n")

    assert "I live in Oslo" in first
    assert "Welcome back, ann. Last time:" in again
    assert again.count("user: I live in Oslo") == again.count("assistant: I live in Oslo") == 2
    assert "default" in again
    assert "4111 1111 1111" not in first + again
    assert b"4111 1111 1111" not in db.read_bytes()
    assert "Oslo" not in other
    assert "Forgotten." in forgot
    assert "Oslo" not in empty
