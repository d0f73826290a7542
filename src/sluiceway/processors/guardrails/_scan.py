"""A look at one message or value: what was found, and how it is taken out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

from sluiceway._types import MISSING
from sluiceway.messages import Message, ReasoningPart, TextPart, ToolPart
from sluiceway.processors.detectors import Finding
from sluiceway.processors.guardrails._values import rewrite_value

__all__ = ["Look", "Replace", "Scan", "digest", "entries_of"]

Look: TypeAlias = Callable[[str], Sequence[Finding]]
"""What is in a text."""

Replace: TypeAlias = Callable[[Finding, str], str]
"""What stands in the place of a finding, given the text of its range."""


def digest(text: str) -> bytes:
    """Return a short digest of a text, to know it again by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def entries_of(findings: Sequence[Finding], offset: int = 0, path: str = "") -> list[dict[str, Any]]:
    """Return an entry per finding, of several rules one each: where it was, never what.

    Args:
        findings: What was found in one text.
        offset: What to add to offsets.
        path: Where in a tool's arguments or result the text stands, as a JSON pointer.
    """
    where = {"path": path} if path else {}
    return [
        {"rule": span.rule or span.type, "offset": offset + span.start, "length": span.end - span.start, **where}
        for finding in findings
        for span in sorted(finding.spans, key=lambda s: (s.start, s.end))
    ]


class Scan:
    """What a look found, and the edits that take it out; nothing is changed before `apply`.

    Args:
        look: What is in a text.
        replace: What stands in the place of a finding.
    """

    __slots__ = ("_edits", "_look", "_replace", "entries", "types")

    def __init__(self, look: Look, replace: Replace) -> None:
        self._look = look
        self._replace = replace
        self._edits: list[Callable[[], None]] = []
        self.entries: list[dict[str, Any]] = []
        """An entry per finding; see `entries_of`."""
        self.types: dict[str, None] = {}
        """The types of what was found, in order."""

    def message(self, message: Message, surfaces: Collection[str]) -> Scan:
        """Look at the parts of a message."""
        for part in message.parts:
            if isinstance(part, ReasoningPart):
                if "reasoning" in surfaces:
                    self._text(part)
            elif isinstance(part, TextPart):
                if "text" in surfaces:
                    self._text(part)
            elif isinstance(part, ToolPart):
                self._tool(part, surfaces)
        return self

    def value(self, value: Any) -> Any:
        """Look at a value as of a tool; return it with what was found taken out."""
        return rewrite_value(value, self._rewrite)

    def text(self, text: str, path: str = "") -> str:
        """Look at a text; return it with what was found taken out."""
        return self._rewrite(text, path)

    def apply(self) -> None:
        """Make the edits."""
        for edit in self._edits:
            edit()

    def _note(self, findings: Sequence[Finding], path: str = "") -> None:
        self.entries += entries_of(findings, path=path)
        self.types.update((span.type, None) for finding in findings for span in finding.spans)

    def _rewrite(self, text: str, path: str) -> str:
        findings = self._look(text)
        if not findings:
            return text
        self._note(findings, path)
        out: list[str] = []
        position = 0
        for start, end, new in self._replacements(text, findings):
            out += text[position:start], new
            position = end
        return "".join(out) + text[position:]

    def _replacements(self, text: str, findings: Sequence[Finding]) -> list[tuple[int, int, str]]:
        return [(f.start, f.end, self._replace(f, text[f.start : f.end])) for f in findings]

    def _text(self, part: TextPart) -> None:
        findings = self._look(part.text)
        if findings:
            self._note(findings)
            edits = self._replacements(part.text, findings)
            self._edits.append(lambda: part.edit_all(edits, redact=True))

    def _tool(self, part: ToolPart, surfaces: Collection[str]) -> None:
        if "tool-args" in surfaces:
            args = self.value(part.args)
            if args is not part.args:
                self._edits.append(lambda: setattr(part, "args", args))
        if "tool-results" not in surfaces:
            return
        if part.error is not None:
            error = self._rewrite(part.error, "")
            if error != part.error:
                self._edits.append(lambda: setattr(part, "error", error))
        # A changed result drops what the model sees in its place, so that comes second.
        shown = part.model_output
        for name, old in (("result", part.result), ("model_output", shown)):
            new = old if old is MISSING else self.value(old)
            if new is not old or (name == "model_output" and shown is not MISSING and self._edits):
                self._edits.append(_setter(part, name, new))


def _setter(part: ToolPart, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(part, name, value)
