"""The automatic merge of the branches of a `parallel`, for everything a `HookCall` carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sluiceway._types import MISSING
from sluiceway.errors import MergeConflict
from sluiceway.messages import Chunk, MessageList, Prompt, PromptMessage, merge_forks
from sluiceway.processors._results import Retry

__all__ = ["MergeableCall", "merge_calls"]


class MergeableCall(Protocol):
    """The fields of a `HookCall` that branches may change."""

    message_list: MessageList
    overrides: dict[str, Any]
    prompt: Prompt | None
    parts: tuple[Chunk, ...]
    response: Sequence[Chunk] | None
    retry: Retry | None


def merge_calls(
    into: MergeableCall, base: MergeableCall, forks: Mapping[str, MergeableCall], prefer: str | None
) -> None:
    """Put into `into` what the forks of `base` did. Messages are merged into the base's own list.

    Raises:
        MergeConflict: Two branches changed the same thing in different ways.
    """
    lists = [(key, fork.message_list) for key, fork in forks.items()]
    merge_forks(base.message_list, lists, prefer=prefer)
    if len(forks) == 1:
        [only] = forks.values()
        into.overrides, into.prompt, into.parts, into.response = only.overrides, only.prompt, only.parts, only.response
        into.retry = only.retry or base.retry
        return
    into.overrides = _merge_overrides(base.overrides, forks, prefer)
    into.prompt = _merge_prompts(base.prompt, forks, prefer)
    into.parts = _pick("chunks", base.parts, {k: f.parts for k, f in forks.items()}, prefer)
    into.response = _pick("response", base.response, {k: f.response for k, f in forks.items()}, prefer)
    into.retry = next((f.retry for f in forks.values() if f.retry is not None), base.retry)


def _merge_overrides(base: dict[str, Any], forks: Mapping[str, MergeableCall], prefer: str | None) -> dict[str, Any]:
    names = dict.fromkeys(name for values in (base, *(f.overrides for f in forks.values())) for name in values)
    merged: dict[str, Any] = {}
    for name in names:
        offers = {key: fork.overrides.get(name, MISSING) for key, fork in forks.items()}
        value = _pick(name, base.get(name, MISSING), offers, prefer)
        if value is not MISSING:
            merged[name] = value
    return merged


def _merge_prompts(base: Prompt | None, forks: Mapping[str, MergeableCall], prefer: str | None) -> Prompt | None:
    changed = {key: fork.prompt for key, fork in forks.items() if fork.prompt is not base}
    if base is None or len(changed) < 2 or any(p is None for p in changed.values()):
        return _pick("prompt", base, changed, prefer)
    prompts: dict[str, tuple[PromptMessage, ...]] = {k: p.messages for k, p in changed.items() if p is not None}
    if any(len(messages) != len(base.messages) for messages in prompts.values()):
        return _pick("prompt", base, changed, prefer)
    merged = [
        _pick(f"prompt message {i}", message, {k: m[i] for k, m in prompts.items()}, prefer)
        for i, message in enumerate(base.messages)
    ]
    return base.replace(messages=tuple(merged))


def _pick(what: str, base: Any, offers: Mapping[str, Any], prefer: str | None) -> Any:
    """Return the one value that differs from the base; equal changes count once."""
    changed = {key: value for key, value in offers.items() if value is not base and value != base}
    if not changed:
        return base
    if prefer is not None and prefer in changed:
        return changed[prefer]
    (first, value), *others = changed.items()
    for key, other in others:
        if other != value:
            raise MergeConflict(
                f"{first!r} and {key!r} both changed the {what}, in different ways; "
                "pick one with .map(), or give merge.prefer(key)",
                keys=(first, key),
            )
    return value
