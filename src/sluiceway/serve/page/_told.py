"""Runs in words: how they stand, what their hooks did. Never a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from sluiceway.errors import ConfigurationError
from sluiceway.graphs import Drawn
from sluiceway.messages import ListEdit
from sluiceway.processors import HookEvent, Violation
from sluiceway.serve._runs import RunRecord
from sluiceway.serve.page._html import Markup, Piece, badge, chip, el, table

__all__ = ["facts", "hooks_table", "picture", "runs_table"]

_MOST_EDITS = 6


def picture(thing: Drawn, events: Sequence[HookEvent] = ()) -> Markup:
    """Return a graph, with a run on it where something of it is known."""
    try:
        svg = thing.to_svg(run=events) if events else thing.to_svg()
    except ConfigurationError:
        svg = thing.to_svg()  # a run of which nothing belongs to this graph
    return el("figure", {"class": "graph"}, Markup(svg))


def runs_table(records: Iterable[RunRecord], *, empty: str) -> Markup:
    """Return the last runs."""
    rows = [
        (
            el("a", {"href": f"/runs/{record.id}", "class": "when"}, _moment(record)),
            record.subject,
            chip("stream" if record.via != "trial" and record.stream else record.via, record.via),
            badge(record.state),
            el("span", {"class": "reason"}, record.reason) if record.reason else None,
            _seconds(record.seconds),
            _seconds(record.first_s),
            str(record.edits or ""),
            str(record.warnings or ""),
            str(record.usage.total_tokens or ""),
        )
        for record in records
    ]
    if not rows:
        return el("p", {"class": "empty"}, empty)
    head = ("started", "of", "by", "verdict", "because", "took", "first text", "edits", "warnings", "tokens")
    return table(head, rows, numbers=(5, 6, 7, 8, 9))


def facts(record: RunRecord) -> Markup:
    """Return what is known of a run as a whole."""
    used = record.usage
    pairs: list[tuple[str, Piece]] = [
        ("verdict", badge(record.state)),
        ("started", f"{record.started.astimezone():%Y-%m-%d %H:%M:%S}"),
        ("took", _seconds(record.seconds) or "…"),
    ]
    if record.first_s is not None:
        pairs.append(("first text after", _seconds(record.first_s)))
    if record.reason:
        pairs.append(("because", el("strong", {"class": "reason"}, record.reason)))
    if record.place:
        pairs.append(("at", el("code", None, record.place)))
    if record.finish_reason:
        pairs.append(("finish reason", record.finish_reason))
    if record.retries:
        pairs.append(("tried again", f"{record.retries}×"))
    pairs.append(("tokens", f"{used.input_tokens} in, {used.output_tokens} out"))
    if record.model:
        pairs.append(("asked for", el("code", None, record.model)))
    pairs.append(("run", el("code", None, record.id)))
    return el("dl", {"class": "facts"}, [el("div", None, el("dt", None, k), el("dd", None, v)) for k, v in pairs])


def hooks_table(events: Sequence[HookEvent], left_out: int = 0) -> Markup:
    """Return what each hook did, in order."""
    if not events:
        return el("p", {"class": "empty"}, "No hook has run yet.")
    slowest = max(event.duration_ms for event in events) or 1.0
    rows: list[tuple[Piece, ...]] = []
    before: tuple[object, ...] | None = None
    for event in events:
        group = (event.step_number, event.attempt, event.hook)
        rows.append(_hook_row(event, slowest, first=group != before))
        before = group
    more = el("p", {"class": "empty"}, f"… and {left_out} more that are not kept.") if left_out else None
    head = ("hook", "processor", "outcome", "took", "calls", "what it did")
    return el("div", None, table(head, rows, numbers=(4,)), more)


def _hook_row(event: HookEvent, slowest: float, *, first: bool) -> tuple[Piece, ...]:
    width = max(1.0, 100 * event.duration_ms / slowest)
    bar = el("span", {"class": "bar", "style": f"width:{width:.0f}%"})
    return (
        el("span", {"class": "hook"}, _hook(event)) if first else "",
        el("code", None, event.path or event.processor_id),
        badge(event.outcome),
        el(
            "span",
            {"class": "took"},
            el("span", None, f"{event.duration_ms:.2f} ms"),
            el("span", {"class": "track"}, bar),
        ),
        str(event.calls),
        el("span", {"class": "did"}, told) if (told := _did(event)) else None,
    )


def _hook(event: HookEvent) -> str:
    where = "" if event.step_number is None else f"step {event.step_number + 1} · "
    again = f" (try {event.attempt + 1})" if event.attempt else ""
    return f"{where}{event.hook}{again}"


def _did(event: HookEvent) -> list[Piece]:
    told: list[Piece] = [chip(_edit(edit), "edit") for edit in event.edits[:_MOST_EDITS]]
    if len(event.edits) > _MOST_EDITS:
        told.append(chip(f"{len(event.edits) - _MOST_EDITS} more edits", "edit"))
    if event.changed_chunks:
        told.append(chip(f"{event.changed_chunks} chunk{'' if event.changed_chunks == 1 else 's'} changed", "edit"))
    told += [chip(_warning(violation), "warning") for violation in event.violations]
    return told


def _edit(edit: ListEdit) -> str:
    if edit.action == "edit":
        return f"{edit.start}–{edit.end} → {edit.length} chars"
    return str(edit.action)


def _warning(violation: Violation) -> str:
    found = [_finding(item) for item in _entries(violation.detail)]
    told = "; ".join(item for item in found if item)
    return f"{violation.message} ({told})" if told else violation.message


def _entries(detail: Any) -> list[Any]:
    return cast("list[Any]", detail)[:_MOST_EDITS] if isinstance(detail, (list, tuple)) else []


def _finding(item: Any) -> str:
    """Return the rule and the place of a finding; whatever else is in it may be a value."""

    def of(name: str) -> Any:
        if isinstance(item, Mapping):
            return cast("Mapping[str, Any]", item).get(name)
        return getattr(item, name, None)

    rule, offset, length = of("rule"), of("offset"), of("length")
    if not isinstance(rule, str):
        return ""
    where = f" at {offset}+{length}" if isinstance(offset, int) and isinstance(length, int) else ""
    return f"{rule}{where}"


def _moment(record: RunRecord) -> str:
    return f"{record.started.astimezone():%H:%M:%S}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
