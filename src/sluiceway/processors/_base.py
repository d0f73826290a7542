"""`Processor`: the base class, and processors made of functions."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from sluiceway.engine import OnError
from sluiceway.errors import ConfigurationError
from sluiceway.processors._alone import Alone
from sluiceway.processors._effects import Effects
from sluiceway.processors._protocols import HookName
from sluiceway.processors._results import Violation

__all__ = ["Hook", "OnError", "OnViolation", "Processor"]

Hook: TypeAlias = Callable[[Any], Any]
"""A hook: a function of its context, sync or async."""
OnViolation: TypeAlias = Callable[[Violation], Awaitable[None] | None]
"""Called for each abort and warning, sync or async."""

_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word of a class's name begins, but for the first."""


class Processor(Alone):
    """A step of a run's loop: give a subclass the hooks it needs, sync or async.

    A processor holds options, never the state of a run: one object serves any number of
    runs at once. What belongs to a run lives in `ctx.state`, what belongs to one attempt of
    a step in `ctx.attempt_state`.

    Args:
        id: Unique within a list; part of every error, tripwire and violation. None: the name of
            the class, as in `cut-quotes` for `CutQuotes`.
        name: For people; the id where None.
        description: For people.
        on_violation: Called once for every `abort` and every `warn`, sync or async, and
            awaited before the part in hand goes on. What it raises is logged, never raised.
        on_error: What an exception in a hook does: `raise` ends the run (the default),
            `block` aborts it, `continue` goes on with what came in and logs it each time.

    Raises:
        ConfigurationError: For an id that is not a text with something in it, or another
            value of `on_error`.

    Examples:
        >>> class Lower(Processor):
        ...     def process_input(self, ctx):
        ...         for message in ctx.messages:
        ...             for part in message.parts:
        ...                 if part.type == "text":
        ...                     part.text = part.text.lower()
        >>> Lower().id
        'lower'
    """

    process_data_parts: bool = False
    """Whether the stream hook gets `data-*` chunks of others."""
    effects: Effects | Mapping[HookName, Effects] | None = None
    """What the hooks read and write; None: they may do anything."""

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        name: str | None = None,
        description: str | None = None,
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        if id is None:
            id = _CAPITAL.sub("-", type(self).__name__.strip("_")).lower()  # noqa: A001
        if not isinstance(id, str) or not id.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"a processor's id must be a text that is not empty, not {id!r}")
        if on_error not in ("raise", "block", "continue"):
            raise ConfigurationError(
                f"processor {id!r}: on_error={on_error!r} is not allowed; give 'raise', 'block' or 'continue'"
            )
        self.id = id
        self.name = name or id
        self.description = description or ""
        self.on_violation = on_violation
        self.on_error: OnError = on_error

    @staticmethod
    def of(
        id: str,  # noqa: A002 - the field's own name
        *,
        process_input: Hook | None = None,
        process_input_step: Hook | None = None,
        process_llm_request: Hook | None = None,
        process_output_stream: Hook | None = None,
        finish_output_stream: Hook | None = None,
        process_llm_response: Hook | None = None,
        process_output_step: Hook | None = None,
        process_tool_result: Hook | None = None,
        process_output_result: Hook | None = None,
        process_api_error: Hook | None = None,
        process_data_parts: bool = False,
        effects: Effects | Mapping[HookName, Effects] | None = None,
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> Processor:
        """Return a processor whose hooks are these functions; each takes the context.

        A hook is sync or async, and None where there is none: `process_input`,
        `process_input_step`, `process_llm_request`, `process_output_stream`,
        `finish_output_stream`, `process_llm_response`, `process_output_step`,
        `process_tool_result`, `process_output_result`, `process_api_error`. The rest is as for a
        class: `id`, `process_data_parts`, `effects`, `on_violation`, `on_error`.

        Examples:
            >>> Processor.of("shout", process_input=lambda ctx: None).id
            'shout'
        """
        processor = Processor(id, on_violation=on_violation, on_error=on_error)
        processor.process_data_parts = process_data_parts
        processor.effects = effects
        hooks: dict[str, Hook | None] = {
            "process_input": process_input,
            "process_input_step": process_input_step,
            "process_llm_request": process_llm_request,
            "process_output_stream": process_output_stream,
            "finish_output_stream": finish_output_stream,
            "process_llm_response": process_llm_response,
            "process_output_step": process_output_step,
            "process_tool_result": process_tool_result,
            "process_output_result": process_output_result,
            "process_api_error": process_api_error,
        }
        for name, hook in hooks.items():
            if hook is not None:
                setattr(processor, name, hook)
        return processor

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"
