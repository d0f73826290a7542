"""A look at one message or value: what was found, and how it is taken out."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from sluiceway._types import MISSING
from sluiceway.messages import FilePart, Message, ReasoningPart, TextPart, ToolPart
from sluiceway.processors._texts import edit_texts
from sluiceway.processors.detectors import Finding, Span, unite
from sluiceway.processors.guardrails._json_text import JsonText
from sluiceway.processors.guardrails._values import rewrite_value

__all__ = ["LANGUAGE_NOTE", "ORIGINAL_TEXT", "Look", "Replace", "Scan", "Shown", "digest", "entries_of"]

LANGUAGE_NOTE: Final = "language"
"""Where in the metadata of a message its language is noted, see `LanguageDetector`."""
ORIGINAL_TEXT: Final = "original_text"
"""Where in that note the text from before a translation is: a copy that must not be forgotten."""

Look: TypeAlias = Callable[[str], Sequence[Finding]]
"""What is in a text."""

Replace: TypeAlias = Callable[[Finding, str], str]
"""What stands in the place of a finding, given the text of its range."""


_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
"""What providers take in no name of a tool, also in a history."""


def digest(text: str) -> bytes:
    """Return a short digest of a text, to know it again by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Shown:
    """What an entry says beyond rule, offset and length.

    Args:
        scores: Whether it says how sure the detector was.
        values: Whether it says what was found.
    """

    scores: bool = False
    values: bool = False


_PLAIN = Shown()


def entries_of(
    findings: Sequence[Finding], text: str = "", *, offset: int = 0, path: str = "", shown: Shown = _PLAIN
) -> list[dict[str, Any]]:
    """Return an entry per finding, of several rules one each: where it was, never what.

    Args:
        findings: What was found in one text.
        text: The text; for `shown.values`.
        offset: What to add to offsets.
        path: Where in a tool's arguments or result, or beside the text, it stands, as a JSON pointer.
        shown: What else they say.
    """
    entries: list[dict[str, Any]] = []
    for finding in findings:
        for span in sorted(finding.spans, key=lambda s: (s.start, s.end)):
            entry: dict[str, Any] = {
                "rule": span.rule or span.type,
                "offset": offset + span.start,
                "length": span.end - span.start,
            }
            if path:
                entry["path"] = path
            if shown.scores:
                entry["score"] = span.score
            if shown.values:
                entry["value"] = text[span.start : span.end]
            entries.append(entry)
    return entries


class Scan:
    """What a look found, and the edits that take it out; nothing is changed before `apply`.

    Args:
        look: What is in a text.
        replace: What stands in the place of a finding.
        shown: What its entries say.
        look_at_keys: What is in a key of a dict, or another name; None: `look`.
        passed: Digests of texts that need no second look; what is clean is added. None: all do.
        also: Further ones.
        keeps: Whether what an edit makes is added too, since it is put to use: no edit is edited.
        tools: Names of tools that there are. Another that a call has is text of whoever made it up.
        opens_json: Whether a text of a value that is JSON is looked at as what its strings say.
        asked: Texts of which a detector has said what it finds; what it was not asked about, such as a key, or could
            not check has not passed. None: there is none.
    """

    __slots__ = (
        "_also",
        "_asked",
        "_clean_keys",
        "_edits",
        "_keeps",
        "_look",
        "_look_at_keys",
        "_opens_json",
        "_passed",
        "_replace",
        "_shown",
        "_tools",
        "entries",
        "types",
    )

    def __init__(
        self,
        look: Look,
        replace: Replace,
        shown: Shown = _PLAIN,
        *,
        look_at_keys: Look | None = None,
        passed: set[bytes] | None = None,
        also: Collection[bytes] = (),
        keeps: bool = False,
        tools: Collection[str] = (),
        opens_json: bool = False,
        asked: Collection[str] | None = None,
    ) -> None:
        self._look = look
        self._asked = asked
        self._look_at_keys = look_at_keys or look
        self._passed = passed
        self._also = also
        self._keeps = keeps
        self._clean_keys: set[str] = set()
        self._shown = shown
        self._tools = tools
        self._opens_json = opens_json
        self._replace = replace
        self._edits: list[Callable[[], None]] = []
        self.entries: list[dict[str, Any]] = []
        """An entry per finding; see `entries_of`."""
        self.types: dict[str, None] = {}
        """The types of what was found, in order."""

    def message(self, message: Message, surfaces: Collection[str]) -> Scan:
        """Look at the parts of a message and its attachments, names of files and the original of a translation.

        The texts of a user are looked at one by one, and joined, since a model reads them so:
        what is in one by itself is found whatever its neighbours hold, and does not swallow them.
        """
        if "text" in surfaces:
            texts = message.text_parts
            for run in [texts] if message.role == "user" else [[part] for part in texts]:
                self._texts(run)
            self._original(message)
        for part in (*message.parts, *message.attachments):
            if isinstance(part, ReasoningPart):
                if "reasoning" in surfaces:
                    self._texts([part])
            elif isinstance(part, ToolPart):
                self._tool(part, surfaces)
            elif isinstance(part, FilePart) and part.filename and "text" in surfaces:
                # No sentence: rules look at it, a detector is not asked.
                name = self.key(part.filename, "/filename")
                if name != part.filename:
                    self._edits.append(_setter(part, "filename", name))
        return self

    def value(self, value: Any) -> Any:
        """Look at a value as of a tool; return it with what was found taken out."""
        return rewrite_value(value, self._rewrite, keys=self.key)

    def growing(self, value: Any, settled: Callable[[str], str]) -> Any:
        """Look at a value that still grows; return it with its last text cut before what is undecided.

        Args:
            value: So far.
            settled: Returns what is sure of a text that still grows, with what was found taken out.
        """
        texts: list[str] = []
        rewrite_value(value, lambda text, _: texts.append(text) or text, keys=lambda text, _: text)
        rest = iter(range(len(texts) - 1, -1, -1))
        return rewrite_value(
            value,
            lambda text, path: self._rewrite(text, path) if next(rest) else settled(self._readable(text)),
            keys=self.key,
        )

    def key(self, text: str, path: str = "") -> str:
        """Look at a key of a dict; return it with what was found taken out."""
        if text in self._clean_keys:  # the rows of a table have the same
            return text
        findings = self._found(self._look_at_keys, text)
        if not findings:
            self._clean_keys.add(text)
        return self._edited(text, findings, path)

    def tool_name(self, name: str, *, by_provider: bool = False) -> str:
        """Look at the name of a tool; return it with what was found taken out.

        Of a tool that there is, or that the provider runs, it stays as it is. What takes the place
        of another is never the name of a tool: it would run.
        """
        if by_provider or name in self._tools:
            return name
        new = self.key(name, "/tool_name")
        if new == name:
            return name
        new = _NO_NAME.sub("_", new) or "_"
        while new in self._tools:
            new += "_"
        self._made(new, name)
        return new

    def apply(self) -> None:
        """Make the edits."""
        for edit in self._edits:
            edit()

    def _note(self, findings: Sequence[Finding], text: str, path: str = "") -> None:
        self.entries += entries_of(findings, text, path=path, shown=self._shown)
        self.types.update((span.type, None) for finding in findings for span in finding.spans)

    def _rewrite(self, text: str, path: str) -> str:
        opened = JsonText.of(text) if self._opens_json else None
        if opened is None:
            return self._edited(text, self._found(self._look, text), path)
        if self._is_passed(digest(text)):
            return text
        new = self._in_json(opened, lambda findings: self._note(findings, text, path))
        if new != text and all(map(self._is_judged, opened.texts())):
            self._made(new)
        return new

    def _readable(self, text: str) -> str:
        """Return what can be read of a text that still grows: of JSON what is before its first escape."""
        cut = text.find("\\") if self._opens_json and text.lstrip()[:1] in ("{", "[", '"') else -1
        return text if cut < 0 else text[:cut]

    def _found(self, look: Look, text: str) -> Sequence[Finding]:
        if self._passed is None:
            return look(text)
        key = digest(text)
        if self._is_passed(key):
            return ()
        findings = look(text)
        if not findings and self._is_judged(text):
            self._passed.add(key)
        return findings

    def _is_judged(self, text: str) -> bool:
        """Whether all that looks at texts has looked at this one."""
        return self._asked is None or not text or text in self._asked

    def _is_passed(self, key: bytes) -> bool:
        return self._passed is not None and (key in self._passed or key in self._also)

    def _made(self, text: str, of: str = "") -> None:
        """Note what an edit has made of a text."""
        if self._keeps and self._passed is not None and self._is_judged(of):
            self._passed.add(digest(text))

    def _in_json(self, opened: JsonText, note: Callable[[Sequence[Finding]], None]) -> str:
        """Look at a text that is JSON, and at the JSON in it; return it with what was found taken out."""
        findings = self._found(self._look, opened.shown)
        if findings:
            note([opened.placed(finding) for finding in findings])
        nested = [
            self._in_json(inner, lambda found, at=offsets: note([at.finding(one) for one in found]))
            for inner, offsets in opened.nested
        ]
        return opened.edited(self._replacements(opened.shown, findings), nested)

    def _edited(self, text: str, findings: Sequence[Finding], path: str) -> str:
        if not findings:
            return text
        self._note(findings, text, path)
        out: list[str] = []
        position = 0
        for start, end, new in self._replacements(text, findings):
            out += text[position:start], new
            position = end
        new = "".join(out) + text[position:]
        self._made(new, text)
        return new

    def _replacements(self, text: str, findings: Sequence[Finding]) -> list[tuple[int, int, str]]:
        return [(f.start, f.end, self._replace(f, text[f.start : f.end])) for f in findings]

    def _texts(self, parts: Sequence[TextPart]) -> None:
        texts = [part.text for part in parts if part.text]
        if not texts:
            return
        text = "".join(texts)
        findings = self._found(self._look, text)
        if len(texts) > 1:
            single = list(self._spans_of_each(texts))
            findings = unite([*single, *_apart(_spans_of(findings), single)])
        if findings:
            self._note(findings, text)
            edits = self._replacements(text, findings)
            self._edits.append(lambda: self._edit_texts(parts, edits, text))

    def _edit_texts(self, parts: Sequence[TextPart], edits: Sequence[tuple[int, int, str]], text: str) -> None:
        edit_texts(parts, edits)
        for new in {"".join(part.text for part in parts), *(part.text for part in parts)}:
            self._made(new, text)

    def _original(self, message: Message) -> None:
        noted: Any = message.metadata.get(LANGUAGE_NOTE)
        text = cast("dict[str, Any]", noted).get(ORIGINAL_TEXT) if isinstance(noted, dict) else None
        if isinstance(text, str):
            new = self._rewrite(text, f"/metadata/{LANGUAGE_NOTE}/{ORIGINAL_TEXT}")
            if new != text:
                changed: dict[str, Any] = {**message.metadata, LANGUAGE_NOTE: {**noted, ORIGINAL_TEXT: new}}
                self._edits.append(lambda: setattr(message, "metadata", changed))

    def _spans_of_each(self, texts: Sequence[str]) -> Iterator[Span]:
        offset = 0
        for text in texts:
            yield from _spans_of(finding.moved(offset) for finding in self._found(self._look, text))
            offset += len(text)

    def _tool(self, part: ToolPart, surfaces: Collection[str]) -> None:
        if "tool-args" in surfaces:
            name = self.tool_name(part.tool_name, by_provider=part.provider_executed)
            if name != part.tool_name:
                self._edits.append(_setter(part, "tool_name", name))
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


def _spans_of(findings: Iterable[Finding]) -> Iterator[Span]:
    return (span for finding in findings for span in finding.spans)


def _apart(spans: Iterable[Span], from_these: Iterable[Span]) -> Iterator[Span]:
    """Return the spans that share no character with one of the same type among the others. Linear but for sorting."""
    starts: dict[str, list[int]] = {}
    ends: dict[str, list[int]] = {}  # the furthest so far
    for span in sorted(from_these, key=lambda s: s.start):
        starts.setdefault(span.type, []).append(span.start)
        furthest = ends.setdefault(span.type, [])
        furthest.append(max(span.end, furthest[-1]) if furthest else span.end)
    for span in spans:
        before = bisect_left(starts.get(span.type, ()), span.end)
        if not before or ends[span.type][before - 1] <= span.start:
            yield span


def _setter(part: FilePart | ToolPart, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(part, name, value)
