"""`PIIDetector`: personal data and secrets in what comes in and what goes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.processors._base import OnError, OnViolation
from sluiceway.processors._contexts import (
    HookContext,
    InputContext,
    InputStepContext,
    OutputResultContext,
    RequestHookContext,
    ToolResultContext,
)
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import LLMRequest, StepOverrides
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import (
    FLAGGED,
    REDACTION_METHODS,
    Detector,
    Finding,
    ModelChoice,
    PIIRules,
    RedactionMethod,
    Rule,
    Span,
    placeholder_of,
    replacement,
)
from sluiceway.processors.guardrails._guard_effects import guard_effects
from sluiceway.processors.guardrails._hiding import hidden_prompt
from sluiceway.processors.guardrails._inquiring import Asked, checked_inquiry
from sluiceway.processors.guardrails._inquiry import ErrorStrategy, OnDetection
from sluiceway.processors.guardrails._marks import mark_rule, mark_rule_for
from sluiceway.processors.guardrails._options import (
    checked_flags,
    checked_one_of,
    checked_policy,
    checked_size,
    checked_texts,
)
from sluiceway.processors.guardrails._pii_types import Definition, pii_types
from sluiceway.processors.guardrails._placeholder_restorer import PlaceholderRestorer
from sluiceway.processors.guardrails._text_guard import TextGuard
from sluiceway.processors.guardrails._vault import PLACEHOLDER, PIIVault, RestoringTool, checked_vault
from sluiceway.processors.guardrails._windows import WindowSize

__all__ = ["PIIDetector"]

Strategy: TypeAlias = Literal["block", "warn", "filter", "redact"]

_HASH = r"\[HASH:[0-9a-f]{8}\]"
_STRATEGIES = ("block", "warn", "filter", "redact")
_TASK = (
    "Find personal data in a text. Score each kind from 0 to 1: how sure you are that the text holds it. "
    "Quote every place exactly as it is written, as short as it can be without losing a part of the value."
)


class PIIDetector(TextGuard):
    r"""Finds personal data and secrets and redacts, blocks, filters or reports them.

    By rules, offline; `model=` or `detector=` finds names and other things that rules cannot,
    after the rules, which are certain and cheap.

    Hooks: `process_input`, `process_output_stream`, `finish_output_stream`,
    `process_tool_result`, `process_output_result`; where it is `reversible`, `process_llm_request`
    and `process_input_step` too. Reads messages and chunks; writes them with the strategies
    `redact` and `filter`.

    On the stream any cut of a text into chunks gives the same text, and no character of a match
    is ever delivered: only the shortest tail that could still become part of a match is held.
    A match ends with its block, at a tool call or result, and with the stream. Tool calls and
    results are looked at inside: JSON stays JSON, types stay types, in texts that are JSON too.
    A tool itself runs with the model's own arguments, unless `redact_before_tools`. The name of a
    tool that there is never changes; one that the model made up is looked at like its arguments.
    An escape such as `\u0040` is read as the character that it means, in any text. A placeholder
    or hash that it has put into a text is never edited again, in whichever hook or turn.

    Args:
        detection_types: Names of types, of which `email`, `phone`, `credit-card`, `ssn`,
            `api-key`, `ip-address`, `url`, `uuid`, `crypto-wallet` and `iban` are found by
            rules, `name`, `address` and `date-of-birth` by a model or detector; types of your
            own as a dict of a name and a pattern or a list of words, alone or in the list.
            None: all.
        threshold: A rule this sure or surer counts, from 0 to 1.
        strategy: `redact` puts something else in the place of a finding; `block` ends the run;
            `filter` takes a message out of the input, and the finding out of the output;
            `warn` only reports.
        redaction_method: `mask` (`a*n@*******.org`, `**** **** **** 1111`), `hash`
            (`[HASH:1b4f0e98]`), `remove`, `placeholder` (`[EMAIL]`).
        preserve_format: Whether a mask keeps the length and the separators.
        buffer_size: How many characters of a stream a model or detector gets at a time, along
            with as many from before; up to twice as many are held. What is longer than that can
            be missed. Rules alone hold less: only what could still become part of a match.
        redact_before_tools: Whether tools run with the redacted arguments.
        checksums: Whether check digits of cards, accounts and wallets must be right.
        hash_key: Makes the hashes keyed, so that they cannot be guessed.
        surfaces: What to look at, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`; a set that is given holds for input and output. None: text and tool results
            on input, all on output. What is not looked at passes as it is.
        last_message_only: Look at the last message of the input only.
        reversible: Whether placeholders can be taken back: `[EMAIL_1]`, numbered per type and
            vault, the same value the same number. What they stand for is in the vault, in memory
            only; prompts get placeholders also for values that were restored in an answer. Put
            `restorer()` last among the output processors to show the values to the client.
        vault: Where that is kept; None: a vault of its own, per run.
        restore_tools: Names of tools that run with the values; all others, the client and the
            store have the placeholders. The detector must be among the input processors for it.
        max_hold_chars: How much of a stream a pattern of your own may hold; one that outgrows
            it ends the run.
        model: A model to ask too, its name, or a function of the request context.
        detector: Something else to ask too, such as `SpacyDetector` or `PresidioDetector`.
        instructions: What to tell the model in place of the usual.
        provider_options: Options for one provider, by its name.
        timeout: How long the model or detector may take for one text, in seconds; None: any time.
        error_strategy: What happens when the model or detector fails, or a pattern of your own
            takes too long: `strict` ends the run, `warn` logs it and lets the text through.
        include_detections: Whether a block's metadata says which rule found what where.
        on_detection: Called with a `DetectionEvent` for each text that the model or detector
            has looked at.
        id: Unique within a list.
        on_violation: Called once per message or stretch of stream with findings; `detail` is a
            list of `rule`, `offset` and `length`, never a value.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed.

    Examples:
        >>> PIIDetector(detection_types=["email", {"badge": r"EMP-[0-9]{6}"}]).id
        'pii-detector'
    """

    _opens_json = _reads_escapes = True

    def __init__(
        self,
        *,
        detection_types: Sequence[str | Mapping[str, Definition]] | Mapping[str, Definition] | None = None,
        threshold: float = 0.6,
        strategy: Strategy = "redact",
        redaction_method: RedactionMethod = "mask",
        preserve_format: bool = True,
        buffer_size: int = 200,
        redact_before_tools: bool = False,
        checksums: bool = True,
        hash_key: str | bytes | None = None,
        surfaces: Sequence[str] | None = None,
        last_message_only: bool = False,
        reversible: bool = False,
        vault: PIIVault | None = None,
        restore_tools: Sequence[str] = (),
        max_hold_chars: int = 1000,
        model: ModelChoice | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        timeout: float | None = 10,
        error_strategy: ErrorStrategy = "strict",
        include_detections: bool = True,
        on_detection: OnDetection | None = None,
        id: str = "pii-detector",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        flags = {"preserve_format": preserve_format, "redact_before_tools": redact_before_tools, "checksums": checksums}
        checked_policy(id, strategy, _STRATEGIES, threshold, **flags)
        checked_one_of(id, "redaction_method", redaction_method, REDACTION_METHODS)
        checked_size(id, "buffer_size", buffer_size)
        types = pii_types(id, detection_types, ruled_only=model is None and detector is None)
        told = instructions or _TASK
        asked = Asked(model, detector, told, types.all, provider_options, timeout, error_strategy, on_detection)
        inquiry, size = checked_inquiry(id, asked), WindowSize(buffer_size, buffer_size, buffer_size)
        super().__init__(
            id, surfaces=surfaces, inquiry=inquiry, size=size, on_violation=on_violation, on_error=on_error
        )
        self.strategy, self.threshold, self.error_strategy = strategy, threshold, error_strategy
        self.redaction_method: RedactionMethod = redaction_method
        self.preserve_format = preserve_format
        self.buffer_size = buffer_size
        self.redact_before_tools = self._executes = redact_before_tools
        self.last_message_only = last_message_only
        self.max_hold_chars = max_hold_chars
        self.include_detections = include_detections
        self.detector = PIIRules(types.ruled, custom=types.custom, checksums=checksums, threshold=threshold)
        self.vault = checked_vault(id, vault, reversible=reversible)
        self.restore_tools = checked_texts(id, "restore_tools", restore_tools) if restore_tools else ()
        self._asked_types = frozenset(types.all) if detection_types is not None else None
        self._hash_key = _key(id, hash_key)
        # What the built-in rules find stands in no placeholder.
        self._finds_anything = bool(types.custom) or inquiry is not None
        named = map(placeholder_of, (*types.all, FLAGGED)) if redaction_method == "placeholder" else ()
        self._marks = mark_rule(named, self.detector.rules if inquiry is None else None)
        self._check()

    def _check(self) -> None:
        """Check what hangs together, and take on the hooks that only a reversible detector has."""
        checked_size(self.id, "max_hold_chars", self.max_hold_chars)
        checked_flags(self.id, last_message_only=self.last_message_only, include_detections=self.include_detections)
        edits, holds = self.strategy in ("redact", "filter"), self.strategy != "warn"
        self.effects = guard_effects(edits=edits, holds=holds, external=self._inquiry is not None)
        self.effects["process_llm_request"] = Effects(reads=("prompt",), writes=("prompt",), aborts=False)
        self.effects["process_input_step"] = Effects(reads=("overrides",), writes=("overrides",), aborts=False)
        if self.restore_tools and self.vault is None:
            raise ConfigurationError(f"{self.id}: restore_tools needs reversible=True")
        if self.vault is None:
            return
        if self.strategy != "redact" or self.redaction_method not in ("mask", "placeholder"):
            raise ConfigurationError(
                f"{self.id}: reversible=True makes placeholders; it goes with strategy='redact' and "
                "redaction_method='placeholder'"
            )
        self.process_llm_request = self._hide
        if self.restore_tools:
            self.process_input_step = self._wrap

    def restorer(self) -> PlaceholderRestorer:
        """Return the processor that puts the values back into the answer.

        Raises:
            ConfigurationError: The detector is not reversible.
        """
        if self.vault is None:
            raise ConfigurationError(f"{self.id}: there is nothing to restore without reversible=True")
        return PlaceholderRestorer(self.vault, id=f"{self.id}-restorer")

    def _hide(self, ctx: RequestHookContext) -> LLMRequest | None:
        """Keep values out of the prompt that were restored for the client, now or in an earlier turn."""
        prompt = None if self.vault is None else hidden_prompt(ctx.prompt, self.vault.book(ctx).hide)
        return None if prompt is None else LLMRequest(prompt=prompt)

    def _wrap(self, ctx: InputStepContext) -> StepOverrides | None:
        """Let the tools that were named run with the values."""
        named = [name for name in self.restore_tools if name in ctx.tools]
        if self.vault is None or not named:
            return None
        restore = self.vault.book(ctx).restore
        return StepOverrides(tools={**ctx.tools, **{name: RestoringTool(ctx.tools[name], restore) for name in named}})

    def process_input(self, ctx: InputContext) -> Any:
        """Look at the messages that go to the model."""
        if self.vault is not None:
            self.vault.book(ctx).note(ctx.messages)
        return self.look_at_input(ctx)

    def process_tool_result(self, ctx: ToolResultContext) -> Any:
        """Look at what a tool returned, before model and store see it."""
        if self.vault is not None:
            self.vault.book(ctx).note(value=ctx.result)
        return self.look_at_tool_result(ctx)

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """Look at the reply, but for what the stream hook has passed and nobody has changed since."""
        return self.look_at_result(ctx)

    def process_output_stream(self, ctx: StreamContext) -> Any:
        """Pass on what is cleared, hold what could still become part of a match."""
        return self.look_at_chunk(ctx)

    def finish_output_stream(self, ctx: StreamContext) -> Any:
        """Decide and pass on all that is held."""
        return self.finish(ctx)

    def rules_of(self, ctx: HookContext) -> Sequence[Rule]:
        """Return what is looked for by rules."""
        del ctx
        return self.detector.rules

    def find(self, ctx: HookContext, text: str) -> Sequence[Span]:
        """Return what the rules find in a whole text."""
        del ctx
        return self.detector.find(text)

    def counts(self, type_: str) -> bool:
        """Whether a type was asked for."""
        return self._asked_types is None or type_ in self._asked_types

    def marks_of(self, ctx: HookContext) -> Rule | None:
        """Return the rule for the placeholders and hashes that stand in the place of findings."""
        if self.strategy != "redact" or not self._finds_anything:
            return None
        if self.vault is None and self.redaction_method != "hash":
            return self._marks
        made: Rule | None = ctx.state.get("marks")
        if made is None:
            made = ctx.state["marks"] = (
                mark_rule_for(_HASH, _hashes(ctx).__contains__)
                if self.vault is None
                else mark_rule_for(PLACEHOLDER.pattern, self.vault.book(ctx).knows)
            )
        return made

    def replace(self, ctx: HookContext, finding: Finding, value: str) -> str:
        """Return what stands in the place of a finding."""
        if self.strategy == "filter":
            return ""
        if self.vault is not None:
            return self.vault.book(ctx).placeholder(finding.type, value)
        new = replacement(
            finding,
            value,
            method=self.redaction_method,
            preserve_format=self.preserve_format,
            hash_key=self._hash_key,
        )
        if self.redaction_method == "hash":
            _hashes(ctx).add(new)
        return new


def _hashes(ctx: HookContext) -> set[str]:
    made: set[str] = ctx.state.setdefault("hashes", set())
    return made


def _key(owner: str, key: str | bytes | None) -> bytes | None:
    if key is None or (isinstance(key, bytes) and key):
        return key
    if isinstance(key, str) and key:
        return key.encode()
    raise ConfigurationError(f"{owner}: hash_key must be a text or bytes that are not empty, or None")
