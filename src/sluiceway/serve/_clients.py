"""Guards around the official clients, for those who keep their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

from sluiceway.errors import ConfigurationError
from sluiceway.serve._answering import Hold
from sluiceway.serve._chat import Chat
from sluiceway.serve._guarding import as_items, default_hold, guarding_agent, lists_for, name_of
from sluiceway.serve._messages import Messages
from sluiceway.serve._relay import library_of
from sluiceway.serve._transport import AsyncGuard, SyncGuard
from sluiceway.serve._wire import Wire

__all__ = ["guard_anthropic", "guard_openai"]

Client = TypeVar("Client")

_PATHS: Final = {"chat": "/chat/completions", "messages": "/v1/messages"}


def guard_openai(
    client: Client, workflow: object, *, hold: Hold | None = None, max_processor_retries: int | None = None
) -> Client:
    """Return a copy of an OpenAI client whose chat completions are guarded, streamed or not.

    The messages go through the guards before they are sent, the answer before it is given. All
    else is the client's: address, key, headers, timeouts, retries, and its HTTP client. An answer
    that a guard stopped has the finish reason `content_filter` and the reason in `refusal`. What
    is not guarded cannot be sent by it, so that nothing passes by mistake.

    Args:
        client: An `openai.OpenAI` or `openai.AsyncOpenAI`, or one of their subclasses.
        workflow: A workflow, a processor, or a list of these; each stands before the model, behind
            it, or both, as its hooks say. A mapping of `input`, `output` and `error` to lists says so itself.
        hold: `none` gives text at once, `step` when the answer is complete and accepted, `run`
            after the last hook. None: `step` where an answer may be tried again, else `none`.
        max_processor_retries: How often an answer that a guard rejects is asked for again.

    Raises:
        ConfigurationError: No such client, or guards that cannot stand in a list.

    Examples:
        >>> import openai
        >>> from sluiceway.processors import PIIDetector
        >>> guarded = guard_openai(openai.OpenAI(api_key="…"), PIIDetector(strategy="redact"))
    """
    return _guarded(client, workflow, Chat(), hold, max_processor_retries)


def guard_anthropic(
    client: Client, workflow: object, *, hold: Hold | None = None, max_processor_retries: int | None = None
) -> Client:
    """Return a copy of an Anthropic client whose messages are guarded; see `guard_openai`.

    An answer that a guard stopped has the stop reason `refusal` and the reason in
    `stop_details.explanation`.

    Args:
        client: An `anthropic.Anthropic` or `anthropic.AsyncAnthropic`.
        workflow: As in `guard_openai`.
        hold: As in `guard_openai`.
        max_processor_retries: As in `guard_openai`.

    Raises:
        ConfigurationError: No such client, or guards that cannot stand in a list.
    """
    return _guarded(client, workflow, Messages(), hold, max_processor_retries)


def _guarded(client: Client, guards: object, wire: Wire, hold: Hold | None, retries: int | None) -> Client:
    own: Any = client
    inner = getattr(own, "_client", None)
    if inner is None or not hasattr(own, "copy") or not hasattr(own, "chat" if wire.name == "chat" else "messages"):
        raise ConfigurationError(f"an official client was expected, not {type(client).__name__}")
    if isinstance(guards, dict):
        named = cast("dict[Any, Sequence[object]]", guards)
        agent = guarding_agent("guard", named, max_processor_retries=retries)
    else:
        items = as_items(guards)
        agent = guarding_agent(name_of(items), lists_for(items), max_processor_retries=retries)
    library = library_of(inner)
    path = _PATHS[wire.name]
    held = hold or default_hold(agent)
    if isinstance(inner, library.AsyncClient):
        http = library.AsyncClient(transport=AsyncGuard(inner, agent, wire, path, held), timeout=inner.timeout)
    else:
        http = library.Client(transport=SyncGuard(inner, agent, wire, path, held), timeout=inner.timeout)
    return own.copy(http_client=http)
