"""What is known about providers, as data: where they are, how they are asked, what they lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["PROVIDERS", "ChatQuirks", "Provider"]


@dataclass(frozen=True, slots=True)
class ChatQuirks:
    """Where a server's Chat Completions differ from what most of them do.

    Args:
        max_tokens: The name of the setting.
        required_choice: What it calls a tool choice of `required`.
        bare_tool_choice: Whether it takes a `tool_choice` without tools.
        usage_option: Whether it must be asked for usage, and may be.
        structured: How it is asked for an answer of a shape, or None where it cannot.
        top_k: Whether it knows `top_k`.
        seed: The name of that setting.
        reasoning_field: Where it takes earlier reasoning back; None: nowhere.
        reasoning_details: Whether it wants the blocks of reasoning back as it sent them.
        tool_id_chars: The exact length of a tool call's id, letters and digits only; None: any.
    """

    max_tokens: str = "max_tokens"
    required_choice: str = "required"
    bare_tool_choice: bool = True
    usage_option: bool = True
    structured: Literal["json_schema", "json_object"] | None = "json_schema"
    top_k: bool = False
    seed: str = "seed"
    reasoning_field: str | None = None
    reasoning_details: bool = False
    tool_id_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider.

    Args:
        base_url: Where its API is; `""` where only the user knows.
        key_names: Environment variables that may hold the key, the first that is set.
        api: Which protocol it speaks.
        base_url_name: Environment variable that may hold another address.
        base_url_path: What comes after the address in that variable, unless it is there.
        key_needed: Whether it refuses requests without a key.
        key_header: The header for the key; `Authorization` holds it as a bearer token.
        quirks: Where its Chat Completions differ.
    """

    base_url: str
    key_names: tuple[str, ...] = ()
    api: Literal["chat", "messages"] = "chat"
    base_url_name: str | None = None
    base_url_path: str = ""
    key_needed: bool = True
    key_header: str = "Authorization"
    quirks: ChatQuirks = field(default_factory=ChatQuirks)


_OPENAI = ChatQuirks(max_tokens="max_completion_tokens", bare_tool_choice=False)


def _local(port: int, base_url_name: str) -> Provider:
    return Provider(
        f"http://127.0.0.1:{port}/v1",
        base_url_name=base_url_name,
        key_needed=False,
        quirks=ChatQuirks(top_k=True),
    )


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        "messages",
        "ANTHROPIC_BASE_URL",
        "/v1",
        key_header="x-api-key",
    ),
    "azure": Provider(
        "",
        ("AZURE_OPENAI_API_KEY",),
        base_url_name="AZURE_OPENAI_ENDPOINT",
        base_url_path="/openai/v1",
        key_header="api-key",
        quirks=_OPENAI,
    ),
    "cerebras": Provider(
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        quirks=ChatQuirks(max_tokens="max_completion_tokens"),
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        quirks=ChatQuirks(structured="json_object", reasoning_field="reasoning_content"),
    ),
    "fireworks": Provider(
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        quirks=ChatQuirks(top_k=True),
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        quirks=ChatQuirks(bare_tool_choice=False),
    ),
    "groq": Provider(
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        quirks=ChatQuirks(max_tokens="max_completion_tokens"),
    ),
    "llamacpp": _local(8080, "LLAMACPP_BASE_URL"),
    "lmstudio": _local(1234, "LMSTUDIO_BASE_URL"),
    "mistral": Provider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        quirks=ChatQuirks(
            required_choice="any",
            bare_tool_choice=False,
            usage_option=False,
            seed="random_seed",
            tool_id_chars=9,
        ),
    ),
    "ollama": Provider(
        "http://127.0.0.1:11434/v1",
        base_url_name="OLLAMA_HOST",
        base_url_path="/v1",
        key_needed=False,
        quirks=ChatQuirks(bare_tool_choice=False),
    ),
    "openai": Provider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        base_url_name="OPENAI_BASE_URL",
        quirks=_OPENAI,
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        quirks=ChatQuirks(top_k=True, reasoning_details=True),
    ),
    "together": Provider(
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY",),
        quirks=ChatQuirks(top_k=True),
    ),
    "vllm": _local(8000, "VLLM_BASE_URL"),
    "xai": Provider("https://api.x.ai/v1", ("XAI_API_KEY",)),
}
"""The providers that a model's name can begin with."""
