"""What is told of a function without calling it."""

from __future__ import annotations

from functools import partial

from sluiceway.graphs._source import constant, shown, strings_of
from sluiceway.steps import with_context


def named(data: object) -> bool:
    return bool(data)


class Callable:
    def __call__(self, data: object) -> object:
        return data


def test_a_function_is_shown_by_its_name() -> None:
    assert [shown(fn, "?") for fn in (named, with_context(named), partial(named), Callable())] == [
        "named",
        "named",
        "named",
        "Callable",
    ]


def test_a_lambda_is_shown_by_its_text() -> None:
    one, two = (lambda d: d["kind"] == "bug", lambda d: (d or {}).get("x", 3))
    long = lambda d: d == "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"  # noqa: E731
    assert shown(with_context(one), "?") == 'd["kind"] == "bug"'
    assert shown(two, "?") == '(d or {}).get("x", 3)'
    assert shown(long, "?") == 'd == "' + "a" * 73 + "…"
    assert shown(eval("lambda d: d"), "no text") == "no text"


def test_a_lambda_over_several_lines_is_shown_in_one() -> None:
    fn = lambda d: (  # noqa: E731
        d["a"] + d["b"]
    )
    assert shown(fn, "?") == '( d["a"] + d["b"] )' or shown(fn, "?") == 'd["a"] + d["b"]'


def test_a_constant_condition_is_known() -> None:
    def always(data: object) -> bool:
        return True

    assert [constant(fn) for fn in (lambda d: True, lambda d: 0, always, named, lambda d: d)] == [
        True,
        False,
        True,
        None,
        None,
    ]


def test_the_texts_and_names_in_a_function_are_known() -> None:
    texts, names = strings_of(lambda results: {k: v for k, v in results.items() if k in ("a", "b")})
    assert ({"a", "b"} <= texts, "items" in names) == (True, True)
