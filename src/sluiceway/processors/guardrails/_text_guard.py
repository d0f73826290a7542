"""What guardrails that find something in texts have in common: look, act, report."""

# What a hook has said already is in its context.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from sluiceway.messages import Chunk, Message
from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import HookContext, InputContext, OutputResultContext, ToolResultContext
from sluiceway.processors._held import block_key
from sluiceway.processors._protocols import HookName
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors.detectors import (
    FLAGGED,
    Detection,
    Finding,
    Release,
    Rule,
    Span,
    escaped,
    read_escapes,
    unite,
)
from sluiceway.processors.guardrails._inquiry import ErrorStrategy, Inquiry
from sluiceway.processors.guardrails._marks import without_marks
from sluiceway.processors.guardrails._options import SURFACES, checked_names
from sluiceway.processors.guardrails._scan import Scan, Shown, digest, entries_of
from sluiceway.processors.guardrails._stream_text import StreamText, passed_texts, passed_values
from sluiceway.processors.guardrails._stream_windows import StreamWindows
from sluiceway.processors.guardrails._windows import Window, WindowSize

__all__ = ["INPUT_SURFACES", "TextGuard"]

_log = logging.getLogger(__name__)

INPUT_SURFACES: Final = ("text", "tool-results")
"""What is looked at on input where nothing else is said; on output it is everything."""

_DELTAS: Final = ("text-delta", "reasoning-delta")
_ENDS: Final = ("text-end", "reasoning-end")

Found: TypeAlias = Mapping[str, Detection]
_NOTHING: Found = {}


class TextGuard(Processor):
    """A policy over rules, and over a detector where one is given. Subclasses have the hooks.

    Sync where there are only rules; with a detector the hooks return what is to be awaited.
    Streams hold back what is undecided: rules exactly, a detector a window at a time.
    """

    strategy: str = "block"
    error_strategy: ErrorStrategy = "strict"
    last_message_only: bool = False
    max_hold_chars: int = 1000
    threshold: float = 0.0
    include_detections: bool = True
    shown: Shown = Shown()
    silent: bool = False
    """Whether what it finds is no violation, and is not reported."""
    _executes: bool = False
    """Whether tools run with edited arguments."""
    _opens_json: bool = False
    """Whether texts in values that are JSON themselves are looked at as what their strings say."""
    _reads_escapes: bool = False
    r"""Whether a `\u0040` in a text is looked at as the character that it means."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        surfaces: Sequence[str] | None,
        inquiry: Inquiry | None,
        size: WindowSize,
        on_violation: OnViolation | None,
        on_error: OnError,
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        given = None if surfaces is None else checked_names(id, "surfaces", surfaces, SURFACES)
        self._input_surfaces: Collection[str] = given or INPUT_SURFACES
        self._output_surfaces: Collection[str] = given or SURFACES
        self._inquiry = inquiry
        self._size = size

    # --- what subclasses say --------------------------------------------------------------------

    def rules_of(self, ctx: HookContext) -> Sequence[Rule]:
        """Return what is looked for by rules in this run."""
        del ctx
        return ()

    def find(self, ctx: HookContext, text: str) -> Sequence[Span]:
        """Return what the rules find in a whole text."""
        del ctx, text
        return ()

    def marks_of(self, ctx: HookContext) -> Rule | None:
        """Return the rule for what this guardrail puts in itself, where its rules may find something in that."""
        del ctx
        return None

    def counts(self, type_: str) -> bool:
        """Whether a type that the detector found is one that was asked for."""
        del type_
        return True

    def surfaces_for(self, message: Message) -> Collection[str]:
        """Return what of a message of the input is looked at."""
        del message
        return self._input_surfaces

    def covers(self, hook: HookName) -> frozenset[str]:
        """Return what is looked at in a hook, of `text`, `reasoning`, `tool-args`, `tool-results` and `object`."""
        if hook != "process_input":
            return frozenset(self._output_surfaces)
        if self.last_message_only:  # the user's, which is text
            return frozenset({"text"} & set(self._input_surfaces))
        user, answer = Message("", role="user"), Message("", role="assistant")
        return frozenset(self.surfaces_for(user)) & {"text"} | frozenset(self.surfaces_for(answer)) - {"text"}

    def replace(self, ctx: HookContext, finding: Finding, value: str) -> str:
        """Return what stands in the place of a finding."""
        del ctx, finding, value
        return ""

    # --- messages and results -------------------------------------------------------------------

    def look_at_input(self, ctx: InputContext) -> Any:
        """Look at the messages that go to the model."""
        messages = list(ctx.messages[-1:] if self.last_message_only else ctx.messages)
        self._note_surfaces(ctx, self._input_surfaces)

        def judge(found: Found) -> None:
            for message in messages:
                # With `filter` nobody sees what an edit would make: the message goes.
                scan = self._scan(ctx, found, keeps=self.strategy != "filter")
                scan.message(message, self.surfaces_for(message))
                self._act(ctx, scan, "the input", lambda taken=message: _take_out(ctx, taken))
            self._note_passed(ctx)

        def gather(scan: Scan) -> None:
            for message in messages:
                scan.message(message, self.surfaces_for(message))

        return self._with_found(ctx, judge, gather)

    def look_at_tool_result(self, ctx: ToolResultContext) -> Any:
        """Look at what a tool returned, before model and store see it."""
        if "tool-results" not in self._output_surfaces:
            return None
        result = ctx.result

        def judge(found: Found) -> None:
            scan = self._scan(ctx, found)
            new = scan.value(result)
            name = scan.tool_name(ctx.tool_name, by_provider=ctx.provider_executed)
            self._act(ctx, scan, f"the result of {name!r}")
            if new is not result and self._edits:
                ctx.message_list.update_tool_result(ctx.tool_call_id, new)
            self._note_passed(ctx)

        return self._with_found(ctx, judge, lambda scan: scan.value(result))

    def look_at_result(self, ctx: OutputResultContext) -> Any:
        """Look at the reply, but for what the stream hook has passed and nobody has changed since."""
        messages = list(ctx.messages)
        blocks = passed_texts(ctx)
        self._note_surfaces(ctx, self._output_surfaces)

        def judge(found: Found) -> None:
            for message in messages:
                scan = self._scan(ctx, found, also=blocks).message(message, self._output_surfaces)
                self._act(ctx, scan, "the reply")

        def gather(scan: Scan) -> None:
            for message in messages:
                scan.message(message, self._output_surfaces)

        return self._with_found(ctx, judge, gather, blocks)

    def _note_surfaces(self, ctx: HookContext, surfaces: Collection[str]) -> None:
        """Tell the audit what is not looked at, so that nobody takes it for clean."""
        left_out = [surface for surface in SURFACES if surface not in surfaces]
        if left_out and not self.silent:
            ctx.note("skipped", {"surfaces": left_out})

    def _note_passed(self, ctx: HookContext) -> None:
        """Tell the audit that all was looked at and nothing found."""
        unchecked = any(entry.status == "not checked" for entry in ctx._noted or ())
        if ctx._warned is None and not unchecked and not self.silent:
            ctx.note("passed")

    def _with_found(
        self,
        ctx: HookContext,
        judge: Callable[[Found], Any],
        gather: Callable[[Scan], Any],
        also: Collection[bytes] = (),
    ) -> Any:
        """Judge, after the detector has been asked about every text in question, if there is one."""
        if self._inquiry is None:
            return judge(_NOTHING)
        texts: dict[str, None] = {}
        passed = passed_values(ctx)

        def note(text: str) -> Sequence[Finding]:
            key = digest(text)
            if key not in passed and key not in also:
                texts[text] = None
            return ()

        # A key is no sentence: rules look at it, a detector is not asked.
        gather(Scan(note, _unchanged, look_at_keys=lambda _: (), opens_json=self._opens_json))
        return self._asked(ctx, self._inquiry, list(texts), judge)

    async def _asked(self, ctx: HookContext, inquiry: Inquiry, texts: list[str], judge: Callable[[Found], Any]) -> Any:
        return judge(await inquiry.ask(ctx, texts))

    @property
    def _edits(self) -> bool:
        return self.strategy in ("redact", "filter", "rewrite")

    def _scan(
        self,
        ctx: HookContext,
        found: Found,
        *,
        also: Collection[bytes] = (),
        keeps: bool = True,
        grows: bool = False,
    ) -> Scan:
        """Return a scan; texts of `also` need no second look, nor do those that were passed and do not grow."""

        def look(text: str) -> Sequence[Finding]:
            return self.findings(ctx, text, found.get(text))

        def replace(finding: Finding, value: str) -> str:
            rewritten = found[value].text if self.strategy == "rewrite" and value in found else None
            return self._put(ctx, finding, value) if rewritten is None else rewritten

        return Scan(
            look,
            replace,
            self.shown,
            passed=None if grows else passed_values(ctx),
            also=also,
            keeps=keeps and self._edits,
            tools=ctx._scope.links.tools,
            opens_json=self._opens_json,
            asked=None if self._inquiry is None else found,
        )

    def _put(self, ctx: HookContext, finding: Finding, value: str) -> str:
        """Return what stands in the place of a finding, given its range as it is written."""
        read = read_escapes(value) if self._reads_escapes else None
        return self.replace(ctx, finding, value) if read is None else escaped(self.replace(ctx, finding, read[0]))

    def _find(self, ctx: HookContext, text: str) -> list[Span]:
        marks = self.marks_of(ctx)
        return [*self.find(ctx, text), *(() if marks is None else marks.matches(text))]

    def findings(self, ctx: HookContext, text: str, detection: Detection | None) -> Sequence[Finding]:
        """Return what the rules find in a text, and what the detector said of it."""
        read = read_escapes(text) if self._reads_escapes else None
        try:
            spans = self._find(ctx, text if read is None else read[0])
        except TimeoutError:
            self._failed(ctx, "a pattern took too long")
            spans = []
        if read is not None and self._inquiry is None:  # as on the stream: the longest is that which means the most
            return [read[1].finding(finding) for finding in without_marks(unite(spans))]
        if read is not None:
            spans = read[1].spans(spans)
        if detection is not None:
            spans += self._spans(detection, Window(text, 0, 0, len(text)))
            if spans and detection.text is not None and self.strategy == "rewrite":
                spans.append(Span(0, len(text), spans[0].type, spans[0].score, spans[0].rule))
        return without_marks(unite(spans))

    def _spans(self, detection: Detection, window: Window) -> list[Span]:
        """Return what counts of a detection; what has no place is all that is new in the window."""
        by = window.offset
        spans = [
            Span(s.start + by, s.end + by, s.type, s.score, s.rule)
            for s in detection.spans
            if s.score >= self.threshold and self._counts(s.type)
        ]
        placed = {span.type for span in detection.spans}
        spans += [
            Span(window.start, window.end, type_, score)
            for type_, score in detection.scores.items()
            if score >= self.threshold and type_ not in placed and window.end > window.start and self._counts(type_)
        ]
        return spans

    def _counts(self, type_: str) -> bool:
        return type_ == FLAGGED or self.counts(type_)

    def _act(self, ctx: HookContext, scan: Scan, where: str, take_out: Callable[[], None] | None = None) -> None:
        if not scan.entries:
            return
        if self.strategy == "filter" and take_out is not None:
            take_out()
        elif self._edits:
            scan.apply()
        self._report(ctx, list(scan.types), scan.entries, where)

    def _report(self, ctx: HookContext, types: Sequence[str], entries: list[dict[str, Any]], where: str) -> None:
        if self.silent:
            return
        ctx.attempt_state["said"] = True
        reason = f"{', '.join(types)} found in {where}"
        if self.strategy == "block":
            metadata: dict[str, Any] = {"types": list(types)}
            if self.include_detections:
                metadata["detections"] = entries
            ctx.abort(reason, metadata=metadata)
        ctx.warn(reason, entries)

    def _failed(self, ctx: HookContext, why: str) -> None:
        reason = f"processor {self.id!r} could not check a text: {why}"
        ctx.note("not checked", {"reason": reason})
        if self.error_strategy == "strict":
            ctx.abort(reason, metadata={"status": "not checked"})
        _log.warning("%s; it was let through", reason)

    # --- the stream -----------------------------------------------------------------------------

    def look_at_chunk(self, ctx: StreamContext) -> Any:
        """Pass on what is cleared, hold what is undecided."""
        part = ctx.part
        kind = part.type
        if kind in _DELTAS:
            return self._stream(ctx).delta(ctx) if kind[:-6] in self._output_surfaces else part
        if kind in _ENDS:
            return self._then(self._stream(ctx).end(ctx, block_key(part)), part)
        if kind == "tool-call":
            return self._then(self.let_go(ctx), self._call(ctx, part))
        if kind in ("tool-result", "tool-error"):
            return self._then(self.let_go(ctx), self._result(ctx, part))
        if kind == "object" and "object" in self._output_surfaces:
            return self._object(ctx, part)
        return part

    def finish(self, ctx: StreamContext) -> Any:
        """Decide and pass on all that is held; if nothing was found up to here, tell the audit."""
        looked = "stream" in ctx.attempt_state
        chunks = self.let_go(ctx)
        if self._inquiry is None:
            self._note_stream(ctx, looked=looked)
            return chunks
        return self._finished(ctx, chunks, looked)

    async def _finished(self, ctx: StreamContext, chunks: Any, looked: bool) -> Any:
        passed = await chunks
        self._note_stream(ctx, looked=looked)
        return passed

    def _note_stream(self, ctx: StreamContext, *, looked: bool) -> None:
        if looked and "said" not in ctx.attempt_state:
            ctx.attempt_state["said"] = True
            self._note_passed(ctx)

    def let_go(self, ctx: StreamContext) -> Any:
        """Decide and pass on all that is held."""
        return self._stream(ctx).end_all(ctx)

    def _then(self, first: Any, second: Any) -> Any:
        """Return the chunks of both, or what is to be awaited for them."""
        if self._inquiry is None:
            return [*first, second]
        return _both(first, second)

    def _stream(self, ctx: HookContext) -> StreamText | StreamWindows:
        made: StreamText | StreamWindows | None = ctx.attempt_state.get("stream")
        if made is None:
            made = ctx.attempt_state["stream"] = self._new_stream(ctx)
        return made

    def _new_stream(self, ctx: HookContext) -> StreamText | StreamWindows:
        holds = self.strategy != "warn"
        replace = partial(self._put, ctx)
        if self._inquiry is None:
            return StreamText(
                self._stream_rules(ctx),
                holds=holds,
                max_hold_chars=self.max_hold_chars,
                escapes=self._reads_escapes,
                replace=replace,
                report=self._found,
                failed=lambda ctx: self._failed(ctx, "a pattern took too long"),
            )
        return StreamWindows(
            self._size,
            self._stream_rules,
            holds=holds,
            max_hold_chars=self.max_hold_chars,
            escapes=self._reads_escapes,
            ask=self._inquiry.ask,
            spans=self._spans,
            replace=replace,
            report=self._found,
            failed=self._failed,
        )

    def _stream_rules(self, ctx: HookContext) -> Sequence[Rule]:
        marks = self.marks_of(ctx)
        return self.rules_of(ctx) if marks is None else (*self.rules_of(ctx), marks)

    def _found(self, ctx: HookContext, release: Release) -> None:
        types = dict.fromkeys(span.type for finding in release.findings for span in finding.spans)
        entries = entries_of(release.findings, release.text, offset=release.offset, shown=self.shown)
        self._report(ctx, list(types), entries, "the answer")

    def _call(self, ctx: StreamContext, part: Chunk) -> Any:
        args = part.get("args")
        if "tool-args" not in self._output_surfaces:
            return part

        def judge(found: Found) -> Chunk:
            scan = self._scan(ctx, found)
            new, name = scan.value(args), _tool_name(scan, part)
            self._act(ctx, scan, f"the arguments of {name!r}")
            if not self._edits or (new is args and name == part.get("tool_name")):
                return part
            payload = {**part.payload, "tool_name": name}
            return part.replace(payload=payload, args=new, execute=True if self._executes else None)

        return self._with_found(ctx, judge, lambda scan: scan.value(args))

    def _result(self, ctx: StreamContext, part: Chunk) -> Any:
        """Look at a result on its way to the client; its tool-result hook has seen it before."""
        if "tool-results" not in self._output_surfaces:
            return part
        names = [name for name in ("args", "result", "error") if name in part.payload]

        def judge(found: Found) -> Chunk:
            scan = self._scan(ctx, found)
            new, called = {name: scan.value(part.get(name)) for name in names}, _tool_name(scan, part)
            self._act(ctx, scan, f"the result of {called!r}")
            if not self._edits or (called == part.get("tool_name") and all(new[n] is part.get(n) for n in names)):
                return part
            return part.replace(payload={**part.payload, **new, "tool_name": called})

        return self._with_found(ctx, judge, lambda scan: [scan.value(part.get(name)) for name in names])

    def _object(self, ctx: StreamContext, part: Chunk) -> Any:
        """Look at an object; the last text of one that still grows is cut before what is undecided."""
        if not part.get("final"):
            return self._growing(ctx, part)
        value = part.get("object")

        def judge(found: Found) -> Chunk:
            scan = self._scan(ctx, found)
            new = scan.value(value)
            self._act(ctx, scan, "the object")
            if not self._edits or new is value:
                return part
            return part.replace(payload={**part.payload, "object": new})

        return self._with_found(ctx, judge, lambda scan: scan.value(value))

    def _growing(self, ctx: StreamContext, part: Chunk) -> Chunk | None:
        if self.strategy == "warn":
            return part
        stream = self._stream(ctx)
        if isinstance(stream, StreamWindows):  # a detector sees the whole object at its end
            return None
        value = part.get("object")
        scan = self._scan(ctx, _NOTHING, grows=True)
        new = scan.growing(value, stream.settled)
        if self.strategy == "block":
            self._act(ctx, scan, "the object")
        return part if new is value else part.replace(payload={**part.payload, "object": new})


async def _both(first: Any, second: Any) -> list[Chunk]:
    before = await first
    return [*before, await second if hasattr(second, "__await__") else second]


def _tool_name(scan: Scan, part: Chunk) -> Any:
    name = part.get("tool_name")
    return scan.tool_name(name, by_provider=bool(part.get("provider_executed"))) if isinstance(name, str) else name


def _unchanged(finding: Finding, value: str) -> str:
    del finding
    return value


def _take_out(ctx: HookContext, message: Message) -> None:
    ctx.message_list.remove_by_ids([message.id])
