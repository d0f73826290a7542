"""`Processor`: the id that it goes by."""

from __future__ import annotations

import pytest

from sluiceway import Agent, Processor
from sluiceway.errors import ConfigurationError


class CutQuotes(Processor):
    def process_input(self, ctx):
        return None


class PIIWords2Mask(CutQuotes): ...


class _Private(CutQuotes): ...


@pytest.mark.parametrize(
    ("cls", "named"), [(CutQuotes, "cut-quotes"), (PIIWords2Mask, "pii-words2-mask"), (_Private, "private")]
)
def test_a_processor_without_an_id_goes_by_the_name_of_its_class(cls: type[Processor], named: str) -> None:
    processor = cls()
    assert (processor.id, processor.name) == (named, named)


def test_a_class_in_another_script_keeps_its_letters() -> None:
    made = type("Прослойка", (CutQuotes,), {})
    assert made().id == "прослойка"


def test_an_id_that_is_given_counts() -> None:
    assert (CutQuotes("first").id, CutQuotes(id="second").id) == ("first", "second")


@pytest.mark.parametrize("wrong", ["", " ", 7])
def test_an_id_that_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="id must be a text that is not empty"):
        CutQuotes(wrong)  # pyright: ignore[reportArgumentType]


def test_two_of_one_class_need_ids() -> None:
    with pytest.raises(ConfigurationError, match="id="):
        Agent("twice", model="echo/echo", input_processors=[CutQuotes(), CutQuotes()])
