"""The colours of a picture, in light and in dark."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from sluiceway.errors import ConfigurationError

__all__ = ["Paint", "Theme"]

Theme: TypeAlias = Literal["auto", "light", "dark"]
"""The colours of a picture; `auto` follows the reader's light or dark."""

_COLOURS: Final = {
    "ground": ("#ffffff", "#10141c"),
    "ink": ("#172033", "#edf1f8"),
    "muted": ("#5a6579", "#a7b2c5"),
    "line": ("#7d889c", "#8792a8"),
    "card": ("#ffffff", "#1c2330"),
    "edge": ("#c9d1de", "#3c475b"),
    "frame": ("#5470b8", "#8fa8e8"),
    "processor": ("#2f55d4", "#8facff"),
    "function": ("#0a7a73", "#4fd1c5"),
    "agent": ("#7338c0", "#c39bff"),
    "tool": ("#a85d06", "#f2b25c"),
    "step": ("#4d5a73", "#b3bfd4"),
    "map": ("#4d5a73", "#b3bfd4"),
    "model": ("#bb2a6a", "#ff93c1"),
    "memory": ("#18764a", "#5fd39b"),
    "plain": ("#4d5a73", "#b3bfd4"),
    "good": ("#18764a", "#5fd39b"),
    "warn": ("#9a5b00", "#f2b25c"),
    "bad": ("#c22332", "#ff8a90"),
    "info": ("#2f55d4", "#8facff"),
}
_SHARED: Final = {"dynamic": "step", "sleep": "map", "start": "step", "end": "step", "fork": "step",
                  "join": "step", "branch": "tool", "loop": "agent", "foreach": "agent"}  # fmt: skip


class Paint:
    """Gives colours as attributes that every viewer understands, and as classes for a style sheet.

    Args:
        theme: `light`, `dark`, or `auto`: light, and dark where the viewer asks for it.

    Raises:
        ConfigurationError: Another theme.
    """

    __slots__ = ("_auto", "_column")

    def __init__(self, theme: Theme) -> None:
        if theme not in ("auto", "light", "dark"):
            raise ConfigurationError(f"theme={theme!r} is not allowed; give 'auto', 'light' or 'dark'")
        self._auto = theme == "auto"
        self._column = 1 if theme == "dark" else 0

    def fill(self, name: str) -> str:
        """Return the attributes of something that is filled."""
        name = _SHARED.get(name, name)
        colour = f'fill="{_COLOURS[name][self._column]}"'
        return f'class="f-{name}" {colour}' if self._auto else colour

    def stroke(self, name: str, *, fill: str = "none") -> str:
        """Return the attributes of something that is drawn with a line, and maybe filled."""
        name, fill = _SHARED.get(name, name), _SHARED.get(fill, fill)
        colour = f'stroke="{_COLOURS[name][self._column]}"'
        inside = "none" if fill == "none" else _COLOURS[fill][self._column]
        classes = f"s-{name}" if fill == "none" else f"s-{name} f-{fill}"
        both = f'fill="{inside}" {colour}'
        return f'class="{classes}" {both}' if self._auto else both

    def sheet(self) -> str:
        """Return the style sheet that turns the picture dark, or nothing."""
        if not self._auto:
            return ""
        rules = "".join(
            f"svg.sluiceway .f-{name}{{fill:{dark}}}svg.sluiceway .s-{name}{{stroke:{dark}}}"
            for name, (_, dark) in _COLOURS.items()
        )
        return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
