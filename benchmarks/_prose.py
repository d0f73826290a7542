"""Made-up text without anything in it that a rule should find."""

from __future__ import annotations

__all__ = ["prose"]

SENTENCES = (
    "The order left the warehouse on Tuesday and should reach the office within three working days.",
    "We looked at both offers, and the second one leaves more room for changes later in the year.",
    "In 2019 the team had 14 people; now there are 37, spread over four floors and two cities.",
    "Please keep the draft short: a page at most, with one table and the figures in the appendix.",
    "Nobody could say why the lamp in room 204 went out at noon, or why it came back at dusk.",
    "She asked whether version 3.11 would do, since the newer one had not been tried on their machines.",
    "A good half of the questions were about prices, a quarter about dates, and the rest about parking.",
)


def prose(chars: int) -> str:
    """Return so many characters of it."""
    page = " ".join(SENTENCES) + "\n\n"
    return (page * (chars // len(page) + 1))[:chars]
