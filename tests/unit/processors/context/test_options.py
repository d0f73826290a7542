"""Options are checked at construction; the error names option, value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.models import EchoModel
from sluiceway.processors import (
    EnsureFinalResponse,
    HistoryRule,
    InMemoryCache,
    PrepareStep,
    ProviderHistoryCompat,
    RedisCache,
    ResponseCache,
    StreamErrorRetryProcessor,
    StructuredOutputProcessor,
    TiktokenCounter,
    TokenLimiter,
    TokenLimiterProcessor,
    ToolCallFilter,
    ToolSearchProcessor,
)
from sluiceway.tools import Tool

WRONG: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (TokenLimiter, {"limit": 0}, "token-limiter: limit=0 is not allowed; give a whole number from 1"),
    (TokenLimiter, {"limit": 1.5}, "limit=1.5"),
    (TokenLimiter, {"limit": True}, "limit=True"),
    (TokenLimiter, {"limit": 9, "scope": "turn"}, "scope='turn' is not allowed; give one of 'run', 'step'"),
    (TokenLimiter, {"limit": 9, "strategy": "drop"}, "strategy='drop' is not allowed"),
    (TokenLimiter, {"limit": 9, "count_mode": "all"}, "count_mode='all' is not allowed"),
    (TokenLimiter, {"limit": 9, "trim_mode": "oldest"}, "trim_mode='oldest' is not allowed"),
    (
        TokenLimiter,
        {"limit": 9, "encoding": "p50k_base"},
        "encoding='p50k_base' is not allowed; give one of 'o200k_base'",
    ),
    (TokenLimiter, {"limit": 9, "encoding": 7}, "encoding=7"),
    (TokenLimiter, {"limit": 9, "id": " "}, "id must be a text"),
    (TiktokenCounter, {"encoding": "gpt2"}, "encoding='gpt2' is not known"),
    (ToolCallFilter, {"exclude": "look"}, "exclude='look' is not allowed; give a list of names"),
    (ToolCallFilter, {"exclude": [1]}, r"exclude=\[1\]"),
    (ToolCallFilter, {"filter_after_tool_steps": -1}, "filter_after_tool_steps=-1"),
    (ToolCallFilter, {"preserve_model_output": 1}, "preserve_model_output=1 is not allowed; give True or False"),
    (ToolSearchProcessor, {"tools": "look"}, "tools are a list"),
    (ToolSearchProcessor, {"tools": [Tool("load_tool")]}, "a tool is named 'load_tool', which this processor offers"),
    (ToolSearchProcessor, {"search": 5}, "search=5 is not allowed"),
    (
        ToolSearchProcessor,
        {"search": {"topk": 5}},
        "search does not know 'topk'; give some of top_k, min_score, auto_load",
    ),
    (ToolSearchProcessor, {"search": {"top_k": 0}}, r"search\['top_k'\]=0 is not allowed"),
    (
        ToolSearchProcessor,
        {"search": {"min_score": -1}},
        r"search\['min_score'\]=-1 is not allowed; give a number from 0",
    ),
    (ToolSearchProcessor, {"search": {"auto_load": "yes"}}, r"search\['auto_load'\]='yes'"),
    (ToolSearchProcessor, {"storage": "disk"}, "storage='disk' is not allowed"),
    (ToolSearchProcessor, {"ttl": -1}, "ttl=-1 is not allowed; give a number of seconds from 0"),
    (ToolSearchProcessor, {"filter": True}, "filter=True is not allowed; give a function"),
    (ToolSearchProcessor, {"include_resolved_tools": None}, "include_resolved_tools=None"),
    (ProviderHistoryCompat, {"additional_rules": "x"}, "additional_rules='x' is not allowed"),
    (ProviderHistoryCompat, {"additional_rules": [len]}, "give a list of HistoryRule objects"),
    (
        ProviderHistoryCompat,
        {"additional_rules": [HistoryRule("own-reasoning", apply_to_prompt=lambda p, m: p)]},
        "two rules are named 'own-reasoning'",
    ),
    (HistoryRule, {"name": ""}, "a HistoryRule needs a name"),
    (HistoryRule, {"name": "x"}, "rule 'x' does nothing"),
    (HistoryRule, {"name": "x", "fix": bool}, "fix= and a list of error_patterns go together"),
    (HistoryRule, {"name": "x", "fix": bool, "error_patterns": "x"}, "go together"),
    (StreamErrorRetryProcessor, {"max_retries": -1}, "max_retries=-1"),
    (StreamErrorRetryProcessor, {"matchers": "overload"}, "matchers='overload' is not allowed; give a list"),
    (StreamErrorRetryProcessor, {"matchers": [""]}, "matchers has ''"),
    (StreamErrorRetryProcessor, {"matchers": [3]}, "matchers has 3"),
    (StreamErrorRetryProcessor, {"retry_unknown_errors": 1}, "retry_unknown_errors=1"),
    (StreamErrorRetryProcessor, {"delay": -1}, "delay=-1"),
    (StreamErrorRetryProcessor, {"max_retry_after": float("inf")}, "max_retry_after=inf"),
    (ResponseCache, {"cache": 5}, r"cache=5 is not allowed; give an object with get\(key\)"),
    (ResponseCache, {"ttl": 0}, "ttl=0 is not allowed; give a number of seconds above 0, or None"),
    (ResponseCache, {"ttl": "1h"}, "ttl='1h'"),
    (ResponseCache, {"scope": 5}, "scope=5 is not allowed"),
    (ResponseCache, {"key": ""}, "key='' is not allowed"),
    (ResponseCache, {"bust": "yes"}, "bust='yes'"),
    (ResponseCache, {"agent_id": ""}, "agent_id=''"),
    (ResponseCache, {"store": "all"}, "store='all' is not allowed; give one of 'raw', 'processed'"),
    (ResponseCache.context, {"bust": 1}, "ResponseCache.context: bust=1"),
    (InMemoryCache, {"max_entries": 0}, "InMemoryCache: max_entries=0"),
    (RedisCache, {"url": "http://localhost"}, "the url with the scheme 'http' is none of Redis"),
    (RedisCache, {"url": 5}, "RedisCache: url=5 is not allowed"),
    (RedisCache, {"prefix": ""}, "prefix=''"),
    (RedisCache, {"timeout_s": -1}, "timeout_s=-1"),
    (StructuredOutputProcessor, {"schema": "text"}, "needs a type that pydantic takes or a JSON schema"),
    (StructuredOutputProcessor, {"schema": {"type": 5}}, "this is no JSON schema"),
    (StructuredOutputProcessor, {"schema": int, "error_strategy": "raise"}, "error_strategy='raise' is not allowed"),
    (StructuredOutputProcessor, {"schema": int, "error_strategy": "fallback"}, "fallback_value go together"),
    (StructuredOutputProcessor, {"schema": int, "fallback_value": 1}, "fallback_value go together"),
    (StructuredOutputProcessor, {"schema": int, "model": 5}, "model is a text such as"),
    (StructuredOutputProcessor, {"schema": int, "model": "echo/echo"}, "cannot answer structured requests"),
    (StructuredOutputProcessor, {"schema": int, "model": EchoModel()}, "echo/echo cannot answer structured requests"),
    (EnsureFinalResponse, {"max_steps": 0}, "max_steps=0"),
    (PrepareStep, {"fn": 5}, "prepare_step must be a function"),
]


@pytest.mark.parametrize(("make", "options", "error"), WRONG)
def test_a_wrong_option_is_refused(make: Callable[..., object], options: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigurationError, match=error):
        make(**options)


def test_the_limiter_has_two_names() -> None:
    assert TokenLimiterProcessor is TokenLimiter
    assert TokenLimiter(100).limit == 100
