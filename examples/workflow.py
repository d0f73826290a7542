"""A workflow on its own: a letter is read by two functions at once, and goes one of two ways.

    .venv/bin/python examples/workflow.py
    .venv/bin/sluiceway graph examples/workflow.py

Runs offline: its steps are plain functions. An agent, a tool or another workflow may stand in
place of any of them.
"""

from typing import Any

import anyio
from pydantic import BaseModel

from sluiceway import Workflow
from sluiceway.engine import merge


class Letter(BaseModel):
    """What a customer writes."""

    text: str


class Case(BaseModel):
    """What is known of it."""

    topic: str
    angry: bool


def topic(letter: Letter) -> str:
    """Say what it is about."""
    return "invoice" if "invoice" in letter.text.lower() else "other"


def angry(letter: Letter) -> bool:
    """Say whether it is an angry one."""
    return "!" in letter.text


def together(found: dict[str, Any]) -> Case:
    """Put both findings into one."""
    return Case(topic=found["topic"], angry=found["angry"])


def call_back(case: Case) -> str:
    """Give it to a person."""
    return f"A person calls back about: {case.topic}"


def write_back(case: Case) -> str:
    """Answer it."""
    return f"An answer is written about: {case.topic}"


workflow = (
    Workflow("letters", input=Letter, output=str)
    .parallel([topic, angry])
    .map(together)
    .branch([(lambda case: case.angry, call_back)], default=write_back)
    .map(merge.first(["call_back", "write_back"]))
    .commit()
)


async def main() -> None:
    """Run it on two letters."""
    for text in ("Where is my invoice?!", "Your shop is nice."):
        print((await workflow.run({"text": text})).output)


if __name__ == "__main__":
    anyio.run(main)
