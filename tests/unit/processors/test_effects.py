"""What the built-ins declare that they read and write, and what they are called where nobody says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors import (
    BatchPartsProcessor,
    CostGuardProcessor,
    Effects,
    EnsureFinalResponse,
    LanguageDetector,
    PIIDetector,
    PIIVault,
    PlaceholderRestorer,
    PrefillErrorHandler,
    ProviderHistoryCompat,
    RegexFilterProcessor,
    ResponseCache,
    StreamErrorRetryProcessor,
    SystemPromptScrubber,
    TokenLimiter,
    ToolCallFilter,
    ToolSearchProcessor,
    UnicodeNormalizer,
)

HELD = Effects(reads=("chunk",), writes=("chunk", "state"))
SEEN = Effects(reads=("chunk",), writes=("state",))
EDITED = Effects(reads=("messages",), writes=("messages", "state"))
JUDGED = Effects(reads=("messages",), writes=("state",))


def guard(first: Effects, stream: Effects, output: Effects, **more: Effects) -> dict[str, Effects]:
    return {
        "process_input": first,
        "process_output_stream": stream,
        "finish_output_stream": stream,
        "process_tool_result": output,
        "process_output_result": output,
        **more,
    }


DECLARED: list[tuple[Callable[[], Any], str, Any]] = [
    (UnicodeNormalizer, "unicode-normalizer", Effects(("messages",), ("messages",), aborts=False)),
    (
        PIIDetector,
        "pii-detector",
        guard(
            Effects(("messages",), ("messages",)),
            HELD,
            EDITED,
            process_llm_request=Effects(("prompt",), ("prompt",), aborts=False),
            process_input_step=Effects(("overrides",), ("overrides",), aborts=False),
        ),
    ),
    (lambda: RegexFilterProcessor(presets=["pii"]), "regex-filter", guard(Effects(("messages",)), HELD, JUDGED)),
    (
        lambda: RegexFilterProcessor(presets=["pii"], strategy="warn"),
        "regex-filter",
        guard(Effects(("messages",)), SEEN, JUDGED),
    ),
    (
        SystemPromptScrubber,
        "system-prompt-scrubber",
        guard(Effects(("messages",), ("messages",)), HELD, EDITED),
    ),
    (LanguageDetector, "language-detector", Effects(("messages",), ("messages",))),
    (
        lambda: PlaceholderRestorer(PIIVault()),
        "placeholder-restorer",
        {
            "process_output_stream": Effects(("chunk",), ("chunk", "state"), aborts=False),
            "finish_output_stream": Effects(("chunk",), ("chunk", "state"), aborts=False),
            "process_output_result": Effects(("messages",), ("messages", "state"), aborts=False),
        },
    ),
    (BatchPartsProcessor, "batch-parts", Effects(("chunk",), ("chunk", "state"), aborts=False)),
    (
        lambda: CostGuardProcessor(max_cost=5.0, scope="run"),
        "cost-guard",
        Effects(("overrides", "context"), ("state",)),
    ),
    (
        lambda: TokenLimiter(limit=20),
        "token-limiter",
        {
            "process_input": Effects(("messages", "system"), aborts=False),
            "process_llm_request": Effects(("messages", "prompt", "overrides"), ("prompt", "state")),
            "process_output_stream": Effects(("chunk", "state"), ("chunk", "state"), aborts=False),
            "finish_output_stream": Effects(("chunk", "state"), ("chunk", "state"), aborts=False),
            "process_output_result": Effects(("messages",), ("messages",), aborts=False),
        },
    ),
    (ToolCallFilter, "tool-call-filter", Effects(("messages", "prompt"), ("prompt",), aborts=False)),
    (
        lambda: ToolSearchProcessor(tools=[]),
        "tool-search",
        Effects(("messages", "overrides", "context"), ("overrides", "state"), aborts=False),
    ),
    (
        ProviderHistoryCompat,
        "provider-history-compat",
        {
            "process_llm_request": Effects(("prompt", "overrides"), ("prompt",), aborts=False),
            "process_api_error": Effects(("messages", "state"), ("messages", "state"), aborts=False),
        },
    ),
    (
        PrefillErrorHandler,
        "prefill-error-handler",
        Effects(("messages",), ("messages", "state"), aborts=False),
    ),
    (StreamErrorRetryProcessor, "stream-error-retry", Effects(("state",), ("state",), aborts=False)),
    (
        ResponseCache,
        "response-cache",
        {
            "process_llm_request": Effects(("prompt", "overrides", "context"), ("prompt", "state"), aborts=False),
            "process_llm_response": Effects(("chunk", "state"), ("state",), aborts=False),
        },
    ),
    (
        EnsureFinalResponse,
        "ensure-final-response",
        Effects(("overrides",), ("messages", "overrides"), aborts=False),
    ),
]


@pytest.mark.parametrize(("make", "name", "effects"), DECLARED, ids=[name for _, name, _ in DECLARED])
def test_a_built_in_declares_all_it_reads_and_writes(make: Callable[[], Any], name: str, effects: Any) -> None:
    processor = make()
    assert (processor.id, processor.on_error) == (name, "raise")
    assert processor.effects == effects


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"reads": "messages"}, "Effects(reads=…) takes a tuple, such as ('messages',)"),
        ({"writes": "prompt"}, "Effects(writes=…) takes a tuple, such as ('prompt',)"),
        ({"reads": ("messages", "minds")}, "Effects(reads=…) does not know 'minds'; allowed: "),
        ({"writes": ("minds",)}, "Effects(writes=…) does not know 'minds'; allowed: "),
    ],
)
def test_what_is_no_surface_is_said_to_be_none(made: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Effects(**made)
    assert str(caught.value).startswith(message)
    if "allowed" in message:
        known = str(caught.value).removeprefix(message).split(", ")
        assert known == ["chunk", "context", "messages", "overrides", "prompt", "state", "system"]


def test_effects_are_what_was_said_and_none_is_to_read_messages() -> None:
    effects = Effects(("messages",), ["prompt"], aborts=False, external=True)
    assert (effects.reads, effects.writes) == (frozenset({"messages"}), frozenset({"prompt"}))
    assert (effects.aborts, effects.external) == (False, True)
    assert Effects.none() == Effects(reads=("messages",))
    assert (Effects().aborts, Effects().external) == (True, False)
