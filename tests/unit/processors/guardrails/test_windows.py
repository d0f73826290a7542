"""`Windows`: what is cut, what is held, what goes out."""

from __future__ import annotations

import itertools
import time

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.processors.detectors import Finding, PIIRules, Release, Span
from sluiceway.processors.guardrails._windows import Window, Windows, WindowSize


def run(windows: Windows, pieces: list[str], word: str = "xyz") -> tuple[list[Window], str, list[tuple[int, int]]]:
    """Return the windows, the released text, and where the word was found."""
    seen: list[Window] = []
    out, found = "", list[tuple[int, int]]()
    for step in [*((piece, False) for piece in pieces), ("", True)]:
        for window in windows.flush() if step[1] else windows.feed(step[0]):
            seen.append(window)
            start = window.text.find(word)
            spans = [] if start < 0 else [Span(window.offset + start, window.offset + start + len(word), "word")]
            windows.settle(window, spans)
        release = windows.release()
        found += [(release.offset + f.start, release.offset + f.end) for f in release.findings]
        out += release.text
    return seen, out, found


def test_windows_are_counted_from_the_start_and_show_what_was_before() -> None:
    seen, out, _ = run(Windows(WindowSize(4, 4)), ["abcdef", "ghij"])
    assert seen == [
        Window("abcd", 0, 0, 4),
        Window("abcdefgh", 0, 4, 8),
        Window("efghij", 4, 8, 10, last=True),
    ]
    assert out == "abcdefghij"


def test_what_may_go_on_stays_held() -> None:
    windows = Windows(WindowSize(4, 4, 4))
    (window,) = windows.feed("abcd")
    windows.settle(window, ())
    assert windows.release().length == 0
    (window,) = windows.feed("efgh")
    windows.settle(window, ())
    assert windows.release().text == "abcd"


def test_of_what_is_found_too_late_the_rest_counts() -> None:
    """Its beginning is out already; a detector that had seen only half of it did not know it."""
    windows = Windows(WindowSize(4, 4))
    (window,) = windows.feed("ab x")
    windows.settle(window, ())
    assert windows.release().text == "ab x"
    (window,) = windows.feed("yz c")
    windows.settle(window, [Span(3, 6, "word", 0.9, "rule")])
    assert windows.release() == Release(4, 4, "yz c", (Finding(0, 2, (Span(0, 2, "word", 0.9, "rule"),)),))


@given(st.text("xyz ", max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_cut_gives_the_same_windows_text_and_findings(text: str, places: list[int]) -> None:
    edges = [0, *sorted({min(p, len(text)) for p in places}), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    size = WindowSize(7, 7, 7)
    assert run(Windows(size), pieces) == run(Windows(size), [text])
    assert run(Windows(size), list(text))[1] == text


def test_rules_hold_along_with_windows() -> None:
    windows = Windows(WindowSize(5), PIIRules(["email"]).rules)
    _, out, found = run(windows, ["hello ann@x", ".org you"])
    assert (out, found) == ("hello ann@x.org you", [(6, 15)])


def test_a_long_delta_is_not_quadratic() -> None:
    def taken_s(size: int) -> float:
        windows = Windows(WindowSize(100))
        started = time.process_time()
        for window in windows.feed("a" * size):
            windows.settle(window, ())
            windows.release()
        return time.process_time() - started

    taken_s(1000)
    assert min(taken_s(2_000_000) for _ in range(3)) < 16 * min(taken_s(250_000) for _ in range(3)) + 0.05
