"""Steps: what processors, functions, agents and tools become in a workflow."""

from sluiceway.steps._adapt import StepKind, as_step, named
from sluiceway.steps._agent import AgentStep
from sluiceway.steps._callables import takes_context, with_context
from sluiceway.steps._custom import CustomStep
from sluiceway.steps._function import FunctionStep
from sluiceway.steps._processor import processor_step
from sluiceway.steps._step import StepSpec, step
from sluiceway.steps._tool import ToolStep

__all__ = [
    "AgentStep",
    "CustomStep",
    "FunctionStep",
    "StepKind",
    "StepSpec",
    "ToolStep",
    "as_step",
    "named",
    "processor_step",
    "step",
    "takes_context",
    "with_context",
]
