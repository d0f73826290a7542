"""Laws about processors beside and behind each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sluiceway.errors import ConfigurationError
from sluiceway.graphs import CommittedWorkflow, Workflow
from sluiceway.messages import Prompt, PromptToolCall, PromptToolResult
from sluiceway.processors import HookCall, HookName
from sluiceway.testing._law import EXAMPLES, broken, hold, hooks_under_test, named, subjects
from sluiceway.testing._outcome import Outcome, Subject, Trial, hooks_in, inside
from sluiceway.testing._running import Backend, run_blocking

__all__ = ["assert_commutes", "assert_pairs_kept", "assert_same_as_sequential", "shared_hooks"]


def shared_hooks(first: object, second: object) -> tuple[HookName, ...]:
    """Return the hooks that both have; in any other their order cannot matter."""
    of_second = set(hooks_in([second]))
    return tuple(hook for hook in hooks_in([first]) if hook in of_second)


def assert_commutes(
    first: object,
    second: object,
    texts: Iterable[str] | None = None,
    *,
    examples: int = EXAMPLES,
    backend: Backend = "asyncio",
) -> None:
    """Two processors give the same, whichever stands first.

    Where a run is aborted, that it is counts, not by which of them. Processors with no hook in
    common commute.

    Args:
        first: A processor or workflow.
        second: Another, with another id.
        texts: The texts in what they are run on; None: made up.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: The order matters; the text names the smallest case.
    """

    def wrong(subject: Subject) -> str | None:
        async def both() -> tuple[Outcome, Outcome]:
            one, _ = await trial.run([first, second], subject)
            other, _ = await trial.run([second, first], subject)
            return one, other

        one, other = run_blocking(both, backend)
        if one.decided() == other.decided():
            return None
        ids = [str(getattr(item, "id", item)) for item in (first, second)]
        return broken(one, other, than=f"{ids[0]}, {ids[1]}:", as_=f"{ids[1]}, {ids[0]}:")

    for hook in shared_hooks(first, second):
        who = f"{named(first)} with {named(second)}"
        trial = Trial()
        hold(f"commuting ({hook})", who, subjects(hook, texts), wrong, examples, trial)


def assert_same_as_sequential(
    workflow: Workflow | CommittedWorkflow,
    texts: Iterable[str] | None = None,
    *,
    examples: int = EXAMPLES,
    backend: Backend = "asyncio",
) -> None:
    """A workflow gives what its processors give one after the other, in the order they are written.

    Args:
        workflow: A workflow of processors.
        texts: The texts in what it is run on; None: made up.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: It gives something else, or its branches cannot be merged.
        ConfigurationError: It has no processor with a hook that can be compared.
    """
    committed = workflow.commit() if isinstance(workflow, Workflow) else workflow
    chain = inside(committed)
    if not chain:
        raise ConfigurationError(f"the workflow {committed.id!r} has no processors, so there is no sequence of them")

    def wrong(subject: Subject) -> str | None:
        async def both() -> tuple[Outcome, Outcome]:
            return (await trial.run(chain, subject))[0], (await trial.run([committed], subject))[0]

        sequence, graph = run_blocking(both, backend)
        if sequence.decided() == graph.decided():
            return None
        return broken(sequence, graph, than="in sequence:", as_="workflow:")

    for hook in hooks_under_test("the same as in sequence", [committed]):
        trial = Trial()
        hold(f"the same as in sequence ({hook})", named(committed), subjects(hook, texts), wrong, examples, trial)


def assert_pairs_kept(
    processor: object, texts: Iterable[str] | None = None, *, examples: int = EXAMPLES, backend: Backend = "asyncio"
) -> None:
    """In the prompt that a processor leaves, every call of a tool has its result behind it, and no result is alone.

    Args:
        processor: A processor or workflow with a hook before the model.
        texts: The texts in the conversations; None: made up.
        examples: How many cases are tried for each hook.
        backend: The event loop.

    Raises:
        AssertionError: A call or a result is left alone.
        ConfigurationError: It has no hook before the model.
    """

    def wrong(subject: Subject) -> str | None:
        async def ran() -> tuple[Outcome, HookCall | None]:
            return await trial.run([processor], subject)

        outcome, call = run_blocking(ran, backend)
        if call is None or outcome.ended != "passed":
            return None
        return _unpaired(call.prompt if call.prompt is not None else call.message_list.to_prompt())

    before: tuple[HookName, ...] = ("process_input", "process_input_step", "process_llm_request")
    for hook in hooks_under_test("pairs kept", [processor], before):
        trial = Trial()
        hold(f"pairs kept ({hook})", named(processor), subjects(hook, texts), wrong, examples, trial)


def _unpaired(prompt: Prompt) -> str | None:
    waiting: list[str] = []
    for content in (one for message in prompt.messages for one in message.content):
        known: Any = content
        if isinstance(content, PromptToolCall) and not getattr(known, "provider_executed", False):
            waiting.append(content.tool_call_id)
        elif isinstance(content, PromptToolResult):
            if content.tool_call_id not in waiting:
                return f"the result of {content.tool_call_id!r} is in the prompt without its call"
            waiting.remove(content.tool_call_id)
    return f"the call {waiting[0]!r} is in the prompt without its result" if waiting else None
