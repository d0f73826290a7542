"""Languages by name and code, and a small offline recogniser of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from sluiceway.processors.detectors._port import Detection

__all__ = ["LANGUAGES", "LanguageRules", "language_code"]

LANGUAGES: Final[Mapping[str, str]] = MappingProxyType({
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese",
    "ka": "Georgian", "kn": "Kannada", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "ml": "Malayalam",
    "mr": "Marathi", "ms": "Malay", "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
})  # fmt: skip
"""ISO 639-1 codes with their English names."""

# The words that come most often, and letters that hardly any other language has.
_WORDS: Final[Mapping[str, str]] = {
    "ca": "de la i el que a en és un una per amb no els les del es com però més aquest aquesta al seu són hi ha molt",
    "cs": "a je se v na to že s z do o k i ale jak jsem by co tak za pro si po ve jako jsou byl jeho už není když",
    "da": "og i at det er en på til den af for der ikke med har de som jeg et fra var vi kan du hvad ikke skal",
    "de": "der die und das ist in den zu nicht ein eine mit auf von für sie ich es dem sich auch wie im wird sind an "
    "wir haben bitte kann mir was",
    "en": "the of and to in is that it for was on with as you this are be at have not from by or an your can what how "
    "my please we i me do",
    "es": "de la que el en y los se del las un por con una para no es su lo al como más pero sus me está qué cómo mi "
    "puedo por favor hola",
    "fi": "ja on ei se että en oli hän mutta ovat ole mitä kun niin minä tämä myös kuin voi joka sen hyvää olen sinä",
    "fr": "de la le et les des en un une du est que pour dans qui ne pas sur au avec ce il je vous nous plus sont mon "
    "bonjour ma quel où",
    "hr": "je i u na se da za su ne od koji s što kao o to bi ali sam iz biti kako samo ili nije ovo",
    "hu": "a az és hogy nem is egy van ez de meg csak ki mint vagy már el azt kell volt még én ha nagyon",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam akan pada adalah saya anda bisa ada ke kami juga apa",
    "it": "di e il la che è in un per non una sono del con si da le dei gli ho come mi anche al lo questo ciao "
    "vorrei della quanto",
    "nl": "de het een en van in is dat op te zijn voor met niet die aan er om ook als maar dan ik je wat hoe kan mijn",
    "no": "og i det er en på til som av for at med ikke har de den jeg et fra var vi kan du hva skal være å meg",
    "pl": "i w nie na się z do to że jest jak o co za ale od po tak czy ja dla mi być są już tego mnie proszę",
    "pt": "de que o a e do da em um para não com uma os no se na por mais as dos como mas ao você está isso são meu "
    "olá posso obrigado",
    "ro": "și de în a la cu pe nu este că o un pentru din care mai sunt se ce am fi ca dar sau să asta bună",
    "sk": "a je sa v na to že s z do o k aj ale ako som by čo tak za pre si po vo sú bol jeho už nie keď",
    "sv": "och i att det är en på som för av med till den har inte om de ett jag var vi från kan du vad ska hur mig",
    "tr": "ve bir bu da için ne çok ile ben o mi var gibi daha ama değil de olarak en kadar nasıl bana merhaba",
    "vi": "và của là có cho không được một trong các với những này người đã khi để tôi bạn như làm xin",
}
_LETTERS: Final[Mapping[str, str]] = {
    "cs": "ěřů", "da": "æø", "de": "ßäü", "es": "ñ¿¡", "fi": "ä", "fr": "çœêè", "hu": "őű", "is": "þð",
    "no": "æø", "pl": "łżźśćńę", "pt": "ãõ", "ro": "țșă", "sk": "ľĺŕ", "sv": "å", "tr": "ğış",
    "vi": "ơưđạảấầẩậắằẳặẹẻẽếềểễệỉịọỏốồổộớờởợụủứừửữựỳỵỷỹ",
}  # fmt: skip
_SCRIPTS: Final[tuple[tuple[str, str], ...]] = (
    (r"[\u0370-\u03ff\u1f00-\u1fff]", "el"),
    (r"[\u0530-\u058f]", "hy"),
    (r"[\u0590-\u05ff]", "he"),
    (r"[\u0900-\u097f]", "hi"),
    (r"[\u0980-\u09ff]", "bn"),
    (r"[\u0a00-\u0a7f]", "pa"),
    (r"[\u0a80-\u0aff]", "gu"),
    (r"[\u0b80-\u0bff]", "ta"),
    (r"[\u0c00-\u0c7f]", "te"),
    (r"[\u0c80-\u0cff]", "kn"),
    (r"[\u0d00-\u0d7f]", "ml"),
    (r"[\u0e00-\u0e7f]", "th"),
    (r"[\u10a0-\u10ff]", "ka"),
    (r"[\uac00-\ud7af\u1100-\u11ff]", "ko"),
    (r"[\u3040-\u30ff]", "ja"),
    (r"[\u4e00-\u9fff\u3400-\u4dbf]", "zh"),
    (r"[\u0400-\u04ff]", "ru"),
    (r"[\u0600-\u06ff]", "ar"),
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_CHARS: Final = 5000


def language_code(name: str) -> str | None:
    """Return the code of a language, given that or its English name in any case; None if unknown.

    Args:
        name: Such as `de`, `German` or `german`.
    """
    lowered = name.strip().lower()
    primary = lowered.partition("-")[0].partition("_")[0]
    if primary in LANGUAGES:
        return primary
    return next((code for code, full in LANGUAGES.items() if full.lower() == lowered), None)


@cache
def _profiles() -> dict[str, dict[str, float]]:
    """Return the words of each language with what they say: one that many languages have says less."""
    profiles = {code: set(words.split()) for code, words in _WORDS.items()}
    shared = Counter(word for words in profiles.values() for word in words)
    return {code: {word: shared[word] ** -0.5 for word in words} for code, words in profiles.items()}


@cache
def _scripts() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(script), code) for script, code in _SCRIPTS)


class LanguageRules:
    """Tells languages by their script, commonest words and letters. Offline, safe to share.

    Good for a sentence and more of the main languages; where that is not enough there are
    `FastLangDetector` and `EldcDetector`.
    """

    __slots__ = ()

    def find(self, text: str) -> dict[str, float]:
        """Return codes of languages with how sure it is of each, from 0 to 1, surest first."""
        shown = text[:_MOST_CHARS]
        letters = sum(map(len, _WORD.findall(shown)))
        if not letters:
            return {}
        by_script = _by_script(shown)
        code, count = max(by_script.items(), key=lambda item: item[1], default=("", 0))
        if count * 2 > letters or (code in ("zh", "ja") and count * 4 > letters):
            return {_within_script(code, shown, by_script): round(min(1.0, 0.5 + count / letters / 2), 3)}
        return _by_words(shown)

    async def detect(self, text: str, ctx: Any) -> Detection:  # noqa: ARG002 - the port's
        """Return the languages of `text` as scores by code; see `find`."""
        return Detection(self.find(text))


def _by_script(text: str) -> dict[str, int]:
    counts = {code: len(script.findall(text)) for script, code in _scripts()}
    return {code: count for code, count in counts.items() if count}


def _within_script(code: str, text: str, by_script: Mapping[str, int]) -> str:
    """Tell the languages of one script apart."""
    if code == "zh" and by_script.get("ja", 0) * 8 > by_script["zh"]:
        return "ja"
    if code == "ru":
        if re.search("[іїєґІЇЄҐ]", text):
            return "uk"
        if re.search("[ђјљњћџЂЈЉЊЋЏ]", text):
            return "sr"
        return "bg" if "ъ" in text and not re.search("[ыэЫЭ]", text) else "ru"
    if code == "ar":
        if re.search("[ٹڈڑںےہھ]", text):
            return "ur"
        return "fa" if re.search("[پچژگکی]", text) else "ar"
    return code


def _by_words(text: str) -> dict[str, float]:
    words = [word.lower() for word in _WORD.findall(text)]
    points: dict[str, float] = {}
    for code, profile in _profiles().items():
        marks = sum(any(letter in word for letter in _LETTERS.get(code, "")) for word in words)
        score = sum(profile.get(word, 0.0) for word in words) + 0.7 * marks
        if score:
            points[code] = score
    if not points:
        return {}
    ranked = sorted(points.items(), key=lambda item: (-item[1], item[0]))
    best = ranked[0][1]
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    coverage = min(1.0, best / max(0.9, len(words) * 0.18))
    sure = coverage * best / (best + 0.6 * second)
    rest = {code: round(sure * score / best * 0.6, 3) for code, score in ranked[1:4]}
    return {ranked[0][0]: round(sure, 3), **rest}
