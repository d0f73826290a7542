"""What the pictures of the explanations show; `tests/docs/test_pictures.py` draws them again."""

from typing import Any

from sluiceway import Agent, Processor, Workflow, tool
from sluiceway.messages import Chunk
from sluiceway.processors import PIIDetector, PromptInjectionDetector, StreamContext, UnicodeNormalizer


def _nothing(ctx: Any) -> None:
    """Change nothing."""


def _passed(ctx: StreamContext) -> Chunk:
    """Pass every chunk on."""
    return ctx.part


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return word


loop = Agent(
    "call",
    model="echo/echo",
    tools=[look_up],
    max_processor_retries=3,
    input_processors=[
        Processor.of(
            "before",
            process_input=_nothing,
            process_input_step=_nothing,
            process_llm_request=_nothing,
            process_llm_response=_nothing,
        )
    ],
    output_processors=[
        Processor.of("after", process_output_stream=_passed, process_output_step=_nothing),
        Processor.of("later", process_tool_result=_nothing, process_output_result=_nothing),
    ],
    prefill_recovery=False,
    error_processors=[Processor.of("refused", process_api_error=_nothing)],
)

side_by_side = (
    Workflow("checks")
    .then(UnicodeNormalizer())
    .parallel([PIIDetector(strategy="redact"), PromptInjectionDetector(strategy="block")])
)
