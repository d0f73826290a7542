"""`Alone`: what processors and workflows share, their hooks run without an agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sluiceway.processors._call import HookCall
from sluiceway.processors._protocols import HookName
from sluiceway.processors._run_on import Context, Subject, Subjects, run_on, run_on_many

__all__ = ["Alone"]


class Alone:
    """Something with hooks that can be run by itself."""

    __slots__ = ()

    async def run_on(
        self,
        subject: Subject,
        *,
        hook: HookName = "process_input",
        request_context: Context = None,
        info: Mapping[str, Any] | None = None,
    ) -> HookCall:
        """Run one hook without an agent; see `processors.run_on`.

        Args:
            subject: Messages as `generate` takes them; the answer, a stream's text or chunks,
                or a tool's result, where the hook is about that.
            hook: The hook.
            request_context: Values for the processors; None: none.
            info: What else the hook's context shows, such as `tool_name`.

        Returns:
            The call as the hook left it, with `tripwire` and `violations`.

        Raises:
            ConfigurationError: The processor, or every step of the workflow, lacks the hook.
            MessageError: Messages that nothing can be made of.
            ProcessorError: A hook raised.
            MergeConflict: Branches disagree, and no map says which one holds.
        """
        return await run_on((self,), subject, hook=hook, request_context=request_context, info=info)

    def run_on_many(
        self,
        subjects: Subjects,
        *,
        hook: HookName = "process_input",
        concurrency: int = 8,
        request_context: Context = None,
    ) -> AsyncGenerator[HookCall, None]:
        """Run one hook on many subjects and give the calls in their order; see `processors.run_on_many`.

        Args:
            subjects: A plain or an async iterable.
            hook: The hook.
            concurrency: How many at once; no more are taken before the reader has taken them.
            request_context: Values for the processors; each call gets a copy. None: none.
        """
        return run_on_many((self,), subjects, hook=hook, concurrency=concurrency, request_context=request_context)
