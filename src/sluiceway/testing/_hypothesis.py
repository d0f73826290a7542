"""The one place where the laws meet Hypothesis, which is loaded on use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sluiceway.errors import ConfigurationError
from sluiceway.testing._source import Generator, Source

__all__ = ["Found", "drawn", "smallest_failure", "some_cases"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A case that breaks a law, as small as could be found, and what is wrong with it."""

    case: T
    wrong: str
    repeatable: bool = True


class _Broken(Exception):
    """Tells Hypothesis that a case breaks the law; seen by nobody else."""


class _Drawn:
    """A source that Hypothesis feeds and shrinks."""

    def __init__(self, draw: Any, st: Any) -> None:
        self._draw = draw
        self._st = st

    def integer(self, low: int, high: int) -> int:
        return self._draw(self._st.integers(low, high))

    def pick(self, items: Sequence[T]) -> T:
        return self._draw(self._st.sampled_from(items))

    def many(self, make: Callable[[Source], T], least: int, most: int) -> list[T]:
        return self._draw(self._st.lists(drawn(self._st, make), min_size=least, max_size=most))


def drawn(st: Any, make: Callable[[Source], Any]) -> Any:
    """Return the strategy of what a generator makes; `st` is `hypothesis.strategies`."""

    @st.composite
    def strategy(draw: Any) -> Any:
        return make(_Drawn(draw, st))

    return strategy()


def smallest_failure(make: Generator[T], wrong: Callable[[T], str | None], *, examples: int) -> Found[T] | None:
    """Look for a case that breaks a law, and make it as small as it gets; the same one each time.

    Args:
        make: Makes a case.
        wrong: Says what is wrong with one, or None.
        examples: How many cases are tried.

    Returns:
        The case, or None where all hold.

    Raises:
        ConfigurationError: Hypothesis is not installed, or `examples` is not a count.
    """
    hypothesis = _library()
    found: list[Found[T]] = []

    def law(case: T) -> None:
        told = wrong(case)
        if told is not None:
            found.append(Found(case, told))
            raise _Broken

    checked = _checked(hypothesis, make, law, examples)
    try:
        checked()
    except _Broken:
        return found[-1]
    except hypothesis.errors.Flaky:
        return Found(found[-1].case, found[-1].wrong, repeatable=False)
    return None


def some_cases(make: Generator[T], *, examples: int) -> list[T]:
    """Return cases, the same ones each time.

    Raises:
        ConfigurationError: As for `smallest_failure`.
    """
    cases: list[T] = []
    _checked(_library(), make, cases.append, examples)()
    return cases


def _checked(hypothesis: Any, make: Generator[T], law: Callable[[T], None], examples: int) -> Callable[[], None]:
    """Return the function that tries a law on cases."""
    if examples < 1:
        raise ConfigurationError(f"examples={examples!r} is not allowed; give a whole number from 1")

    def test(case: T) -> None:
        law(case)

    return hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        verbosity=hypothesis.Verbosity.quiet,
        print_blob=False,
    )(hypothesis.given(drawn(hypothesis.strategies, make))(test))


def _library() -> Any:
    try:
        import hypothesis
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "the laws and strategies of sluiceway.testing need Hypothesis: pip install 'sluiceway[testing]'"
        ) from error
    return hypothesis
