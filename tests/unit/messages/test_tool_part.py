"""Tool parts: values that are changed in place are noticed and isolated."""

from typing import Any

import pytest

from sluiceway._types import MISSING
from sluiceway.errors import MessageError
from sluiceway.messages import ToolPart


def test_args_are_isolated_from_what_they_were_made_from() -> None:
    given = {"q": ["a"]}
    part = ToolPart("t", "c1", given)
    given["q"].append("b")
    assert part.args == {"q": ["a"]}


def test_a_change_in_place_counts_once() -> None:
    part = ToolPart("t", "c1", {"q": {"deep": [1]}})
    assert part.revision == 0
    part.args["q"]["deep"].append(2)
    assert part.revision == 1
    assert part.revision == 1
    assert part.args == {"q": {"deep": [1, 2]}}


def test_a_copy_is_isolated_both_ways() -> None:
    part = ToolPart("t", "c1", {"q": [1]}, "result", {"n": [1]})
    part.args["q"].append(2)
    copy = part.copy()
    part.args["q"].append(3)
    copy.args["q"].append(4)
    copy.result["n"].append(5)
    assert (part.args, part.result) == ({"q": [1, 2, 3]}, {"n": [1]})
    assert (copy.args, copy.result) == ({"q": [1, 2, 4]}, {"n": [1, 5]})


@pytest.mark.parametrize("how", ["assign", "in place", "set_result"])
def test_another_result_drops_what_the_model_was_to_see_of_the_old_one(how: str) -> None:
    part = ToolPart("t", "c1", state="result", result={"mail": "a@b.test"}, model_output="mail: a@b.test")
    assert part.model_output == "mail: a@b.test"
    if how == "assign":
        part.result = {"mail": "[EMAIL]"}
    elif how == "in place":
        part.result["mail"] = "[EMAIL]"
    else:
        part.set_result({"mail": "[EMAIL]"})
    assert part.revision == 1
    assert part.model_output is MISSING


def test_an_error_takes_the_place_of_a_result_and_the_other_way_round() -> None:
    part = ToolPart("t", "c1")
    part.set_error("broke")
    assert (part.state, part.result, part.error) == ("error", None, "broke")
    part.set_result(7)
    assert (part.state, part.result, part.error) == ("result", 7, None)


def test_plain_fields_count_too() -> None:
    part = ToolPart("t", "c1")
    part.tool_call_id = "c1"
    assert part.revision == 0
    part.tool_call_id = "c2"
    part.error = "x"
    part.state = "error"
    part.provider_executed = True
    assert part.revision == 4


def test_unknown_states_and_ids_of_another_type_are_refused() -> None:
    with pytest.raises(MessageError, match="one of call, result and error, not 'done'"):
        ToolPart("t", "c1", state="done")  # pyright: ignore[reportArgumentType]
    with pytest.raises(MessageError, match="are str"):
        ToolPart("t", 1)  # pyright: ignore[reportArgumentType]


def test_objects_that_cannot_be_copied_are_shared() -> None:
    class Handle:
        def __deepcopy__(self, memo: object) -> object:
            raise TypeError

    handle = Handle()
    part = ToolPart("t", "c1", state="result", result={"handle": handle})
    assert part.copy().result["handle"] is handle


@pytest.mark.parametrize(("name", "call_id"), [(None, "c"), ("f", None), (7, 7)])
def test_a_call_has_a_name_and_an_id(name: Any, call_id: Any) -> None:
    with pytest.raises(MessageError, match=r"^The tool_name and the tool_call_id of a tool part are str\.$"):
        ToolPart(name, call_id)


def test_a_call_is_made_with_all_it_has() -> None:
    part = ToolPart("f", "c", {"a": 1}, "result", [2], model_output="two", provider_executed=True)
    assert (part.args, part.state, part.result, part.model_output) == ({"a": 1}, "result", [2], "two")
    assert part.provider_executed
