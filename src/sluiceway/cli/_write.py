"""`write`: a text into the file that an option named."""

from __future__ import annotations

from pathlib import Path

from sluiceway.errors import ConfigurationError

__all__ = ["write"]


def write(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        ConfigurationError: It cannot be written; the text says why.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror}") from error
