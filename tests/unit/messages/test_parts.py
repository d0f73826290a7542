"""Sources, data, step boundaries, unknown parts."""

import pytest

from sluiceway.errors import MessageError
from sluiceway.messages import DataPart, Part, SourcePart, StepStartPart, UnknownPart


def parts() -> list[Part]:
    return [
        SourcePart("s1", "https://x.test", "X", provider_metadata={"p": {"a": 1}}),
        DataPart("data-progress", {"n": [1]}, id="d1", transient=True),
        UnknownPart("audio-clip", {"type": "audio-clip", "seconds": [3]}),
        StepStartPart(),
    ]


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.type)
def test_a_copy_equals_its_original(part: Part) -> None:
    copy = part.copy()
    assert copy is not part
    assert copy.same_as(part)
    copy.provider_metadata["q"] = 1
    assert not copy.same_as(part)


def test_types() -> None:
    assert [part.type for part in parts()] == ["source", "data-progress", "audio-clip", "step-start"]


def test_data_changed_in_place_counts() -> None:
    part = DataPart("data-progress", {"n": [1]})
    part.data["n"].append(2)
    assert part.revision == 1
    part.data = {"n": [1, 2]}
    assert part.revision == 1
    part.data = None
    assert part.revision == 2


def test_a_source_counts_its_fields() -> None:
    part = SourcePart("s1", "https://x.test", "X")
    part.title = "Y"
    part.url = None
    assert part.revision == 2


def test_data_parts_say_so_in_their_type() -> None:
    with pytest.raises(MessageError, match="begins with `data-`; 'progress' does not"):
        DataPart("progress")
