"""Rules of meanings: which words near each other are an attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["CONCEPT_RULES", "ConceptRule"]


@dataclass(frozen=True, slots=True)
class ConceptRule:
    """One rule.

    Args:
        type: One of the detection types.
        name: The rule, for reports.
        score: How sure a finding is.
        needs: The meanings; the first one is the rarest, where the search begins.
        chars: How far from the first the others may be.
        apart: Meanings that must not stand near it.
        sentence: Whether all of it stands in one sentence.
        ordered: Whether the others stand behind the first.
    """

    type: str
    name: str
    score: float
    needs: tuple[str, ...]
    chars: int
    apart: tuple[str, ...] = ()
    sentence: bool = False
    ordered: bool = False


def _each(
    type_: str,
    name: str,
    score: float,
    needs: tuple[str, ...],
    *one_of: str,
    chars: int,
    apart: tuple[str, ...] = (),
    sentence: bool = False,
) -> tuple[ConceptRule, ...]:
    needed = [(*needs, last) for last in one_of] or [needs]
    return tuple(ConceptRule(type_, name, score, each, chars, apart, sentence) for each in needed)


CONCEPT_RULES: Final = (
    *_each("injection", "ignore-told", 0.85,
        ("drop", "ownorders"), "prior", "all", "your", "maker", chars=45, apart=("about", "meta"), sentence=True),
    ConceptRule("injection", "ignore-given", 0.85, ("drop", "given"), 50, ("meta",), sentence=True, ordered=True),
    *_each("injection", "void-told", 0.8, ("takeover", "void"), "ownorders", "prior", "all", chars=140, apart=("meta",)),
    ConceptRule("injection", "rules-expired", 0.8, ("expired", "ownorders", "your"), 45, ("meta",), sentence=True),
    *_each("injection", "expired-mine", 0.8, ("expired", "mine"), "ownorders", "prior", chars=100, apart=("meta",)),
    *_each("injection", "reset-told", 0.8, ("reset",), "mine", "takeover", "newtask", "ownorders", chars=140, apart=("meta",)),
    *_each("injection", "only-mine", 0.8, ("mine",), "drop", "newtask", "ownorders", chars=120, apart=("meta",)),
    *_each("injection", "outranks-maker", 0.75, ("outrank", "maker"), "mine", "myorders", "your", chars=90, apart=("meta",)),
    *_each("injection", "real-task", 0.75, ("task",), "must", "show", "void", chars=120, apart=("meta",)),
    *_each("injection", "told-model", 0.8, ("addressed",), "push", chars=90, apart=("meta",)),
    *_each("injection", "hailed-model", 0.75, ("hailed", "acts"), "tool", "quiet", "dest", "betray", "secrets", chars=120, apart=("meta",)),
    *_each("injection", "noted-for-model", 0.8, ("noted",), chars=0, apart=("meta",)),
    *_each("injection", "told-reader", 0.75, ("reads", "aisure"), "push", chars=110, apart=("meta",)),
    *_each("injection", "told-reading-model", 0.8, ("aireads",), "must", "push", chars=110, apart=("meta",)),
    *_each("injection", "told-any-reader", 0.75, ("ifai",), "push", chars=120, apart=("meta",)),
    *_each("injection", "model-should", 0.75, ("betray", "ai"), "modal", chars=60, apart=("meta",)),
    *_each("injection", "told-in-comment", 0.85, ("comment", "aihard"), "must", chars=140, apart=("meta",)),
    *_each("injection", "told-hidden", 0.85, ("hidden",), "must", chars=100),
    *_each("data-exfiltration", "reveal-told", 0.8,
        ("ownprompt", "show"), "your", "verbatim", chars=70, apart=("meta", "about"), sentence=True),
    *_each("data-exfiltration", "reveal-weak", 0.75,
        ("weakprompt", "show"), "verbatim", "given", chars=90, apart=("meta", "about"), sentence=True),
    *_each("data-exfiltration", "reveal-secret", 0.8, ("secretprompt", "show"), chars=70, apart=("meta",)),
    *_each("data-exfiltration", "play-for-prompt", 0.75, ("game",), "ownprompt", "weakprompt", "secretprompt", "given", chars=140, apart=("meta",)),
    *_each("data-exfiltration", "reveal-before", 0.8, ("beforeme", "show"), "told", chars=80, apart=("meta",)),
    ConceptRule("data-exfiltration", "ask-given", 0.75, ("given", "which", "ownorders"), 60, ("meta",)),
    *_each("data-exfiltration", "reveal-given", 0.8, ("given", "show"), chars=80, apart=("meta",)),
    *_each("data-exfiltration", "reveal-stored", 0.75, ("stored", "show"), "strong", "your", chars=80, apart=("meta",)),
    *_each("role-manipulation", "role-without-limits", 0.8, ("nolimit",), "role", "twice", chars=140, apart=("meta",)),
    *_each("role-manipulation", "role-without-secrets", 0.75, ("forbidden",), "role", chars=160, apart=("meta",)),
    *_each("system-override", "lifted-safety", 0.8, ("ownsafety", "off"), "session", "your", chars=110, apart=("meta", "asks")),
    *_each("system-override", "lifted-by-authority", 0.8, ("authority", "ownsafety", "off"), chars=140, apart=("meta", "asks")),
    *_each("system-override", "forged-header", 0.8,
        ("header",), "ownorders", "safety", "mine", "outrank", chars=120, apart=("meta",)),
    *_each("system-override", "forged-notice", 0.75, ("header", "session"), "ai", "authority", chars=160, apart=("meta",)),
    *_each("system-override", "unlock-yourself", 0.8, ("unlock",), chars=0, apart=("meta",)),
    ConceptRule("jailbreak", "as-if-no-rules", 0.8, ("unruled", "asif"), 40, ("meta",), sentence=True),
    *_each("jailbreak", "harm-without-limits", 0.8, ("harm", "howto"), "nolimit", "nowarn", "role", "pretext", chars=220),
    *_each("jailbreak", "harm-no-warning", 0.75, ("nowarn",), "harm", chars=220, apart=("meta",)),
    *_each("jailbreak", "rule-no-refusal", 0.75, ("nowarn", "orders"), "your", chars=140, apart=("meta",)),
    *_each("tool-exfiltration", "send-strong", 0.8, ("web", "send"), "strong", chars=140, apart=("caution",)),
    *_each("tool-exfiltration", "send-anything", 0.8,
        ("dest", "send", "secrets"), "aisure", "secretly", "tool", chars=160, apart=("caution",)),
    *_each("tool-exfiltration", "send-to-me", 0.75, ("tome", "send", "secrets"), "tool", chars=120, apart=("caution",)),
    *_each("tool-exfiltration", "pipe-to-shell", 0.8, ("pipeshell",), "ai", "quiet", chars=140),
    *_each("tool-exfiltration", "told-to-run", 0.8, ("danger",), "addressed", "hailed", chars=90, apart=("meta",)),
    *_each("tool-exfiltration", "quiet-act", 0.8, ("secretly", "acts"), "tool", "ai", "secrets", chars=140, apart=("meta",)),
)  # fmt: skip
