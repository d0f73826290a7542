"""Processors: the contract of the hooks, and the built-in ones."""

from sluiceway.processors._base import Hook, OnError, OnViolation, Processor
from sluiceway.processors._call import HookCall
from sluiceway.processors._chain import Chain, compile_chain
from sluiceway.processors._contexts import (
    ApiErrorContext,
    HookContext,
    InputContext,
    InputStepContext,
    OutputResultContext,
    OutputStepContext,
    RequestHookContext,
    ResponseContext,
    ToolResultContext,
)
from sluiceway.processors._effects import Effects
from sluiceway.processors._events import HookEvent, Observer
from sluiceway.processors._guard import guard
from sluiceway.processors._protocols import (
    ALL_HOOKS,
    HOOKS_OF,
    ErrorProcessor,
    HookName,
    InputProcessor,
    ListKind,
    OutputProcessor,
    hooks_of,
)
from sluiceway.processors._results import (
    Allow,
    Block,
    FreeRetry,
    InputResult,
    LLMRequest,
    Retry,
    Rewrite,
    StepOverrides,
    Verdict,
    Violation,
)
from sluiceway.processors._scope import AgentRef, HookScope, Writer, call_observer
from sluiceway.processors._step import ProcessorStep
from sluiceway.processors._stream import Fed, Passed, StreamRunner
from sluiceway.processors._stream_context import StreamContext
from sluiceway.processors._stream_fork import build_stream
from sluiceway.processors.context import PrefillErrorHandler, PrepareStep
from sluiceway.processors.detectors import Detection, Detector, Span
from sluiceway.processors.guardrails import PIIDetector, PromptInjectionDetector, UnicodeNormalizer

__all__ = [
    "ALL_HOOKS",
    "HOOKS_OF",
    "AgentRef",
    "Allow",
    "ApiErrorContext",
    "Block",
    "Chain",
    "Detection",
    "Detector",
    "Effects",
    "ErrorProcessor",
    "Fed",
    "FreeRetry",
    "Hook",
    "HookCall",
    "HookContext",
    "HookEvent",
    "HookName",
    "HookScope",
    "InputContext",
    "InputProcessor",
    "InputResult",
    "InputStepContext",
    "LLMRequest",
    "ListKind",
    "Observer",
    "OnError",
    "OnViolation",
    "OutputProcessor",
    "OutputResultContext",
    "OutputStepContext",
    "PIIDetector",
    "Passed",
    "PrefillErrorHandler",
    "PrepareStep",
    "Processor",
    "ProcessorStep",
    "PromptInjectionDetector",
    "RequestHookContext",
    "ResponseContext",
    "Retry",
    "Rewrite",
    "Span",
    "StepOverrides",
    "StreamContext",
    "StreamRunner",
    "ToolResultContext",
    "UnicodeNormalizer",
    "Verdict",
    "Violation",
    "Writer",
    "build_stream",
    "call_observer",
    "compile_chain",
    "guard",
    "hooks_of",
]
