"""What `generate` takes, as messages."""

from typing import Any

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import Message, SystemMessage, ToolPart, parse_input


def shape(message: Message) -> list[Any]:
    return [
        (p.tool_name, p.tool_call_id, p.state, p.result)
        if isinstance(p, ToolPart)
        else (p.type, getattr(p, "text", None))
        for p in message.parts
    ]


def test_strings_dicts_and_messages_in_one_list() -> None:
    message = Message("three", id="m3")
    parsed = parse_input(["one", {"role": "user", "content": "two"}, message, SystemMessage("s", "t")])
    assert [m.text for m in parsed.messages] == ["one", "two", "three"]
    assert parsed.system == [SystemMessage("s", "t")]
    assert parsed.tool_results == []


def test_a_message_given_is_copied_so_that_the_callers_stays_as_it_is() -> None:
    message = Message("hi", id="m1")
    copy = parse_input(message).messages[0]
    assert copy is not message
    assert copy.same_as(message)


def test_system_and_developer_dicts_stand_apart() -> None:
    parsed = parse_input(
        [
            {"role": "system", "content": "one"},
            {"role": "developer", "content": [{"type": "text", "text": "t"}, {"type": "text", "text": "wo"}]},
            {"role": "user", "content": "hi"},
        ]
    )
    assert parsed.system == [SystemMessage("one"), SystemMessage("two")]
    assert [m.text for m in parsed.messages] == ["hi"]


def test_a_tool_loop_is_one_reply_with_its_steps_parted() -> None:
    parsed = parse_input(
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "f", "args": {}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
            {"role": "assistant", "content": "it is 42"},
            {"role": "user", "content": "thanks"},
        ]
    )
    assert [m.role for m in parsed.messages] == ["user", "assistant", "user"]
    assert shape(parsed.messages[1]) == [
        ("f", "c1", "result", "42"),
        ("step-start", None),
        ("text", "it is 42"),
    ]


def test_two_assistant_dicts_without_a_tool_between_stay_two() -> None:
    parsed = parse_input([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert [m.text for m in parsed.messages] == ["a", "b"]


def test_a_result_of_a_call_that_is_elsewhere_is_handed_on() -> None:
    parsed = parse_input([{"role": "tool", "tool_call_id": "c9", "content": '{"n": 1}'}])
    assert parsed.messages == []
    assert parsed.tool_results == [("c9", '{"n": 1}')]


def test_results_in_the_spellings_of_other_apis() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"q": 1}}]}
    block = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "42"}]}
    parsed = parse_input([call, {"role": "user", "content": [block, {"type": "text", "text": "and?"}]}])
    assert [shape(m) for m in parsed.messages] == [[("f", "c1", "result", "42")], [("text", "and?")]]

    call = {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": {}}]}
    item = {"type": "tool-result", "toolCallId": "c1", "toolName": "f", "output": {"type": "json", "value": {"n": 1}}}
    parsed = parse_input([call, {"role": "tool", "content": [item]}])
    assert [shape(m) for m in parsed.messages] == [[("f", "c1", "result", {"n": 1})]]

    failed = item | {"output": {"type": "error-text", "value": "broke"}}
    parsed = parse_input([call, {"role": "tool", "content": [failed]}])
    assert [shape(m) for m in parsed.messages] == [[("f", "c1", "error", None)]]


@pytest.mark.parametrize("name", ["tool_call_id", "toolCallId", "tool_use_id"])
@pytest.mark.parametrize("kind", ["tool_result", "tool-result"])
@pytest.mark.parametrize("output", ["output", "result", "content"])
def test_results_in_a_users_turn_in_every_spelling(kind: str, name: str, output: str) -> None:
    calls = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
    parsed = parse_input([calls, {"role": "user", "content": [{"type": kind, name: "c1", output: "42"}]}])
    assert [shape(message) for message in parsed.messages] == [[("f", "c1", "result", "42")]]


@pytest.mark.parametrize("name", ["tool_call_id", "toolCallId"])
def test_results_of_a_tools_turn_in_every_spelling(name: str) -> None:
    assert parse_input([{"role": "tool", name: "c1", "content": "42"}]).tool_results == [("c1", "42")]


@pytest.mark.parametrize("flag", ["is_error", "isError"])
def test_a_failed_result_says_so_in_every_spelling(flag: str) -> None:
    calls = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
    failed = {"type": "tool_result", "tool_use_id": "c1", "content": "no", flag: True}
    (message,) = parse_input([calls, {"role": "user", "content": [failed]}]).messages
    (part,) = message.parts
    assert isinstance(part, ToolPart)
    assert (part.state, part.error) == ("error", "no")


def test_a_reply_with_an_id_of_its_own_stays_a_message_of_its_own() -> None:
    calls = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "42"}
    parsed = parse_input([calls, answer, {"role": "assistant", "content": "done", "id": "m2"}])
    assert [message.text for message in parsed.messages] == ["", "done"]
    assert parsed.messages[1].id == "m2"


def test_text_that_looks_like_json_stays_text() -> None:
    parsed = parse_input([{"role": "user", "content": '{"a": 1}'}, '["x"]'])
    assert [m.text for m in parsed.messages] == ['{"a": 1}', '["x"]']


def test_ui_messages_are_read() -> None:
    parsed = parse_input(
        {
            "id": "m1",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "text", "text": "hi", "state": "done"},
                {
                    "type": "tool-lookup",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"q": 1},
                    "output": 7,
                },
                {
                    "type": "dynamic-tool",
                    "toolName": "x",
                    "toolCallId": "c2",
                    "state": "output-error",
                    "errorText": "e",
                },
                {"type": "data-progress", "data": {"n": 1}},
                {"type": "source-url", "sourceId": "s", "url": "https://x.test"},
                {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAEC"},
            ],
        }
    )
    assert parsed.messages[0].id == "m1"
    assert shape(parsed.messages[0]) == [
        ("step-start", None),
        ("text", "hi"),
        ("lookup", "c1", "result", 7),
        ("x", "c2", "error", None),
        ("data-progress", None),
        ("source", None),
        ("image", None),
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (7, "input: expected a str, a dict, a Message or a list of these, got int"),
        (["a", 7], r"input\[1\]: expected a dict, got int"),
        ({"content": "x"}, "input.role: expected one of user, assistant, system and tool, got None"),
        ([{"role": "signal", "content": "x"}], r"input\[0\].role: expected one of"),
        ([{"role": "tool", "content": "x"}], r"input\[0\].tool_call_id: a tool's dict names the call"),
        (
            ["a", "b", {"role": "user", "content": [{"type": "image_url"}]}],
            r"input\[2\].content\[0\]: an image needs",
        ),
        ({"role": "system", "content": [{"type": "image"}]}, "input.content: the content of a system message is text"),
        ([{"role": "tool", "content": [{"output": 1}]}], r"input\[0\].content\[0\].tool_call_id"),
    ],
)
def test_a_bad_shape_says_where(given: Any, says: str) -> None:
    with pytest.raises(MessageError, match=says):
        parse_input(given)
