"""`PrefillErrorHandler`: which refusals it knows."""

from __future__ import annotations

import pytest

from sluiceway.errors import ModelError
from sluiceway.models import Reply
from sluiceway.processors.context._prefill_error_handler import is_prefill_refusal
from tests.support.runs import by, lines, make_agent


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "Assistant response prefill is incompatible with enable_thinking.",
        "Prefilling assistant messages is not supported for this model",
        "the final message must be from the user",
        "Last message role must be 'user'",
        "Last message must have role `user`",
        "messages must end with a user message",
        "Requests ending with an assistant message are not supported",
        "The conversation cannot end with an assistant turn",
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    ],
)
def test_refusals_of_a_last_message_are_known(message: str) -> None:
    assert is_prefill_refusal(ModelError(message, status=400))
    assert is_prefill_refusal(ModelError("refused", status=422, body=message))
    assert is_prefill_refusal(ModelError(message))
    assert not is_prefill_refusal(ModelError(message, status=500))
    assert not is_prefill_refusal(ModelError(message, status=401))


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210000 tokens",
        "messages: roles must alternate between user and assistant",
        "the last tool call has no result",
        "",
    ],
)
def test_other_refusals_are_left_alone(message: str) -> None:
    assert not is_prefill_refusal(ModelError(message, status=400))


@pytest.mark.anyio
@pytest.mark.parametrize("budget", [None, 0, 3])
async def test_it_has_one_retry_of_its_own_whatever_the_budget(budget: int | None) -> None:
    refusal = Reply(error={"status": 400, "message": "assistant message prefill is not supported"})
    agent, model = make_agent(refusal, refusal, "ok")
    ran = await by("generate", agent, "q", max_processor_retries=budget)
    assert (len(model.calls), type(ran.error)) == (2, ModelError)
    assert lines(model.prompts[1])[-1] == "user: <system-reminder>continue</system-reminder>"
