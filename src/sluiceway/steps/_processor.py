"""A processor as a step, in the hooks that it is to run in."""

from __future__ import annotations

from sluiceway.engine import StepOptions
from sluiceway.errors import GraphError
from sluiceway.processors import ALL_HOOKS, ProcessorStep

__all__ = ["processor_step"]


def processor_step(
    processor: object,
    *,
    id: str | None,  # noqa: A002 - the field's own name
    path: str,
    options: StepOptions,
) -> ProcessorStep:
    """Return the step for a processor in a workflow.

    Args:
        processor: The processor.
        id: Its name here, or None: its own.
        path: Where it stands.
        options: How it is run.

    Raises:
        GraphError: It has none of the hooks it is to run in, or there is no such hook.
    """
    step = ProcessorStep(
        processor, path=path, on_error=options.on_error, thread=options.thread, id=id, hooks=options.hooks
    )
    if options.hooks is not None:
        unknown = sorted(options.hooks - set(ALL_HOOKS))
        if unknown:
            raise GraphError(f"{path}: there is no hook {unknown[0]!r}; hooks are {', '.join(ALL_HOOKS)}")
        if not step.methods:
            raise GraphError(f"{path}: has none of the hooks {', '.join(sorted(options.hooks))}")
    return step
