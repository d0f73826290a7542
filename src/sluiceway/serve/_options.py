"""`ServeOptions`: how a server behaves."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from sluiceway.errors import ConfigurationError
from sluiceway.serve._answering import Hold

__all__ = ["ServeOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """How a server behaves.

    Args:
        host: The address it listens on.
        port: The port; 0 takes a free one.
        hold: When text is delivered: `none` at once, `step` when a step is accepted, `run`
            after the last hook. None: `step` for an agent whose steps may be tried again,
            else `none`.
        upstream: The base URL of a server that speaks Chat Completions and answers in place
            of the agents' own models, or None.
        upstream_key: The key for it; None: the client's own is passed on.
        hosts: Names that it answers to besides `localhost`, such as that of a proxy in front of it.
            None given: on a loopback address `localhost` only, else any.
        keys: What a client has to send as a bearer token, one of these; none: anyone is let in.
        max_body_bytes: The largest request.
        max_requests: How many are answered at once; more are told to come again.
        timeout_s: How long one answer may take, in seconds.
        shutdown_s: How long answers that have begun may go on after a signal to end.
        page: Whether there is a page at `/`; None: only on a loopback address.
        show_values: Whether the page also shows what was said and answered.
        kept_runs: How many runs the page knows of.

    Raises:
        ConfigurationError: A value that is not allowed.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    hold: Hold | None = None
    upstream: str | None = None
    upstream_key: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = field(default=(), repr=False)
    max_body_bytes: int = 10 * 1024 * 1024
    max_requests: int = 1000
    timeout_s: float = 600.0
    shutdown_s: float = 30.0
    page: bool | None = None
    show_values: bool = False
    kept_runs: int = 100

    def __post_init__(self) -> None:
        if self.hold not in (None, "none", "step", "run"):
            raise ConfigurationError(f"hold={self.hold!r} is not allowed; give 'none', 'step' or 'run'")
        for name in ("max_body_bytes", "max_requests", "timeout_s", "shutdown_s", "kept_runs"):
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"{name}={getattr(self, name)!r} is not allowed; give a number above 0")
        if any(not key.strip() for key in self.keys):
            raise ConfigurationError("keys holds an empty key, which would let anyone in")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def has_page(self) -> bool:
        """Whether there is a page at `/`."""
        return self.is_loopback if self.page is None else self.page
