"""The page of the command line, made from the commands themselves: `python -m tests.docs.cli_page`."""

from __future__ import annotations

import html
import re
from pathlib import Path

from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from sluiceway.cli import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"

_HEAD = """\
# The command line

This page is made from the commands by `python -m tests.docs.cli_page`.

What is named `FILE[:NAME]` is a Python file, and which of its workflows and agents is meant; the name may be left
out where there is one only. The file is run. An error of the library is one line on standard error, with exit
code 1; a mistake in the command itself has exit code 2.
"""


def page() -> str:
    """Return the page."""
    command = get_command(app)
    text = get_docs_for_click(obj=command, ctx=Context(command), name="sluiceway")
    body = text.partition("**Commands**")[2].partition("\n## ")[2]
    body = re.sub(r"```console\n\$ ", "```text\n", "## " + body)
    body = re.sub(r"^\* `--help`.*\n", "", html.unescape(body), flags=re.MULTILINE)
    return f"{_HEAD}\n{body.rstrip()}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
