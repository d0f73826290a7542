"""Language models: the port, models for tests, and providers reached over HTTP."""

from sluiceway.models._anthropic import AnthropicMessages
from sluiceway.models._backoff import Backoff
from sluiceway.models._call import ModelCall
from sluiceway.models._client import Connections, Holds, HttpClient, hold_connections
from sluiceway.models._embeddings import OpenAIEmbeddings
from sluiceway.models._exchange import Timeouts
from sluiceway.models._listing import list_models
from sluiceway.models._moderations import OpenAIModerations
from sluiceway.models._openai import OpenAIChat
from sluiceway.models._port import Model, ModelRequest, StructuredOutput, ToolChoice
from sluiceway.models._providers import ChatQuirks
from sluiceway.models._route import route
from sluiceway.models._scripted import EchoModel, Reply, ReplyLike, ScriptedModel
from sluiceway.models._settings import Settings

__all__ = [
    "AnthropicMessages",
    "Backoff",
    "ChatQuirks",
    "Connections",
    "EchoModel",
    "Holds",
    "HttpClient",
    "Model",
    "ModelCall",
    "ModelRequest",
    "OpenAIChat",
    "OpenAIEmbeddings",
    "OpenAIModerations",
    "Reply",
    "ReplyLike",
    "ScriptedModel",
    "Settings",
    "StructuredOutput",
    "Timeouts",
    "ToolChoice",
    "hold_connections",
    "list_models",
    "route",
]
