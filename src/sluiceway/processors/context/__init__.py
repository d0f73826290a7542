"""Processors that shape what the model is given, and what becomes of its answer."""

from sluiceway.processors.context._cache_key import CacheInputs, build_response_cache_key
from sluiceway.processors.context._caches import Cache, InMemoryCache
from sluiceway.processors.context._ensure_final_response import EnsureFinalResponse
from sluiceway.processors.context._history_rules import HistoryRule
from sluiceway.processors.context._prefill_error_handler import PrefillErrorHandler
from sluiceway.processors.context._prepare_step import PrepareStep
from sluiceway.processors.context._provider_history_compat import ProviderHistoryCompat
from sluiceway.processors.context._redis_cache import RedisCache
from sluiceway.processors.context._response_cache import ResponseCache
from sluiceway.processors.context._stream_error_retry import StreamErrorRetryProcessor
from sluiceway.processors.context._structured_output import StructuredOutputProcessor
from sluiceway.processors.context._token_counter import CharacterEstimate, TiktokenCounter, TokenCounter
from sluiceway.processors.context._token_limiter import TokenLimiter, TokenLimiterProcessor
from sluiceway.processors.context._tool_call_filter import ToolCallFilter
from sluiceway.processors.context._tool_search import ToolSearchProcessor

__all__ = [
    "Cache",
    "CacheInputs",
    "CharacterEstimate",
    "EnsureFinalResponse",
    "HistoryRule",
    "InMemoryCache",
    "PrefillErrorHandler",
    "PrepareStep",
    "ProviderHistoryCompat",
    "RedisCache",
    "ResponseCache",
    "StreamErrorRetryProcessor",
    "StructuredOutputProcessor",
    "TiktokenCounter",
    "TokenCounter",
    "TokenLimiter",
    "TokenLimiterProcessor",
    "ToolCallFilter",
    "ToolSearchProcessor",
    "build_response_cache_key",
]
