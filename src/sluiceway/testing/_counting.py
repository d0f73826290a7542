"""What a detector said of a text, held against what the corpus says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sluiceway.processors import Detection
from sluiceway.processors.detectors import Finding, unite
from sluiceway.testing._corpus import CorpusText, LabelledSpan
from sluiceway.testing._scores import Counts, Miss, Scores

__all__ = ["SpanCounting", "VerdictCounting"]


class SpanCounting:
    """Counts spans: a finding is right if it has the kind and both ends of a label.

    Args:
        scores: What to count into.
        threshold: How sure a finding has to be.
        kinds: The kinds that count; None: all.
        rules_only: Whether labels that are not for rules are counted apart.
    """

    def __init__(self, scores: Scores, threshold: float, kinds: Collection[str] | None, *, rules_only: bool) -> None:
        self._scores = scores
        self._threshold = threshold
        self._kinds = kinds
        self._rules_only = rules_only
        self._types: dict[str, str] = {}

    def add(self, text: CorpusText, detection: Detection, *, benign: bool) -> None:
        """Count one text."""
        sure = (span for span in detection.spans if span.score >= self._threshold)
        findings = unite(span for span in sure if self._counts(span.type))
        labels = _outermost([label for label in text.spans if self._counts(label.kind)])
        for finding in findings:
            self._judge(text, finding, labels, benign=benign)
        for label in labels:
            self._expect(text, label, findings)
        if benign and findings:
            self._scores.alarms += 1

    def finish(self) -> None:
        """Say for each rule how much there was of its kind."""
        for rule, counts in self._scores.rules.items():
            counts.expected = _entry(self._scores.kinds, self._types[rule]).expected

    def _counts(self, kind: str) -> bool:
        return self._kinds is None or kind in self._kinds

    def _beyond(self, label: LabelledSpan) -> bool:
        return self._rules_only and not label.by_rule

    def _judge(self, text: CorpusText, finding: Finding, labels: Sequence[LabelledSpan], *, benign: bool) -> None:
        near = [label for label in labels if _meet(finding, label)]
        if any(map(self._beyond, near)):
            return
        scores, rule = self._scores, finding.spans[0].rule or finding.type
        self._types[rule] = finding.type
        if any(_same(finding, label) for label in near):
            _entry(scores.rules, rule).found += 1
            return
        for counts in (scores.total, _entry(scores.kinds, finding.type), _entry(scores.rules, rule)):
            counts.wrong += 1
        if not near:
            shown = text.text[finding.start : finding.end]
            what = "false alarm" if benign else "wrong"
            scores.misses.append(Miss(what, text.id, text.lang, finding.type, rule, found=shown))

    def _expect(self, text: CorpusText, label: LabelledSpan, findings: Sequence[Finding]) -> None:
        scores = self._scores
        near = [finding for finding in findings if _meet(finding, label)]
        found = any(_same(finding, label) for finding in near)
        beyond = self._beyond(label)
        for counts in (scores.beyond,) if beyond else (scores.total, _entry(scores.kinds, label.kind)):
            counts.expected += 1
            counts.found += found
            counts.cut += bool(near) and not found
        if not found and not beyond:
            what = "cut" if near else "missed"
            shown = " … ".join(text.text[finding.start : finding.end] for finding in near)
            rule = near[0].spans[0].rule if near else ""
            scores.misses.append(Miss(what, text.id, text.lang, label.kind, rule, label.value, shown))


class VerdictCounting:
    """Counts texts: an attack is found if anything in it is.

    Args:
        scores: What to count into.
        threshold: How sure a finding has to be.
        kinds: The labels and types that count; None: all.
    """

    def __init__(self, scores: Scores, threshold: float, kinds: Collection[str] | None) -> None:
        self._scores = scores
        self._threshold = threshold
        self._kinds = kinds

    def add(self, text: CorpusText, detection: Detection, *, benign: bool) -> None:
        """Count one text."""
        labels = self._asked(text.labels)
        if not benign and not labels:
            return
        sure = [span for span in detection.spans if span.score >= self._threshold and self._asked([span.type])]
        types = self._asked(type_ for type_, score in detection.scores.items() if score >= self._threshold)
        types += [span.type for span in sure if span.type not in types]
        self._tally(labels, types, {span.rule or span.type for span in sure}, benign=benign)
        if bool(types) is benign:
            what, kind = ("false alarm", ", ".join(types)) if benign else ("missed", ", ".join(labels))
            shown = " … ".join(text.text[span.start : span.end] for span in sure)
            rule = ", ".join(dict.fromkeys(span.rule for span in sure))
            self._scores.misses.append(Miss(what, text.id, text.lang, kind, rule, text.text, shown))

    def finish(self) -> None:
        """Say for each rule how many attacks there were."""
        for counts in self._scores.rules.values():
            counts.expected = self._scores.total.expected

    def _asked(self, kinds: Iterable[str]) -> list[str]:
        return [kind for kind in kinds if self._kinds is None or kind in self._kinds]

    def _tally(self, labels: Sequence[str], types: Sequence[str], rules: Collection[str], *, benign: bool) -> None:
        scores, flagged = self._scores, bool(types)
        if benign:
            scores.alarms += flagged
            scores.total.wrong += flagged
        else:
            scores.total.expected += 1
            scores.total.found += flagged
        for kind in types if benign else labels:
            counts = _entry(scores.kinds, kind)
            counts.wrong += benign
            counts.expected += not benign
            counts.found += flagged and not benign
        for rule in rules:
            counts = _entry(scores.rules, rule)
            counts.wrong += benign
            counts.found += not benign


def _entry(table: dict[str, Counts], name: str) -> Counts:
    return table.setdefault(name, Counts())


def _outermost(labels: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    """Leave out what stands inside of another label, such as the address in a link: it goes with that."""
    return [
        label
        for label in labels
        if not any(
            other.start <= label.start and label.end <= other.end and other.end - other.start > label.end - label.start
            for other in labels
        )
    ]


def _meet(finding: Finding, label: LabelledSpan) -> bool:
    apart = label.end <= finding.start or finding.end <= label.start
    return not apart and any(span.type == label.kind for span in finding.spans)


def _same(finding: Finding, label: LabelledSpan) -> bool:
    return (finding.start, finding.end) == (label.start, label.end)
