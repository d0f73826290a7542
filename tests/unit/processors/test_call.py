"""`HookCall`: what a step of a workflow gets and returns, and how branches come together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import MergeConflict
from sluiceway.messages import Chunk, Message, MessageList, Prompt, PromptMessage, PromptText, SystemMessage
from sluiceway.processors import HookCall


def conversation() -> MessageList:
    messages = MessageList([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}], system=["sys"])
    messages.add({"role": "assistant", "content": "three"}, "response")
    return messages


def texts(call: HookCall) -> list[str]:
    return [message.text for message in call.message_list.all]


def delta(text: str) -> Chunk:
    return Chunk("text-delta", {"id": "t", "text": text})


def prompt(*texts: str) -> Prompt:
    return Prompt(tuple(PromptMessage("user", (PromptText(text),)) for text in texts))


def said(given: Prompt | None) -> list[str]:
    assert given is not None
    return [item.text for message in given.messages for item in message.content if isinstance(item, PromptText)]


def test_a_call_says_what_it_is_about() -> None:
    call = HookCall("process_input", conversation(), info={"step_number": 2}, overrides={"model": "m"})
    assert (call.hook, call.info, call.overrides, call.parts, call.prompt) == (
        "process_input",
        {"step_number": 2},
        {"model": "m"},
        (),
        None,
    )
    assert [message.text for message in call.messages] == ["one", "two"]
    assert (call.text, call.system_messages) == ("two", (SystemMessage("sys"),))


def test_text_goes_into_the_newest_message_that_the_hook_is_about() -> None:
    call = HookCall("process_input", conversation())
    assert texts(call.replace(text="TWO")) == ["one", "TWO", "three"]
    call = HookCall("process_output_result", conversation())
    assert texts(call.replace(text="THREE")) == ["one", "two", "THREE"]
    call = HookCall("process_output_result", MessageList("one"))
    assert texts(call.replace(text="nowhere")) == ["one"]


def test_text_goes_into_the_first_of_the_chunks_in_hand_and_the_others_stay() -> None:
    other = Chunk("data-x", {"data": 1})
    call = HookCall("process_output_stream", MessageList("one"), parts=[delta("a"), other, delta("b")])
    assert call.text == "ab"
    assert call.replace(text="AB").parts == (delta("AB"), other)
    assert texts(call) == ["one"]
    bare = HookCall("process_output_stream", MessageList("one"), parts=[other])
    assert bare.replace(text="AB").parts == (other,)


def test_what_is_replaced_is_the_copys_and_messages_are_edited_in_the_list() -> None:
    call = HookCall("process_input_step", conversation(), overrides={"a": 1}, parts=[delta("x")], prompt=prompt("p"))
    new = call.replace(prompt=prompt("q"), parts=[delta("y")], overrides={"b": 2})
    assert (said(new.prompt), new.parts, new.overrides) == (["q"], (delta("y"),), {"a": 1, "b": 2})
    assert (said(call.prompt), call.parts, call.overrides) == (["p"], (delta("x"),), {"a": 1})
    call.replace(messages=[*call.messages[1:], Message("new")], system_messages=["other"])
    assert texts(call) == ["two", "three", "new"]
    assert call.system_messages == (SystemMessage("other"),)


@pytest.mark.parametrize(
    ("hook", "source"),
    [
        ("process_output_result", "response"),
        ("process_output_step", "response"),
        ("process_tool_result", "response"),
        ("process_input", "input"),
        ("process_input_step", "input"),
    ],
)
def test_a_new_message_of_the_assistant_is_of_the_reply_in_the_hooks_behind_the_model(hook: Any, source: str) -> None:
    call = HookCall(hook, conversation())
    call.replace(messages=[*call.messages, {"role": "assistant", "content": "new", "id": "n"}])
    assert call.message_list.source_of("n") == source


def test_a_fork_is_isolated_and_a_join_brings_it_back() -> None:
    call = HookCall("process_input", conversation(), overrides={"a": 1})
    fork = call.fork()
    fork.overrides["a"] = 2
    fork.replace(text="TWO")
    assert (texts(call), call.overrides) == (["one", "two", "three"], {"a": 1})
    joined = call.join({"f": fork})
    assert (texts(joined), joined.overrides) == (["one", "TWO", "three"], {"a": 2})
    assert joined.message_list is call.message_list


def test_each_message_has_a_fork_that_shows_nothing_else() -> None:
    call = HookCall("process_input", conversation())
    forks = call.each()
    assert [[message.text for message in fork.messages] for fork in forks] == [["one"], ["two"]]
    assert [fork.text for fork in forks] == ["one", "two"]


BASE = ("a", "b", "c")


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (BASE, BASE, BASE),
        (("A", "b", "c"), BASE, ("A", "b", "c")),
        (("A", "b", "c"), ("a", "b", "C"), ("A", "b", "C")),
        (("A", "b", "c"), ("A", "b", "c"), ("A", "b", "c")),
        (("A", "b"), ("A", "b"), ("A", "b")),
        (("A",), BASE, ("A",)),
    ],
)
def test_prompts_are_merged_message_by_message(one: Any, other: Any, merged: Any) -> None:
    call = HookCall("process_llm_request", MessageList("x"), prompt=prompt(*BASE))
    forks = {"one": call.fork(), "other": call.fork()}
    for key, texts_ in (("one", one), ("other", other)):
        if texts_ is not BASE:
            forks[key].prompt = prompt(*texts_)
    assert tuple(said(call.join(forks).prompt)) == merged


@pytest.mark.parametrize(
    ("one", "other", "what", "preferred"),
    [
        (("A", "b", "c"), ("Z", "b", "c"), "prompt message 0", ["Z", "b", "c"]),
        (("a", "b", "C"), ("a", "b", "Z"), "prompt message 2", ["a", "b", "Z"]),
        (("A", "b"), ("a", "b", "C"), "prompt", ["a", "b", "C"]),
    ],
)
def test_prompts_that_disagree_name_the_branches_and_the_place(
    one: Any, other: Any, what: str, preferred: list[str]
) -> None:
    call = HookCall("process_llm_request", MessageList("x"), prompt=prompt(*BASE))
    forks = {"one": call.fork(), "other": call.fork()}
    forks["one"].prompt, forks["other"].prompt = prompt(*one), prompt(*other)
    with pytest.raises(MergeConflict) as caught:
        call.join(forks)
    assert str(caught.value) == (
        f"'one' and 'other' both changed the {what}, in different ways; pick one with .map(), or give merge.prefer(key)"
    )
    assert caught.value.keys == ("one", "other")
    assert said(call.join(forks, prefer="other").prompt) == preferred


def sets_parts(call: HookCall, value: str) -> None:
    call.parts = (delta(value),)


def sets_response(call: HookCall, value: str) -> None:
    call.response = (delta(value),)


def sets_model(call: HookCall, value: str) -> None:
    call.overrides["model"] = value


@pytest.mark.parametrize(
    ("act", "what", "seen"),
    [
        (sets_parts, "chunks", lambda call: call.parts[0].text),
        (sets_response, "response", lambda call: call.response[0].text),
        (sets_model, "model", lambda call: call.overrides["model"]),
    ],
)
def test_what_else_branches_set_is_merged_or_named(
    act: Callable[[HookCall, str], None], what: str, seen: Callable[[HookCall], str]
) -> None:
    call = HookCall("process_output_stream", MessageList("x"), parts=[delta("old")], overrides={"model": "old"})
    call.response = (delta("old"),)
    forks = {"one": call.fork(), "other": call.fork()}
    act(forks["other"], "new")
    assert seen(call.join(forks)) == "new"
    act(forks["one"], "new")
    assert seen(call.join(forks)) == "new"
    act(forks["one"], "else")
    with pytest.raises(MergeConflict, match=f"'one' and 'other' both changed the {what}, in different ways"):
        call.join(forks)
    assert seen(call.join(forks, prefer="one")) == "else"
