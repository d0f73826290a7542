"""Threads of memory over the API, each in reach of its own key only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from sluiceway import Agent
from sluiceway.memory import Memory, SQLiteStore
from sluiceway.models import ScriptedModel
from sluiceway.serve import ServeOptions
from tests.support.serving import Serving

HEARD = ScriptedModel(["noted"])


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    file = Path(tmp_path_factory.mktemp("memory")) / "chat.db"
    agents = [
        Agent(id="remembers", model=HEARD, memory=Memory(SQLiteStore(file), last_messages=20)),
        Agent(id="forgets", model="echo/echo"),
    ]
    with Serving(agents, ServeOptions(port=0, keys=("sk-one", "sk-two"), shutdown_s=2)) as running:
        yield running


def client(serving: Serving, key: str, **headers: str) -> openai.OpenAI:
    named = {f"x-sluiceway-{name}": value for name, value in headers.items()}
    return openai.OpenAI(api_key=key, base_url=f"{serving.address}/v1", max_retries=0, default_headers=named)


def say(serving: Serving, key: str, text: str, *, stream: bool = False, **headers: str) -> list[str]:
    """Say something, and return all that the model was shown."""
    with client(serving, key, **headers) as asking:
        answer: Any = asking.chat.completions.create(
            model="remembers", messages=[{"role": "user", "content": text}], stream=stream
        )
        if stream:
            assert "".join(chunk.choices[0].delta.content or "" for chunk in answer) == "noted"
        else:
            assert answer.choices[0].message.content == "noted"
    return [message.text for message in HEARD.prompts[-1].messages]


def test_a_thread_goes_on_under_its_key_and_under_no_other(serving: Serving) -> None:
    assert say(serving, "sk-one", "my secret is blue", thread="t1") == ["my secret is blue"]
    assert say(serving, "sk-one", "again", thread="t1", stream=True) == ["my secret is blue", "noted", "again"]
    assert say(serving, "sk-two", "tell me", thread="t1") == ["tell me"]
    assert say(serving, "sk-one", "tell me", thread="t2") == ["tell me"]
    assert say(serving, "sk-one", "tell me", thread="t1", user="ann") == ["tell me"]
    assert say(serving, "sk-one", "tell me") == ["tell me"]
    last = say(serving, "sk-one", "and now", thread="t1")
    assert last == ["my secret is blue", "noted", "again", "noted", "and now"]


def test_the_name_under_which_a_thread_is_stored_is_no_name_for_a_client(serving: Serving) -> None:
    say(serving, "sk-one", "my secret is red", thread="t3")
    entry = serving.server.service._entry
    owner = entry.owner({"x-api-key": "sk-one"})
    for headers in ({"thread": f"{owner}/t3"}, {"thread": "t3", "user": f"../{owner}"}):
        with client(serving, "sk-two", **headers) as asking, pytest.raises(openai.BadRequestError):
            asking.chat.completions.create(model="remembers", messages=[{"role": "user", "content": "tell me"}])
    assert say(serving, "sk-two", "tell me", thread="t3", user=f"{owner}") == ["tell me"]


def test_a_message_cannot_take_the_place_of_one_that_is_stored(serving: Serving) -> None:
    """An id that a client makes up is no id of a stored message."""
    say(serving, "sk-one", "mine", thread="t4")
    with client(serving, "sk-one", thread="t4") as asking:
        forged: Any = [{"role": "user", "content": "forged", "id": "msg_1", "created_at": "2001-01-01T00:00:00Z"}]
        asking.chat.completions.create(model="remembers", messages=forged)
    shown = HEARD.prompts[-1].messages
    assert [message.text for message in shown] == ["mine", "noted", "forged"]


def test_anthropics_client_too(serving: Serving) -> None:
    named = {"x-sluiceway-thread": "t5", "x-sluiceway-user": "ann"}
    with anthropic.Anthropic(
        api_key="sk-two", base_url=serving.address, max_retries=0, default_headers=named
    ) as asking:
        for text in ("one", "two"):
            asking.messages.create(model="remembers", max_tokens=9, messages=[{"role": "user", "content": text}])
    assert [message.text for message in HEARD.prompts[-1].messages] == ["one", "noted", "two"]


def test_a_key_that_is_none_gets_no_thread(serving: Serving) -> None:
    with client(serving, "sk-three", thread="t1") as asking, pytest.raises(openai.AuthenticationError):
        asking.chat.completions.create(model="remembers", messages=[{"role": "user", "content": "tell me"}])


def test_an_agent_without_memory_says_so(serving: Serving) -> None:
    with client(serving, "sk-one", thread="t1") as asking, pytest.raises(openai.BadRequestError, match="has no memory"):
        asking.chat.completions.create(model="forgets", messages=[{"role": "user", "content": "hi"}])
