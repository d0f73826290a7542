"""Many streams at once through `sluiceway serve --upstream` with three guardrails, against the provider alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import anyio

from benchmarks._row import Row, Size, ratio
from benchmarks._row import time as time_row

ROUNDS = 3
WORDS = 30
CARD = "4111 1111 1111 1111"
TEXT = f"My card is {CARD} and " + " ".join(f"word{number}" for number in range(WORDS - 8))
APP = """
from sluiceway import Agent
from sluiceway.processors import PIIDetector, PromptInjectionDetector, UnicodeNormalizer

agent = Agent(
    id="guarded",
    model="echo/echo",
    input_processors=[UnicodeNormalizer(), PIIDetector(strategy="redact"), PromptInjectionDetector(strategy="block")],
    output_processors=[PIIDetector(strategy="redact")],
)
"""


@dataclass
class Round:
    """What many streams at once came to.

    Args:
        seconds: From the first request to the last byte.
        first_s: Of each stream, until its first text.
        whole: How many ended as they should, with the text that they should have.
    """

    seconds: float = 0.0
    first_s: list[float] = field(default_factory=list[float])
    whole: int = 0


@contextmanager
def program(*command: str, says: str) -> Iterator[tuple[str, int]]:
    """Run a program, and give the address that it prints and its process id."""
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            assert run.stdout is not None
            words = run.stdout.readline().split()
            address = next(word.rstrip(",").partition("#")[0] for word in words if word.startswith("http"))
            assert says in address
            yield address, run.pid
        finally:
            run.terminate()


async def stream(url: str, round_: Round, expected: str) -> None:
    """Ask for one answer and read it to its end, by hand: a client should not be what is measured."""
    parts = urlsplit(url)
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": TEXT}]}).encode()
    head = (
        f"POST {parts.path}/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    started = time.perf_counter()
    first: float | None = None
    pieces: list[bytes] = []
    async with await anyio.connect_tcp(parts.hostname or "", parts.port or 80) as connection:
        await connection.send(head.encode() + body)
        while b"[DONE]" not in b"".join(pieces[-2:]):
            pieces.append(await connection.receive())
            if first is None and b"My" in pieces[-1]:
                first = time.perf_counter() - started
    if text_of(b"".join(pieces)) == expected:
        round_.whole += 1
    if first is not None:
        round_.first_s.append(first)


def text_of(answer: bytes) -> str:
    """Return the text of an answer's chunks."""
    lines = [line for line in answer.decode().splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for line in lines for choice in json.loads(line[6:])["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


async def many(url: str, count: int, expected: str) -> Round:
    """Ask for many answers at once."""
    round_ = Round()
    started = time.perf_counter()
    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(stream, url, round_, expected)
    round_.seconds = time.perf_counter() - started
    return round_


def cpu_s(pid: int) -> float:
    """Return how much processor time a process has taken; 0 where that cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kb(pid: int) -> float:
    """Return how much memory a process holds, in KB; 0 where that cannot be read."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


async def measure(size: Size) -> list[Row]:
    """Measure both ways, several times each; the best counts, since other programs run beside them."""
    count = 500 if size.n >= 20_000 else 100
    guarded = f"{TEXT.replace(CARD, '**** **** **** 1111')} "
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(APP, encoding="utf-8")
        with program("-m", "tests.integration.modelserver", says="http://127.0.0.1") as (upstream, _):
            plain = [await many(upstream, count, f"{TEXT} ") for _ in range(ROUNDS)]
            code = "from sluiceway.cli import main; main()"
            command = ("-c", code, "serve", str(app), "--port", "0", "--upstream", upstream)
            with program(*command, says="/v1") as (url, pid):
                await many(url, 10, guarded)
                rounds: list[Round] = []
                resident: list[float] = []
                before = cpu_s(pid)
                for _ in range(ROUNDS):
                    rounds.append(await many(url, count, guarded))
                    resident.append(resident_kb(pid))
                used = (cpu_s(pid) - before) / (ROUNDS * count)
    return rows_of(count, plain, rounds, resident, used)


def rows_of(
    count: int, plains: Sequence[Round], rounds: Sequence[Round], resident: Sequence[float], used_s: float
) -> list[Row]:
    """Return the figures."""
    best, plain = (min(some, key=lambda one: one.seconds) for some in (rounds, plains))
    name = f"{count} streams at once through serve, three guardrails"
    lost = sum(count - one.whole for one in (*plains, *rounds))
    first, other = median(best.first_s) * 1e3, median(plain.first_s) * 1e3
    chunks = count * WORDS
    return [
        ratio(name, "the provider alone", best.seconds / plain.seconds, 3.0, limit=10.0,
              own_s=best.seconds, plain_s=plain.seconds, chunks_per_s=chunks / best.seconds,
              cpu_ms_per_stream=used_s * 1e3),
        Row(f"{name}: not complete", "none", float(lost), "×", 0.0, limit=0.5),
        Row(f"{name}: memory after {ROUNDS} rounds", "after the first", resident[-1] / (resident[0] or 1.0), "×", 1.05,
            limit=1.3, details={"first_kb": resident[0], "last_kb": resident[-1]}),
        time_row(f"{name}: first text", first, "ms", 3000.0, provider_alone_ms=other),
    ]  # fmt: skip
