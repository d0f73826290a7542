"""The form in which a workflow is tried, and the texts that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluiceway.serve._house import Listed
from sluiceway.serve.page._html import Markup, Piece, el
from sluiceway.serve.page._trial import Attempt, Seen

__all__ = ["form", "texts", "value"]


def form(listed: Listed, attempt: Attempt) -> Markup:
    """Return the form in which a workflow is tried."""
    hooks = listed.hooks
    fields = [_area("text", "What a user says", attempt.text, required=True)]
    if any(hook.startswith(("process_output", "finish_output", "process_llm_response")) for hook in hooks):
        fields.append(_area("answer", "What the model answers", attempt.answer, hint="what it was told, if left empty"))
    if "process_tool_result" in hooks:
        fields.append(_area("tool", "What a tool returns", attempt.tool, hint="no tool is called, if left empty"))
    if "process_api_error" in hooks:
        fields.append(
            _area("error", "What the provider refuses it with", attempt.error, hint="it does not, if left empty")
        )
    show = el("input", {"type": "checkbox", "name": "texts", "checked": attempt.texts})
    return el(
        "form",
        {"method": "post", "action": f"/workflows/{listed.number}/try", "autocomplete": "off"},
        el("div", {"class": "fields"}, fields),
        el(
            "div", {"class": "row"}, el("button", {"type": "submit"}, "Run"), el("label", None, show, " show the texts")
        ),
    )


def _area(name: str, label: str, value: str, *, hint: str = "", required: bool = False) -> Markup:
    attributes: dict[str, Any] = {"name": name, "rows": 4, "placeholder": hint or None, "required": required}
    # A browser drops one line feed at the beginning of a text area.
    return el("label", None, el("span", None, label), el("textarea", attributes, Markup("\n"), value))


def texts(seen: Sequence[Seen], answer: str | None) -> Markup:
    """Return what was seen, hook by hook, and what came out."""
    told = [_step(one) for one in seen if one.before or one.after]
    if answer is not None:
        told.append(value("answer", "What a client gets", answer, shown=True))
    return el("div", {"class": "values"}, told)


def _step(seen: Seen) -> Markup:
    if seen.after is None:
        words, after = "stopped here", None
    else:
        words, after = ("changed" if seen.after != seen.before else "as it was"), seen.after
    columns: list[Piece] = [el("div", None, el("h4", None, "before"), el("pre", None, seen.before))]
    if after is not None and after != seen.before:
        columns.append(el("div", None, el("h4", None, "after"), el("pre", None, after)))
    state = {"stopped here": "tripwire", "changed": "edited", "as it was": "passed"}[words]
    return el(
        "details",
        {"open": state != "passed"},
        el(
            "summary",
            None,
            el("span", {"class": "hook"}, seen.hook),
            " ",
            el("span", {"class": f"badge {state}"}, words),
        ),
        el("div", {"class": "columns"}, columns),
    )


def value(name: str, title: str, text: str, *, shown: bool = False) -> Markup:
    """Return a text that is hidden until one asks for it, unless that was done."""
    return el("details", {"id": f"v-{name}", "open": shown}, el("summary", None, title), el("pre", None, text))
