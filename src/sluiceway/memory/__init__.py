"""Memory: conversations that are stored, recalled and gone on with."""

from sluiceway.memory._attachment_uploader import AttachmentUploader, Upload
from sluiceway.memory._embedders import Embedder, HashEmbedder, WordLlamaEmbedder
from sluiceway.memory._in_memory import InMemoryStore
from sluiceway.memory._memory import Memory
from sluiceway.memory._memory_run import MemoryRun, request_context_for
from sluiceway.memory._message_history import MessageHistory
from sluiceway.memory._placement import remembers
from sluiceway.memory._port import (
    MemoryStore,
    MessageKey,
    MessageRow,
    Resource,
    Thread,
    Turn,
    WorkingChange,
)
from sluiceway.memory._postgres import PostgresStore
from sluiceway.memory._postgres_vectors import PostgresVectors
from sluiceway.memory._semantic_recall import SemanticRecall
from sluiceway.memory._sqlite import SQLiteStore
from sluiceway.memory._sqlite_vectors import SQLiteVectors
from sluiceway.memory._vectors import InMemoryVectors, Match, VectorEntry, VectorStore
from sluiceway.memory._working_memory import WorkingMemory

__all__ = [
    "AttachmentUploader",
    "Embedder",
    "HashEmbedder",
    "InMemoryStore",
    "InMemoryVectors",
    "Match",
    "Memory",
    "MemoryRun",
    "MemoryStore",
    "MessageHistory",
    "MessageKey",
    "MessageRow",
    "PostgresStore",
    "PostgresVectors",
    "Resource",
    "SQLiteStore",
    "SQLiteVectors",
    "SemanticRecall",
    "Thread",
    "Turn",
    "Upload",
    "VectorEntry",
    "VectorStore",
    "WordLlamaEmbedder",
    "WorkingChange",
    "WorkingMemory",
    "remembers",
    "request_context_for",
]
