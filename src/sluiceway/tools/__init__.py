"""Tools: what a model may ask to be run, and what is known about the request it runs for."""

from sluiceway.tools._context import ChunkWriter, ToolContext
from sluiceway.tools._request_context import RequestContext
from sluiceway.tools._tool import Tool, ToolLike, as_tools, tool

__all__ = [
    "ChunkWriter",
    "RequestContext",
    "Tool",
    "ToolContext",
    "ToolLike",
    "as_tools",
    "tool",
]
