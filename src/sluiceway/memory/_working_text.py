"""How an update changes a working memory: JSON by merge patch, text line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeAlias, cast

from sluiceway.errors import StorageError
from sluiceway.memory._codec import dumps
from sluiceway.messages import jsonable

__all__ = ["is_blank", "merge_lines", "patched", "relaxed"]

_Edit: TypeAlias = "tuple[int, int, list[str]]"


def patched(text: str | None, patch: Any) -> str | None:
    """Return a JSON object with a merge patch applied (RFC 7396).

    Objects are merged key by key; null removes a key; a list or a plain value replaces what
    was there as a whole. A patch that is no object changes nothing.

    Raises:
        StorageError: The text is no JSON: it would be lost.
    """
    if not isinstance(patch, Mapping) or not patch:
        return text
    try:
        before: object = json.loads(text) if text else {}
    except ValueError as error:
        raise StorageError(
            "the working memory is no JSON, as one of a markdown template is not; give back that template, or "
            "move what it says into the model's fields with storage.change_working"
        ) from error
    return dumps(_patch(before, jsonable(patch)))


def _patch(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    out = dict(cast("dict[str, Any]", target)) if isinstance(target, dict) else {}
    for key, value in cast("dict[str, Any]", patch).items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = _patch(out.get(key), value)
    return out


def relaxed(schema: Any) -> Any:
    """Return a JSON schema in which no property is required and every one may be null."""
    if isinstance(schema, list):
        return [relaxed(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key == "required" and isinstance(value, list):
            continue
        if key == "properties" and isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            out[key] = {name: {"anyOf": [relaxed(field), {"type": "null"}]} for name, field in fields.items()}
        else:
            out[key] = relaxed(value)
    return out


def is_blank(text: str, template: str) -> bool:
    """Whether a text says nothing: it is empty, or the template as it was."""
    return text.split() in ([], template.split())


def merge_lines(base: str, mine: str, theirs: str) -> str:
    """Return a text with the changes of two writers that began from one base, line by line.

    Where both changed the same lines, mine stand; where both put lines in at one point, theirs
    come first.
    """
    if theirs in (base, mine):
        return mine
    if mine == base:
        return theirs
    lines = base.split("\n")
    edits = [(edit, 0) for edit in _edits(lines, theirs)] + [(edit, 1) for edit in _edits(lines, mine)]
    edits.sort(key=lambda item: (item[0][0], item[0][1], item[1]))
    out: list[str] = []
    position = 0
    while edits:
        group = [edits.pop(0)]
        end = group[0][0][1]
        while edits and edits[0][0][0] < end:
            end = max(end, edits[0][0][1])
            group.append(edits.pop(0))
        out += lines[position : group[0][0][0]]
        position = end
        out += _resolved(lines, group, group[0][0][0], end)
    return "\n".join(out + lines[position:])


def _edits(base: Sequence[str], text: str) -> list[_Edit]:
    new = text.split("\n")
    matcher = SequenceMatcher(None, base, new, autojunk=False)
    return [(i1, i2, new[j1:j2]) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]


def _resolved(base: Sequence[str], group: Sequence[tuple[_Edit, int]], start: int, end: int) -> list[str]:
    """Return what stands in the place of the base's lines from start to end."""
    writers = {writer for _, writer in group}
    chosen = max(writers)
    out: list[str] = []
    position = start
    for (i1, i2, new), writer in group:
        if writer == chosen:
            out += [*base[position:i1], *new]
            position = i2
    return out + list(base[position:end])
