"""Where a model is, and how one is let in."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from sluiceway.errors import ConfigurationError
from sluiceway.models._errors import Refusals
from sluiceway.models._exchange import Post
from sluiceway.models._providers import PROVIDERS, Provider
from sluiceway.models._settings import Settings

__all__ = ["Endpoint", "Secret", "checked_url"]

_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SHORTEST_SECRET_CHARS = 6


class Secret:
    """A text that no `repr` shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret()"


class _Headers(dict[str, str]):
    """Headers that no `repr` shows, not even that of a traceback with its variables."""

    def __repr__(self) -> str:
        return f"<{len(self)} headers>"


class Endpoint:
    """Where a model is, and how one is let in.

    Args:
        provider: What is known about the provider.
        name: What it is called.
        api_key: None: from the environment, at each call.
        base_url: None: from the environment, else the provider's.
        headers: More headers; their values are shown nowhere.

    Raises:
        ConfigurationError: The address is none, or holds a password.
    """

    def __init__(
        self,
        provider: Provider,
        name: str,
        *,
        api_key: str | None,
        base_url: str | None,
        headers: Mapping[str, str] | None,
    ) -> None:
        self._provider = provider
        self._name = name
        self._api_key = None if api_key is None else Secret(api_key.strip())
        self._base_url = None if base_url is None else checked_url(base_url)
        given: Mapping[str, str] = {} if headers is None else headers
        self._headers = {key.lower(): Secret(value) for key, value in given.items()}

    @classmethod
    def of(cls, name: str, *, api_key: str | None, base_url: str | None, headers: Mapping[str, str] | None) -> Endpoint:
        """Return the endpoint of a known provider, or of a server of one's own under any other name.

        Raises:
            ConfigurationError: An unknown provider without `base_url`, or an address that is none.
        """
        known = PROVIDERS.get(name)
        if known is None and base_url is None:
            raise ConfigurationError(f"provider {name!r} is not known; pass base_url")
        known = known or Provider("", key_needed=False)
        return cls(known, name, api_key=api_key, base_url=base_url, headers=headers)

    @property
    def provider(self) -> Provider:
        """What is known about the provider."""
        return self._provider

    @property
    def name(self) -> str:
        """What the provider is called."""
        return self._name

    @property
    def given_url(self) -> str | None:
        """The address that was passed in, or None."""
        return self._base_url

    def refusals(self, model_id: str, settings: Settings) -> Refusals:
        """Return what makes the errors of a call, knowing what they must not hold."""
        texts = [*(secret.reveal() for secret in self._headers.values()), *settings.headers.values()]
        # A server that quotes an `Authorization: Bearer …` quotes it without its first word.
        texts += [text.partition(" ")[2] for text in texts]
        texts.append(self._key().reveal())
        return Refusals(self._name, model_id, [text for text in texts if len(text) >= _SHORTEST_SECRET_CHARS])

    def post(self, path: str, body: bytes, settings: Settings, refusals: Refusals, more: Mapping[str, str]) -> Post:
        """Return the request.

        Raises:
            ModelError: There is no key, or none that a header can hold.
        """
        key = self._key()
        if not key and self._provider.key_needed and self._base_url is None:
            names = " or ".join(self._provider.key_names)
            raise refusals.error(f"no key; set {names} in the environment, or pass api_key")
        headers = _Headers(
            {
                "content-type": "application/json",
                "accept": "text/event-stream",
                "accept-encoding": "identity",
                **more,
            }
        )
        if key:
            bearer = "Bearer " if self._provider.key_header == "Authorization" else ""
            headers[self._provider.key_header.lower()] = bearer + key.reveal()
        headers.update({header: secret.reveal() for header, secret in self._headers.items()})
        headers.update({header.lower(): text for header, text in settings.headers.items()})
        if unfit := [header for header, text in headers.items() if not _HEADER_VALUE.fullmatch(text)]:
            raise refusals.error(f"the header {unfit[0]} holds characters that a header cannot")
        return Post(f"{self.base_url(refusals)}{path}", headers, body)

    def base_url(self, refusals: Refusals) -> str:
        """Return the address without a slash at its end."""
        if self._base_url is not None:
            return self._base_url
        variable = self._provider.base_url_name
        set_url = "" if variable is None else os.environ.get(variable, "").strip().rstrip("/")
        if not set_url:
            if not self._provider.base_url:
                raise refusals.error(f"no address; set {variable} in the environment, or pass base_url")
            return self._provider.base_url
        if "://" not in set_url:
            set_url = f"http://{set_url}"
        path = self._provider.base_url_path
        return checked_url(set_url if set_url.endswith(path) else set_url + path)

    def _key(self) -> Secret:
        if self._api_key is not None:
            return self._api_key
        # A key is for its own provider: another address gets only what is passed with it.
        if self._base_url is not None and self._base_url != self._provider.base_url:
            return Secret("")
        keys = (Secret(os.environ.get(name, "").strip()) for name in self._provider.key_names)
        return next((key for key in keys if key), Secret(""))


def checked_url(url: str) -> str:
    """Return an address without a slash at its end.

    Raises:
        ConfigurationError: It is none, or holds what may be a secret.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        shown = "" if {"@", "?"} & set(url) else f": {url!r}"
        raise ConfigurationError(f"base_url is no http or https URL{shown}") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("base_url holds a name or a password; pass headers instead")
    if parts.query:
        raise ConfigurationError("base_url has a query; pass a client with params instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        raise ConfigurationError(f"base_url is no http or https URL: {url!r}")
    return url.rstrip("/")
