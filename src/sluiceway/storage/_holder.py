"""Who holds something in a database, as text that another process can read."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from sluiceway._types import new_id

__all__ = ["holder_is_gone", "holder_token"]


def holder_token(prefix: str = "claim") -> str:
    """Return a new token that names this machine and process.

    Args:
        prefix: What the token begins with.
    """
    return f"{_place()}/{os.getpid()}/{new_id(prefix)}"


def _place() -> str:
    """Return what tells apart where process ids mean the same; a name alone does not, containers may share it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{socket.gethostname()}/{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return socket.gethostname()


def holder_is_gone(token: str) -> bool:
    """Whether the process that a token names ran on this machine and has ended.

    Args:
        token: What `holder_token` returned.
    """
    host, _, rest = token.rpartition("/")[0].rpartition("/")
    if host != _place() or not rest.isascii() or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
