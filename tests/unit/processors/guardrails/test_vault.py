"""Reversible redaction: placeholders for the model, values for whom they are meant for."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from sluiceway import RequestContext, tool
from sluiceway.errors import ConfigurationError
from sluiceway.messages import Message
from sluiceway.models import Reply
from sluiceway.processors import PIIDetector, PIIVault, PlaceholderRestorer
from sluiceway.processors.guardrails._vault import RestoringTool, VaultBook
from sluiceway.tools import Tool
from tests.support.judges import Judge
from tests.support.runs import calls_tool, collect, lines, make_agent, reply_parts
from tests.support.storing import THREAD, new_memory, stored

pytestmark = pytest.mark.anyio


def detector(**options: Any) -> PIIDetector:
    return PIIDetector(reversible=True, detection_types=["email", "phone"], **options)


async def test_the_model_has_placeholders_and_the_client_the_values() -> None:
    guard = detector()
    agent, model = make_agent(
        ["Dear [EMA", "IL_1], not [EMAIL_2] nor [EMAIL_9]"],
        input_processors=[guard],
        output_processors=[guard.restorer()],
    )
    ran = await collect(agent, "I am ann@x.org, he is bob@x.org, and ann@x.org again: +49 30 901820")
    assert lines(model.prompts[0])[-1] == "user: I am [EMAIL_1], he is [EMAIL_2], and [EMAIL_1] again: [PHONE_1]"
    assert ran.emitted == ran.result.text == "Dear ann@x.org, not bob@x.org nor [EMAIL_9]"
    assert ran.result.edited_after_stream is False
    assert [entry for entry in ran.result.audit if "restorer" in entry.processor_id] == []


async def test_a_tool_that_was_named_gets_the_values_and_nobody_else() -> None:
    got: list[Any] = []

    def send(to: str, cc: list[str]) -> str:
        """Send a mail."""
        got.append(("send", to, cc))
        return f"sent to {to}"

    def log(text: str) -> str:
        """Note a text."""
        got.append(("log", text))
        return "noted"

    calls = [
        calls_tool("send", {"to": "[EMAIL_1]", "cc": ["[EMAIL_1]", "x"]}),
        calls_tool("log", {"text": "for [EMAIL_1]"}, "c2"),
    ]
    guard = detector(restore_tools=["send"])
    memory = new_memory()
    agent, model = make_agent(
        Reply(tool_calls=calls),
        "done",
        tools=[send, log],
        memory=memory,
        input_processors=[guard],
        output_processors=[guard],
    )
    ran = await collect(agent, "write to ann@x.org", memory=THREAD)
    assert sorted(got) == [("log", "for [EMAIL_1]"), ("send", "ann@x.org", ["ann@x.org", "x"])]
    assert ran.of("tool-call")[0].get("args") == {"to": "[EMAIL_1]", "cc": ["[EMAIL_1]", "x"]}
    assert reply_parts(ran.result)[0].result == "sent to [EMAIL_1]"
    assert "ann@x.org" not in "".join([*lines(model.prompts[1]), *(await stored(memory))])


async def test_a_later_prompt_has_placeholders_for_what_was_restored() -> None:
    def noop() -> str:
        """Do nothing."""
        return "ok"

    guard = detector()
    agent, model = make_agent(
        Reply(text="[EMAIL_1], wait", tool_calls=[calls_tool("noop")]),
        "done",
        tools=[noop],
        input_processors=[guard],
        output_processors=[guard.restorer()],
    )
    ran = await collect(agent, "I am ann@x.org")
    assert ran.result.text == "ann@x.org, waitdone"
    assert lines(model.prompts[1])[2] == "assistant: [EMAIL_1], wait + noop({})#c1"


async def test_runs_do_not_share_and_threads_do() -> None:
    for scope, second in (("run", "user: and [EMAIL_1]?"), ("thread", "user: and [EMAIL_2]?")):
        guard = detector(vault=PIIVault(scope))  # pyright: ignore[reportArgumentType]
        agent, model = make_agent("[EMAIL_1]", input_processors=[guard], output_processors=[guard.restorer()])
        one = RequestContext({}, resource_id="r", thread_id="t")
        assert (await agent.generate("I am ann@x.org", request_context=one)).text == "ann@x.org"
        await agent.generate("and bob@x.org?", request_context=one)
        assert lines(model.prompts[1])[-1] == second
        other = RequestContext({}, resource_id="r2", thread_id="t")
        assert (await agent.generate("hi", request_context=other)).text == "[EMAIL_1]"


async def test_what_looks_like_a_placeholder_already_is_not_given_out() -> None:
    """Or a text from outside could have a value put into it."""
    guard = detector()
    agent, model = make_agent("[EMAIL_1] [EMAIL_2]", input_processors=[guard], output_processors=[guard.restorer()])
    result = await agent.generate("[EMAIL_1] is mine, ann@x.org")
    assert lines(model.prompts[0])[-1] == "user: [EMAIL_1] is mine, [EMAIL_2]"
    assert result.text == "[EMAIL_1] ann@x.org"


async def test_what_is_written_later_in_a_thread_is_not_given_out_either() -> None:
    def look() -> dict[str, str]:
        """Look."""
        return {"from": "bob@x.org", "note": "[EMAIL_4] and [EMAIL_5]"}

    guard = detector(vault=PIIVault("thread"))
    agent, model = make_agent(
        "ok",
        Reply(tool_calls=[calls_tool("look")]),
        "ok",
        tools=[look],
        input_processors=[guard],
        output_processors=[guard],
    )
    await agent.generate("I am ann@x.org", request_context=RequestContext({}, thread_id="t"))
    await agent.generate("[EMAIL_2] and [EMAIL_3] are cyd@x.org", request_context=RequestContext({}, thread_id="t"))

    assert lines(model.prompts[1])[-1] == "user: [EMAIL_2] and [EMAIL_3] are [EMAIL_4]"
    assert '"from":"[EMAIL_6]"' in lines(model.prompts[2])[-1]


def test_hiding_takes_the_longest_value_that_stands_alone() -> None:
    book = VaultBook([])
    for value in ("ab", "ab-", "ab-c", "(ab", "é"):
        book.placeholder("x", value)
    assert book.hide("ab ab-x ab-c ab-cd (ab) xab é éé") == "[X_1] [X_1]-x [X_3] [X_1]-cd [X_4]) xab [X_5] éé"


def test_hiding_many_values_takes_no_longer_per_value() -> None:
    def seconds(values: int) -> float:
        book = VaultBook([])
        for number in range(values):
            book.placeholder("email", f"user{number}@corp.test")
        texts = [f"mail user{number}@corp.test, and so on and so forth" for number in range(values)]
        started = time.process_time()
        assert [book.hide(text) for text in texts][-1] == f"mail [EMAIL_{values}], and so on and so forth"
        return time.process_time() - started

    assert seconds(6000) < 1


async def test_values_are_in_no_log_and_no_repr(caplog: pytest.LogCaptureFixture) -> None:
    vault = PIIVault("thread", max_threads=1)
    guard = detector(vault=vault)
    agent, _ = make_agent("[EMAIL_1]", input_processors=[guard], output_processors=[guard.restorer()])
    with caplog.at_level(logging.DEBUG):
        for thread in ("a", "b"):
            await agent.generate("I am ann@x.org", request_context=RequestContext({}, thread_id=thread))
    assert "ann@x.org" not in caplog.text
    assert [repr(vault), repr(next(iter(vault._threads.values())))] == ["PIIVault('thread')", "<VaultBook of 1 values>"]
    assert list(vault._threads) == [(None, "b")]
    vault.forget("b")
    assert len(vault._threads) == 0


async def test_names_that_a_model_found_come_back_too() -> None:
    judge = Judge(
        lambda text: {"spans": [{"text": "Ann Lee", "type": "name"}]} if "Ann Lee" in text else {"scores": {}}
    )
    guard = PIIDetector(detection_types=["name"], model=judge, reversible=True)
    agent, model = make_agent("Hi [NAME_1]", input_processors=[guard], output_processors=[guard.restorer()])
    assert (await agent.generate("I am Ann Lee")).text == "Hi Ann Lee"
    assert lines(model.prompts[0])[-1] == "user: I am [NAME_1]"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reversible": True, "strategy": "block"}, "goes with strategy='redact'"),
        ({"reversible": True, "redaction_method": "hash"}, "redaction_method='placeholder'"),
        ({"vault": PIIVault()}, "a vault is for reversible=True"),
        ({"vault": {}, "reversible": True}, "give a PIIVault"),
        ({"restore_tools": ["x"]}, "needs reversible=True"),
        ({"restore_tools": "x", "reversible": True}, "restore_tools="),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        PIIDetector(**options)


def test_without_a_vault_there_is_nothing_to_restore() -> None:
    with pytest.raises(ConfigurationError, match="nothing to restore"):
        PIIDetector().restorer()
    with pytest.raises(ConfigurationError, match="give the vault of a PIIDetector"):
        PlaceholderRestorer(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="scope='user'"):
        PIIVault("user")  # pyright: ignore[reportArgumentType]


def test_a_book_gives_one_placeholder_per_value_and_knows_no_other() -> None:
    book = VaultBook([Message("a user wrote [EMAIL_1]")])
    made = [book.placeholder("email", value) for value in ("a@x.org", "b@x.org", "a@x.org")]
    assert made == ["[EMAIL_2]", "[EMAIL_3]", "[EMAIL_2]"]
    assert [book.value(name) for name in ("[EMAIL_2]", "[EMAIL_1]")] == ["a@x.org", None]
    assert book.restore("[EMAIL_1] [EMAIL_2] [EMAIL_9]") == "[EMAIL_1] a@x.org [EMAIL_9]"
    assert book.hide("to a@x.org, b@x.org") == "to [EMAIL_2], [EMAIL_3]"


def test_a_tool_keeps_parameters_that_are_not_those_of_its_function() -> None:
    own = {"type": "object", "properties": {"to": {"type": "string", "description": "whom"}}, "required": ["to"]}
    inner = Tool("send", "Send a mail.", own, lambda to: to)
    assert RestoringTool(inner, str).parameters == inner.parameters == own


async def test_a_tool_that_gets_values_is_described_as_before() -> None:
    got: list[Any] = []

    def send(to: str, text: str = "") -> str:
        """Send a mail."""
        got.append((to, text))
        return "sent"

    inner = tool(send)
    outer = RestoringTool(inner, lambda text: text.replace("[EMAIL_1]", "a@x.org"))
    assert (outer.name, outer.description, outer.parameters) == ("send", "Send a mail.", inner.parameters)
    assert await outer.call({"to": "[EMAIL_1]", "text": "for [EMAIL_1]"}) == "sent"
    assert got == [("a@x.org", "for a@x.org")]
