"""Runs the commands that pages and examples show, most in this process: each costs milliseconds, not a second."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sluiceway.cli import main

__all__ = ["Said", "shell"]

ROOT = Path(__file__).resolve().parents[2]


class Said(NamedTuple):
    """What a command left: its exit code, and what it printed."""

    code: int
    text: str


def shell(line: str, folder: Path) -> Said:
    """Run `python FILE …`, `pytest …` or `sluiceway …`, of this environment or found on the path.

    Raises:
        AssertionError: It is another command, so that a page cannot show one that nobody tries.
    """
    program, *args = shlex.split(line)
    if program == ".venv/bin/pytest":  # two in one process get into each other's way
        command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
        bare = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80"}  # starts in half the time
        bare["PYTHONDONTWRITEBYTECODE"] = "1"  # as in `_in`
        for name in ("CI", "BUILD_NUMBER"):  # by which pytest tells that nobody is at the terminal, and prints more
            bare.pop(name, None)
        done = subprocess.run([*command, *args], cwd=folder, capture_output=True, text=True, check=False, env=bare)
        return Said(done.returncode, done.stdout + done.stderr)
    out = io.StringIO()
    code = 0
    with _in(folder, program, args), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            match program.removeprefix(".venv/bin/"):
                case "sluiceway":
                    main()
                case "python":
                    runpy.run_path(args[0], run_name="__main__")
                case other:
                    raise AssertionError(f"no test runs {other!r}: {line}")
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
    return Said(code, out.getvalue())


@contextlib.contextmanager
def _in(folder: Path, program: str, args: list[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = args if program.endswith("python") else [program, *args]
    path, modules = list(sys.path), set(sys.modules)
    env, writes = dict(os.environ), sys.dont_write_bytecode
    os.environ.update(COLUMNS="80", NO_COLOR="1")
    sys.dont_write_bytecode = True  # a file that is edited within a second would look as it was
    sys.path.insert(0, str(folder))
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.argv = before
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(env)
        sys.dont_write_bytecode = writes
        for name in set(sys.modules) - modules:
            if getattr(sys.modules[name], "__file__", None) and str(folder) in str(sys.modules[name].__file__):
                del sys.modules[name]
