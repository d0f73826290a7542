"""`LanguageDetector`: the language of what comes in, and what to do about another than wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Message
from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import InputContext
from sluiceway.processors._effects import Effects
from sluiceway.processors.detectors import (
    LANGUAGES,
    Detection,
    Detector,
    LanguageRules,
    ModelChoice,
    ModelDetector,
    ModelTask,
    checked_model,
    language_code,
)
from sluiceway.processors.guardrails._inquiring import Asked, checked_asked
from sluiceway.processors.guardrails._inquiry import ErrorStrategy, Inquiry, OnDetection
from sluiceway.processors.guardrails._options import checked_policy, checked_texts
from sluiceway.processors.guardrails._scan import LANGUAGE_NOTE, ORIGINAL_TEXT

__all__ = ["LanguageDetector"]

Strategy: TypeAlias = Literal["detect", "translate", "block", "warn"]

_TASK = (
    "Say in which language a text is written, as `language`, its ISO 639-1 code, with `confidence` from 0 to 1. "
    "As `text` give the text in {target}, as close to the original as can be; keep names, numbers, code and "
    "placeholders in brackets as they are."
)
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "language": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "text": {"type": "string"},
    },
    "required": ["language", "confidence", "text"],
    "additionalProperties": False,
}


class _Translator(ModelDetector):
    """A model that says the language of a text and what it is in another."""

    __slots__ = ()

    async def detect(self, text: str, ctx: Any) -> Detection:
        verdict = await self.verdict(text, ctx)
        code = language_code(verdict.language or "")
        sure = 1.0 if verdict.confidence is None else min(1.0, max(0.0, verdict.confidence))
        return Detection({} if code is None else {code: sure}, text=verdict.text)


class LanguageDetector(Processor):
    """Tells the language of the user's messages, and translates, blocks or reports other ones.

    Hook: `process_input`. Reads messages; writes their metadata, and with the strategy
    `translate` their text. Only text parts change: images, ids, roles and order stay.

    Each user message gets `metadata["language"]`: `language`, `iso_code`, `confidence`, and
    where it was translated `translated_to` and, with `preserve_original`, `original_text`.

    Args:
        target_languages: The languages that are wanted, by English name or ISO 639-1 code.
        threshold: A language less sure than this is none: the message stays as it is.
        strategy: `detect` only notes it; `translate` puts a message of another language into
            the first of the targets; `block` ends the run; `warn` reports.
        preserve_original: Whether the metadata keeps the text from before a translation.
        min_text_length: A message of fewer characters is not looked at.
        model: A model, its name, or a function of the request context: it translates, and is
            asked for the language where the detector is not sure. None: the agent's own, to
            translate.
        detector: What tells languages, such as `FastLangDetector()`; its scores are by ISO 639-1
            code. None: built-in rules, offline.
        instructions: What to tell the model in place of the usual.
        provider_options: Options for one provider, by its name.
        timeout: How long one text may take, in seconds; None: any time.
        error_strategy: What happens when detector or model fails: `strict` ends the run, `warn`
            logs it and lets the message through, `not checked` in the audit.
        last_message_only: Look at the last message of the input only.
        on_detection: Called with a `DetectionEvent` for each text that was looked at.
        id: Unique within a list.
        on_violation: Called once per message of another language, but for `detect`.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed; a language that is not
            known.

    Examples:
        >>> LanguageDetector(target_languages=["en", "German"], strategy="block").id
        'language-detector'
    """

    def __init__(
        self,
        *,
        target_languages: Sequence[str] = ("English", "en"),
        threshold: float = 0.7,
        strategy: Strategy = "detect",
        preserve_original: bool = True,
        min_text_length: int = 10,
        model: ModelChoice | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        timeout: float | None = 10,
        error_strategy: ErrorStrategy = "strict",
        last_message_only: bool = False,
        on_detection: OnDetection | None = None,
        id: str = "language-detector",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        flags = {"preserve_original": preserve_original, "last_message_only": last_message_only}
        checked_policy(id, strategy, ("detect", "translate", "block", "warn"), threshold, **flags)
        least: Any = min_text_length
        if isinstance(least, bool) or not isinstance(least, int) or least < 0:
            raise ConfigurationError(f"{id}: min_text_length={least!r} is not allowed; give a whole number from 0")
        self.targets = _codes(id, checked_texts(id, "target_languages", target_languages))
        told = _TASK.format(target=LANGUAGES[self.targets[0]]) if instructions is None else instructions
        asked = Asked(model, detector, told, (), provider_options, timeout, error_strategy, on_detection)
        checked_asked(id, asked)
        self.threshold = threshold
        self.strategy: Strategy = strategy
        self.preserve_original = preserve_original
        self.min_text_length = min_text_length
        self.last_message_only = last_message_only
        self._own_model = model is None and strategy == "translate"
        self._tells = Inquiry(detector or LanguageRules(), timeout, error_strategy, on_detection, key="languages")
        self._translates: Inquiry | None = None
        if model is not None or strategy == "translate":
            options = dict(provider_options or {})
            task = ModelTask(instructions=told, types=(), schema=_SCHEMA, provider_options=options)
            self._translates = Inquiry(
                _Translator(model, task), timeout, error_strategy, on_detection, key="translations"
            )
        external = self._translates is not None or detector is not None
        self.effects = Effects(reads=("messages",), writes=("messages",), external=external)

    def check_models(self, models: Sequence[Any]) -> None:
        """Refuse an agent's model that cannot translate, where it is to.

        Raises:
            ConfigurationError: It cannot answer in a shape.
        """
        if self._own_model:
            checked_model(models[0], f"{self.id}: without model= the agent's own model translates")

    async def process_input(self, ctx: InputContext) -> None:
        """Look at the user's messages."""
        shown = ctx.messages[-1:] if self.last_message_only else ctx.messages
        messages = [message for message in shown if message.role == "user" and self._is_long(message)]
        texts = [_text_of(message) for message in messages]
        told = await self._tells.ask(ctx, texts)
        unsure = [text for text in texts if text in told and self._language(told[text]) is None]
        if self._translates is not None and unsure:
            told = {**told, **await self._translates.ask(ctx, unsure)}
        for message, text in zip(messages, texts, strict=True):
            detection = told.get(text)
            found = None if detection is None else self._language(detection)
            if found is None:
                if detection is not None:
                    ctx.note("skipped", {"reason": "the language is not sure"})
                continue
            message.metadata[LANGUAGE_NOTE] = {
                "language": LANGUAGES.get(found[0], found[0]),
                "iso_code": found[0],
                "confidence": found[1],
            }
            if found[0] not in self.targets:
                await self._act(ctx, message, found[0])

    def _is_long(self, message: Message) -> bool:
        text = _text_of(message).strip()
        return bool(text) and len(text) >= self.min_text_length

    def _language(self, detection: Detection) -> tuple[str, float] | None:
        if not detection.scores:
            return None
        code, score = max(detection.scores.items(), key=lambda item: item[1])
        return (language_code(code) or code, score) if score >= self.threshold else None

    async def _act(self, ctx: InputContext, message: Message, code: str) -> None:
        wanted = ", ".join(LANGUAGES[target] for target in self.targets)
        reason = f"a message is in {LANGUAGES.get(code, code)}, not in {wanted}"
        if self.strategy == "block":
            ctx.abort(reason, metadata={"language": code, "target_languages": list(self.targets)})
        if self.strategy == "warn":
            ctx.warn(reason, {"language": code})
        if self.strategy == "translate" and self._translates is not None:
            await self._translate(ctx, self._translates, message, reason)

    async def _translate(self, ctx: InputContext, inquiry: Inquiry, message: Message, reason: str) -> None:
        parts = [part for part in message.text_parts if part.text.strip()]
        told = await inquiry.ask(ctx, [part.text for part in parts])
        new = [told[part.text].text if part.text in told else None for part in parts]
        if None in new:  # what could not be translated stays whole, as the audit says
            return
        noted = message.metadata[LANGUAGE_NOTE]
        if self.preserve_original:
            noted[ORIGINAL_TEXT] = _text_of(message)
        noted["translated_to"] = self.targets[0]
        for part, text in zip(parts, new, strict=True):
            if text is not None:
                part.text = text
        message.metadata[LANGUAGE_NOTE] = dict(noted)
        ctx.warn(f"{reason}; it was translated", {"language": noted["iso_code"]})


def _text_of(message: Message) -> str:
    """Return what a model reads of a message, attachments included."""
    return "".join(part.text for part in message.text_parts)


def _codes(owner: str, names: Sequence[str]) -> tuple[str, ...]:
    codes: dict[str, None] = {}
    for name in names:
        code = language_code(name)
        if code is None:
            known = ", ".join(LANGUAGES.values())
            raise ConfigurationError(f"{owner}: target_languages does not know {name!r}; known are {known}")
        codes[code] = None
    return tuple(codes)
