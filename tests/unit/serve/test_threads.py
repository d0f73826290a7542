"""Whose thread a request goes on with."""

from __future__ import annotations

import pytest

from sluiceway.serve._entry import Entry
from sluiceway.serve._options import ServeOptions
from sluiceway.serve._refusal import Refusal
from sluiceway.serve._threads import memory_of

KEYED = Entry(ServeOptions(keys=("sk-one", "sk-two")))


def owner(key: str) -> str:
    found = KEYED.owner({"authorization": f"Bearer {key}"})
    assert found is not None
    return found


def named(thread: str | None = "t", user: str | None = None, *, key: str = "sk-one") -> dict[str, str] | None:
    given = {"x-sluiceway-thread": thread, "x-sluiceway-user": user}
    return memory_of({name: value for name, value in given.items() if value is not None}, owner(key))


def test_a_request_that_names_none_has_none() -> None:
    assert memory_of({}, owner("sk-one")) is None
    assert memory_of({}, None) is None


def test_the_same_names_under_the_same_key_are_the_same_thread() -> None:
    assert (
        named("t", "ann")
        == named("t", "ann")
        == {"thread": f"{owner('sk-one')}/ann/t", "resource": f"{owner('sk-one')}/ann"}
    )
    assert owner("sk-one") == KEYED.owner({"x-api-key": "sk-one"})


def test_no_names_of_one_key_lead_to_a_thread_of_another_or_of_another_user() -> None:
    names = ("t", "ann", f"{owner('sk-two')}", "ann.t")
    found = [
        (key, user, thread, told["thread"], told["resource"])
        for key in ("sk-one", "sk-two")
        for user in (None, *names)
        for thread in names
        if (told := named(thread, user, key=key)) is not None
    ]
    assert len(found) == 2 * 5 * 4
    assert len({thread for *_, thread, _ in found}) == len(found)
    assert len({resource for *_, resource in found}) == 2 * 5


def test_a_key_cannot_be_read_from_what_is_stored() -> None:
    assert "sk-one" not in str(named())


@pytest.mark.parametrize("name", ["", " ", "a/b", "../x", "a b", "ä", "x" * 129, "a\nb"])
def test_what_is_no_name(name: str) -> None:
    for thread, user in ((name, None), ("t", name)):
        with pytest.raises(Refusal) as caught:
            named(thread, user)
        assert caught.value.status == 400


def test_a_user_without_a_thread_is_no_name_of_one() -> None:
    with pytest.raises(Refusal, match="whose the thread is"):
        named(None, "ann")


def test_without_keys_callers_cannot_be_told_apart() -> None:
    assert Entry(ServeOptions()).owner({"authorization": "Bearer sk-one"}) is None
    with pytest.raises(Refusal) as caught:
        memory_of({"x-sluiceway-thread": "t"}, None)
    assert (caught.value.status, caught.value.code) == (400, "threads_need_keys")
