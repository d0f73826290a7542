"""A chat in the terminal that remembers, also after it was closed.

    .venv/bin/python examples/chat.py --model openai/gpt-5-mini
    .venv/bin/python examples/chat.py                              (offline: it says what you say)

The conversation is in an SQLite file. Every thread has its own; what is known of a user, and
what was said in other threads about the same thing, come along into a new one. `/threads`,
`/history`, `/forget` and `/quit` are for you, everything else is for the model.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import anyio
import anyio.to_thread
from rich.console import Console
from rich.table import Table

from sluiceway import Agent
from sluiceway.errors import SluicewayError
from sluiceway.memory import HashEmbedder, Memory, SQLiteStore, SQLiteVectors
from sluiceway.processors import PIIDetector

console = Console(highlight=False)


def chat_agent(model: str, memory: Memory) -> Agent:
    """Return an agent that keeps card numbers out of prompts and storage."""
    return Agent(
        id="chat",
        instructions="You are a friendly companion. Keep answers short.",
        model=model,
        memory=memory,
        input_processors=[PIIDetector(detection_types=["credit-card", "iban"], strategy="redact")],
    )


async def answer(agent: Agent, said: str, *, thread: str, user: str) -> None:
    """Print the answer as it comes."""
    async with agent.stream(said, memory={"thread": thread, "resource": user}) as stream:
        async for chunk in stream:
            if chunk.type == "text-delta":
                console.print(chunk.text, end="", markup=False)
            elif chunk.type == "tripwire":
                console.print(f"stopped: {chunk.get('reason')}", style="red", end="", markup=False)
        console.print()
        await stream.result()


async def show_history(memory: Memory, thread: str, last: int | None = None) -> None:
    """Print what is stored of a thread."""
    for message in await memory.recall(thread, last=last):
        style = "cyan" if message.role == "user" else "default"
        console.print(
            f"{message.created_at.astimezone():%H:%M} {message.role}: {message.text}", style=style, markup=False
        )


async def show_threads(memory: Memory, user: str) -> None:
    """Print the user's threads."""
    table = Table("thread", "last used")
    for thread in await memory.threads(user):
        table.add_row(thread.id, f"{thread.updated_at.astimezone():%Y-%m-%d %H:%M}")
    console.print(table)


async def chat(agent: Agent, memory: Memory, *, thread: str, user: str) -> None:
    """Read lines until there are no more."""
    earlier = await memory.recall(thread, last=6, resource=user)
    if earlier:
        console.print(f"Welcome back, {user}. Last time:", style="dim")
        await show_history(memory, thread, 6)
    while True:
        try:
            said = (await anyio.to_thread.run_sync(console.input, "[bold]> [/]")).strip()
        except EOFError:
            return
        if said == "/quit":
            return
        if said == "/history":
            await show_history(memory, thread)
        elif said == "/threads":
            await show_threads(memory, user)
        elif said == "/forget":
            await memory.delete_thread(thread, resource=user)
            console.print("Forgotten.", style="dim")
        elif said:
            try:
                await answer(agent, said, thread=thread, user=user)
            except SluicewayError as error:
                console.print(f"{type(error).__name__}: {error}", style="red", markup=False)


async def main() -> None:
    """Chat."""
    parser = argparse.ArgumentParser(description="A chat that remembers.")
    parser.add_argument("--model", default="echo/echo", help="such as openai/gpt-5-mini (default: an echo)")
    parser.add_argument("--db", type=Path, default=Path("chat.db"), help="the SQLite file (default: chat.db)")
    parser.add_argument("--thread", default="default", help="which conversation to go on with")
    parser.add_argument("--user", default=os.environ.get("USER", "you"), help="who you are")
    options = parser.parse_args()
    store = SQLiteStore(options.db)
    memory = Memory(
        store,
        last_messages=20,
        working_memory=True,
        semantic_recall={"top_k": 2, "threshold": 0.2},
        vector=SQLiteVectors(options.db),
        embedder=HashEmbedder(),
    )
    async with memory, chat_agent(options.model, memory) as agent:
        await chat(agent, memory, thread=options.thread, user=options.user)


if __name__ == "__main__":
    anyio.run(main)
