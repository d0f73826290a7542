"""Ops, notes and steps of workflows that no case of the collection uses yet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.load import Case
from tests.conformance.run import BACKENDS, ENTRIES, faults_of


def processor(id: str, **hooks: Any) -> dict[str, Any]:  # noqa: A002
    """Return a scripted processor."""
    return {"id": id, "hooks": hooks}


def scenario(expect: dict[str, Any], **fields: Any) -> Case:
    """Return a case of one call."""
    return Case("inline", {"model": [{"text": ["ok"]}], "input": "hi", **fields}, expect)


def notes(*fields: str) -> list[dict[str, str]]:
    """Return an op for each field to note."""
    return [{"op": "note", "field": field} for field in fields]


def edits(id: str, text: str) -> dict[str, Any]:  # noqa: A002
    """Return an input processor that appends a text."""
    return processor(id, process_input=[{"op": "append_text", "text": text}])


def flow(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a list with one workflow."""
    return [{"workflow": {"id": "w", "steps": list(steps)}}]


def user(text: str) -> list[dict[str, str]]:
    """Return the prompt of a question."""
    return [{"role": "system", "text": "sys"}, {"role": "user", "text": text}]


END = [{"type": "step-finish"}, {"type": "finish"}]
LOUDER = {"op": "replace_text", "from": "ok", "to": "OK", "role": "assistant"}

CASES: dict[str, Case] = {
    "a system message returned from process_input": scenario(
        {"prompts": [[{"role": "system", "text": "sys"}, {"role": "system", "text": "more"}, *user("hi")[1:]]]},
        input_processors=[processor("a", process_input=[{"op": "system", "text": "more"}])],
    ),
    "the first message removed through the list": scenario(
        {"prompts": [user("added")]},
        input_processors=[
            processor(
                "a", process_input=[{"op": "list_add", "role": "user", "text": "added"}, {"op": "list_remove_first"}]
            )
        ],
    ),
    "the same messages returned": scenario(
        {"prompts": [user("hi")], "hooks": ["a.process_input", "model#1"]},
        input_processors=[processor("a", process_input=[{"op": "return_messages"}])],
    ),
    "a chunk dropped": scenario(
        {
            "hooks": [
                "model#1",
                "o.process_output_stream:text-delta",
                "o.process_output_stream:text-delta",
                "p.process_output_stream:text-delta",
            ],
            "turns": [
                {
                    "text": "b",
                    "chunks": [{"type": "text-delta", "text": "b"}, *END],
                }
            ],
        },
        model=[{"text": ["a", "b"]}],
        output_processors=[
            processor("o", process_output_stream=[{"op": "drop_chunk", "when": {"text_contains": "a"}}]),
            processor("p", process_output_stream=[]),
        ],
    ),
    "a callback of violations that raises": scenario(
        {"hooks": ["a.process_input", "a.on_violation:no"], "turns": [{"text": "", "finish_reason": "other"}]},
        input_processors=[{**processor("a", process_input=[{"op": "abort", "reason": "no"}]), "on_violation": "throw"}],
    ),
    "every note of a step": scenario(
        {
            "hooks": [
                "model#1",
                "tool:t",
                "o.process_tool_result:t",
                'o.note:{"n":1}',
                "o.note:user|hi / assistant|look",
                "model#2",
            ]
        },
        agent={"tools": {"t": {"result": {"n": 1}}}},
        model=[{"text": ["look"], "tools": [{"id": "c1", "name": "t", "args": {}}]}, {"text": ["ok"]}],
        output_processors=[processor("o", process_tool_result=notes("tool_result", "messages"))],
    ),
    "the notes of an output step": scenario(
        {
            "hooks": [
                "model#1",
                "o.process_output_step:0",
                "o.note:look",
                "o.note:t,u",
                "o.note:tool-calls",
                "o.note:0",
                "o.note:sys",
                "tool:t",
                "tool:u",
                "model#2",
                "o.process_output_step:1",
                "o.note:ok",
                "o.note:",
                "o.note:stop",
                "o.note:0",
                "o.note:sys",
            ]
        },
        agent={"tools": {"t": {"result": 1}, "u": {"result": 2}}},
        model=[
            {
                "text": ["look"],
                "tools": [{"id": "c1", "name": "t", "args": {}}, {"id": "c2", "name": "u", "args": {}}],
            },
            {"text": ["ok"]},
        ],
        output_processors=[
            processor("o", process_output_step=notes("text", "tool_calls", "finish_reason", "retry_count", "system"))
        ],
    ),
    "guards by tool, error and chunk": scenario(
        {
            "hooks": [
                "model#1",
                "e.process_api_error:0",
                "model#2",
                "tool:t",
                "o.process_tool_result:t",
                "o.note:n=1",
                "model#3",
            ]
        },
        agent={"tools": {"t": {"result": 1}}},
        model=[
            {"error": {"status": 500, "message": "busy now"}},
            {"tools": [{"id": "c1", "name": "t", "args": {}}]},
            {"text": ["ok"]},
        ],
        error_processors=[processor("e", process_api_error=[{"op": "retry", "when": {"error_contains": "busy"}}])],
        output_processors=[
            processor(
                "o",
                process_tool_result=[
                    {"op": "state_inc", "key": "n", "when": {"tool": "t"}},
                    {"op": "state_inc", "key": "n", "when": {"tool": "u"}},
                    {"op": "note_state", "key": "n"},
                ],
            )
        ],
    ),
    "a branch whose condition holds": scenario(
        {"hooks": ["a.process_input", "w.map:processor:a", "model#1"], "prompts": [user("hi A")]},
        input_processors=flow(
            {"branch": [[{"contains": "hi"}, edits("a", " A")], ["always", edits("b", " B")]]}, {"map_any": True}
        ),
    ),
    "a branch whose later condition holds": scenario(
        {"hooks": ["b.process_input", "w.map:processor:b", "model#1"], "prompts": [user("hi B")]},
        input_processors=flow(
            {"branch": [["never", edits("a", " A")], ["always", edits("b", " B")]]}, {"map_any": True}
        ),
    ),
    "a branch without a condition that holds": scenario(
        {"hooks": ["model#1"], "prompts": [user("hi")]},
        input_processors=flow({"branch": [[{"contains": "bye"}, edits("a", " A")]]}),
    ),
    "a branch in an output step": scenario(
        {"hooks": ["model#1", "a.process_output_step:0", "w.map:processor:a"], "turns": [{"text": "OK"}]},
        output_processors=flow(
            {
                "branch": [
                    [
                        {"contains": "ok"},
                        processor(
                            "a",
                            process_output_step=[LOUDER],
                        ),
                    ]
                ]
            },
            {"map_any": True},
        ),
    ),
    "a transient data chunk": scenario(
        {
            "turns": [
                {
                    "chunks": [
                        {"type": "data-x", "data": {"a": 1}, "transient": True},
                        {"type": "text-delta"},
                        *END,
                    ]
                }
            ]
        },
        input_processors=[
            processor("a", process_input_step=[{"op": "custom", "type": "data-x", "data": {"a": 1}, "transient": True}])
        ],
    ),
    "reasoning in the next prompt": scenario(
        {
            "prompts": [
                user("hi"),
                [
                    *user("hi"),
                    {"role": "assistant", "parts": [{"reasoning": "hm"}, {"tool_call": "t", "id": "c1", "args": {}}]},
                    {"role": "tool", "parts": [{"tool_result": "t", "id": "c1", "output": 1}]},
                ],
            ]
        },
        agent={"tools": {"t": {"result": 1}}},
        model=[{"reasoning": ["h", "m"], "tools": [{"id": "c1", "name": "t", "args": {}}]}, {"text": ["ok"]}],
    ),
    "options of a call": scenario(
        {"hooks": ["model#1", "o.process_output_step:0", "model#2", "o.process_output_step:0"]},
        call={"max_processor_retries": 1},
        output_processors=[processor("o", process_output_step=[{"op": "abort", "reason": "no", "retry": True}])],
    ),
    "two calls and one count of steps": scenario(
        {"hooks": ["model#1", "tool:t"], "turns": [{"finish_reason": "tool-calls"}]},
        agent={"tools": {"t": {"result": 1}}},
        call={"max_steps": 1},
        model=[{"tools": [{"id": "c1", "name": "t", "args": {}}]}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_outcome_is_as_the_rules_say(name: str) -> None:
    faults = {f"{entry} {backend}": faults_of(CASES[name], entry, backend) for backend in BACKENDS for entry in ENTRIES}

    assert faults == {run: [] for run in faults}
