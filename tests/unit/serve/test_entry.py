"""Who may come in."""

from __future__ import annotations

import pytest

from sluiceway.serve._entry import Entry
from sluiceway.serve._http import Incoming
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._refusal import Refusal

LOCAL = Entry(ServeOptions())
OPEN = Entry(ServeOptions(host="0.0.0.0"))


def refused(entry: Entry, method: str = "POST", **headers: str) -> str | None:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        entry.check_origin(Incoming(method, "/", given))
    except Refusal as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
def test_loopback_answers_to_its_own_names(host: str) -> None:
    assert refused(LOCAL, host=host) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1:8000", "[::2]:1"]
)
def test_and_to_no_other_so_that_a_name_that_points_here_does_not_help(host: str) -> None:
    assert refused(LOCAL, host=host) == "wrong_host"
    assert refused(OPEN, host=host) is None


def test_what_another_site_had_a_browser_send() -> None:
    own = {"host": "localhost:8000"}
    assert refused(LOCAL, **own, sec_fetch_site="same-origin", origin="http://localhost:8000") is None
    assert refused(LOCAL, **own, sec_fetch_site="none") is None
    assert refused(LOCAL, **own, sec_fetch_site="cross-site") == "cross_site"
    assert refused(LOCAL, **own, sec_fetch_site="same-site") == "cross_site"
    assert refused(LOCAL, **own, origin="http://localhost:9000") == "cross_site"
    assert refused(LOCAL, **own, origin="null") == "cross_site"
    assert refused(LOCAL, "GET", **own, sec_fetch_site="cross-site", sec_fetch_mode="navigate") is None
    assert refused(LOCAL, "GET", **own, sec_fetch_site="cross-site", sec_fetch_mode="no-cors") == "cross_site"
    assert refused(LOCAL, "POST", **own, sec_fetch_site="cross-site", sec_fetch_mode="navigate") == "cross_site"


def test_names_that_it_is_told_to_answer_to() -> None:
    """As those of a proxy in front of it, which may also put a name of its own in the place of the one asked for."""
    for entry in (
        Entry(ServeOptions(hosts=("api.example",))),
        Entry(ServeOptions(host="0.0.0.0", hosts=("API.example",))),
    ):
        assert refused(entry, host="api.example") is None
        assert refused(entry, host="Api.Example:443") is None
        assert refused(entry, host="localhost:8000") is None
        assert refused(entry, host="evil.example") == "wrong_host"
        assert refused(entry, host="api.example", origin="https://api.example") is None
        assert refused(entry, host="127.0.0.1:8000", origin="https://api.example") is None
        assert refused(entry, host="127.0.0.1:8000", origin="https://evil.example") == "cross_site"
        assert refused(entry, host="127.0.0.1:8000", origin="http://localhost:9") == "cross_site"
        assert refused(entry, host="127.0.0.1:8000", origin="http://[::1") == "cross_site"


@pytest.mark.parametrize(
    ("headers", "page", "let_in"),
    [
        ({}, False, False),
        ({"authorization": "Bearer sk-one"}, False, True),
        ({"authorization": "bearer  sk-two "}, False, True),
        ({"x-api-key": "sk-two"}, False, True),
        ({"authorization": "Bearer sk-three"}, False, False),
        ({"authorization": "Bearer "}, False, False),
        ({"authorization": "Basic eDpzay1vbmU="}, False, False),
        ({"authorization": "Basic eDpzay1vbmU="}, True, True),
        ({"authorization": "Basic !!!"}, True, False),
        ({"authorization": "Bearer \udcff"}, False, False),
    ],
)
def test_keys(headers: dict[str, str], page: bool, let_in: bool) -> None:
    entry = Entry(ServeOptions(keys=("sk-one", "sk-two")))
    if let_in:
        entry.check_key(headers, page=page)
        return
    with pytest.raises(Refusal) as caught:
        entry.check_key(headers, page=page)
    assert caught.value.status == 401


def test_without_keys_anyone_is_let_in() -> None:
    LOCAL.check_key({})
