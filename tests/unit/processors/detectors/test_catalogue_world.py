"""Rules for personal data as it is written in other countries and scripts, and next to what only looks like it."""

from __future__ import annotations

import pytest

from sluiceway.processors.detectors import HoldBack, PIIRules

RULES = PIIRules()


def found(text: str, *types: str) -> list[str]:
    spans = RULES.find(text)
    assert not types or {span.type for span in spans} <= set(types), spans
    return [text[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("資料はann@example.orgに送って。", ["ann@example.org"]),
        ("메일은 bob@example.com으로, 카드는 4111111111111111입니다", ["bob@example.com", "4111111111111111"]),
        ("服务器192.0.2.7和2001:db8::1都坏了", ["192.0.2.7", "2001:db8::1"]),
        ("カード4111-1111-1111-1111で払う", ["4111-1111-1111-1111"]),
        ("用户@例子.广告", ["用户@例子.广告"]),
        ("почта: анна@пример.рф, или anna@example.org", ["анна@пример.рф", "anna@example.org"]),
        ("看https://example.cn/路径/a?b=1,谢谢", ["https://example.cn/路径/a?b=1"]),
        ("https://example.jp/ページ。次の文", ["https://example.jp/ページ"]),
        ("見てhttps://example.jp/a/bご覧ください", ["https://example.jp/a/b"]),
    ],
)
def test_scripts_without_blanks_stand_right_beside_a_value(text: str, values: list[str]) -> None:
    assert found(text) == values


@pytest.mark.parametrize(
    "number",
    [
        "91 234 56 78",
        "612 34 56 78",
        "(61) 852 12 34",
        "(11) 98765-4321",
        "8 912 345-67-89",
        "8 (495) 123-45-67",
        "8-800-555-35-35",
        "03-3456-7890",
        "010 6552 9988",
    ],
)
def test_numbers_whose_shape_says_what_they_are(number: str) -> None:
    assert found(f"so, {number} or not", "phone") == [number]


@pytest.mark.parametrize(
    "text",
    [
        "phone: 4155550100",
        "call me at 4155550100",
        "Teléfono: 900123456",
        "Cellulare: 3471234567",
        "ligar para 213456789",
        "mój nowy numer to 512345678",
        "手机:13812345678",
        "전화 01012345678",
        "मेरा नया नंबर 9812345678",
        "Mobil: 15123456789",
    ],
)
def test_behind_a_word_for_it_bare_digits_are_a_number(text: str) -> None:
    digits = text.lstrip(text.rstrip("0123456789"))
    assert found(text, "phone") == [text[-len(digits) :]]
    assert found(f"so {digits} it is") == []


@pytest.mark.parametrize(
    "text",
    [
        "order no. 0171 2345678",
        "Bestellnummer 030 901820",
        "part 020-7946-03-X",
        "Policy no.: 771-204-8839-X",
        "注文番号:0447-1182-3390-55",
        "tracking number 1Z 84R 2W3 01 5517 2206",
        "DE09 7090 6515 5093 4274 33 is wrong",
        "id 4375 0740 3996 7989",
    ],
)
def test_other_numbers_are_no_phone_numbers(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("06 12 34 56 78 06 98 76 54 32", ["06 12 34 56 78", "06 98 76 54 32"]),
        ("0171 2345678 0172 3456789", ["0171 2345678", "0172 3456789"]),
        ("020 7946 0958 020 7946 0123", ["020 7946 0958", "020 7946 0123"]),
        ("+49 30 901820 030 901821", ["+49 30 901820", "030 901821"]),
        ("+33 6 12 34 56 78 06 98 76 54 32", ["+33 6 12 34 56 78", "06 98 76 54 32"]),
        ("(415) 555-0134 (415) 555-0135", ["(415) 555-0134", "(415) 555-0135"]),
    ],
)
def test_two_numbers_parted_by_one_blank_are_two(text: str, numbers: list[str]) -> None:
    assert found(f"call {text}, please", "phone") == numbers
    for size in (1, 4):
        hold = HoldBack(RULES.rules)
        pieces = [hold.feed(text[i : i + size]) for i in range(0, len(text), size)] + [hold.flush()]
        spans = [(r.offset + f.start, r.offset + f.end) for r in pieces for f in r.findings]
        assert [text[a:b] for a, b in spans] == numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("upgrade to 0.9.12.1 or 11.4.2.8", []),
        ("на 12.1.0.33 всё работает", []),
        ("версия 194.1.2.3, バージョン 203.0.113.9", []),
        ("host 12.1.0.33 and [4.0.7.15]", ["12.1.0.33", "4.0.7.15"]),
        ("ask 8.8.8.8, 1.1.1.1 and 10.1.2.3", ["8.8.8.8", "1.1.1.1", "10.1.2.3"]),
        ("seen 13.107.42.14 and 203.0.113.9", ["13.107.42.14", "203.0.113.9"]),
    ],
)
def test_four_small_numbers_are_a_version_unless_the_text_speaks_of_addresses(text: str, values: list[str]) -> None:
    assert found(text) == values


@pytest.mark.parametrize("scheme", ["redis", "postgresql", "mysql", "amqp", "mongodb+srv", "smtp", "ldaps", "wss"])
def test_addresses_of_services_are_taken_with_their_credentials(scheme: str) -> None:
    url = f"{scheme}://ann:secret99@db.example.org:5432/main"
    assert found(f"DSN={url} # old", "url", "email")[0] == url


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("aws_secret_access_key = 3mJlNvdK5gSLB3oXvfru4wTp", "3mJlNvdK5gSLB3oXvfru4wTp"),
        ("secret access key w4QWtR+z2twaomHYqIeoSwdX.", "w4QWtR+z2twaomHYqIeoSwdX"),
        ("the token is a1B2c3D4e5F6g7H8 now", "a1B2c3D4e5F6g7H8"),
        ("Voici la clé de l'API : 5059d43eaeb5e4560f270755d73311f5", "5059d43eaeb5e4560f270755d73311f5"),
        ('{"clave_api":"ZrgXyTpTgF85uIaerRjN6bwOKoKBKeCe"}', "ZrgXyTpTgF85uIaerRjN6bwOKoKBKeCe"),
        ("Das Passwort lautet x7Kq9mP2vL4z", "x7Kq9mP2vL4z"),
        ("密钥是a1B2c3D4e5F6g7H8", "a1B2c3D4e5F6g7H8"),
        ("пароль: x7Kq9mP2vL4z", "x7Kq9mP2vL4z"),
        ("the token aB3dE5fG7hJ9kL2mN4pQ here", "aB3dE5fG7hJ9kL2mN4pQ"),
    ],
)  # fmt: skip
def test_names_in_other_languages_call_a_value_secret(text: str, value: str) -> None:
    assert found(text, "api-key") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "the key release-notes-2024-final-draft-v2 is public",
        "password reset for user-profile-settings-page-2",
        "der Schlüssel passt nicht ins Schloss 12",
        "token count 123456789012",
        "the token aB3dE5fG7hJ9kL2mN4p here",
        "clé de voûte du XIIe siècle",
    ],
)
def test_words_are_no_secrets(text: str) -> None:
    assert found(text) == []


KEYS = {
    "telegram-token": "8193972316:AA" + "qP-l_" * 6 + "vcO",
    "discord-token": "M" + "fqm2" * 6 + ".x14XYe." + "fPOaB02" * 4,
    "sentry-token": "sntrys_" + "a1B2" * 12,
    "doppler-token": "dp.pt." + "a1B2" * 11,
    "atlassian-token": "ATATT3" + "a1B2" * 20,
    "figma-token": "figd_" + "a1B2" * 10,
    "grafana-token": "glsa_" + "a1B2" * 10,
    "vault-token": "hvs." + "a1B2" * 10,
    "new-relic-key": "NRAK-" + "A1B2" * 7,
    "postman-key": "PMAK-" + "0a1b" * 6 + "-" + "0a" * 17,
    "pulumi-token": "pul-" + "0a1b" * 10,
    "supabase-token": "sbp_" + "0a1b" * 10,
    "planetscale-token": "pscale_tkn_" + "a1B2" * 10,
    "replicate-token": "r8_" + "a1B2" * 9 + "x",
    "tailscale-key": "tskey-auth-" + "a1B2" * 6,
    "airtable-token": "pat" + "a1B2c3D" * 2 + "." + "0a1b" * 16,
    "age-key": "AGE-SECRET-KEY-1" + "A1" * 29,
    "discord-webhook": "https://discord.com/api/webhooks/123456789012345678/" + "a1B2" * 15,
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_further_services_are_named_by_their_rule(name: str) -> None:
    value = KEYS[name]
    (first, *_) = (span for span in RULES.find(f"use {value} now") if span.type == "api-key")
    assert (first.start, first.end, first.rule) == (4, 4 + len(value), name)


def test_articles_and_accounts_are_no_cards() -> None:
    assert found("EAN 5901234123457 and 4006381333931") == []
    assert found("GB48 LOYD 8244 7005 5778 57 is mistyped") == []
    assert found("4222 2222 2222 2 is an old one", "credit-card") == ["4222 2222 2222 2"]


def test_a_number_on_file_for_social_security() -> None:
    assert found("SSN on file 075020271, and no 075020272", "ssn") == ["075020271"]


def test_a_wallet_without_a_checksum() -> None:
    wallet = "CmeSYcAmew7715vK7zKT3g8UVxjBmpJ9ZyV5qJeWUABP"
    assert found(f"send it to {wallet}", "crypto-wallet") == [wallet]
    assert found(f"{'a' * 44} {'Ab1' * 15}") == []
