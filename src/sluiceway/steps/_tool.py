"""A tool as a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sluiceway.engine import AnyScope, Data
from sluiceway.errors import MessageError, StepError
from sluiceway.tools import RequestContext, Tool, ToolContext

__all__ = ["ToolStep"]


class ToolStep:
    """A tool: gets its arguments as a mapping, or its one required argument; gives its result.

    In a hook it gets the text of the call as that argument.

    Args:
        tool: The tool.
        id: Its name; None: its own.
        hooks: The hooks it runs in, or None: the usual ones.
    """

    __slots__ = ("can_suspend", "hooks", "id", "input", "key", "opaque", "output", "tool")

    def __init__(self, tool: Tool, *, id: str | None = None, hooks: frozenset[str] | None = None) -> None:  # noqa: A002
        self.tool = tool
        self.id = self.key = id or tool.name
        self.hooks = hooks
        self.can_suspend = False
        self.input = self.output = None
        self.opaque = True

    async def run(self, data: Data, scope: AnyScope) -> Data:
        """Call the tool.

        Raises:
            StepError: The data does not fit its arguments.
        """
        context = ToolContext(
            request_context=getattr(scope, "request_context", None) or RequestContext(),
            run_id=scope.run_id,
            **({"writer": scope.writer} if hasattr(scope, "writer") else {}),
        )
        try:
            args = self._args(data)
            self.tool.check(args)
        except MessageError as error:
            path = getattr(scope, "path", self.id)
            message = f"{path}: {error}"
            raise StepError(message, step_id=self.id, run_id=scope.run_id, path=path, retryable=False) from error
        return await self.tool.call(args, context)

    def _args(self, data: Data) -> Mapping[str, Any]:
        if isinstance(data, Mapping):
            return cast("Mapping[str, Any]", data)
        value = data.text if hasattr(data, "hook") and hasattr(data, "text") else data
        parameters = self.tool.parameters
        named = list(parameters.get("required") or parameters.get("properties") or ())
        if len(named) != 1:
            raise MessageError(
                f"tool {self.tool.name!r} takes the arguments {', '.join(named) or 'none'}; "
                "map the data to a dict of them before it"
            )
        return {named[0]: value}
