"""`UnicodeNormalizer`: one normal form for what comes in."""

from __future__ import annotations

from sluiceway.processors._base import OnError, OnViolation, Processor
from sluiceway.processors._contexts import InputContext
from sluiceway.processors._effects import Effects
from sluiceway.processors.detectors import COMPATIBILITY, Compatibility, normalize_text
from sluiceway.processors.guardrails._options import checked_flags, checked_one_of

__all__ = ["UnicodeNormalizer"]


class UnicodeNormalizer(Processor):
    """Brings the text of the input into one normal form, so that look-alikes hide nothing.

    Hook: `process_input`. Reads and writes messages; never fails a call and never aborts.
    List it before detectors: without it `bob<zero-width space>@corp.test` is not found.

    Text is composed (NFC). Letters, digits and punctuation that only look different (full
    width, mathematical, circled) become the plain ones; superscripts, fractions and units
    stay. Characters without width, soft hyphens among them, are taken out. Line breaks and
    indentation stay as they are.

    Args:
        strip_control_chars: Also take out control characters, those that change the
            direction of writing, and tags.
        preserve_emojis: Leave emoji sequences (flags, skin tones, families) whole.
        collapse_whitespace: Make one space of several inside a line, never at its start.
        trim: Take white space off both ends of each text.
        compatibility: `letters` as said above, `full` for NFKC, `none`.
        id: Unique within a list.
        on_error: What an exception does; see `Processor`.

    Raises:
        ConfigurationError: An option of a value that is not allowed.

    Examples:
        >>> UnicodeNormalizer(trim=False).id
        'unicode-normalizer'
    """

    def __init__(
        self,
        *,
        strip_control_chars: bool = False,
        preserve_emojis: bool = True,
        collapse_whitespace: bool = True,
        trim: bool = True,
        compatibility: Compatibility = "letters",
        id: str = "unicode-normalizer",  # noqa: A002 - the field's own name
        on_violation: OnViolation | None = None,
        on_error: OnError = "raise",
    ) -> None:
        super().__init__(id, on_violation=on_violation, on_error=on_error)
        checked_flags(
            id,
            strip_control_chars=strip_control_chars,
            preserve_emojis=preserve_emojis,
            collapse_whitespace=collapse_whitespace,
            trim=trim,
        )
        checked_one_of(id, "compatibility", compatibility, COMPATIBILITY)
        self.strip_control_chars = strip_control_chars
        self.preserve_emojis = preserve_emojis
        self.collapse_whitespace = collapse_whitespace
        self.trim = trim
        self.compatibility: Compatibility = compatibility
        self.effects = Effects(reads=("messages",), writes=("messages",), aborts=False)

    def process_input(self, ctx: InputContext) -> None:
        """Normalise the texts of the user's messages, attachments included."""
        for message in ctx.messages:
            if message.role != "user":
                continue
            for part in message.text_parts:
                new = self.normalize(part.text)
                if new != part.text:
                    part.text = new

    def normalize(self, text: str) -> str:
        """Return a text as this processor would leave it."""
        return normalize_text(
            text,
            strip_control_chars=self.strip_control_chars,
            preserve_emojis=self.preserve_emojis,
            collapse_whitespace=self.collapse_whitespace,
            trim=self.trim,
            compatibility=self.compatibility,
        )
