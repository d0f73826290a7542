"""The strategies, each a generator of `sluiceway.testing` that Hypothesis feeds and shrinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from sluiceway.errors import ConfigurationError
from sluiceway.graphs import Workflow
from sluiceway.messages import Chunk, Message, Part
from sluiceway.models import Reply
from sluiceway.processors import ListKind, Processor
from sluiceway.testing._behaviours import make_chain, make_processor, make_workflow
from sluiceway.testing._chunks import make_stream
from sluiceway.testing._conversations import make_conversation, make_message, make_part
from sluiceway.testing._hypothesis import drawn
from sluiceway.testing._scripts import make_delay_s, make_script
from sluiceway.testing._source import Source
from sluiceway.testing._texts import SAMPLES, make_cut, make_text

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as error:
    raise ConfigurationError(
        "sluiceway.testing.strategies needs Hypothesis: pip install 'sluiceway[testing]'"
    ) from error

__all__ = [
    "chains",
    "chunk_streams",
    "conversations",
    "cuts",
    "delays",
    "from_source",
    "messages",
    "model_scripts",
    "parts",
    "processors",
    "texts",
    "workflows",
]

T = TypeVar("T")


def from_source(make: Callable[[Source], T]) -> SearchStrategy[T]:
    """Return the strategy of what a generator of one's own makes.

    Args:
        make: Called with a `Source` for each example.

    Examples:
        >>> from hypothesis import find
        >>> find(from_source(lambda source: source.integer(3, 9)), lambda number: True)
        3
    """
    return cast("SearchStrategy[T]", drawn(st, make))


def texts(pieces: Sequence[str] = SAMPLES) -> SearchStrategy[str]:
    """Texts of up to six pieces: prose, personal data, odd characters, unless others are given.

    Args:
        pieces: What they are made of.
    """
    return from_source(lambda source: make_text(source, pieces))


def cuts(text: str | SearchStrategy[str] | None = None) -> SearchStrategy[list[str]]:
    """A text cut into pieces that are not empty: whole, character by character, or anywhere.

    Args:
        text: The text, or where it comes from; None: `texts()`.
    """
    of = st.just(text) if isinstance(text, str) else texts() if text is None else text
    return of.flatmap(lambda whole: from_source(lambda source: make_cut(source, whole)))


def parts() -> SearchStrategy[Part]:
    """Parts of a reply; a call of a tool has its result or its error."""
    return from_source(make_part)


def messages() -> SearchStrategy[Message]:
    """Messages of a user, and replies of one or two steps."""
    return from_source(make_message)


def conversations() -> SearchStrategy[list[Message]]:
    """Conversations that end with a message of the user; every call of a tool has its result."""
    return from_source(make_conversation)


def chunk_streams() -> SearchStrategy[list[Chunk]]:
    """What a model sends: blocks woven into each other and cut anywhere, calls, other chunks, one `finish`."""
    return from_source(make_stream)


def processors(kind: ListKind = "input") -> SearchStrategy[Processor]:
    """Processors for a list, each with one of a closed set of behaviours, which its id names.

    Args:
        kind: The list that they are for.
    """
    return from_source(lambda source: make_processor(source, kind))


def chains(kind: ListKind = "input", *, most: int = 4) -> SearchStrategy[list[Processor]]:
    """Lists of such processors, with ids of their own.

    Args:
        kind: The list.
        most: How long a list gets.
    """
    return from_source(lambda source: make_chain(source, kind, most=most))


def workflows(kind: ListKind = "input") -> SearchStrategy[Workflow]:
    """Open workflows of such processors: one after the other, side by side with a merge, one of several.

    Args:
        kind: The list that they are for.
    """
    return from_source(lambda source: make_workflow(source, kind))


def model_scripts() -> SearchStrategy[list[Reply]]:
    """Scripts for a `ScriptedModel`, with refusals and broken streams among the replies."""
    return from_source(make_script)


def delays(most_s: float = 0.01) -> SearchStrategy[float]:
    """Seconds to wait, none more often than not.

    Args:
        most_s: The longest, in seconds.
    """
    return from_source(lambda source: make_delay_s(source, most_s))
