"""What reaches the client, and when."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.agent._delivery import Delivery
from sluiceway.messages import Chunk


def delta(text: str, id_: str = "t", kind: str = "text") -> Chunk:
    return Chunk(f"{kind}-delta", {"id": id_, "text": text})


def finish(reason: str = "stop") -> Chunk:
    return Chunk("step-finish", {"reason": reason})


def sent(delivery: Delivery) -> list[Any]:
    """Take what is ready, as texts and types."""
    out = [chunk.text or chunk.get("reason") or chunk.type for chunk in delivery.ready]
    delivery.ready.clear()
    return out


def test_nothing_is_kept_unless_it_is_said() -> None:
    delivery = Delivery()
    delivery.sender(delta("a"))
    assert sent(delivery) == ["a"]


def test_a_step_goes_out_when_it_is_accepted_with_one_delta_per_block() -> None:
    delivery = Delivery("step")
    for chunk in (delta("a"), Chunk("tool-call"), delta("x", "u"), delta("b"), delta("y", "u"), finish()):
        delivery.sender(chunk)
    assert sent(delivery) == []

    delivery.accept({"text-delta": ["AB", "XY"]})

    assert sent(delivery) == ["AB", "tool-call", "XY", "stop"]


def test_a_block_that_was_emptied_does_not_go_out() -> None:
    delivery = Delivery("step")
    for chunk in (delta("a"), delta("x", "u"), finish()):
        delivery.sender(chunk)
    delivery.accept({"text-delta": ["", "X"]})
    assert sent(delivery) == ["X", "stop"]


@pytest.mark.parametrize("texts", [["all of it"], ["all ", "of it", ""]])
def test_where_blocks_no_longer_match_the_first_takes_everything(texts: list[str]) -> None:
    delivery = Delivery("step")
    for chunk in (delta("a"), delta("x", "u"), finish()):
        delivery.sender(chunk)
    delivery.accept({"text-delta": texts})
    assert sent(delivery) == ["all of it", "stop"]


def test_text_that_a_hook_added_to_a_step_without_any_goes_out_before_its_end() -> None:
    delivery = Delivery("step")
    for chunk in (Chunk("tool-call"), finish()):
        delivery.sender(chunk)
    delivery.accept({"text-delta": ["late"]})
    assert sent(delivery) == ["tool-call", "text-start", "late", "text-end", "stop"]


def test_reasoning_goes_out_as_it_came_unless_somebody_edited_it() -> None:
    for edited, expected in (("hmm", ["hm", "m", "stop"]), ("[x]", ["[x]", "stop"])):
        delivery = Delivery("step")
        for chunk in (delta("hm", "r", "reasoning"), delta("m", "r", "reasoning"), finish()):
            delivery.sender(chunk)
        delivery.accept({"reasoning-delta": [edited]})
        assert sent(delivery) == expected


@pytest.mark.parametrize("hold", ["step", "run"])
def test_a_rejected_attempt_leaves_only_what_is_no_part_of_an_answer(hold: Any) -> None:
    delivery = Delivery(hold)
    for chunk in (Chunk("data-x"), delta("bad"), Chunk("tool-call"), Chunk("object")):
        delivery.sender(chunk)
    delivery.reject(finish("retry"))
    for chunk in (delta("good"), finish()):
        delivery.sender(chunk)
    delivery.accept({"text-delta": ["good"]})
    delivery.release([{"text-delta": ["good"]}])
    assert sent(delivery) == ["data-x", "retry", "good", "stop"]


def test_a_run_goes_out_at_its_end_with_the_texts_of_then() -> None:
    delivery = Delivery("run")
    for text in ("one", "two"):
        delivery.sender(delta(text))
        delivery.sender(finish())
        delivery.accept({"text-delta": [text]})
    assert sent(delivery) == []

    delivery.release([{"text-delta": ["ONE"]}, {"text-delta": ["TWO"]}])

    assert sent(delivery) == ["ONE", "stop", "TWO", "stop"]


def test_where_steps_no_longer_match_all_text_goes_out_with_the_first() -> None:
    delivery = Delivery("run")
    for text in ("one", "two"):
        delivery.sender(delta(text))
        delivery.sender(finish())
        delivery.accept({"text-delta": [text]})
    delivery.release([{"text-delta": ["all"]}])
    assert sent(delivery) == ["all", "stop", "stop"]


@pytest.mark.parametrize("hold", ["step", "run"])
def test_an_early_end_drops_the_answer(hold: Any) -> None:
    delivery = Delivery(hold)
    for chunk in (Chunk("step-start"), delta("secret"), Chunk("data-x")):
        delivery.sender(chunk)
    delivery.drop()
    delivery.send_now(Chunk("tripwire"))
    assert sent(delivery) == ["step-start", "data-x", "tripwire"]
