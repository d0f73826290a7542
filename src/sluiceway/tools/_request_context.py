"""`RequestContext`: what a program knows about the request that a run serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sluiceway.errors import ConfigurationError

__all__ = ["RequestContext"]

_SECRET_NAMES = frozenset(
    {
        "accesstoken",
        "apikey",
        "authorization",
        "authtoken",
        "clientsecret",
        "cookie",
        "password",
        "refreshtoken",
    }
)
"""Names whose values are secret even where nobody said so, without case, `-`, `_` and spaces."""


class RequestContext(Mapping[str, Any]):
    """Values that belong to one request: who asks, on which plan, with which token.

    A mapping that grows by `set`. A value that is set as a secret can be read like any
    other, but is in no `repr`, `public()`, snapshot, log or trace. A value under a name
    that is hardly ever anything else (`authorization`, `api_key`, `password`, …) is a
    secret too.

    Args:
        values: What to start with; copied.
        resource_id: Whose memory the run uses, such as a user's id. None: what `values`
            has under `resource_id`, if that is there.
        thread_id: Which conversation it goes on with; likewise.

    Raises:
        ConfigurationError: A name or an id is no string.

    Examples:
        >>> context = RequestContext({"plan": "free"}, resource_id="user-1")
        >>> context.set("token", "s3cret", secret=True)
        >>> context["token"], context.public()
        ('s3cret', {'plan': 'free'})
    """

    __slots__ = ("_secrets", "_values", "resource_id", "thread_id")

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
    ) -> None:
        self._values: dict[str, Any] = {}
        self._secrets: set[str] = set()
        if isinstance(values, RequestContext):
            self._secrets.update(values.secrets)
            resource_id = values.resource_id if resource_id is None else resource_id
            thread_id = values.thread_id if thread_id is None else thread_id
        if values is not None:
            for key, value in values.items():
                self.set(key, value, secret=key in self._secrets)
        self.resource_id = _id("resource_id", resource_id, self._values)
        self.thread_id = _id("thread_id", thread_id, self._values)

    @classmethod
    def of(cls, value: Mapping[str, Any] | RequestContext | None) -> RequestContext:
        """Return the context itself, or one made from a plain mapping or from None.

        Raises:
            ConfigurationError: Something else.
        """
        if value is not None and not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"request_context must be a RequestContext or a mapping, not {type(value).__name__}"
            )
        return value if isinstance(value, RequestContext) else cls(value)

    def set(self, key: str, value: object, secret: bool = False) -> None:
        """Set a value.

        Args:
            key: Its name.
            value: Anything; it has to be JSON for a run that is suspended and stored.
            secret: Whether it stays out of everything that is shown or stored. A name
                that was secret once stays so.

        Raises:
            ConfigurationError: The name is no string.
        """
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"a name in a RequestContext is a string, not {type(key).__name__}")
        self._values[key] = value
        if secret or _plain(key) in _SECRET_NAMES:
            self._secrets.add(key)

    @property
    def secrets(self) -> frozenset[str]:
        """The names whose values are secret."""
        return frozenset(self._secrets)

    def public(self) -> dict[str, Any]:
        """Return a new dict of the values that may be shown."""
        return {key: value for key, value in self._values.items() if key not in self._secrets}

    def copy(self) -> RequestContext:
        """Return a context with the same values, in which `set` does not touch this one."""
        return RequestContext(self)

    def read_only(self, refuse: Callable[[str], Exception]) -> RequestContext:
        """Return a view of this context in which `set` raises what `refuse(key)` returns."""
        view = _View.__new__(_View)
        view._values = self._values
        view._secrets = self._secrets
        view.resource_id = self.resource_id
        view.thread_id = self.thread_id
        view.refuse = refuse
        return view

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        ids = "".join(
            f", {name}={value!r}"
            for name, value in (("resource_id", self.resource_id), ("thread_id", self.thread_id))
            if value is not None
        )
        secrets = f", secrets={sorted(self._secrets)!r}" if self._secrets else ""
        return f"RequestContext({self.public()!r}{ids}{secrets})"


class _View(RequestContext):
    """A context to read."""

    __slots__ = ("refuse",)

    refuse: Callable[[str], Exception]

    def set(self, key: str, value: object, secret: bool = False) -> None:
        """Refuse."""
        del value, secret
        raise self.refuse(key)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _id(name: str, given: str | None, values: Mapping[str, Any]) -> str | None:
    value = values.get(name) if given is None else given
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"{name} is a string or None, not {type(value).__name__}")
    return value
