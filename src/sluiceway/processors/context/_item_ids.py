"""Ids of items of OpenAI's Responses API, which tie a thought to what it led to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from sluiceway.messages import PromptContent

__all__ = ["unlinked", "without_ids"]

_ITEM_IDS: Final = ("item_id", "itemId")


def without_ids(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return provider metadata without ids of items; the same where there are none."""
    if not any(_has_id(value) for value in metadata.values()):
        return metadata
    return {key: _bare(value) if _has_id(value) else value for key, value in metadata.items()}


def unlinked(item: PromptContent) -> PromptContent:
    """Return content of a prompt without the id of its item; the same where there is none."""
    metadata = without_ids(item.provider_metadata)
    return item if metadata is item.provider_metadata else dataclasses.replace(item, provider_metadata=metadata)


def _has_id(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name in value for name in _ITEM_IDS)


def _bare(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in _ITEM_IDS}
