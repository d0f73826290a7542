"""Cards, social security numbers and bank accounts."""

from __future__ import annotations

import pytest

from sluiceway.processors.detectors import PIIRules, Span
from sluiceway.processors.detectors import _numbers as numbers
from sluiceway.processors.detectors._checksums import base58check, bech32, iban_valid, luhn
from sluiceway.processors.detectors._numbers import card_rules, iban_rules, ssn_rules
from sluiceway.processors.detectors._rule import find


def found(rules: object, text: str) -> list[str]:
    return [text[span.start : span.end] for span in find(rules, text)]  # pyright: ignore[reportArgumentType]


CARDS = card_rules(checksums=True)


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111-1111 1111 1111",
        "4111.1111\n1111.1111",
        "378282246310005",
        "3782 822463 10005",
        "30569309025904",
        "3056 930902 5904",
        "4222222222222",
        "6304000000000000000",
    ],
)
def test_finds_a_card_of_every_length_and_grouping_whole(number: str) -> None:
    assert found(CARDS, f"card: {number}.") == [number]


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        "2468-1357-2468-1358",
        "0000 0000 0000 0000",
        "41111111111111111111",
        "x4111111111111111",
        "4111111111111111y",
        "0.4111111111111111",
        "1700000000003",
        "20240115123046",
        "2024-01-15 12 30 45",
        "2019 2020 2021 2026",
        "**** **** **** 1111 22 3333 4444 0000",
        "6c 68 65 20 75 73 65 72 20",
        "01100010 01100101",
    ],
)
def test_leaves_what_only_looks_like_a_card(text: str) -> None:
    assert found(CARDS, text) == []


def test_a_timestamp_is_no_card_although_its_check_digit_is_right() -> None:
    stamps = [str(n) for n in range(1700000000000, 1700000000200) if luhn(str(n))]
    assert len(stamps) == 20
    assert [stamp for stamp in stamps if found(CARDS, stamp)] == []


@pytest.mark.parametrize("joint", [",", ".", ";", "/", "|", "\n", ". "])
def test_numbers_in_a_row_are_all_found(joint: str) -> None:
    numbers = ["4111111111111111", "378282246310005", "4111 1111 1111 1111", "30569309025904"]
    assert found(CARDS, joint.join(numbers)) == numbers


def test_a_number_beside_a_card_does_not_hide_it() -> None:
    assert found(CARDS, "5 4111 1111 1111 1111 12") == ["4111 1111 1111 1111"]


def test_without_checksums_the_usual_lengths_are_enough() -> None:
    assert found(card_rules(checksums=False), "2468-1357-2468-1358") == ["2468-1357-2468-1358"]


JOINTS = [
    *"-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d",
    *" \u00a0\u2007\u2009\u202f\u3000",
    ".",
    "\n",
    " \n",
    "-\n",
    "\r\n  ",
]
DIGITS = {
    "wide": str.maketrans("0123456789", "０１２３４５６７８９"),
    "arabic": str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"),
    "bold": str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"),
}


@pytest.mark.parametrize("joint", JOINTS, ids=ascii)
def test_groups_may_be_parted_as_a_model_parts_them(joint: str) -> None:
    card = joint.join(["4111", "1111", "1111", "1111"])
    assert found(CARDS, f"card {card}, thanks") == [card]
    ssn = joint.join(["123", "45", "6780"])
    assert found(ssn_rules(), f"ssn {ssn}, thanks") == [ssn]
    iban = joint.join(["DE89", "3704", "0044", "0532", "0130", "00"])
    assert found(iban_rules(checksums=True), f"to {iban}, thanks") == [iban]


@pytest.mark.parametrize("written", DIGITS.values(), ids=DIGITS)
def test_digits_may_be_those_of_any_script(written: dict[int, int]) -> None:
    for number in ("4111111111111111", "4111 1111 1111 1111", "3782\u2011822463\u201110005"):
        assert found(CARDS, f"({number.translate(written)})") == [number.translate(written)]
    assert found(CARDS, "4111 1111 1111 1112".translate(written)) == []
    assert found(ssn_rules(), "123-45-6780".translate(written)) == ["123-45-6780".translate(written)]
    assert found(ssn_rules(), "000-45-6780".translate(written)) == []
    iban = "DE89 3704 0044 0532 0130 00".translate(written)
    assert found(iban_rules(checksums=True), iban) == [iban]


def test_one_line_break_and_a_shorter_last_group_are_fine() -> None:
    for card in ("4111 1111\n1111 1111", "3782 822463\n10005", "6304 0000 0000\n0000 000"):
        assert found(CARDS, f"card\n{card}\nthanks") == [card]


@pytest.mark.parametrize(
    "text",
    [
        "4\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1",
        "7\n4111\n1111\n1111\n1111",
        "4111\n1111\n1111\n1111\n7",
        "411.1111111111111",
        "41111111.1111 1111",
        "4111.1111 1111.1111",
        "4111\t1111\t1111\t1111",
        "2019\n2020\n2021\n2026",
    ],
    ids=ascii,
)
def test_columns_and_decimal_numbers_are_no_cards(text: str) -> None:
    assert found(CARDS, text) == []


@pytest.mark.parametrize("text", ["7\n123\n45\n6780", "123\n45\n6780\n7", "123.45 6780"], ids=ascii)
def test_columns_and_mixed_joints_are_no_social_security_numbers(text: str) -> None:
    assert found(ssn_rules(), text) == []


@pytest.mark.parametrize("before", ["**", "*", "***", "* ", "\n * ", "- **", "* **"], ids=ascii)
def test_markup_hides_nothing(before: str) -> None:
    assert found(CARDS, f"{before}4111 1111 1111 1111**") == ["4111 1111 1111 1111"]


@pytest.mark.parametrize(
    "text",
    [
        "************1111 1111 1111 1117",
        "****\u2011****\u2011****\u20111111 22 3333 4444 0000",
        "to ** **1111 22 3333 4444 0000",
    ],
    ids=ascii,
)
def test_what_is_left_of_a_masked_number_begins_none(text: str) -> None:
    assert found(CARDS, text) == []


def test_a_run_of_lone_digits_costs_no_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(numbers, "luhn_lengths", lambda digits, lengths: asked.append(digits) or iter(()))
    assert found(card_rules(checksums=True), "1 " * 1000) == []
    assert asked == []
    assert found(card_rules(checksums=True), "4111 1111 1111 1111") == []
    assert asked == ["4111111111111111"]


@pytest.mark.parametrize("text", ["123-45-6780", "123 45 6780", "(123-45-6780)"])
def test_finds_a_social_security_number(text: str) -> None:
    assert found(ssn_rules(), text) == [text.strip("()")]


@pytest.mark.parametrize(
    "text",
    ["000-12-3456", "666-12-3456", "912-12-3456", "123-00-4567", "123-45-0000", "123-45 6780", "1123-45-6780"],
)
def test_leaves_numbers_that_are_never_given_out(text: str) -> None:
    assert found(ssn_rules(), text) == []


@pytest.mark.parametrize("words", ["SSN: ", "ssn is ", "social security number ", "Social-Security no. "])
def test_nine_bare_digits_count_behind_a_word_that_says_so(words: str) -> None:
    assert found(ssn_rules(), f"{words}123456780") == ["123456780"]
    assert found(ssn_rules(), "order 123456780") == []


@pytest.mark.parametrize(
    "number", ["DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "gb82 west 1234 5698 7654 32"]
)
def test_finds_an_iban_to_the_length_of_its_country(number: str) -> None:
    assert found(iban_rules(checksums=True), f"to {number} today") == [number]


@pytest.mark.parametrize(
    "text", ["DE88370400440532013000", "XX89370400440532013000", "DE8937040044053201300", "DE893704004405320130001"]
)
def test_leaves_what_is_no_iban(text: str) -> None:
    assert found(iban_rules(checksums=True), text) == []


def test_checksums_of_wallets_and_accounts() -> None:
    assert (iban_valid("GB82WEST12345698765432"), iban_valid("GB83WEST12345698765432")) == (True, False)
    assert base58check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")
    assert not base58check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb")
    assert not base58check("0OIl")
    assert bech32("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq")
    assert not bech32("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdp")
    assert not bech32("qqqq")


@pytest.mark.parametrize(
    ("text", "is_card"),
    [
        ("4111 1111 1111 1111", True),
        ("4111 1111\n1111 1111", True),
        ("4111.1111.1111.1111", True),
        ("41 11 11 11 11 11 11 11", True),
        ("41111 11111 11111 1", True),
        ("411111 1111111111", True),
        ("3714\n496353\n98431", True),
        # Over lines and with full stops only in the groups that cards are written in.
        ("411111\n1111111111", False),
        ("411111.1111111111", False),
    ],
)
def test_a_card_is_grouped_as_people_group_it(text: str, is_card: bool) -> None:
    span = Span(0, len(text), "credit-card", 0.95, "credit-card")
    assert PIIRules(["credit-card"]).find(text) == ((span,) if is_card else ())
