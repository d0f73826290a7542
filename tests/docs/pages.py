"""How the pages are tried: Python, files that are shown, commands with what they print, JSON and TOML.

The blocks of one page share their names and a folder, as for a reader who works along. A block
with `title="name.py"` is a file of that folder. `py` is Python of another library, which only has to
be Python. In a `console` block each line that begins with `$` is run. What stands below it has to be
what it prints: `...` stands for anything, times and ids may be others. Where nothing stands there,
its exit code has to be 0, or what `# exit code 2` behind it says. `sluiceway serve` is started on a
free port, which later blocks use in place of 8000, and ends with the page.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import yaml
from sybil import Document, Example, Lexeme, Region
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

from tests.docs.shell import shell

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
TREES = {ROOT / "docs" / "reference" / name for name in ("cli.md", "api/errors.md")}
"""Pages with `text`, of which nothing can be run; tests of their own compare them with the code."""

_TITLE = r'title="([^"]+)"'
_ADDRESS = "127.0.0.1:8000"
_COMMENT = re.compile(r"\s+#\s*(?:exit code (\d+)|.*)$")
_QUIET = " -W ignore::pytest.PytestAssertRewriteWarning"  # the library is loaded already
_LIKE_DOCTEST = doctest.OutputChecker()
_CHANGING = re.compile(
    r"\d+\.\d+ (?=ms\b)|(?<=in )\d+\.\d+(?=s\b)|(?<=: )\d+\.\d(?= s\n)|(?<=msg_)[0-9a-f]{24}|(?<=\.py:)\d+(?=:)"
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Servers:
    """The servers that a page starts, and the port of the last one."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self.address = _ADDRESS

    def start(self, line: str) -> str:
        """Start `sluiceway serve …` and return the line that it greets with."""
        program = Path(sys.executable).with_name("sluiceway")
        command = [str(program), *shlex.split(line)[1:], "--port", "0"]
        server = self._open.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        self._open.callback(server.terminate)
        assert server.stderr is not None
        greeting = server.stderr.readline()
        found = re.search(r"http://(127\.0\.0\.1:\d+)", greeting)
        assert found, greeting + server.stderr.read()
        self.address = found[1]
        return greeting.replace(self.address, _ADDRESS)

    def close(self) -> None:
        """End them."""
        self._open.close()


def document(path: Path, text: str | None = None) -> Document:
    """Return a page with all that can be tried of it."""
    servers = Servers()
    parsers: list[Callable[[Document], Iterable[Region]]] = [
        lambda page: _python(page, servers),
        lambda page: _blocks(page, rf"\w+ {_TITLE}", _file),
        lambda page: _blocks(page, "console", lambda example: _console(example, servers)),
        lambda page: _blocks(page, "json", lambda example: _parsed(json.loads, example)),
        lambda page: _blocks(page, "toml", lambda example: _parsed(tomllib.loads, example)),
        lambda page: _blocks(page, "py", lambda example: _parsed(ast.parse, example)),
    ]
    page = Document(path.read_text("utf-8") if text is None else text, str(path))
    for parser in parsers:
        for region in parser(page):
            page.add(region)
    page.namespace["__servers__"] = servers
    return page


def _python(page: Document, servers: Servers) -> Iterator[Region]:
    """Blocks of Python, each run at the address where its server is."""
    for region in PythonCodeBlockParser()(page):
        yield _at_its_server(region, servers) if isinstance(region.parsed, Lexeme) else region


def _at_its_server(region: Region, servers: Servers) -> Region:
    evaluate, written = region.evaluator, region.parsed
    assert evaluate is not None

    def moved(example: Example) -> str | None:
        example.parsed = Lexeme(_moved(written, servers), written.offset, written.line_offset)
        return evaluate(example)

    region.evaluator = moved
    return region


def untried(text: str) -> list[str]:
    """Return the languages of the blocks of a text that nobody tries, and each way to skip a block."""
    tried = {"python", "py", "console", "json", "toml"}
    fences = re.findall(r"^[ \t]*```([^`\n]*)$", text, re.MULTILINE)[::2]
    found = [fence for fence in fences if fence not in tried and not re.fullmatch(rf"\w+ {_TITLE}", fence)]
    found += re.findall(r"^[ \t]*(?:~~~|````).*", text, re.MULTILINE)
    indented = re.findall(r"^(?![ \t]|[-*] |\d+\. ).*\n\n( {4}.*)", _FENCED.sub("", text), re.MULTILINE)
    return found + indented + re.findall(r"<!--+\s*;?\s*skip\b.*", text)


def _blocks(page: Document, language: str, evaluate: Callable[[Example], str | None]) -> Iterator[Region]:
    for region in FencedCodeBlockLexer(language)(page):
        region.parsed, region.evaluator = region.lexemes["source"], evaluate
        yield region


def _parsed(parse: Callable[[str], object], example: Example) -> None:
    parse(example.parsed)


def _file(example: Example) -> None:
    """Write a file, and see that a module can be loaded, and that others can be read by what reads them."""
    name = re.search(_TITLE, example.region.lexemes["language"])
    assert name
    path = Path(name[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(example.parsed, encoding="utf-8")
    if path.suffix == ".py":
        runpy.run_path(str(path), run_name=path.stem)
    elif path.suffix == ".yaml":
        yaml.safe_load(example.parsed)
    elif path.name == "Dockerfile":
        command = re.search(r"^CMD (.+)$", example.parsed, re.MULTILINE)
        assert command
        _take(json.loads(command[1]))


def _take(command: list[str]) -> None:
    """See that uvicorn takes its options; the server itself is not started."""
    program, *words = command
    assert program == "uvicorn", command
    importlib.import_module("uvicorn.main").main.make_context(program, words)


def _console(example: Example, servers: Servers) -> str | None:
    for command, output in _commands(example.parsed):
        comment = _COMMENT.search(command)
        code, printed = _run(_moved(_COMMENT.sub("", command), servers), servers)
        if output and not _LIKE_DOCTEST.check_output(_steady(output), _steady(printed), _LOOSELY):
            return f"{command}: prints\n{printed}"
        if code != int((comment and comment[1]) or 0) and (comment or not output):
            return f"{command}: exit code {code}\n{printed}"
    return None


def _steady(text: str) -> str:
    return _CHANGING.sub("*", text.replace(f"{ROOT}/", "…/"))


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r"\\\n\s*", "", block).partition("\n")
        yield command, output


def _run(line: str, servers: Servers) -> tuple[int, str]:
    program, *words = shlex.split(line)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), line
    elif re.match(r"(?:[A-Z_]+=\S+ )?(?:\.venv/bin/)?python -m ", line):  # the project's own tests, among others
        module = line.partition(" -m ")[2].split()[0]
        named = [word for word in line.split() if word.startswith(("tests/", "docs/", "examples/"))]
        assert importlib.util.find_spec(module) is not None, line
        assert [word for word in named if not (ROOT / word).exists()] == [], line
    elif program == "pip":
        assert words[0] == "install", line
    elif program == "uvicorn":
        _take([program, *words])
    elif program == "mkdir":
        Path(words[-1]).mkdir()
    elif program.endswith("sluiceway") and words[0] == "serve":
        return 0, servers.start(line)
    else:
        command, _, target = line.partition(" > ")
        said = shell(command + _QUIET * program.endswith("pytest"), Path.cwd())
        if target:
            Path(target.strip()).write_text(said.text, encoding="utf-8")
        return said.code, "" if target else said.text
    return 0, ""


def _moved(text: str, servers: Servers) -> str:
    return text.replace(_ADDRESS, servers.address)
