"""Each rule finds its fault, and nothing where the fault is mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from sluiceway import Agent, Processor, Workflow, step
from sluiceway.engine import merge
from sluiceway.errors import ConfigurationError, GraphError
from sluiceway.graphs import Finding, Node, check, findings_to_json, findings_to_sarif, findings_to_text
from sluiceway.graphs.rules import RULES, Rule, View
from sluiceway.memory import HashEmbedder, InMemoryStore, InMemoryVectors, Memory, MessageHistory, SemanticRecall
from sluiceway.models import ScriptedModel
from sluiceway.processors import (
    BatchPartsProcessor,
    Effects,
    ModerationProcessor,
    PIIDetector,
    PIIVault,
    PlaceholderRestorer,
    PromptInjectionDetector,
    Retry,
    SystemPromptScrubber,
    TokenLimiter,
    ToolCallFilter,
    UnicodeNormalizer,
    guard,
)

ROOT = Path(__file__).resolve().parents[3]

LOOKS = Effects.none()
WRITES = Effects(("messages",), ("messages",))
SENDS = Effects(("messages",), external=True)
PROMPT = Effects(("prompt",), ("prompt",))


def on(identity: str, *hooks: str, effects: Effects | None = None, **options: Any) -> Processor:
    made = Processor(identity, **options)
    made.effects = effects
    for hook in hooks or ("process_input",):
        setattr(made, hook, lambda ctx: None)
    return made


class Windows(Processor):
    effects = Effects(("chunk",), external=True)
    window_chars = 400

    def process_output_stream(self, ctx: Any) -> Any:
        return ctx.part


class AsksAgain(Processor):
    def process_output_step(self, ctx: Any) -> None:
        if not ctx.text:
            ctx.abort("nothing said", retry=True)


class TwoHooks(Processor):
    def process_input(self, ctx: Any) -> None: ...

    def process_output_result(self, ctx: Any) -> None: ...


def agent(input: Any = (), output: Any = (), **options: Any) -> Agent:  # noqa: A002 - as the agent calls it
    return Agent("a", model="echo/echo", input_processors=input, output_processors=output, **options)


def pair(first: Any, second: Any, how: Any = None) -> Workflow:
    made = Workflow("wf").parallel([first, second])
    return made if how is None else made.map(how)


PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
    "SW101": (
        lambda: pair(PIIDetector(), on("edits", effects=WRITES), lambda results: results["processor:pii-detector"]),
        lambda: pair(PIIDetector(), on("looks", effects=LOOKS), lambda results: results["processor:pii-detector"]),
        "wf › parallel[0] › processor:edits",
    ),
    "SW102": (
        lambda: pair(PIIDetector(), on("edits", effects=WRITES), merge.all()),
        lambda: pair(PIIDetector(), on("edits", effects=WRITES), merge.prefer("processor:edits")),
        "wf › parallel[0] › processor:edits",
    ),
    "SW103": (
        lambda: agent([on("moderation", effects=SENDS), PIIDetector()]),
        lambda: agent([PIIDetector(), on("moderation", effects=SENDS)]),
        "input › processor:pii-detector",
    ),
    "SW104": (
        lambda: agent([TokenLimiter(1000), ToolCallFilter()]),
        lambda: agent([ToolCallFilter(), TokenLimiter(1000)]),
        "input › processor:token-limiter",
    ),
    "SW105": (
        lambda: agent((), [on("judge", "process_output_stream", effects=SENDS)]),
        lambda: agent((), [BatchPartsProcessor(), on("judge", "process_output_stream", effects=SENDS), Windows("own")]),
        "output › processor:judge",
    ),
    "SW106": (
        lambda: agent([TwoHooks("two")]),
        lambda: agent([TwoHooks("two")], [TwoHooks("two")]),
        "input › processor:two",
    ),
    "SW107": (
        lambda: agent((), [AsksAgain("again")]),
        lambda: agent((), [AsksAgain("again")], max_processor_retries=2),
        "output › processor:again",
    ),
    "SW108": (
        lambda: Workflow("wf").branch([(lambda d: True, on("always")), (lambda d: d.text, on("never"))]),
        lambda: Workflow("wf").branch([(lambda d: d.text, on("maybe"))], default=on("else")),
        "wf › branch[0] › processor:never",
    ),
    "SW109": (
        lambda: agent([PromptInjectionDetector(), MessageHistory(InMemoryStore())]),
        lambda: agent([MessageHistory(InMemoryStore()), PromptInjectionDetector()]),
        "input › processor:message-history",
    ),
    "SW110": (
        lambda: agent([PIIDetector(on_error="continue")]),
        lambda: agent([PIIDetector(on_error="block"), UnicodeNormalizer()]),
        "input › processor:pii-detector",
    ),
    "SW111": (
        lambda: agent((), [on("late", "process_output_result", effects=LOOKS)]),
        lambda: agent((), [on("late", "process_output_stream", "process_output_result", effects=LOOKS)]),
        "output › processor:late",
    ),
}


def test_every_rule_has_a_pair_and_a_page() -> None:
    assert sorted(PAIRS) == [rule.id for rule in RULES]
    for rule in RULES:
        page = (ROOT / "docs" / "reference" / "rules" / f"{rule.id}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {rule.id} {rule.name}\n\n{rule.summary}\n"), rule.id
        assert f"Severity: {rule.severity}" in page


@pytest.mark.parametrize("rule", sorted(PAIRS))
def test_the_bad_order_is_found_where_it_is(rule: str) -> None:
    bad, _, path = PAIRS[rule]
    assert [(f.rule, f.path) for f in check(bad())] == [(rule, path)]


@pytest.mark.parametrize("rule", sorted(PAIRS))
def test_nothing_is_found_where_it_is_mended(rule: str) -> None:
    assert check(PAIRS[rule][1]()) == []


def test_edits_are_not_lost_where_the_map_looks_at_all_or_at_the_writer() -> None:
    def merged(results: Any) -> Any:
        return max(results.values(), key=lambda call: len(results["processor:edits"].text))

    edits = on("edits", effects=WRITES)
    for how in (merged, "processor:edits", merge.first(["processor:edits"]), lambda results: results):
        assert check(pair(on("looks", effects=LOOKS), edits, how)) == []


def test_redactions_of_the_library_are_united() -> None:
    assert check(pair(PIIDetector(), PIIDetector(id="more"))) == []


def test_writes_in_different_hooks_do_not_collide() -> None:
    one = on("one", "process_input", effects=WRITES)
    other = on("other", "process_output_result", effects=WRITES)
    assert check(pair(one, other)) == []


def test_a_redactor_beside_or_in_another_list_than_the_sender_is_not_behind_it() -> None:
    sender = on("moderation", "process_input", "process_output_result", effects=SENDS)
    assert check(pair(sender, PIIDetector())) == []
    assert check(agent([on("moderation", effects=SENDS)], [PIIDetector()])) == []


def test_a_guard_function_that_asks_again_is_seen() -> None:
    @guard("output")
    def polite(text: str) -> Any:
        return Retry("be polite") if "damn" in text else True

    @guard("output")
    def short(text: str) -> bool:
        return len(text) < 100

    found = check(agent((), [polite, short]))
    assert [(f.rule, f.path) for f in found] == [("SW107", "output › processor:polite")]


def test_a_condition_that_is_asked_twice_leaves_the_second_arm_dead() -> None:
    def is_long(call: Any) -> bool:
        return len(call.text) > 9

    found = check(Workflow("wf").branch([(is_long, on("one")), (is_long, on("two"))]))
    assert [(f.rule, f.path) for f in found] == [("SW108", "wf › branch[0] › processor:two")]


def test_a_guardrail_that_asks_a_model_about_windows_is_not_heavy() -> None:
    model = ScriptedModel(["{}"])
    for guardrail in (ModerationProcessor(model=model), SystemPromptScrubber(model=model), PIIDetector(model=model)):
        assert check(agent((), [guardrail])) == []


def test_what_puts_values_back_is_no_redactor() -> None:
    restorer = PlaceholderRestorer(PIIVault(), on_error="continue")
    assert check(agent((), [ModerationProcessor(model=ScriptedModel(["{}"])), restorer])) == []


def test_hooks_chosen_in_a_list_of_an_agent_are_the_ones_that_count() -> None:
    late = step(PIIDetector(strategy="block"), hooks=["process_output_result"])
    assert [finding.rule for finding in check(agent((), [late]))] == ["SW111"]
    sends = step(on("moderation", "process_input", "process_llm_request", effects=SENDS), hooks=["process_llm_request"])
    assert check(agent([sends, PIIDetector()])) == []


class _Remote:
    model_id = "far"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]


def test_recall_that_sends_text_stands_behind_the_redactor_and_before_the_guards() -> None:
    """What SW103 asks for is not what SW109 finds fault with."""
    recall = SemanticRecall(InMemoryStore(), vector=InMemoryVectors(), embedder=_Remote())
    judge, redactor = PromptInjectionDetector(), PIIDetector()
    assert [finding.rule for finding in check(agent([recall, redactor]))] == ["SW103"]
    assert check(agent([redactor, recall, judge])) == []
    assert [finding.rule for finding in check(agent([redactor, judge, recall]))] == ["SW109"]


def test_recall_with_an_embedder_of_this_machine_sends_nothing() -> None:
    memory = Memory(InMemoryStore(), semantic_recall=True, vector=InMemoryVectors(), embedder=HashEmbedder())
    assert check(agent([PIIDetector()], memory=memory)) == []


def test_an_entry_can_ask_to_be_left_alone() -> None:
    edits = on("edits", effects=WRITES)
    for name in ("SW101", "edits-lost"):
        workflow = pair(on("looks", effects=LOOKS), step(edits, ignore=[name]), "processor:looks")
        assert check(workflow) == []
        assert check(Workflow("outer").then(step(pair(on("looks"), edits, "processor:looks"), ignore=[name]))) == []
        assert check(pair(on("looks"), edits, "processor:looks"), ignore=[name]) == []
    with pytest.raises(ConfigurationError, match=r"ignore= names the rule 'SW999'; there are SW101 \(edits-lost\), "):
        check(edits_lost(), ignore=["SW999"])


def edits_lost() -> Workflow:
    return pair(on("looks", effects=LOOKS), on("edits", effects=WRITES), "processor:looks")


FOUND = Finding(
    "SW101",
    "edits-lost",
    "error",
    "wf › parallel[0] › processor:edits",
    "it writes messages, but the map behind the parallel goes on with 'processor:looks', so its edits are lost",
    "Pick 'processor:edits', merge with merge.all() or merge.prefer('processor:looks'), or let it only look "
    "(strategy='block' or 'warn')",
)


def test_a_finding_says_where_what_and_how_to_mend_it() -> None:
    assert check(edits_lost()) == [FOUND]
    assert findings_to_text([FOUND]) == f"{FOUND.path}: error SW101 edits-lost: {FOUND.why}. {FOUND.fix}.\n1 finding\n"
    assert findings_to_text([]) == "no findings\n"


def test_findings_as_json() -> None:
    assert json.loads(findings_to_json([FOUND])) == [
        {
            "rule": "SW101",
            "name": "edits-lost",
            "severity": "error",
            "path": FOUND.path,
            "why": FOUND.why,
            "fix": FOUND.fix,
        }
    ]


def test_findings_as_sarif() -> None:
    """The parts of the standard's schema that a reader of results needs."""
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["version", "runs"],
        "properties": {
            "version": {"const": "2.1.0"},
            "runs": {
                "items": {
                    "required": ["tool", "results"],
                    "properties": {
                        "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name", "rules"]}}},
                        "results": {
                            "items": {
                                "required": ["ruleId", "message", "level", "locations"],
                                "properties": {
                                    "level": {"enum": ["none", "note", "warning", "error"]},
                                    "message": {"required": ["text"]},
                                },
                            }
                        },
                    },
                }
            },
        },
    }
    sarif = json.loads(findings_to_sarif([FOUND], file="app.py"))
    Draft7Validator(schema).validate(sarif)
    (run,) = sarif["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "SW101"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "app.py"}
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == FOUND.path


def normalizes_late(view: View) -> Iterator[tuple[Node, str, str]]:
    for node in view.ordered(view.processors, "process_input"):
        if "UnicodeNormalizer" in node.classes and node is not view.processors[0]:
            yield node, "others have looked before it", "Put it first"


OWN = Rule("SHOP1", "normalizes-late", "warning", "The normaliser is not the first.", normalizes_late)


def test_a_rule_of_ones_own_is_a_rule_like_the_others() -> None:
    wrong = [PIIDetector(), UnicodeNormalizer()]
    late = Finding(
        "SHOP1",
        "normalizes-late",
        "warning",
        "processor:unicode-normalizer",
        "others have looked before it",
        "Put it first",
    )
    assert check(wrong) == []
    assert check(wrong, rules=[OWN]) == [late]
    assert check([UnicodeNormalizer(), PIIDetector()], rules=[OWN]) == []
    assert check(edits_lost(), rules=[OWN]) == [FOUND]
    for name in ("SHOP1", "normalizes-late"):
        assert check(wrong, rules=[OWN], ignore=[name]) == []
        assert check([PIIDetector(), step(UnicodeNormalizer(), ignore=[name])], rules=[OWN]) == []
    with pytest.raises(ConfigurationError, match=r"ignore= names the rule 'SHOP2'; .* SHOP1 \(normalizes-late\)"):
        check(wrong, rules=[OWN], ignore=["SHOP2"])
    (run,) = json.loads(findings_to_sarif([late], file="app.py"))["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]] == {
        "id": "SHOP1",
        "name": "normalizes-late",
        "defaultConfiguration": {"level": "warning"},
    }


@pytest.mark.parametrize("taken", [("SW101", "other"), ("SHOP1", "edits-lost")])
def test_a_rule_of_ones_own_needs_an_id_and_a_name_of_its_own(taken: tuple[str, str]) -> None:
    own = Rule(*taken, "note", "A sentence.", normalizes_late)
    with pytest.raises(ConfigurationError, match=r"rules= has a second rule (SW101|edits-lost); "):
        check([PIIDetector()], rules=[own])


def test_lists_and_stored_graphs_are_checked_too() -> None:
    items = [on("moderation", effects=SENDS), PIIDetector()]
    assert [f.rule for f in check(items)] == ["SW103"]
    assert check(edits_lost().graph) == [FOUND]
    with pytest.raises(GraphError, match=r"a int has no graph; give a workflow, an agent, a list of processors"):
        check(3)
