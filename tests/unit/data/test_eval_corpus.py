"""The evaluation corpus: its format, that its labels are true, and that its held-out part is apart."""

from __future__ import annotations

import ipaddress
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import pytest

_ROOT = Path(__file__).parents[2] / "data" / "eval"
_PARTS = ("tuning", "held_out")
_LEAST = {"pii": 300, "injection": 200, "benign_pii": 100, "benign_injection": 100}
_IDS = {"pii": "pii", "injection": "inj", "benign_pii": "bpii", "benign_injection": "binj"}
_OWN_FIELDS = {"pii": {"spans"}, "injection": {"labels", "author"}, "benign_injection": {"author"}}

_BY_RULE = {
    "email": True,
    "phone": True,
    "credit-card": True,
    "ssn": True,
    "api-key": True,
    "ip-address": True,
    "url": True,
    "uuid": True,
    "crypto-wallet": True,
    "iban": True,
    "name": False,
    "address": False,
    "date-of-birth": False,
}
_LABELS = {
    "injection",
    "jailbreak",
    "tool-exfiltration",
    "data-exfiltration",
    "system-override",
    "role-manipulation",
}
_LEAST_PER_KIND = 25
_LANGUAGES = {"ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "ru", "sv", "tr", "zh"}
_CERTAIN = re.compile(  # URL, e-mail address, UUID
    r"\b[a-z][a-z0-9+.-]*://|[\w.+-]+@[\w-]+\.[a-z]{2,}|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
_TOO_ALIKE = 0.5
_SHINGLE_CHARS = 5

_Record: TypeAlias = dict[str, Any]


@cache
def _lines(part: str, name: str) -> tuple[str, ...]:
    return tuple((_ROOT / part / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())


@cache
def _records(part: str, name: str) -> tuple[_Record, ...]:
    return tuple(json.loads(line) for line in _lines(part, name))


def _all() -> Iterator[tuple[str, str, _Record]]:
    for part in _PARTS:
        for name in _LEAST:
            yield from ((part, name, record) for record in _records(part, name))


def _spans() -> Iterator[tuple[_Record, dict[str, Any]]]:
    for part in _PARTS:
        for record in _records(part, "pii"):
            yield from ((record, span) for span in record["spans"])


def _values(kind: str) -> list[str]:
    return [span["value"] for _, span in _spans() if span["kind"] == kind]


def test_the_folders_hold_these_files_and_no_others() -> None:
    found = {str(path.relative_to(_ROOT)) for path in _ROOT.rglob("*") if path.is_file()}
    assert found == {"README.md"} | {f"{part}/{name}.jsonl" for part in _PARTS for name in _LEAST}


@pytest.mark.parametrize("name", _LEAST)
def test_each_record_has_exactly_the_fields_of_its_file(name: str) -> None:
    fields = {"id", "lang", "style", "text"} | _OWN_FIELDS.get(name, set())
    wrong = [record for part in _PARTS for record in _records(part, name) if set(record) != fields]
    assert wrong == []


@pytest.mark.parametrize("name", _LEAST)
def test_each_record_names_a_known_language_a_style_and_a_text(name: str) -> None:
    wrong = [
        record["id"]
        for part in _PARTS
        for record in _records(part, name)
        if not re.fullmatch(rf"{_IDS[name]}-{record['lang']}-\d{{3,4}}", record["id"])
        or record["lang"] not in _LANGUAGES
        or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", record["style"])
        or not record["text"].strip()
    ]
    assert wrong == []


def test_no_id_is_used_twice() -> None:
    counts = Counter(record["id"] for _, _, record in _all())
    assert [identifier for identifier, count in counts.items() if count > 1] == []


def test_each_injection_has_known_labels_once_each() -> None:
    wrong = [
        record["id"]
        for part in _PARTS
        for record in _records(part, "injection")
        if not record["labels"] or set(record["labels"]) - _LABELS or len(set(record["labels"])) < len(record["labels"])
    ]
    assert wrong == []


def test_each_span_holds_its_value_in_order_without_overlap() -> None:
    wrong = []
    for part in _PARTS:
        for record in _records(part, "pii"):
            end = 0
            for span in record["spans"]:
                cut = record["text"][span["start"] : span["end"]]
                if set(span) != {"kind", "start", "end", "value", "by_rule"} or span["start"] < end or not cut:
                    wrong.append(record["id"])
                if cut != span["value"]:
                    wrong.append(record["id"])
                end = span["end"]
            if not record["spans"]:
                wrong.append(record["id"])
    assert wrong == []


def test_each_span_has_a_known_kind_and_that_kind_alone_decides_by_rule() -> None:
    found = {(span["kind"], span["by_rule"]) for _, span in _spans()}
    assert found == set(_BY_RULE.items())


def test_a_value_is_labelled_wherever_it_stands() -> None:
    missed = []
    for record, span in _spans():
        labelled = {place for other in record["spans"] for place in range(other["start"], other["end"])}
        pattern = rf"(?<!\w){re.escape(span['value'])}(?!\w)"
        missed += [
            (record["id"], span["value"])
            for found in re.finditer(pattern, record["text"])
            if found.start() not in labelled
        ]
    assert missed == []


def test_card_numbers_pass_luhn() -> None:
    assert [value for value in _values("credit-card") if not _luhn(value)] == []


def test_ibans_pass_mod_97() -> None:
    assert [value for value in _values("iban") if not _mod_97(value)] == []


def test_social_security_numbers_lie_in_ranges_that_are_issued() -> None:
    shape = re.compile(r"(?!000|666|9)\d{3}([- ]?)(?!00)\d{2}\1(?!0000)\d{4}")
    assert [value for value in _values("ssn") if not shape.fullmatch(value)] == []


def test_ip_addresses_and_uuids_can_be_read() -> None:
    assert all(ipaddress.ip_address(value) for value in _values("ip-address"))
    assert all(UUID(value).version in {4, 7} for value in _values("uuid"))


def test_every_address_uuid_and_url_of_a_pii_text_is_labelled() -> None:
    """What is found here and not labelled would count as a false alarm of a detector that is right."""
    missed = [
        (record["id"], found[0])
        for part in _PARTS
        for record in _records(part, "pii")
        for found in _CERTAIN.finditer(record["text"])
        if not any(span["start"] < found.end() and found.start() < span["end"] for span in record["spans"])
    ]
    assert missed == []


def test_benign_texts_hold_no_personal_data_that_a_checksum_or_shape_proves() -> None:
    iban = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{1,4}\b")
    card = re.compile(r"(?<!\w)(?:4\d{3}|5[1-5]\d{2})(?:[- ]?\d{4}){3}(?!\w)")
    wrong = []
    for part in _PARTS:
        for record in _records(part, "benign_pii"):
            text = record["text"]
            wrong += [record["id"] for _ in _CERTAIN.finditer(text)]
            wrong += [record["id"] for found in iban.finditer(text) if _mod_97(found[0])]
            wrong += [record["id"] for found in card.finditer(text) if _luhn(found[0])]
    assert wrong == []


def test_no_secret_stands_in_a_file_as_a_scanner_would_read_it() -> None:
    """Parts of each key are written as JSON escapes, so that a scanner does not take it for a live one."""
    raw = {part: "\n".join(_lines(part, "pii")) for part in _PARTS}
    assert [value for value in _values("api-key") if any(value in text for text in raw.values())] == []


def test_characters_that_cannot_be_seen_are_escaped_in_the_files() -> None:
    wrong = [
        (part, name, line[:40])
        for part in _PARTS
        for name in _LEAST
        for line in _lines(part, name)
        if not line.isprintable() or any("\ufe00" <= char <= "\ufe0f" for char in line)
    ]
    assert wrong == []


@pytest.mark.parametrize(("name", "least"), _LEAST.items())
def test_there_are_as_many_texts_as_promised(name: str, least: int) -> None:
    assert sum(len(_records(part, name)) for part in _PARTS) >= least


def test_each_kind_and_each_label_has_enough_examples() -> None:
    counts = Counter(tag for part in _PARTS for name in _LEAST for tag in _tags(part, name))
    wanted = [("pii", kind) for kind in _BY_RULE] + [("injection", label) for label in _LABELS]
    assert {tag: counts[tag] for tag in wanted if counts[tag] < _LEAST_PER_KIND} == {}


def test_a_third_of_each_file_language_kind_and_label_is_held_out() -> None:
    """Within 3 %, or within one where so few exist that one is more than that."""
    held = Counter(tag for name in _LEAST for tag in _tags("held_out", name))
    total = held + Counter(tag for name in _LEAST for tag in _tags("tuning", name))
    off = {tag: (held[tag], count) for tag, count in total.items() if abs(held[tag] - count / 3) > max(1, 0.03 * count)}
    assert off == {}


def test_no_text_stands_in_both_parts() -> None:
    seen = {part: {_plain(record["text"]) for at, _, record in _all() if at == part} for part in _PARTS}
    assert seen["tuning"] & seen["held_out"] == set()


@pytest.mark.parametrize("name", _LEAST)
def test_no_text_of_one_part_is_nearly_one_of_the_other(name: str) -> None:
    """With the values masked: the same sentence around another number counts as the same."""
    tuning = [(record["id"], _shingles(_masked(record))) for record in _records("tuning", name)]
    alike = []
    for record in _records("held_out", name):
        mine = _shingles(_masked(record))
        alike += [(record["id"], other) for other, theirs in tuning if _likeness(mine, theirs) >= _TOO_ALIKE]
    assert alike == []


def _tags(part: str, name: str) -> Iterator[tuple[str, str]]:
    for record in _records(part, name):
        yield name, "texts"
        yield name, f"lang={record['lang']}"
        yield from ((name, span["kind"]) for span in record.get("spans", ()))
        yield from ((name, label) for label in record.get("labels", ()))


def _masked(record: _Record) -> str:
    text = record["text"]
    for span in reversed(record.get("spans", ())):
        text = text[: span["start"]] + span["kind"] + text[span["end"] :]
    return text


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\W+", " ", re.sub(r"\d+", "0", folded)).strip()


def _shingles(text: str) -> frozenset[str]:
    plain = _plain(text)
    return frozenset(plain[at : at + _SHINGLE_CHARS] for at in range(max(1, len(plain) - _SHINGLE_CHARS + 1)))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    if min(len(one), len(other)) < _TOO_ALIKE * max(len(one), len(other)):
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _luhn(value: str) -> bool:
    digits = [int(char) for char in value if char.isdigit()][::-1]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _mod_97(value: str) -> bool:
    packed = value.replace(" ", "")
    return int("".join(str(int(char, 36)) for char in packed[4:] + packed[:4])) % 97 == 1
