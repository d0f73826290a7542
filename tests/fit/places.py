"""Places that a text is put into: an attack reaches a model in a document, a mail or the result of a tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

_Neighbour: TypeAlias = Callable[[], str]

RECORDS = (
    {"body": "{}"},
    {"id": 17, "subject": "hello", "body": "{}", "read": False},
    {"status": "ok", "results": [{"title": "{n}", "snippet": "{}"}]},
    [{"name": "Kim", "text": "all fine"}, {"name": "Lou", "text": "{}"}],
    {"user": {"name": "Kim", "bio": "{}"}, "tags": ["new", "open"], "note": "{n}"},
    {"rows": [["1", "{n}"], ["2", "{}"]], "more": None},
)


def place(text: str, neighbours: Sequence[str], random: Random) -> str:
    """Return the text in a place that is drawn, among drawn neighbours."""

    def neighbour() -> str:
        return random.choice(neighbours)

    return random.choice(PLACES)(text, neighbour, random)


def _record(text: str, neighbour: _Neighbour, random: Random) -> str:
    def filled(value: object) -> object:
        if isinstance(value, dict):
            return {key: filled(part) for key, part in value.items()}
        if isinstance(value, list):
            return [filled(part) for part in value]
        return {"{}": text, "{n}": neighbour()[:120]}.get(value, value) if isinstance(value, str) else value

    return json.dumps(
        filled(random.choice(RECORDS)), ensure_ascii=random.random() < 0.2, indent=random.choice((None, None, 2))
    )


def _document(text: str, neighbour: _Neighbour, random: Random) -> str:
    parts = [neighbour() for _ in range(random.randint(1, 3))]
    parts.insert(random.randint(0, len(parts)), text)
    return "\n\n".join(parts)


def _paragraph(text: str, neighbour: _Neighbour, random: Random) -> str:
    before, behind = random.choice(((True, True), (True, False), (False, True)))
    return " ".join([neighbour()] * before + [text] + [neighbour()] * behind)


def _page(text: str, neighbour: _Neighbour, random: Random) -> str:
    tag = random.choice(("p", "div", "li", "td", "span"))
    shown = f"<p>{neighbour()}</p><{tag}>{text}</{tag}><p>{neighbour()}</p>"
    return f'<html><body><div class="main">{shown}</div></body></html>'


def _table(text: str, neighbour: _Neighbour, random: Random) -> str:
    cell, other = (one.replace('"', '""') for one in (text, neighbour()[:100]))
    return f'id,name,comment\n1,Kim,"{other}"\n2,Lou,"{cell}"\n3,Max,ok\n'


def _mail(text: str, neighbour: _Neighbour, random: Random) -> str:
    middle = f"{neighbour()}\n\n{text}" if random.random() < 0.5 else text
    head = "From: kim@example.org\nTo: lou@example.org\nSubject: our meeting"
    return f"{head}\n\nHello Lou,\n\n{middle}\n\nBest regards\nKim"


def _log(text: str, neighbour: _Neighbour, random: Random) -> str:
    return f'2025-03-04 10:12:01 INFO request id=4711 status=200\n2025-03-04 10:12:02 INFO comment="{text}"\n'


PLACES = (_record, _record, _document, _document, _paragraph, _page, _table, _mail, _log)
