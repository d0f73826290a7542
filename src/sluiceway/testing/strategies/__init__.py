"""Hypothesis strategies for messages, streams, processors, workflows and model scripts (extra `testing`)."""

from sluiceway.testing.strategies._all import (
    chains,
    chunk_streams,
    conversations,
    cuts,
    delays,
    from_source,
    messages,
    model_scripts,
    parts,
    processors,
    texts,
    workflows,
)

__all__ = [
    "chains",
    "chunk_streams",
    "conversations",
    "cuts",
    "delays",
    "from_source",
    "messages",
    "model_scripts",
    "parts",
    "processors",
    "texts",
    "workflows",
]
