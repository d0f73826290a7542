"""A labelled corpus: texts in JSON lines, with what a detector has to find in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sluiceway.errors import ConfigurationError

__all__ = ["HELD_OUT", "CorpusPart", "CorpusText", "LabelledSpan", "read_corpus"]

T = TypeVar("T")

HELD_OUT: Final = "held_out"
"""The name of the part that rules are not tuned on."""

Text = Annotated[str, Field(min_length=1)]


class LabelledSpan(BaseModel):
    """What stands in a text, and where.

    Attributes:
        kind: What it is, such as `email`.
        start: Offset of the first character.
        end: Offset behind the last character.
        value: What stands there.
        by_rule: Whether a rule can be expected to find it; what needs understanding is false.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    kind: Text
    start: Annotated[int, Field(ge=0)]
    end: int
    value: str
    by_rule: bool = True


class CorpusText(BaseModel):
    """One line of a corpus.

    Attributes:
        id: Unique within its part.
        lang: The language, such as `de`.
        style: What sort of text it is, such as `chat`.
        text: The text.
        spans: What personal data is in it.
        labels: What sort of attack it is, such as `jailbreak`.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    id: Text
    lang: Text
    style: Text
    text: Text
    spans: tuple[LabelledSpan, ...] = ()
    labels: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _labels_fit(self) -> CorpusText:
        for span in self.spans:
            there = self.text[span.start : span.end]
            if there != span.value or len(there) != span.end - span.start:
                raise ValueError(
                    f"span {span.kind} {span.start}-{span.end} says {span.value!r}, but the text has {there!r} there"
                )
            if not there:
                raise ValueError(f"span {span.kind} {span.start}-{span.end} holds no character")
        return self


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """The texts of one folder of a corpus; a file that is not there is empty.

    Args:
        name: The folder, such as `tuning`.
        pii: Texts with personal data.
        injection: Attacks.
        benign_pii: Texts with what only looks like personal data.
        benign_injection: Texts with what only looks like an attack.
    """

    name: str
    pii: tuple[CorpusText, ...] = ()
    injection: tuple[CorpusText, ...] = ()
    benign_pii: tuple[CorpusText, ...] = ()
    benign_injection: tuple[CorpusText, ...] = ()


_FILES: Final[Mapping[str, str]] = {"pii": "spans", "injection": "labels", "benign_pii": "", "benign_injection": ""}
"""The files of a part, and the field that each line of it must have beside its text."""


def read_corpus(folder: str | Path) -> tuple[CorpusPart, ...]:
    """Read a corpus: a folder with a folder per part, or a part itself.

    A part holds `pii.jsonl`, `injection.jsonl`, `benign_pii.jsonl` and `benign_injection.jsonl`, or
    some of them, with an object per line: `id`, `lang`, `style` and `text`; in the first also
    `spans`, in the second `labels`. Further fields are left alone.

    Args:
        folder: The folder.

    Returns:
        The parts by name, the held-out one last.

    Raises:
        ConfigurationError: There is no such folder, no part in it, or a line that is no labelled text; it
            names the file and the line.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ConfigurationError(
            f"{path}: there is no such folder; give the one of a corpus, which holds {_named()}, or folders with these"
        )
    folders = [path] if _is_part(path) else sorted(child for child in path.iterdir() if _is_part(child))
    if not folders:
        raise ConfigurationError(f"{path}: there is no corpus in it; a part of one is a folder with {_named()}")
    parts = [CorpusPart(child.resolve().name, **dict(_texts(child))) for child in folders]
    return tuple(sorted(parts, key=lambda part: (part.name == HELD_OUT, part.name)))


def _named() -> str:
    return ", ".join(f"{name}.jsonl" for name in _FILES)


def _is_part(folder: Path) -> bool:
    return folder.is_dir() and any((folder / f"{name}.jsonl").is_file() for name in _FILES)


def _texts(folder: Path) -> Iterator[tuple[str, tuple[CorpusText, ...]]]:
    seen: dict[str, str] = {}
    for name, field in _FILES.items():
        path = folder / f"{name}.jsonl"
        if path.is_file():
            yield name, tuple(_text(line, field, where, seen) for where, line in _lines(path))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        # Only `\n` ends a line: a text may hold what Python takes for a line's end too.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: no text can be read from it: {error}") from error
    filled = [(f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise ConfigurationError(f"{path}: there is no text in it; put a JSON object on each line, or leave it out")
    yield from filled


def _text(line: str, field: str, where: str, seen: dict[str, str]) -> CorpusText:
    text = _checked(lambda: CorpusText.model_validate_json(line), where)
    if field and field not in text.model_fields_set:
        raise ConfigurationError(f"{where}: {field!r} is missing; list what is in the text")
    for other in ("spans", "labels"):
        if other != field and getattr(text, other):
            raise ConfigurationError(f"{where}: {other!r} does not belong into this file; move the line, or drop it")
    if field == "labels" and not text.labels:
        raise ConfigurationError(f"{where}: 'labels' is empty; say what sort of attack it is, or move the line")
    first = seen.setdefault(text.id, where)
    if first != where:
        raise ConfigurationError(f"{where}: the id {text.id!r} is that of {first} too; give it another")
    return text


def _checked(parse: Callable[[], T], where: str) -> T:
    try:
        return parse()
    except ValidationError as error:
        first: Any = error.errors(include_input=False, include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        why = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"{where}: {f'{at}: ' if at else ''}{why}; correct this line") from None
