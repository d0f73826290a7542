"""A list with one more processor behind it."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway import Processor, Workflow
from sluiceway.errors import ConfigurationError
from sluiceway.processors import (
    HOOKS_OF,
    Chain,
    PIIDetector,
    PrepareStep,
    PromptInjectionDetector,
    UnicodeNormalizer,
    compile_chain,
)


def prepare() -> PrepareStep:
    return PrepareStep(lambda ctx: None)


def outline(chain: Chain) -> dict[str, Any]:
    """Return what runs in each hook, and in which pieces."""
    return {
        "steps": [(step.path, step.index, step.hooks) for step in chain.processors],
        **{
            hook: (str_of(chain.for_hook(hook)), [str_of(e) for e in chain.entries(hook)]) for hook in HOOKS_OF["input"]
        },
    }


def str_of(plan: Any) -> list[tuple[str, str]]:
    return [(type(node).__name__, getattr(node, "path", "")) for node in plan]


@pytest.mark.parametrize("concurrency", [None, "auto"])
@pytest.mark.parametrize(
    "items",
    [
        [],
        [UnicodeNormalizer(), PIIDetector()],
        [Workflow("w").parallel([PIIDetector(), PromptInjectionDetector()]), UnicodeNormalizer()],
        [Processor.of("s", process_input_step=lambda ctx: None, process_api_error=lambda ctx: None)],
    ],
    ids=["nothing", "flat", "branches", "other hooks"],
)
def test_a_list_followed_by_a_processor_is_the_list_of_both(items: list[Any], concurrency: Any) -> None:
    base = compile_chain(items, "input", concurrency=concurrency)
    before = outline(base)

    longer = base.followed_by(last := prepare())

    assert outline(longer) == outline(compile_chain([*items, last], "input", concurrency=concurrency))
    assert longer.kind == "input"
    assert outline(base) == before


def test_the_same_id_twice_is_refused_there_too() -> None:
    base = compile_chain([Processor.of("prepare-step", process_input=lambda ctx: None)], "input")

    with pytest.raises(ConfigurationError, match="has the id 'prepare-step' twice"):
        base.followed_by(prepare())


def test_one_without_a_hook_of_the_list_is_refused_there_too() -> None:
    with pytest.raises(ConfigurationError, match="none of the hooks that this list runs"):
        compile_chain([], "output").followed_by(prepare())
