"""`check`: what is likely wrong with a graph, and the forms in which it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sluiceway.errors import ConfigurationError
from sluiceway.graphs._drawn import sketch_of
from sluiceway.graphs._finding import Finding
from sluiceway.graphs.rules import RULES, Rule, View, found

__all__ = ["check", "findings_to_json", "findings_to_sarif", "findings_to_text"]

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_DOCS: Final = "docs/reference/rules"


def check(thing: object, *, ignore: Iterable[str] = (), rules: Iterable[Rule] = ()) -> list[Finding]:
    """Look for orders and options that are likely not what was meant. Nothing is run.

    Args:
        thing: A workflow, an agent, a list of processors, or a graph.
        ignore: Ids or names of rules to leave out. For one entry: `step(…, ignore=[…])`.
        rules: Rules of your own, which come after those of the library.

    Returns:
        The findings, by rule, in list order.

    Raises:
        GraphError: There is no graph in it.
        ConfigurationError: A rule to ignore that does not exist, or two rules of one id or name.
    """
    known = _known(rules)
    left_out = _left_out(ignore, known)
    view = View(sketch_of(thing))
    return [
        finding
        for rule in known
        if rule.id not in left_out and rule.name not in left_out
        for finding in found(rule, view)
    ]


def _known(own: Iterable[Rule]) -> list[Rule]:
    known = [*RULES]
    for rule in own:
        taken = {word for one in known for word in (one.id, one.name)} & {rule.id, rule.name}
        if taken:
            raise ConfigurationError(f"rules= has a second rule {taken.pop()}; give it an id and a name of its own")
        known.append(rule)
    return known


def _left_out(names: Iterable[str], known: Iterable[Rule]) -> set[str]:
    given = {names} if isinstance(names, str) else set(names)
    unknown = sorted(given - {word for rule in known for word in (rule.id, rule.name)})
    if unknown:
        told = ", ".join(f"{rule.id} ({rule.name})" for rule in known)
        raise ConfigurationError(f"ignore= names the rule {unknown[0]!r}; there are {told}")
    return given


def findings_to_text(findings: Sequence[Finding]) -> str:
    """Return findings as lines: where, what, and how to mend it.

    Args:
        findings: What `check` returned.
    """
    lines = [f"{finding}\n" for finding in findings]
    count = len(findings)
    return "".join(lines) + (f"{count} finding{'' if count == 1 else 's'}\n" if count else "no findings\n")


def findings_to_json(findings: Sequence[Finding]) -> str:
    """Return findings as a JSON list.

    Args:
        findings: What `check` returned.
    """
    names = ("rule", "name", "severity", "path", "why", "fix")
    return json.dumps([{n: getattr(f, n) for n in names} for f in findings], indent=1, ensure_ascii=True) + "\n"


def findings_to_sarif(findings: Sequence[Finding], *, file: str) -> str:
    """Return findings in SARIF 2.1.0, as code scanners exchange them.

    Args:
        findings: The findings.
        file: The file that the graph was loaded from.
    """
    levels = {"error": "error", "warning": "warning", "note": "note"}
    rules: dict[str, dict[str, Any]] = {
        rule.id: {
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "helpUri": f"{_DOCS}/{rule.id}.md",
            "defaultConfiguration": {"level": levels[rule.severity]},
        }
        for rule in RULES
    }
    for finding in findings:  # of a rule of somebody's own no more is known
        level = levels[finding.severity]
        own = {"id": finding.rule, "name": finding.name, "defaultConfiguration": {"level": level}}
        rules.setdefault(finding.rule, own)
    index = {rule: number for number, rule in enumerate(rules)}
    results: list[dict[str, Any]] = [
        {
            "ruleId": f.rule,
            "ruleIndex": index[f.rule],
            "level": levels[f.severity],
            "message": {"text": f"{f.path}: {f.why}. {f.fix}."},
            "locations": [
                {
                    "physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": 1}},
                    "logicalLocations": [{"fullyQualifiedName": f.path, "kind": "object"}],
                }
            ],
        }
        for f in findings
    ]
    driver = {"name": "sluiceway", "rules": [*rules.values()]}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"
