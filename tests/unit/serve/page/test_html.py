"""HTML is escaped unless it was made here."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from sluiceway.serve.page._html import Markup, badge, el, joined, shown, table

pieces = st.sampled_from(["<b>", "</p>", "<!--", "<script>", "&lt;", "&", '"', "'", "/>", "]]>", " x=1", "\n", "\r"])
texts = st.lists(pieces | st.characters(exclude_categories=[]), max_size=12).map("".join)


class Parsed(HTMLParser):
    """The tags, attributes and texts of a document."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(text=texts, attribute=texts)
def test_any_text_comes_out_as_that_text_and_as_nothing_else(text: str, attribute: str) -> None:
    parsed = Parsed(el("p", {"title": attribute}, text))
    assert parsed.tags == [("p", [("title", shown(attribute))])]
    assert parsed.text == shown(text)


def test_what_was_made_here_is_not_escaped_again() -> None:
    assert el("p", None, "a<b", el("b", {"hidden": True, "id": None, "lang": False}, "x"), [badge("passed"), None]) == (
        '<p>a&lt;b<b hidden>x</b><span class="badge passed">passed</span></p>'
    )
    assert el("input", {"value": '"'}) == '<input value="&quot;">'
    assert joined(["<", Markup("<br>")]) == "&lt;<br>"


def test_what_steers_a_reader_is_shown_as_a_mark() -> None:
    assert shown("a\u202eb\x00c\ud800\n") == "a\ufffdb\ufffdc\ufffd\n"


def test_a_table() -> None:
    made = table(("a", "b"), [("<", "1")], numbers=(1,))
    assert made == (
        '<div class="scroll"><table><thead><tr><th>a</th><th class="n">b</th></tr></thead>'
        '<tbody><tr><td data-th="a">&lt;</td><td class="n" data-th="b">1</td></tr></tbody></table></div>'
    )
