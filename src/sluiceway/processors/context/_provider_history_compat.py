"""`ProviderHistoryCompat`: makes the history of one provider fit another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sluiceway.errors import ConfigurationError
from sluiceway.processors._base import Processor
from sluiceway.processors._contexts import ApiErrorContext, RequestHookContext
from sluiceway.processors._effects import Effects
from sluiceway.processors._results import LLMRequest, Retry
from sluiceway.processors.context._history_rules import BUILT_IN, HistoryRule
from sluiceway.processors.context._options import refusal

__all__ = ["ProviderHistoryCompat"]


class ProviderHistoryCompat(Processor):
    """Makes the history of one provider fit another.

    Before each request, in that prompt only: no reasoning for Cerebras; no reasoning that
    another provider sent, and for Anthropic and what speaks its protocol none that is not
    signed, and no other provider's signatures; another tag than `<system-reminder>` for Azure.

    After a refusal, in the messages themselves, and with one retry per step and rule: tool-call
    ids that Anthropic does not take; item ids of OpenAI's Responses whose counterpart is gone.
    For the retry list it in `error_processors`, too, which opens a budget.

    Args:
        additional_rules: Further rules, after the built-in ones: `HistoryRule` objects, or
            others with its fields.
        id: The id.

    Raises:
        ConfigurationError: Something that is no `HistoryRule`, or two rules of one name.
    """

    def __init__(
        self,
        *,
        additional_rules: Sequence[HistoryRule] = (),
        id: str = "provider-history-compat",  # noqa: A002 - the field's own name
    ) -> None:
        super().__init__(id)
        self.rules = (*BUILT_IN, *_checked(id, additional_rules))
        names = [rule.name for rule in self.rules]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigurationError(f"{id}: two rules are named {twice!r}; give one of them another name")
        self.effects = {
            "process_llm_request": Effects(reads=("prompt", "overrides"), writes=("prompt",), aborts=False),
            "process_api_error": Effects(reads=("messages", "state"), writes=("messages", "state"), aborts=False),
        }

    def process_llm_request(self, ctx: RequestHookContext) -> LLMRequest | None:
        """Return the prompt as the model takes it."""
        prompt = ctx.prompt
        for rule in self.rules:
            if rule.apply_to_prompt is not None:
                prompt = rule.apply_to_prompt(prompt, ctx.model)
        return None if prompt is ctx.prompt else LLMRequest(prompt=prompt)

    def process_api_error(self, ctx: ApiErrorContext) -> Retry | None:
        """Mend the messages that the provider refused, once per step and rule."""
        done: set[tuple[int | None, str]] = ctx.state.setdefault("mended", set())
        for rule in self.rules:
            key = (ctx.step_number, rule.name)
            if rule.fix is None or key in done or not rule.is_about(ctx.error):
                continue
            done.add(key)
            if rule.fix(ctx.messages) is not False:
                return Retry()
        return None


def _checked(owner: str, rules: Any) -> Sequence[HistoryRule]:
    if isinstance(rules, str) or not isinstance(rules, Sequence):
        raise refusal(owner, "additional_rules", rules, "a list of HistoryRule objects")
    return [_rule(owner, rule) for rule in cast("Sequence[Any]", rules)]


def _rule(owner: str, rule: Any) -> HistoryRule:
    if isinstance(rule, HistoryRule):
        return rule
    if not isinstance(getattr(rule, "name", None), str):
        raise refusal(owner, "additional_rules", [rule], "a list of HistoryRule objects")
    return HistoryRule(
        rule.name,
        error_patterns=getattr(rule, "error_patterns", None) or (),
        fix=getattr(rule, "fix", None),
        apply_to_prompt=getattr(rule, "apply_to_prompt", None),
    )
