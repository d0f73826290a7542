"""What measuring a detector on a corpus comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["Counts", "Miss", "Scores", "Speed", "Task"]

Task: TypeAlias = Literal["pii", "injection"]
"""What is measured: spans in `pii.jsonl`, or verdicts on `injection.jsonl`."""


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(slots=True)
class Counts:
    """How often a detector was right.

    Args:
        expected: What there was to find.
        found: What of it was found.
        wrong: Findings of what is not there.
        cut: Of what was not found: found in part, or with something beside it. Such a finding is wrong too.
    """

    expected: int = 0
    found: int = 0
    wrong: int = 0
    cut: int = 0

    @property
    def recall(self) -> float | None:
        """The share of what there was that was found; None if there was nothing."""
        return _share(self.found, self.expected)

    @property
    def precision(self) -> float | None:
        """The share of findings that are right; None if there are none."""
        return _share(self.found, self.found + self.wrong)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; None if there was nothing and nothing was found."""
        return _share(2 * self.found, self.expected + self.found + self.wrong)

    def to_dict(self) -> dict[str, Any]:
        """Return counts and shares for JSON."""
        shares = {name: getattr(self, name) for name in ("precision", "recall", "f1")}
        counts = {name: getattr(self, name) for name in ("expected", "found", "wrong", "cut")}
        return {**counts, **{name: None if share is None else round(share, 4) for name, share in shares.items()}}


@dataclass(frozen=True, slots=True)
class Speed:
    """How long it took.

    Args:
        chars: How many characters were looked at.
        bytes: The same in UTF-8.
        seconds: The time; the least of several rounds.
    """

    chars: int
    bytes: int
    seconds: float

    @property
    def ms_per_1k_chars(self) -> float:
        """Milliseconds for a thousand characters."""
        return self.seconds * 1e6 / self.chars if self.chars else 0.0

    @property
    def mb_per_s(self) -> float:
        """Megabytes a second."""
        return self.bytes / 1e6 / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Miss:
    """One thing that was got wrong.

    Args:
        what: `missed`; `cut`: with other ends than it has; `wrong`: found where it is not;
            `false alarm`: found in a benign text.
        id: The text.
        lang: Its language.
        kind: The kind of span or the labels of the attack; of a finding its type.
        rule: The rule, of a finding.
        value: What the corpus has there; of an attack, and of a benign text, all of it.
        found: What was found.
    """

    what: Literal["missed", "cut", "wrong", "false alarm"]
    id: str
    lang: str
    kind: str
    rule: str = ""
    value: str = ""
    found: str = ""


@dataclass(slots=True)
class Scores:
    """What a detector did on one part of a corpus.

    Args:
        part: The part.
        task: What was measured.
        detector: The detector's class.
        benign: How many benign texts there were.
        speed: How long it took.
        total: All of it. What only a benign text has is wrong here too.
        kinds: By kind of span, or by label of the attack, which is found if anything in it is.
        rules: By rule. What there was for it is all of its kind, or every attack.
        alarms: How many of them something was found in.
        beyond: What rules are not expected to find, which counts nowhere else; see `by_rule`.
        rule_ms: How long each rule took for a thousand characters, where the detector can tell.
        misses: What was got wrong.
    """

    part: str
    task: Task
    detector: str
    benign: int
    speed: Speed
    total: Counts = field(default_factory=Counts)
    kinds: dict[str, Counts] = field(default_factory=dict[str, Counts])
    rules: dict[str, Counts] = field(default_factory=dict[str, Counts])
    alarms: int = 0
    beyond: Counts = field(default_factory=Counts)
    rule_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    misses: list[Miss] = field(default_factory=list[Miss])

    @property
    def false_alarm_rate(self) -> float | None:
        """The share of benign texts in which something was found; None if there are none."""
        return _share(self.alarms, self.benign)

    def to_dict(self, *, misses: bool = False) -> dict[str, Any]:
        """Return it for JSON.

        Args:
            misses: Whether what was got wrong is in it.
        """
        rate = self.false_alarm_rate
        told: dict[str, Any] = {
            "part": self.part,
            "task": self.task,
            "detector": self.detector,
            **self.total.to_dict(),
            "benign": self.benign,
            "false_alarms": self.alarms,
            "false_alarm_rate": None if rate is None else round(rate, 4),
            "beyond_rules": self.beyond.to_dict(),
            "ms_per_1k_chars": round(self.speed.ms_per_1k_chars, 4),
            "mb_per_s": round(self.speed.mb_per_s, 3),
            "kinds": {name: counts.to_dict() for name, counts in sorted(self.kinds.items())},
            "rules": {name: counts.to_dict() for name, counts in sorted(self.rules.items())},
            "rule_ms_per_1k_chars": {name: round(ms, 5) for name, ms in sorted(self.rule_ms.items())},
        }
        if misses:
            fields = ("what", "id", "lang", "kind", "rule", "value", "found")
            told["misses"] = [{name: getattr(miss, name) for name in fields} for miss in self.misses]
        return told
