"""Which thread of an agent's memory a request goes on with, and whose it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sluiceway.serve._refusal import Refusal

__all__ = ["memory_of"]

_THREAD: Final = "x-sluiceway-thread"
_USER: Final = "x-sluiceway-user"
_NAME: Final = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


def memory_of(headers: Mapping[str, str], owner: str | None) -> dict[str, str] | None:
    """Return the thread and the resource that a request names, or None where it names none.

    The names that a client gives count among the client's own only: what is stored under a key
    is out of reach of every other, whatever names it tries.

    Args:
        headers: Of the request, names in lower case.
        owner: Who sends it, as its key says; None: callers cannot be told apart.

    Raises:
        Refusal: A name that cannot be one, a user without a thread, or nobody to keep a thread for.
    """
    thread, user = headers.get(_THREAD), headers.get(_USER)
    if thread is None and user is None:
        return None
    if thread is None:
        raise Refusal(400, f"{_USER} says whose the thread is that {_THREAD} names", param=_THREAD)
    for header, name in ((_THREAD, thread), (_USER, user)):
        if name is not None and not _NAME.fullmatch(name):
            raise Refusal(400, f"{header}: give 1 to 128 letters, digits, or any of . _ : @ -", param=header)
    if owner is None:
        text = "threads need keys: without SLUICEWAY_API_KEY the server cannot tell whose a thread is"
        raise Refusal(400, f"{_THREAD}: {text}", code="threads_need_keys", param=_THREAD)
    resource = owner if user is None else f"{owner}/{user}"
    return {"thread": f"{resource}/{thread}", "resource": resource}
