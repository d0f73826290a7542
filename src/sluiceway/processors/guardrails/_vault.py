"""`PIIVault`: what placeholders stand for, kept in memory and shown to nobody."""

# The state of a run is where a vault keeps the book of that run.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from sluiceway.errors import ConfigurationError
from sluiceway.messages import Message
from sluiceway.processors._contexts import HookContext
from sluiceway.processors.detectors import Finding, Span, unite
from sluiceway.processors.guardrails._options import SURFACES, checked_flags, checked_one_of, checked_size
from sluiceway.processors.guardrails._scan import Scan
from sluiceway.tools import Tool, ToolContext

__all__ = ["PLACEHOLDER", "PIIVault", "RestoringTool", "VaultBook", "checked_vault"]

VaultScope: TypeAlias = Literal["run", "thread"]

PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]{0,40}_[0-9]{1,6}\]")
_WORD = re.compile(r"\w")


class VaultBook:
    """The placeholders of one run or thread. Safe to use from several tasks and threads."""

    __slots__ = ("_hiding", "_lock", "_numbers", "_placeholders", "_taken", "_values")

    def __init__(self, messages: list[Message]) -> None:
        self._lock = threading.Lock()
        self._placeholders: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._hiding: _Hiding | None = None
        self._taken: set[str] = set()
        self.note(messages)

    def note(self, messages: Iterable[Message] = (), value: Any = None) -> None:
        """Note what looks like a placeholder in messages, or in a tool's value.

        What is written there already, by the user or from another run, is not given out: it would
        be taken for a value of this one.
        """
        taken: set[str] = set()
        scan = Scan(lambda text: taken.update(PLACEHOLDER.findall(text)) or (), lambda _, value: value)
        for message in messages:
            scan.message(message, SURFACES)
        scan.value(value)
        with self._lock:
            self._taken |= taken

    def placeholder(self, type_: str, value: str) -> str:
        """Return the placeholder of a value: the same value has always the same."""
        with self._lock:
            known = self._placeholders.get((type_, value))
            if known is not None:
                return known
            name = re.sub(r"[^A-Z0-9]+", "_", type_.upper()).strip("_")
            name = name[:40] if name[:1].isalpha() else f"X_{name}"[:40]
            while True:
                number = self._numbers[name] = self._numbers.get(name, 0) + 1
                made = f"[{name}_{number}]"
                if made not in self._taken and made not in self._values:
                    break
            self._placeholders[type_, value] = made
            self._values[made] = value
            self._hiding = None
            return made

    def value(self, placeholder: str) -> str | None:
        """Return what a placeholder stands for; None if it is none of this book."""
        return self._values.get(placeholder)

    def knows(self, placeholder: str) -> bool:
        """Whether this book has given a placeholder out, or noted it."""
        return placeholder in self._values or placeholder in self._taken

    def restore(self, text: str) -> str:
        """Return a text with the placeholders of this book replaced by what they stand for."""
        return PLACEHOLDER.sub(lambda match: self._values.get(match.group(), match.group()), text)

    def hide(self, text: str) -> str:
        """Return a text with the values of this book replaced by their placeholders."""
        with self._lock:
            if not self._values:
                return text
            if self._hiding is None:
                self._hiding = _Hiding({value: made for (_, value), made in reversed(self._placeholders.items())})
            hiding = self._hiding
        return hiding.hide(text)

    def __repr__(self) -> str:
        return f"<VaultBook of {len(self._values)} values>"


class _Hiding:
    """Finds many values in a text, in a time that does not grow with how many there are.

    Args:
        placeholders: By value; a value is found where it stands alone, the longest first.
    """

    __slots__ = ("_lengths", "_placeholders", "_starts")

    def __init__(self, placeholders: Mapping[str, str]) -> None:
        self._placeholders = placeholders
        lengths: dict[str, set[int]] = {}
        for value in placeholders:
            if value:
                lengths.setdefault(value[0], set()).add(len(value))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}
        # An empty set of letters is no pattern; that of nothing but an empty value matches nowhere.
        self._starts = re.compile(rf"(?<!\w)[{re.escape(''.join(lengths))}]" if lengths else r"(?!)")

    def hide(self, text: str) -> str:
        """Return the text with placeholders in the place of the values."""
        out: list[str] = []
        position = 0
        for start in self._starts.finditer(text):
            at = start.start()
            if at < position:
                continue
            for length in self._lengths[text[at]]:
                end = at + length
                made = self._placeholders.get(text[at:end])
                if made is not None and not _WORD.match(text, end):
                    out += text[position:at], made
                    position = end
                    break
        return "".join(out) + text[position:]


class PIIVault:
    """Keeps what reversible placeholders stand for: in memory only, apart from the messages.

    Nothing of it is logged or stored; what it held is gone with the run, or with the process.

    Args:
        scope: `run`: each run has its own. `thread`: the runs of one thread share one, so that
            a value keeps its number from turn to turn; a run without a thread has its own.
        max_threads: How many threads are kept; the one that was not used for the longest goes.

    Raises:
        ConfigurationError: An option of a value that is not allowed.
    """

    __slots__ = ("_lock", "_threads", "max_threads", "scope")

    def __init__(self, scope: VaultScope = "run", *, max_threads: int = 1000) -> None:
        checked_one_of("PIIVault", "scope", scope, ("run", "thread"))
        checked_size("PIIVault", "max_threads", max_threads)
        self.scope: VaultScope = scope
        self.max_threads = max_threads
        self._lock = threading.Lock()
        self._threads: OrderedDict[tuple[str | None, str], VaultBook] = OrderedDict()

    def book(self, ctx: HookContext) -> VaultBook:
        """Return the book of the run or thread that a hook runs in."""
        context = ctx.request_context
        thread = context.thread_id
        if self.scope == "run" or thread is None:
            state = ctx._scope.state_of(self)
            book: VaultBook | None = state.get("book")
            if book is None:
                book = state["book"] = VaultBook(list(ctx.message_list.all))
            return book
        key = (context.resource_id, thread)
        with self._lock:
            book = self._threads.get(key)
            if book is None:
                book = self._threads[key] = VaultBook(list(ctx.message_list.all))
                if len(self._threads) > self.max_threads:
                    self._threads.popitem(last=False)
            self._threads.move_to_end(key)
            return book

    def forget(self, thread_id: str, resource_id: str | None = None) -> None:
        """Drop what is kept of a thread.

        Args:
            thread_id: The thread.
            resource_id: Whose thread it is; None: nobody's.
        """
        with self._lock:
            self._threads.pop((resource_id, thread_id), None)

    def __repr__(self) -> str:
        return f"PIIVault({self.scope!r})"


class RestoringTool(Tool):
    """A tool that gets values where the model, the client and the store have placeholders.

    Args:
        inner: The tool.
        restore: What puts the values in.
    """

    __slots__ = ("_inner", "_restore")

    def __init__(self, inner: Tool, restore: Callable[[str], str]) -> None:
        super().__init__(inner.name, inner.description, inner.parameters, inner.run, inner.to_model_output)
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_restore", restore)

    async def call(self, args: Mapping[str, Any], context: ToolContext | None = None) -> Any:
        """Run the tool with the values; see `Tool.call`."""
        restore: Callable[[str], str] = object.__getattribute__(self, "_restore")
        inner: Tool = object.__getattribute__(self, "_inner")
        scan = Scan(_placeholders, lambda _, text: restore(text), look_at_keys=lambda _: (), opens_json=True)
        return await inner.call(scan.value(dict(args)), context)


def _placeholders(text: str) -> list[Finding]:
    return unite(Span(*match.span(), "placeholder") for match in PLACEHOLDER.finditer(text))


def checked_vault(owner: str, vault: Any, *, reversible: bool) -> PIIVault | None:
    """Return the vault of a guardrail; None where nothing is to be restored.

    Raises:
        ConfigurationError: It is none, or nothing is reversible.
    """
    checked_flags(owner, reversible=reversible)
    if vault is not None and not isinstance(vault, PIIVault):
        raise ConfigurationError(f"{owner}: vault={vault!r} is not allowed; give a PIIVault, or None")
    if vault is not None and not reversible:
        raise ConfigurationError(f"{owner}: a vault is for reversible=True")
    return (vault or PIIVault()) if reversible else None
