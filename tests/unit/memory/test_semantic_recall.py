"""What `SemanticRecall` recalls, and what it embeds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from sluiceway import Agent, Message
from sluiceway.errors import ConfigurationError, StorageError
from sluiceway.memory import (
    HashEmbedder,
    InMemoryStore,
    InMemoryVectors,
    Memory,
    SemanticRecall,
    VectorEntry,
)
from sluiceway.messages import ToolPart
from sluiceway.models import Reply, ScriptedModel
from tests.support.memory import ON, WordEmbedder, fill, kept, remembering, said
from tests.support.processors import hooked, replace_text, tool_named
from tests.support.runs import calls_tool, lines

pytestmark = pytest.mark.anyio


class World:
    """A memory with semantic recall, and its parts."""

    def __init__(self, last_messages: int = 10, **options: Any) -> None:
        self.vectors = InMemoryVectors()
        self.embedder = WordEmbedder()
        self.memory = Memory(
            InMemoryStore(),
            last_messages=last_messages,
            semantic_recall=options or True,
            vector=self.vectors,
            embedder=self.embedder,
        )

    def agent(self, *replies: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
        agent, model, _ = remembering(*replies, memory=self.memory, **options)
        return agent, model

    async def indexed(self) -> list[tuple[str, str]]:
        """Return thread and text of everything that is indexed for u1."""
        found = await self.vectors.query("messages", [1.0] * 64, top_k=99, resource_id="u1")
        rows = await self.memory.storage.find([match.message_id for match in found])
        by_id = {row.key: row for row in rows}
        texts = {m.id: m.text for t in await self.memory.threads() for m in await self.memory.recall(t.id)}
        assert set(by_id) == {(match.thread_id, match.message_id) for match in found}
        return sorted((match.thread_id, texts[match.message_id]) for match in found)


def on(thread: str, resource: str = "u1") -> dict[str, Any]:
    return {"thread": thread, "resource": resource}


async def test_another_conversation_is_recalled_in_one_system_message() -> None:
    world = World(top_k=1, message_range={"after": 1})
    agent, model = world.agent("blue, I know", "noted", "blue")
    await agent.generate("my favourite colour is blue", memory=on("t1"))
    await agent.generate("buy milk", memory=on("t2"))

    await agent.generate("what is my favourite colour", memory=on("t3"))

    system = [message.text for message in model.prompts[2].messages if message.role == "system"]
    assert len(system) == 2
    stored = await world.memory.recall("t1")
    assert system[1].partition("\n")[2] == "\n".join(
        [
            "<recalled_messages>",
            *(
                f'<message thread="t1" time="{m.created_at.isoformat(timespec="seconds")}" role="{m.role}">'
                f"{m.text}</message>"
                for m in stored
            ),
            "</recalled_messages>",
        ]
    )
    assert said(model.prompts[2]) == ["user: what is my favourite colour"]


async def test_nothing_of_another_resource_is_recalled() -> None:
    world = World()
    agent, model = world.agent("ok")
    await agent.generate("my favourite colour is blue", memory=on("t1", "u1"))
    await agent.generate("my favourite colour?", memory=on("t2", "u2"))
    await agent.generate("my favourite colour?", memory={"thread": "t3"})

    assert "blue" not in str(model.prompts[1:])


async def test_a_vector_that_lies_about_its_owner_recalls_nothing() -> None:
    """The thread's own row decides."""
    world = World()
    await fill(world.memory.storage, [Message("secret of u2", id="m1")], "t9", "u2")
    await world.vectors.upsert("messages", [VectorEntry("t9", "m1", "u1", [1.0] * 64)])
    agent, model = world.agent("ok")

    await agent.generate("secret of u2", memory=on("t1"))

    assert "secret of u2" not in str(model.prompts[0].messages[:-1])


async def test_thread_scope_stays_in_the_thread() -> None:
    world = World(scope="thread", last_messages=0)
    agent, model = world.agent("ok")
    await agent.generate("the colour blue", memory=on("t1"))
    await agent.generate("the colour red", memory=on("t2"))
    await agent.generate("the colour?", memory=on("t1"))

    assert said(model.prompts[2]) == ["user: the colour blue", "assistant: ok", "user: the colour?"]
    assert "red" not in str(model.prompts[2])


async def test_what_is_in_the_window_is_not_recalled_again() -> None:
    world = World(top_k=4)
    agent, model = world.agent("blue it is", "yes")
    await agent.generate("the colour blue", memory=ON)
    await agent.generate("the colour blue", memory=ON)

    assert said(model.prompts[1]) == ["user: the colour blue", "assistant: blue it is", "user: the colour blue"]
    assert len([message for message in model.prompts[1].messages if message.role == "system"]) == 1


async def test_a_recalled_tool_exchange_is_whole() -> None:
    world = World(last_messages=0, top_k=1, message_range=1)
    call = ToolPart("t", "c1", {}, "result", 7)
    await fill(
        world.memory.storage,
        ["zebra", Message(role="assistant", parts=[call, ToolPart("t", "c2", {})], id="a1"), "thanks"],
    )
    [first, *_] = await world.memory.recall("t1")
    [vector] = await world.embedder.embed(["zebra"])
    await world.vectors.upsert("messages", [VectorEntry("t1", first.id, "u1", vector)])
    agent, model = world.agent("ok")

    await agent.generate("zebra", memory=ON)

    assert lines(model.prompts[0])[1:] == ["user: zebra", "assistant: t({})#c1", "tool: c1 -> 7", "user: zebra"]


async def test_a_threshold_leaves_out_what_is_far() -> None:
    for threshold, count in ((0.99, 1), (None, 2), (1.0, 1)):
        world = World(threshold=threshold, message_range=0)
        agent, model = world.agent("something else altogether", "ok")
        await agent.generate("the colour blue", memory=on("t1"))
        await agent.generate("the colour blue", memory=on("t2"))
        assert str(model.prompts[1]).count("<message ") == count


async def test_new_texts_of_user_and_assistant_are_embedded_once() -> None:
    world = World()
    agent, _ = world.agent(
        Reply("looking", tool_calls=[calls_tool("t")]), "found", "", "more", tools=[tool_named("t", "tool text")]
    )
    await agent.generate(Message("q1", id="m1"), memory=ON)
    await agent.generate(Message("q1", id="m1"), memory=ON)

    assert [texts for texts in world.embedder.given if len(texts) > 1] == [["q1", "lookingfound"]]
    assert await world.indexed() == [("t1", "lookingfound"), ("t1", "q1")]


async def test_what_is_indexed_is_what_is_stored() -> None:
    """A text that a later hook edits is not indexed as it was."""
    world = World()
    semantic = world.memory.semantic
    assert semantic is not None
    model = ScriptedModel(["my secret", "ok"])
    agent = Agent(
        id="a",
        model=model,
        memory=world.memory,
        output_processors=[
            semantic,
            hooked("late", {"process_output_result": lambda ctx: replace_text(ctx.messages, "secret", "[X]")}),
        ],
    )
    await agent.generate("q1", memory=ON)
    assert await world.indexed() == [("t1", "q1")]

    plain, _ = world.agent("ok")
    await plain.generate("q2", memory=ON)
    assert await world.indexed() == [("t1", "my [X]"), ("t1", "ok"), ("t1", "q1"), ("t1", "q2")]


async def test_a_failed_embedding_is_logged_and_made_up_for(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    agent, _ = world.agent("a1", "a2")
    world.embedder.error = RuntimeError("down")
    with caplog.at_level(logging.WARNING):
        result = await agent.generate("q1", memory=on("t1"))
    assert result.text == "a1"
    assert [record.getMessage() for record in caplog.records] == ["embedder 'words-64' failed: RuntimeError: down"] * 2
    assert await kept(world.memory) == [("user", "q1"), ("assistant", "a1")]
    assert await world.indexed() == []

    world.embedder.error = None
    await agent.generate("q2", memory=on("t2"))
    assert await world.indexed() == [("t1", "a1"), ("t1", "q1"), ("t2", "a2"), ("t2", "q2")]
    assert await world.memory.storage.pending("messages", "u1", 9) == []


async def test_the_queue_of_another_resource_is_left_alone() -> None:
    world = World()
    agent, _ = world.agent("a1")
    world.embedder.error = RuntimeError("down")
    await agent.generate("private", memory=on("t1", "u1"))
    world.embedder.error = None
    await agent.generate("q2", memory=on("t2", "u2"))

    assert "private" not in str(world.embedder.given[2:])


async def test_vectors_that_cannot_be_written_are_written_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    agent, _ = world.agent("a1", "a2")

    async def fail(index: str, entries: Sequence[VectorEntry]) -> None:
        raise StorageError("the vectors are gone")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(world.vectors, "upsert", fail)
        await agent.generate("q1", memory=ON)
    assert "texts of thread 't1' are not indexed yet: the vectors are gone" in caplog.text
    await agent.generate("q2", memory=ON)
    assert await world.indexed() == [("t1", "a1"), ("t1", "a2"), ("t1", "q1"), ("t1", "q2")]


async def test_a_rejected_turn_is_not_indexed() -> None:
    world = World()
    agent, _ = world.agent(
        "bad", output_processors=[hooked("no", {"process_output_result": lambda ctx: ctx.abort("no")})]
    )
    await agent.generate("q1", memory=ON)
    assert await world.indexed() == []
    assert await world.memory.storage.pending("messages", "u1", 9) == []


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, "TypeError: 'NoneType' object is not iterable"),
        ([None, None], "TypeError: 'NoneType' object is not iterable"),
        ([["x"], [1.0]], "ValueError: could not convert string to float: 'x'"),
        ([[1.0], [1.0, 2.0]], "ValueError: the vectors have 1 and 2 numbers"),
        ([[], []], "ValueError: the vectors have 0 numbers"),
        ([[1.0], [float("nan")]], "ValueError: a vector holds a number that is not finite"),
    ],
)
async def test_an_embedder_that_gives_no_vectors_is_a_failure(
    caplog: pytest.LogCaptureFixture, given: Any, error: str
) -> None:
    world = World()
    agent, _ = world.agent("one", "two")

    async def embed(texts: Sequence[str]) -> Any:
        return given

    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING, "sluiceway.memory"):
        patch.setattr(world.embedder, "embed", embed)
        await agent.generate("hi", memory=ON)

    assert await kept(world.memory) == [("user", "hi"), ("assistant", "one")]
    assert await world.indexed() == []
    assert caplog.records[-1].getMessage() == f"embedder 'words-64' failed: {error}"
    await agent.generate("again", memory=ON)
    assert len(await world.indexed()) == 4, "made up for"


async def test_an_embedder_that_loses_texts_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    class Forgetful(HashEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return (await super().embed(texts))[:1]

    memory = Memory(InMemoryStore(), semantic_recall=True, vector=InMemoryVectors(), embedder=Forgetful())
    agent, _, _ = remembering("a1", memory=memory)
    await agent.generate("q1", memory=ON)
    assert "2 texts gave 1 vectors" in caplog.text
    assert len(await memory.storage.pending("messages", "u1", 9)) == 2


async def test_an_index_of_another_model_is_refused() -> None:
    world = World()
    await world.vectors.prepare("messages", 7, "other-model")
    agent, model = world.agent("ok")
    with pytest.raises(Exception, match="holds vectors of 'other-model' with 7 numbers, the embedder is 'words-64'"):
        await agent.generate("q1", memory=ON)
    assert model.calls == []


async def test_deleting_takes_the_vectors_along() -> None:
    world = World()
    agent, _ = world.agent("a1", "a2")
    await agent.generate("q1", memory=on("t1"))
    await agent.generate("q2", memory=on("t2"))
    [first, _] = await world.memory.recall("t1")

    assert await world.memory.delete_messages([first.id]) == 1
    assert await world.indexed() == [("t1", "a1"), ("t2", "a2"), ("t2", "q2")]
    assert await world.memory.delete_thread("t2", resource="u1")
    assert await world.indexed() == [("t1", "a1")]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"top_k": 0}, "top_k=0 is not allowed; give a whole number from 1"),
        ({"top_k": True}, "top_k=True is not allowed"),
        ({"message_range": -1}, "message_range=-1 is not allowed"),
        ({"message_range": {"before": -1}}, "before=-1 is not allowed"),
        ({"message_range": {"around": 1}}, "it has `before` and `after`"),
        ({"scope": "user"}, "scope='user' is not allowed; give 'resource' or 'thread'"),
        ({"threshold": 2}, "threshold=2 is not allowed"),
    ],
)
def test_options_that_are_not_allowed(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        SemanticRecall(InMemoryStore(), InMemoryVectors(), HashEmbedder(), **options)
