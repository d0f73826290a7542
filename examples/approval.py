"""A refund that waits for a person: suspended, stored, finished by another process.

    .venv/bin/python examples/approval.py start 250 --run-id refund-1 --store runs.db
    .venv/bin/python examples/approval.py show refund-1 --store runs.db
    .venv/bin/python examples/approval.py decide refund-1 approve --store runs.db

`start` stops where a person has to decide; the process may end, or be killed, meanwhile.
`decide` goes on from there in a new process. What was finished before does not run again:
each step prints a line when it runs.
"""

from __future__ import annotations

import argparse
import json
from typing import Literal

import anyio
from pydantic import BaseModel

from sluiceway import Workflow
from sluiceway.engine import RunStore, StepContext, WorkflowResult


class Refund(BaseModel):
    """What a customer asks for, in euros."""

    amount_eur: int
    risk: Literal["low", "high"] = "low"


class Decision(BaseModel):
    """What came of it."""

    amount_eur: int
    approved: bool
    by: str


def assess(refund: Refund) -> Refund:
    """Say how much is at stake."""
    print("assess", flush=True)
    return refund.model_copy(update={"risk": "high" if refund.amount_eur > 100 else "low"})


def approve_small(refund: Refund) -> Decision:
    """Let small amounts pass."""
    print("approve_small", flush=True)
    return Decision(amount_eur=refund.amount_eur, approved=True, by="rule")


def ask_a_person(refund: Refund, ctx: StepContext) -> Decision:
    """Wait for someone to decide."""
    if not ctx.resumed:
        ctx.suspend({"question": f"Refund {refund.amount_eur} EUR?", "risk": refund.risk})
    print("ask_a_person", flush=True)
    return Decision(amount_eur=refund.amount_eur, approved=ctx.resume_data == "approve", by="person")


def pay(decision: Decision) -> str:
    """Pay it out, or not."""
    print("pay", flush=True)
    return f"{decision.amount_eur} EUR {'paid' if decision.approved else 'refused'} by {decision.by}"


workflow = (
    Workflow("refund", input=Refund, output=str)
    .then(assess)
    .branch([(lambda refund: refund.risk == "low", approve_small)], default=ask_a_person)
    .map(lambda outputs: next(iter(outputs.values())))
    .then(pay)
    .commit()
)


def show(result: WorkflowResult) -> None:
    """Print how the run stands, as one line of JSON."""
    waiting = [{"step": waits.path, "payload": waits.payload} for waits in result.suspended]
    print(json.dumps({"run_id": result.run_id, "status": result.status, "output": result.output, "waiting": waiting}))


async def main() -> None:
    """Start a refund, look at it, or decide it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="ask for a refund")
    start.add_argument("amount_eur", type=int)
    start.add_argument("--run-id")
    start.add_argument("--linger", action="store_true", help="do not end by itself, so that it can be killed")
    look = commands.add_parser("show", help="say how a refund stands")
    decide = commands.add_parser("decide", help="answer the question")
    for command in (look, decide):
        command.add_argument("run_id")
    decide.add_argument("answer", choices=["approve", "refuse"])
    for command in (start, look, decide):
        command.add_argument("--store", help="the file that runs are kept in")
    args = parser.parse_args()

    store = RunStore(args.store)
    if args.command == "start":
        show(await workflow.run({"amount_eur": args.amount_eur}, run_id=args.run_id, store=store))
        if args.linger:
            await anyio.sleep_forever()
    elif args.command == "show":
        show(await workflow.load(args.run_id, store=store))
    else:
        show(await workflow.resume(args.run_id, data=args.answer, store=store))


if __name__ == "__main__":
    anyio.run(main)
