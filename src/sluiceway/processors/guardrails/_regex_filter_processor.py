"""`RegexFilterProcessor`: patterns of your own, and a few presets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import regex

from sluiceway.errors import ConfigurationError
from sluiceway.processors._base import OnError, OnViolation
from sluiceway.processors._contexts import HookContext, InputContext, OutputResultContext
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import Finding, PIIRules, Rule, Span, custom_rule, find
from sluiceway.processors.guardrails._guard_effects import guard_effects
from sluiceway.processors.guardrails._inquiry import ErrorStrategy
from sluiceway.processors.guardrails._marks import mark_rule
from sluiceway.processors.guardrails._options import (
    checked_flags,
    checked_names,
    checked_one_of,
    checked_size,
)
from sluiceway.processors.guardrails._scan import Shown
from sluiceway.processors.guardrails._text_guard import TextGuard
from sluiceway.processors.guardrails._windows import WindowSize

__all__ = ["RegexFilterProcessor", "RegexRule"]

Strategy: TypeAlias = Literal["block", "redact", "warn"]
Phase: TypeAlias = Literal["all", "input", "output"]
Preset: TypeAlias = Literal["pii", "secrets", "urls"]

_PRESETS: Mapping[str, tuple[str, ...]] = {
    "pii": ("email", "phone", "credit-card", "ssn", "iban"),
    "secrets": ("api-key",),
    "urls": ("url",),
}
_REDACTED = "[REDACTED]"


@dataclass(frozen=True, slots=True)
class RegexRule:
    """One pattern.

    Args:
        name: What reports call it.
        pattern: A pattern of the module `regex`, or words.
        replacement: What stands in the place of a match, as it is written.
    """

    name: str
    pattern: str | regex.Pattern[str] | re.Pattern[str] | Sequence[str]
    replacement: str = _REDACTED


class RegexFilterProcessor(TextGuard):
    """Blocks, redacts or reports what patterns match. Offline.

    Hooks: `process_input`, `process_output_stream`, `finish_output_stream`,
    `process_output_result`. Reads messages and chunks; writes them with the strategy `redact`.

    On the stream any cut gives the same text or decision, and nothing of a match is delivered.
    Each search has a time limit; a pattern that takes longer ends the run, or is logged and lets
    the text through, as `error_strategy` says; it never hangs a call.

    Args:
        rules: `RegexRule`s, or dicts with `name`, `pattern` and, if wanted, `replacement`.
        presets: Of `pii` (addresses, phone numbers, cards, accounts), `secrets` (keys) and
            `urls`: the built-in rules for these.
        strategy: `block` ends the run, `redact` puts the rule's replacement in the place of a
            match, `warn` only reports.
        phase: `input`, `output`, or `all`.
        include_redacted_values: Whether a block's metadata and a violation's detail say what
            was matched, and not only where.
        surfaces: What to look at, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`. None: text and tool results on input, all on output.
        last_message_only: Look at the last message of the input only.
        max_hold_chars: How much of a stream a pattern may hold; one that outgrows it ends the run.
        error_strategy: What happens when a pattern takes too long: `strict` or `warn`.
        id: Unique within a list.
        on_violation: Called once per message or stretch of stream with matches.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: Neither rules nor presets; a pattern that is not valid, or cannot be
            used on a stream; another option of a value that is not allowed.

    Examples:
        >>> RegexFilterProcessor(rules=[RegexRule("badge", r"EMP-[0-9]{6}")], strategy="redact").id
        'regex-filter'
    """

    _opens_json = True

    def __init__(
        self,
        *,
        rules: Sequence[RegexRule | Mapping[str, Any]] = (),
        presets: Sequence[Preset] = (),
        strategy: Strategy = "block",
        phase: Phase = "all",
        include_redacted_values: bool = False,
        surfaces: Sequence[str] | None = None,
        last_message_only: bool = False,
        max_hold_chars: int = 1000,
        error_strategy: ErrorStrategy = "strict",
        id: str = "regex-filter",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(
            id,
            surfaces=surfaces,
            inquiry=None,
            size=WindowSize(1),
            on_violation=on_violation,
            on_error=on_error,
        )
        checked_one_of(id, "strategy", strategy, ("block", "redact", "warn"))
        checked_one_of(id, "phase", phase, ("all", "input", "output"))
        checked_one_of(id, "error_strategy", error_strategy, ("strict", "warn"))
        checked_flags(id, include_redacted_values=include_redacted_values, last_message_only=last_message_only)
        checked_size(id, "max_hold_chars", max_hold_chars)
        own = _rules(id, rules)
        names = checked_names(id, "presets", presets, tuple(_PRESETS)) if presets else ()
        if not own and not names:
            raise ConfigurationError(f"{id}: there is nothing to look for; give rules= or presets=")
        types = dict.fromkeys(type_ for name in names for type_ in _PRESETS[name])
        self.strategy = strategy
        self.phase: Phase = phase
        self.last_message_only = last_message_only
        self.max_hold_chars = max_hold_chars
        self.error_strategy = error_strategy
        self.shown = Shown(values=include_redacted_values)
        self._rules: tuple[Rule, ...] = (
            *(custom_rule(rule.name, rule.pattern, option="rules") for rule in own),
            *(PIIRules(list(types)).rules if types else ()),
        )
        self._replacements = {rule.name: rule.replacement for rule in own}
        put_in = (_REDACTED, *self._replacements.values()) if strategy == "redact" else ()
        self._marks = mark_rule(put_in, self._rules)
        self.effects = guard_effects(edits=strategy == "redact", holds=strategy != "warn")

    def process_input(self, ctx: InputContext) -> Any:
        """Look at the messages that go to the model."""
        return None if self.phase == "output" else self.look_at_input(ctx)

    def process_output_stream(self, ctx: StreamContext) -> Any:
        """Pass on what is cleared, hold what could still become part of a match."""
        return ctx.part if self.phase == "input" else self.look_at_chunk(ctx)

    def finish_output_stream(self, ctx: StreamContext) -> Any:
        """Decide and pass on all that is held."""
        return None if self.phase == "input" else self.finish(ctx)

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """Look at the reply, but for what the stream hook has passed and nobody has changed since."""
        return None if self.phase == "input" else self.look_at_result(ctx)

    def rules_of(self, ctx: HookContext) -> Sequence[Rule]:
        """Return what is looked for."""
        del ctx
        return self._rules

    def find(self, ctx: HookContext, text: str) -> Sequence[Span]:
        """Return what is in a text."""
        del ctx
        return find(self._rules, text)

    def marks_of(self, ctx: HookContext) -> Rule | None:
        """Return the rule for replacements that a rule matches."""
        del ctx
        return self._marks

    def replace(self, ctx: HookContext, finding: Finding, value: str) -> str:
        """Return what stands in the place of a match."""
        del ctx, value
        return self._replacements.get(finding.type, _REDACTED)


def _rules(owner: str, given: Any) -> list[RegexRule]:
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise ConfigurationError(f"{owner}: rules={given!r} is not allowed; give a list of RegexRule or dicts")
    rules: list[RegexRule] = []
    items = cast("Sequence[Any]", given)
    for place, item in enumerate(items):
        try:
            rule = item if isinstance(item, RegexRule) else RegexRule(**item)
        except TypeError:
            raise ConfigurationError(
                f"{owner}: rules[{place}] must be a RegexRule, or a dict with name, pattern and, if wanted, replacement"
            ) from None
        for field in ("name", "replacement"):
            if not isinstance(getattr(rule, field), str):
                raise ConfigurationError(f"{owner}: rules[{place}].{field} must be a text")
        if any(rule.name == other.name for other in rules):
            raise ConfigurationError(f"{owner}: two rules are called {rule.name!r}")
        rules.append(rule)
    return rules
