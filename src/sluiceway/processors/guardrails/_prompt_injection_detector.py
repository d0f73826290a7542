"""`PromptInjectionDetector`: attempts to take over the model, in the input and in tool results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import HookContext, InputContext, ToolResultContext
from sluiceway.processors._effects import Effects
from sluiceway.processors.detectors import INJECTION_TYPES, Finding, InjectionRules, unite
from sluiceway.processors.guardrails._options import (
    SURFACES,
    checked_flags,
    checked_names,
    checked_one_of,
    checked_ratio,
)
from sluiceway.processors.guardrails._scan import Scan

__all__ = ["PromptInjectionDetector"]

Strategy: TypeAlias = Literal["block", "warn", "filter", "rewrite"]
_STRATEGIES = ("block", "warn", "filter", "rewrite")
_INPUT_SURFACES = ("text", "tool-results")
_NEUTRAL = "[removed]"


class PromptInjectionDetector(Processor):
    """Finds attempts to take over the model by rules, offline, in nine languages.

    Hooks: `process_input` (the user's messages, and results of tools among the messages),
    `process_tool_result`. Reads messages; writes them with the strategies `filter` and
    `rewrite`.

    Looks at a text and at what it says once its tricks are undone: base64, hex, percent and
    other escapes, digits for letters, look-alike and invisible letters, letters apart, markdown
    and HTML comments. Each finding names its rule, such as `ignore-instructions:base64`.

    Args:
        detection_types: Some of `injection`, `jailbreak`, `tool-exfiltration`,
            `data-exfiltration`, `system-override`, `role-manipulation`. None: all.
        threshold: A rule this sure or surer counts, from 0 to 1.
        strategy: `block` ends the run; `rewrite` puts `[removed]` in the place of the finding
            and keeps the rest; `filter` takes the message out of the input, or the text out of
            the tool's result; `warn` only reports.
        surfaces: What to look at, of `text`, `reasoning`, `tool-args`, `tool-results` and
            `object`. None: text and tool results.
        last_message_only: Look at the last message of the input only.
        id: Unique within a list.
        on_violation: Called once per message or result with findings; `detail` is a list of
            `rule`, `offset` and `length`, never a value.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed.

    Example:
        >>> PromptInjectionDetector(strategy="rewrite").id
        'prompt-injection-detector'
    """

    def __init__(
        self,
        *,
        detection_types: Sequence[str] | None = None,
        threshold: float = 0.7,
        strategy: Strategy = "block",
        surfaces: Sequence[str] | None = None,
        last_message_only: bool = False,
        id: str = "prompt-injection-detector",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        types = INJECTION_TYPES
        if detection_types is not None:
            types = checked_names(id, "detection_types", detection_types, INJECTION_TYPES)
        checked_ratio(id, "threshold", threshold)
        checked_one_of(id, "strategy", strategy, _STRATEGIES)
        checked_flags(id, last_message_only=last_message_only)
        self.strategy: Strategy = strategy
        self.last_message_only = last_message_only
        self.detector = InjectionRules(types, threshold=threshold)
        self._surfaces: Collection[str] = _INPUT_SURFACES
        if surfaces is not None:
            self._surfaces = checked_names(id, "surfaces", surfaces, SURFACES)
        self.effects = Effects(reads=("messages",), writes=("messages",) if strategy in ("filter", "rewrite") else ())

    def process_input(self, ctx: InputContext) -> None:
        """Look at the user's messages, and at results of tools among the messages."""
        for message in list(ctx.messages[-1:] if self.last_message_only else ctx.messages):
            surfaces = self._surfaces if message.role == "user" else set(self._surfaces) & {"tool-results"}
            scan = Scan(self._look, self._replace).message(message, surfaces)
            if not scan.entries:
                continue
            if self.strategy == "filter":
                ctx.message_list.remove_by_ids([message.id])
            elif self.strategy == "rewrite":
                scan.apply()
            self._report(ctx, scan, "the input")

    def process_tool_result(self, ctx: ToolResultContext) -> None:
        """Look at what a tool returned, before the model sees it."""
        if "tool-results" not in self._surfaces:
            return
        scan = Scan(self._whole if self.strategy == "filter" else self._look, self._replace)
        result = ctx.result
        new = scan.value(result)
        if not scan.entries:
            return
        if new is not result and self.strategy in ("filter", "rewrite"):
            ctx.message_list.update_tool_result(ctx.tool_call_id, new)
        self._report(ctx, scan, f"the result of {ctx.tool_name!r}")

    def _look(self, text: str) -> Sequence[Finding]:
        return unite(self.detector.find(text))

    def _whole(self, text: str) -> Sequence[Finding]:
        """What is in a text, as one finding over all of it."""
        spans = self.detector.find(text)
        return [Finding(0, len(text), spans)] if spans else []

    def _replace(self, finding: Finding, value: str) -> str:  # noqa: ARG002 - one shape for all
        return _NEUTRAL

    def _report(self, ctx: HookContext, scan: Scan, where: str) -> None:
        reason = f"{', '.join(scan.types)} found in {where}"
        if self.strategy == "block":
            ctx.abort(reason, metadata={"types": list(scan.types), "detections": scan.entries})
        ctx.warn(reason, scan.entries)
