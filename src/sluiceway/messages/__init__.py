"""Messages and what becomes of them: the list of a run, prompts, chunks, other formats."""

from sluiceway.messages._box import copy_value
from sluiceway.messages._chunk import Chunk, ChunkSource
from sluiceway.messages._escape import escape_tags
from sluiceway.messages._hunks import Hunk
from sluiceway.messages._journal import ListEdit, Snapshot
from sluiceway.messages._jsonable import jsonable
from sluiceway.messages._list import MessageList
from sluiceway.messages._media import FilePart, ImagePart
from sluiceway.messages._merge import merge_forks
from sluiceway.messages._message import Message, SystemMessage
from sluiceway.messages._openai import openai_messages, output_text
from sluiceway.messages._parse import ParsedInput, parse_input
from sluiceway.messages._part import Part
from sluiceway.messages._parts import DataPart, SourcePart, StepStartPart, UnknownPart
from sluiceway.messages._prompt import Prompt
from sluiceway.messages._prompt_parts import (
    PromptContent,
    PromptFile,
    PromptImage,
    PromptMessage,
    PromptReasoning,
    PromptRole,
    PromptText,
    PromptToolCall,
    PromptToolResult,
)
from sluiceway.messages._reply import Reply
from sluiceway.messages._text import ReasoningPart, TextPart
from sluiceway.messages._threeway import merge_hunks, merge_text, merge_value
from sluiceway.messages._to_prompt import ToModelOutput
from sluiceway.messages._tool import ToolPart, ToolState
from sluiceway.messages._ui import ui_message
from sluiceway.messages._usage import Usage

__all__ = [
    "Chunk",
    "ChunkSource",
    "DataPart",
    "FilePart",
    "Hunk",
    "ImagePart",
    "ListEdit",
    "Message",
    "MessageList",
    "ParsedInput",
    "Part",
    "Prompt",
    "PromptContent",
    "PromptFile",
    "PromptImage",
    "PromptMessage",
    "PromptReasoning",
    "PromptRole",
    "PromptText",
    "PromptToolCall",
    "PromptToolResult",
    "ReasoningPart",
    "Reply",
    "Snapshot",
    "SourcePart",
    "StepStartPart",
    "SystemMessage",
    "TextPart",
    "ToModelOutput",
    "ToolPart",
    "ToolState",
    "UnknownPart",
    "Usage",
    "copy_value",
    "escape_tags",
    "jsonable",
    "merge_forks",
    "merge_hunks",
    "merge_text",
    "merge_value",
    "openai_messages",
    "output_text",
    "parse_input",
    "ui_message",
]
