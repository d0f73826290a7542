"""Recovery from an error: when a conversation is too long for the model, its oldest half goes.

    .venv/bin/python examples/error_recovery.py
    .venv/bin/sluiceway graph examples/error_recovery.py

Runs offline: a scripted model refuses the first prompt. For errors that pass by themselves there
is `StreamErrorRetryProcessor`.
"""

from sluiceway import Agent, Processor
from sluiceway.models import Reply, ScriptedModel
from sluiceway.processors import ApiErrorContext, Retry


class ForgetOldest(Processor):
    """Drops the older half of a conversation that the provider says is too long."""

    def process_api_error(self, ctx: ApiErrorContext) -> Retry | None:
        """Mend what the provider refused, and have the step run again."""
        old = ctx.messages[: len(ctx.messages) // 2]
        if "context length" not in str(ctx.error) or not old:
            return None
        ctx.message_list.remove_by_ids(message.id for message in old)
        return Retry()


model = ScriptedModel([Reply(error={"status": 400, "message": "maximum context length exceeded"}), "Now it is noon."])
agent = Agent("patient", model=model, error_processors=[ForgetOldest()], max_processor_retries=2)

if __name__ == "__main__":
    talk = [{"role": role, "content": f"line {n}"} for n in range(3) for role in ("user", "assistant")]
    print(agent.generate_sync([*talk, {"role": "user", "content": "And now?"}]).text)
    print("messages sent:", [len(prompt.messages) for prompt in model.prompts])
