"""`PIIDetector`: personal data and secrets in what comes in and what goes out."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

import regex

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Chunk, Message
from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import HookContext, InputContext, OutputResultContext, ToolResultContext
from sluiceway.processors._effects import Effects, Surface
from sluiceway.processors._protocols import HookName
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import (
    PII_MODEL_TYPES,
    PII_RULE_TYPES,
    REDACTION_METHODS,
    Finding,
    PIIRules,
    RedactionMethod,
    replacement,
    unite,
)
from sluiceway.processors.guardrails._options import (
    SURFACES,
    checked_flags,
    checked_names,
    checked_one_of,
    checked_ratio,
    checked_size,
)
from sluiceway.processors.guardrails._scan import Scan, digest, entries_of
from sluiceway.processors.guardrails._stream_text import StreamText, passed_texts
from sluiceway.processors.guardrails._values import rewrite_value

__all__ = ["PIIDetector"]

_log = logging.getLogger(__name__)

Definition: TypeAlias = "str | regex.Pattern[str] | re.Pattern[str] | Sequence[str]"
"""A type of the user's own: a pattern of the module `regex`, or a list of words."""
Strategy: TypeAlias = Literal["block", "warn", "filter", "redact"]
ErrorStrategy: TypeAlias = Literal["strict", "warn"]

_STRATEGIES = ("block", "warn", "filter", "redact")
_INPUT_SURFACES = ("text", "tool-results")
_DELTAS = ("text-delta", "reasoning-delta")
_ENDS = ("text-end", "reasoning-end")


class PIIDetector(Processor):
    """Finds personal data and secrets by rules, offline, and redacts, blocks, filters or reports them.

    Hooks: `process_input`, `process_output_stream`, `finish_output_stream`,
    `process_tool_result`, `process_output_result`. Reads messages and chunks; writes them with
    the strategies `redact` and `filter`.

    On the stream any cut of a text into chunks gives the same text, and no character of a match
    is ever delivered: only the shortest tail that could still become part of a match is held.
    A match ends with its block, at a tool call or result, and with the stream. Tool calls and
    results are looked at inside: JSON stays JSON, types stay types. A tool itself runs with the
    model's own arguments, unless `redact_before_tools`.

    Args:
        detection_types: Names of types, of which `email`, `phone`, `credit-card`, `ssn`,
            `api-key`, `ip-address`, `url`, `uuid`, `crypto-wallet` and `iban` are found by
            rules; types of your own as a dict of a name and a pattern or a list of words, alone
            or in the list. None: all.
        threshold: A rule this sure or surer counts, from 0 to 1.
        strategy: `redact` puts something else in the place of a finding; `block` ends the run;
            `filter` takes a message out of the input, and the finding out of the output;
            `warn` only reports.
        redaction_method: `mask` (`a*n@*******.org`, `**** **** **** 1111`), `hash`
            (`[HASH:1b4f0e98]`), `remove`, `placeholder` (`[EMAIL]`).
        preserve_format: Whether a mask keeps the length and the separators.
        buffer_size: How many characters a detector holds that cannot say which tail might
            become a match; rules can, and hold less.
        redact_before_tools: Whether tools run with the redacted arguments.
        checksums: Whether check digits of cards, accounts and wallets must be right.
        hash_key: Makes the hashes keyed, so that they cannot be guessed.
        surfaces: What to look at, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`. None: text and tool results on input, all on output.
        last_message_only: Look at the last message of the input only.
        max_hold_chars: How much of a stream a pattern of your own may hold; one that outgrows
            it ends the run.
        error_strategy: What happens when a pattern of your own takes too long: `strict` ends
            the run, `warn` logs it and lets the text through.
        id: Unique within a list.
        on_violation: Called once per message or stretch of stream with findings; `detail` is a
            list of `rule`, `offset` and `length`, never a value.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed.

    Example:
        >>> PIIDetector(detection_types=["email", {"badge": r"EMP-[0-9]{6}"}]).id
        'pii-detector'
    """

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
        max_hold_chars: int = 1000,
        error_strategy: ErrorStrategy = "strict",
        id: str = "pii-detector",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        checked_one_of(id, "strategy", strategy, _STRATEGIES)
        checked_one_of(id, "redaction_method", redaction_method, REDACTION_METHODS)
        checked_one_of(id, "error_strategy", error_strategy, ("strict", "warn"))
        checked_ratio(id, "threshold", threshold)
        checked_size(id, "buffer_size", buffer_size)
        checked_size(id, "max_hold_chars", max_hold_chars)
        checked_flags(
            id,
            preserve_format=preserve_format,
            redact_before_tools=redact_before_tools,
            checksums=checksums,
            last_message_only=last_message_only,
        )
        names, custom = _types(id, detection_types)
        self.strategy: Strategy = strategy
        self.redaction_method: RedactionMethod = redaction_method
        self.preserve_format = preserve_format
        self.buffer_size = buffer_size
        self.redact_before_tools = redact_before_tools
        self.last_message_only = last_message_only
        self.max_hold_chars = max_hold_chars
        self.error_strategy: ErrorStrategy = error_strategy
        self.detector = PIIRules(names, custom=custom, checksums=checksums, threshold=threshold)
        given = None if surfaces is None else checked_names(id, "surfaces", surfaces, SURFACES)
        self._input_surfaces: Collection[str] = given or _INPUT_SURFACES
        self._output_surfaces: Collection[str] = given or SURFACES
        self._hash_key = _key(id, hash_key)
        self._stream = StreamText(
            self.detector.rules,
            holds=strategy != "warn",
            max_hold_chars=max_hold_chars,
            replace=self._replace,
            report=self._found,
            failed=self._failed,
        )
        self.effects = _effects(strategy)

    # --- messages and results -----------------------------------------------------------------

    def process_input(self, ctx: InputContext) -> None:
        """Look at the messages that go to the model."""
        messages = list(ctx.messages[-1:] if self.last_message_only else ctx.messages)
        for message in messages:
            scan = self._scan(ctx).message(message, self._input_surfaces)
            self._act(ctx, scan, "the input", lambda taken=message: self._take_out(ctx, taken))

    def process_tool_result(self, ctx: ToolResultContext) -> None:
        """Look at what a tool returned, before model and store see it."""
        if "tool-results" not in self._output_surfaces:
            return
        result = ctx.result
        scan = self._scan(ctx, passed=passed_texts(ctx))
        new = scan.value(result)
        self._act(ctx, scan, f"the result of {ctx.tool_name!r}")
        if new is not result and self._edits:
            ctx.message_list.update_tool_result(ctx.tool_call_id, new)

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """Look at the reply, but for what the stream hook has passed and nobody has changed since."""
        for message in list(ctx.messages):
            scan = self._scan(ctx, passed=passed_texts(ctx)).message(message, self._output_surfaces)
            self._act(ctx, scan, "the reply")

    @property
    def _edits(self) -> bool:
        return self.strategy in ("redact", "filter")

    @staticmethod
    def _take_out(ctx: HookContext, message: Message) -> None:
        ctx.message_list.remove_by_ids([message.id])

    def _scan(self, ctx: HookContext, *, passed: set[bytes] | None = None) -> Scan:
        """Return a scan; `passed` holds the digests of texts that need no second look."""

        def look(text: str) -> Sequence[Finding]:
            key = None if passed is None else digest(text)
            if passed is not None and key in passed:
                return ()
            findings = self._find(ctx, text)
            if passed is not None and key is not None and not findings:
                passed.add(key)
            return findings

        return Scan(look, self._replace)

    def _find(self, ctx: HookContext, text: str) -> Sequence[Finding]:
        try:
            return unite(self.detector.find(text))
        except TimeoutError:
            self._failed(ctx)
            return ()

    def _replace(self, finding: Finding, value: str) -> str:
        if self.strategy == "filter":
            return ""
        return replacement(
            finding,
            value,
            method=self.redaction_method,
            preserve_format=self.preserve_format,
            hash_key=self._hash_key,
        )

    def _act(self, ctx: HookContext, scan: Scan, where: str, take_out: Callable[[], None] | None = None) -> None:
        if not scan.entries:
            return
        if self.strategy == "filter" and take_out is not None:
            take_out()
        elif self._edits:
            scan.apply()
        self._report(ctx, list(scan.types), scan.entries, where)

    def _report(self, ctx: HookContext, types: Sequence[str], entries: list[dict[str, Any]], where: str) -> None:
        reason = f"{', '.join(types)} found in {where}"
        if self.strategy == "block":
            ctx.abort(reason, metadata={"types": list(types), "detections": entries})
        ctx.warn(reason, entries)

    def _failed(self, ctx: HookContext) -> None:
        reason = f"processor {self.id!r} could not check a text: a pattern took too long"
        if self.error_strategy == "strict":
            ctx.abort(reason, metadata={"status": "not checked"})
        _log.warning("%s; it was let through", reason)

    # --- the stream -----------------------------------------------------------------------------

    def process_output_stream(self, ctx: StreamContext) -> Chunk | list[Chunk]:
        """Pass on what is cleared, hold what could still become part of a match."""
        part = ctx.part
        kind = part.type
        if kind in _DELTAS:
            return self._stream.delta(ctx) if kind[:-6] in self._output_surfaces else part
        if kind in _ENDS:
            return [*self._stream.end(ctx, str(part.get("id", ""))), part]
        if kind == "tool-call":
            return [*self._stream.end_all(ctx), self._call(ctx, part)]
        if kind in ("tool-result", "tool-error"):
            return [*self._stream.end_all(ctx), self._result(ctx, part)]
        if kind == "object" and "object" in self._output_surfaces:
            return self._object(ctx, part)
        return part

    def finish_output_stream(self, ctx: StreamContext) -> list[Chunk]:
        """Decide and pass on all that is held."""
        return self._stream.end_all(ctx)

    def _found(self, ctx: HookContext, findings: Sequence[Finding], offset: int) -> None:
        types = dict.fromkeys(span.type for finding in findings for span in finding.spans)
        self._report(ctx, list(types), entries_of(findings, offset), "the answer")

    def _call(self, ctx: StreamContext, part: Chunk) -> Chunk:
        args = part.get("args")
        if "tool-args" not in self._output_surfaces:
            return part
        scan = self._scan(ctx, passed=passed_texts(ctx))
        new = scan.value(args)
        self._act(ctx, scan, f"the arguments of {part.get('tool_name')!r}")
        if new is args or not self._edits:
            return part
        return part.replace(args=new, execute=True if self.redact_before_tools else None)

    def _result(self, ctx: StreamContext, part: Chunk) -> Chunk:
        """Look at a result on its way to the client; its tool-result hook has seen it before."""
        if "tool-results" not in self._output_surfaces:
            return part
        scan = self._scan(ctx, passed=passed_texts(ctx))
        names = [name for name in ("args", "result", "error") if name in part.payload]
        new = {name: scan.value(part.get(name)) for name in names}
        self._act(ctx, scan, f"the result of {part.get('tool_name')!r}")
        if not self._edits or all(new[name] is part.get(name) for name in names):
            return part
        return part.replace(payload={**part.payload, **new})

    def _object(self, ctx: StreamContext, part: Chunk) -> Chunk:
        """Look at an object; the last text of one that still grows is cut before what is undecided."""
        scan = self._scan(ctx)
        value = part.get("object")
        if part.get("final"):
            new = scan.value(value)
            self._act(ctx, scan, "the object")
        else:
            texts: list[str] = []
            rewrite_value(value, lambda text, _: texts.append(text) or text)
            rest = iter(range(len(texts) - 1, -1, -1))
            new = rewrite_value(
                value,
                lambda text, path: scan.text(text, path) if next(rest) else self._stream.settled(text),
            )
            if self.strategy == "block":
                self._act(ctx, scan, "the object")
        if self.strategy == "warn" or new is value:
            return part
        return part.replace(payload={**part.payload, "object": new})


def _key(owner: str, key: str | bytes | None) -> bytes | None:
    if key is None or (isinstance(key, bytes) and key):
        return key
    if isinstance(key, str) and key:
        return key.encode()
    raise ConfigurationError(f"{owner}: hash_key must be a text or bytes that are not empty, or None")


def _effects(strategy: Strategy) -> dict[HookName, Effects]:
    edits = strategy in ("redact", "filter")
    held: tuple[Surface, ...] = () if strategy == "warn" else ("chunk",)
    edited: tuple[Surface, ...] = ("messages",) if edits else ()
    output = Effects(reads=("messages",), writes=(*edited, "state"))
    return {
        "process_input": Effects(reads=("messages",), writes=edited),
        "process_output_stream": Effects(reads=("chunk",), writes=(*held, "state")),
        "finish_output_stream": Effects(reads=("chunk",), writes=(*held, "state")),
        "process_tool_result": output,
        "process_output_result": output,
    }


@cache
def _note_missing(types: tuple[str, ...]) -> None:
    _log.info("%s are not looked for: they need a model or a recogniser of names", ", ".join(types))


def _types(
    owner: str, given: Sequence[str | Mapping[str, Definition]] | Mapping[str, Definition] | None
) -> tuple[list[str], dict[str, Definition]]:
    """Return the types that rules find, and those of the user's own."""
    if given is None:
        _note_missing(PII_MODEL_TYPES)
        return list(PII_RULE_TYPES), {}
    if not given or isinstance(given, str) or not isinstance(given, Sequence | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"{owner}: detection_types={given!r} is not allowed; give a list of names, "
            "a dict of a name and a pattern or words, or None for all"
        )
    items: Sequence[str | Mapping[str, Definition]] = [given] if isinstance(given, Mapping) else given
    names: list[str] = []
    custom: dict[str, Definition] = {}
    for item in items:
        if isinstance(item, Mapping):
            custom.update(item)
        elif item in PII_MODEL_TYPES:
            raise ConfigurationError(
                f"{owner}: detection_types has {item!r}, which rules cannot find; it needs a model or a "
                "recogniser of names. Leave it out, or leave detection_types out to look for what rules can find"
            )
        elif item not in PII_RULE_TYPES:
            raise ConfigurationError(
                f"{owner}: detection_types does not know {item!r}; give some of {', '.join(PII_RULE_TYPES)}, "
                "or a dict of a name and a pattern or words"
            )
        elif item not in names:
            names.append(item)
    return names, custom
