"""Who may come in: bearer keys, and browsers that another site steers."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from sluiceway.serve._http import Incoming
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._refusal import Refusal

__all__ = ["Entry"]

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Entry:
    """Checks requests before anything is done for them.

    Args:
        options: Of the server.
    """

    def __init__(self, options: ServeOptions) -> None:
        self._keys = [_digest(key) for key in options.keys]
        self._names = _LOOPBACK.union(name.lower() for name in options.hosts)
        self._any_name = not (options.is_loopback or options.hosts)

    def check_origin(self, incoming: Incoming) -> None:
        """Refuse what a page of another site had a browser send.

        A server on loopback has no secret but that nobody else reaches it; so it answers only
        to its own names (a name of someone else's that points here is not one), and to no form or
        script of another site.

        Raises:
            Refusal: It is another site's request.
        """
        headers = incoming.headers
        host = headers.get("host", "")
        if not self._any_name and host and _name(host) not in self._names:
            text = "this server does not answer to this name; start it with --allow-host for another than localhost"
            raise Refusal(403, text, code="wrong_host", retry=False)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            # A link from elsewhere may be followed; a picture, script or form of another site may not ask.
            followed = incoming.method == "GET" and headers.get("sec-fetch-mode") == "navigate"
            if not followed:
                raise Refusal(403, "this request was made by another site", code="cross_site", retry=False)
        origin = headers.get("origin")
        if origin is not None and not self._own(origin, host):
            raise Refusal(403, "this request was made by another site", code="cross_site", retry=False)

    def _own(self, origin: str, host: str) -> bool:
        """Whether a page is this server's, also where a proxy in front of it has a name of its own."""
        try:
            found = urlsplit(origin)
            return found.netloc == host or (found.hostname or "") in self._names - _LOOPBACK
        except ValueError:
            return False

    def owner(self, headers: Mapping[str, str]) -> str | None:
        """Return who sends a request: a name made of its key; None: there are no keys to tell callers apart by."""
        if not self._keys:
            return None
        return hashlib.sha256(b"sluiceway owner of threads " + _digest(_sent(headers, page=False))).hexdigest()[:32]

    def check_key(self, headers: Mapping[str, str], *, page: bool = False) -> None:
        """Refuse a request without one of the keys, where there are any.

        Args:
            headers: Of the request.
            page: Whether it is the page's: a browser sends the key as the password.

        Raises:
            Refusal: It has none.
        """
        if not self._keys:
            return
        given = _digest(_sent(headers, page=page))
        # All are compared, so that the time does not tell which one it nearly was.
        same = [hmac.compare_digest(given, key) for key in self._keys]
        if not any(same):
            raise Refusal(401, "a key is needed: Authorization: Bearer …", code="invalid_api_key", retry=False)


def _sent(headers: Mapping[str, str], *, page: bool) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if page and kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return headers.get("x-api-key", "")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.strip().encode("utf-8", "surrogateescape")).digest()


def _name(host: str) -> str:
    host = host.lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host
