"""The other rules of the catalogue, one by one."""

from __future__ import annotations

import pytest

from sluiceway.processors.detectors import PII_RULE_TYPES, PIIRules, Rule, Span, find
from sluiceway.processors.detectors import _phone as phone
from sluiceway.processors.detectors._email import email_rules
from sluiceway.processors.detectors._network import ip_rules, url_rules, uuid_rules
from sluiceway.processors.detectors._secrets import api_key_rules
from sluiceway.processors.detectors._wallets import wallet_rules


def found(rules: tuple[Rule, ...], text: str) -> list[str]:
    return [text[span.start : span.end] for span in find(rules, text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ann@example.org", ["ann@example.org"]),
        ("<ann.b+c@mail.example.co.uk>.", ["ann.b+c@mail.example.co.uk"]),
        ("O'Brien: o'brien@x.com", ["o'brien@x.com"]),
        ("'bob@x.com'", ["bob@x.com"]),
        ("mailto:bob@x.com?subject=hi", ["bob@x.com"]),
        ("ann@corp.test bob@corp.test", ["ann@corp.test", "bob@corp.test"]),
        ("jürgen@müller.example", ["jürgen@müller.example"]),
        ("bob@x.com2", ["bob@x.com"]),
        ("ann@example.organn@example.org.", ["ann@example.organn@example.org"]),
        ("write to bob@localhost or @bob or bob@", []),
        ("logo@2x.png", []),
        ("a*n@*******.org", []),
        ("a@b..com", []),
    ],
)
def test_emails(text: str, expected: list[str]) -> None:
    assert found(email_rules(), text) == expected


PHONES = [
    "415-555-0100",
    "(415) 555-0100",
    "415.555.0100",
    "+1 415 555 0100",
    "+14155550100",
    "1-415-555-0100",
    "+49 30 901820",
    "+49 (0)30 901820",
    "0049 30 901820",
    "020 7946 0958",
    "06 12 34 56 78",
    "(030) 901820",
]
NO_PHONES = [
    "4155550100",
    "123-456-7890",
    "2024-01-15",
    "01-02-2024 12",
    "12.10.2024",
    "1700000000",
    "order 12345678",
    "10.0.0.1",
    "12:30:45",
    "555-0100",
    "3.14159265358979",
    "1,234,567,890",
    "***-***-0100",
    "0000 0000 00",
]


@pytest.mark.parametrize("metadata", ["installed", "missing"])
@pytest.mark.parametrize("number", PHONES)
def test_phone_numbers(number: str, metadata: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra and without it."""
    if metadata == "missing":
        monkeypatch.setattr(phone, "_numbering_plans", lambda: None)
    assert found(phone.phone_rules(), f"call {number}, please") == [number]


@pytest.mark.parametrize("metadata", ["installed", "missing"])
@pytest.mark.parametrize("text", NO_PHONES)
def test_order_numbers_and_times_are_no_phone_numbers(
    text: str, metadata: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if metadata == "missing":
        monkeypatch.setattr(phone, "_numbering_plans", lambda: None)
    assert found(phone.phone_rules(), f"see {text} there") == []


@pytest.mark.parametrize("joint", [",", ";", "|", "\n", ", ", " / ", " or "])
def test_phone_numbers_in_a_row_are_all_found(joint: str) -> None:
    numbers = ["415-555-0100", "+49 30 901820", "(415) 555-0101"]
    assert found(phone.phone_rules(), joint.join(numbers)) == numbers


@pytest.mark.parametrize("joint", [*"\u2010\u2011\u2013\u2212\u00a0\u2009\u202f\u3000.", "\n", "\r\n "], ids=ascii)
def test_phone_numbers_may_be_parted_as_a_model_parts_them(joint: str) -> None:
    for number in (f"+49 30{joint}901820", f"(415) 555{joint}0100", f"+1 415{joint}555 0100"):
        assert found(phone.phone_rules(), f"call {number}, please") == [number]


@pytest.mark.parametrize(
    "number", ["＋４９　３０　９０１８２０", "（４１５）５５５－０１００", "٠٢٠ ٧٩٤٦ ٠٩٥٨", "０２０ ７９４６ ０９５８"]
)
def test_phone_numbers_may_have_the_digits_of_any_script(number: str) -> None:
    assert found(phone.phone_rules(), f"call {number}, please") == [number]


@pytest.mark.parametrize("before", ["**", "* ", "- **", "* **"])
def test_markup_hides_no_phone_number(before: str) -> None:
    for number in ("+49 30 901820", "(415) 555-0100", "020 7946 0958"):
        assert found(phone.phone_rules(), f"{before}{number}**") == [number]


@pytest.mark.parametrize(
    "text", ["+49 30 901820\n12 items", "call 020 7946 0958\n12 items", "+49 30 901820\n12\n13", "(030) 901820\n12\n34"]
)
def test_a_number_that_ends_with_its_line_does_not_take_the_next(text: str) -> None:
    assert found(phone.phone_rules(), text) == [text.removeprefix("call ").partition("\n")[0]]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+49 30\n901820\n12 items", "+49 30\n901820"),
        ("+44 20\n7946 0958\n3 rows", "+44 20\n7946 0958"),
        ("+1\n415\n555-0100\n7 days", "+1\n415\n555-0100"),
        # What is too short before its second break goes on behind that.
        ("+49 30\n9018\n2000", "+49 30\n9018\n2000"),
        ("+49\n30\n901820", "+49\n30\n901820"),
    ],
)
def test_a_number_over_lines_does_not_take_the_line_behind_it(text: str, number: str) -> None:
    assert found(phone.phone_rules(), text) == [number]


@pytest.mark.parametrize("text", ["415\n555\n0100", "020\n7946\n0958", "1 " * 12, "0 " * 12], ids=ascii)
def test_columns_and_lone_digits_are_no_phone_numbers(text: str) -> None:
    assert found(phone.phone_rules(), text) == []


def test_a_second_number_in_brackets_is_not_half_taken_by_the_first() -> None:
    assert found(phone.phone_rules(), "+49 30 901820 (415) 555-0100") == ["+49 30 901820", "(415) 555-0100"]


def test_a_number_that_nobody_gives_out_is_no_phone_number() -> None:
    assert found(phone.phone_rules(), "+49 1 23456789012") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 10.0.0.1.", ["10.0.0.1"]),
        ("http://192.168.1.1:80", ["192.168.1.1"]),
        ("2001:db8::1 and fe80::1ff", ["2001:db8::1", "fe80::1ff"]),
        ("::ffff:10.0.0.1", ["::ffff:10.0.0.1", "10.0.0.1"]),
        ("version 1.2.3.4, v1.2.3.4, 1.2.3.4.5, 256.1.1.1", []),
        ("12:34:56, x[1::2], std::vector, a::b, ::", []),
    ],
)
def test_ip_addresses(text: str, expected: list[str]) -> None:
    assert found(ip_rules(), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://example.org/a?b=1#c.", ["https://example.org/a?b=1#c"]),
        ("(https://en.example.org/wiki/A_(b))", ["https://en.example.org/wiki/A_(b)"]),
        ("[x](http://a.test/y)", ["http://a.test/y"]),
        ("WWW.Example.org!", ["WWW.Example.org"]),
        ("ftp://u:p@host/x", ["ftp://u:p@host/x"]),
        ("https://***, http://, www., example.org", []),
    ],
)
def test_urls(text: str, expected: list[str]) -> None:
    assert found(url_rules(), text) == expected


def test_uuids() -> None:
    one = "550e8400-e29b-41d4-a716-446655440000"
    assert found(uuid_rules(), f"id_{one} x{one} {one}0 {one.upper()}") == [one, one.upper()]


SECRETS = {
    "aws-access-key": "AKIAIOSFODNN7EXAMPLE",
    "github-token": "ghp_" + "a1B2" * 9,
    "github-fine-grained": "github_pat_" + "a1B2_" * 8,
    "gitlab-token": "glpat-" + "a1B2-" * 4,
    "anthropic-key": "sk-ant-" + "a1B2" * 9,
    "openrouter-key": "sk-or-v1-" + "a1B2" * 9,
    "openai-key": "sk-proj-" + "a1B2" * 9,
    "stripe-key": "sk_live_" + "a1B2" * 6,
    "stripe-webhook": "whsec_" + "a1B2" * 8,
    "slack-token": "xoxb-1234567890-abcdef",
    "slack-webhook": "https://hooks.slack.com/services/T0000/B0000/abcdef123456",
    "google-api-key": "AIza" + "a1B2_" * 7,
    "google-oauth": "ya29." + "a1B2" * 9,
    "twilio-key": "AC" + "0a1b" * 8,
    "sendgrid-key": "SG." + "a1B2" * 5 + "." + "a1B2" * 10,
    "mailgun-key": "key-" + "0a1b" * 8,
    "npm-token": "npm_" + "a1B2" * 9,
    "pypi-token": "pypi-" + "a1B2" * 15,
    "huggingface-token": "hf_" + "a1B2" * 8,
    "digitalocean-token": "dop_v1_" + "0a1b" * 16,
    "shopify-token": "shpat_" + "0a1b" * 8,
    "databricks-token": "dapi" + "0a1b" * 8,
    "docker-token": "dckr_pat_" + "a1B" * 9,
    "linear-key": "lin_api_" + "a1B2" * 10,
    "notion-token": "ntn_" + "a1B2" * 11,
    "groq-key": "gsk_" + "a1B2" * 10,
    "json-web-token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a1B2c3D4e5F6",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nabc\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("name", SECRETS)
def test_keys_of_services_are_named_by_their_rule(name: str) -> None:
    text = f"use {SECRETS[name]} now"
    spans = find(api_key_rules(), text)
    assert spans == (Span(4, len(text) - 4, "api-key", 0.95, name),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=hunter2hunter2xx", ["hunter2hunter2xx"]),
        ('"api_key": "a1b2c3d4e5f6g7"', ["a1b2c3d4e5f6g7"]),
        ("Authorization: Bearer abcdef0123456789", ["abcdef0123456789"]),
        ("client-secret := q8w7e6r5t4y3=", ["q8w7e6r5t4y3="]),
        ("password: correcthorsebattery", []),
        ("token=aaaaaaaaaaa1", []),
        ("the password is in the mail from 2024-10-12", []),
        ("task-force sk-learn AKIA eyJ hf_ key-board", []),
    ],
)
def test_values_that_a_name_calls_secret(text: str, expected: list[str]) -> None:
    assert found(api_key_rules(), text) == expected


@pytest.mark.parametrize(
    "address",
    [
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh",
        "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL",
    ],
)
def test_wallets(address: str) -> None:
    assert found(wallet_rules(checksums=True), f"to {address}.") == [address]


def test_a_wallet_is_named_after_the_way_it_is_written() -> None:
    wallets = {
        "base58-address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        "base58-key": "CmeSYcAmew7715vK7zKT3g8UVxjBmpJ9ZyV5qJeWUABP",
        "bech32-address": "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "hex-address": "0x52908400098527886E0F7030069857D2E4169EE7",
    }
    for checksums in (True, False):
        text = " ".join(wallets.values())
        spans = find(wallet_rules(checksums=checksums), text)
        assert [(span.rule, text[span.start : span.end]) for span in spans] == list(wallets.items())


def test_a_wallet_address_with_a_typing_error_is_none() -> None:
    wrong = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"
    assert found(wallet_rules(checksums=True), wrong) == []
    assert found(wallet_rules(checksums=False), wrong) == [wrong]


def test_the_threshold_leaves_out_rules_that_are_less_sure() -> None:
    def types(threshold: float) -> set[str]:
        return {rule.type for rule in PIIRules(threshold=threshold).rules}

    assert types(0.0) == set(PII_RULE_TYPES)
    assert types(0.9) == {"email", "credit-card", "api-key", "ip-address", "url", "uuid", "crypto-wallet", "iban"}


PROSE = """
In 1984 the committee met 12 times; on 2024-01-15 at 10:30 it decided (by 7 to 5) to spend 1,250,000.00 euros.
Order 100-2345-67 shipped in 3 boxes of 10.5 x 20.25 x 30 cm, see section 4.2.1 and figures 3-5. ISBN 978-3-16-148410-0.
Version 10.2.3 of the API returns 404; chapter 12 has 1 2 3 4 5 6 7 8 9 10 11 12 rows. At 12:34:56 the train 0815 left.
Einstein wrote E = mc2 in 1905, pi is 3.14159265358979, and a google is 10^100. Hash d41d8cd98f00b204e9800998ecf8427e.
His token of gratitude: a bearer of good news, who kept the secret: nothing. Passwords should be long. C++ std::string.
"""


def test_ordinary_prose_holds_nothing() -> None:
    assert [(s.rule, PROSE[s.start : s.end]) for s in PIIRules().find(PROSE)] == []
