"""The check of addresses must be able to fail."""

from pathlib import Path

import pytest

from citewell.domain import Block, Book, Page, Section
from tests.ingest.formats.built_site import check, cut, read_built

PAGE = """\
<html><head><link rel="canonical" href="https://x.y/a"></head><body><nav>Menu</nav><main>
<h1 id="title">Title</h1><p>Top of it.</p><h2 id="wick">Wick</h2><p>First wick.</p>
<blockquote><h3 id="nested">Nested</h3><p>Quoted.</p></blockquote><p>After the quote.</p>
<h2 id="wick-1">Wick</h2><p>Second <code>wick</code>.</p></main></body></html>
"""


@pytest.mark.parametrize(
    ("url", "anchor", "text", "fault"),
    [
        ("https://x.y/a", "", "Top of it.", None),
        ("https://x.y/a", "wick", "First wick.", None),
        ("https://x.y/a", "wick", "> Quoted.", None),
        ("https://x.y/a", "wick", "After the quote.", None),
        ("https://x.y/a", "wick-1", "Second `wick`.", None),
        ("https://x.y/b", "", "Top of it.", "no such page"),
        ("https://x.y/a", "wick-2", "Second wick.", "no such heading"),
        ("https://x.y/a", "wick", "Second wick.", "'second wick' does not stand there"),
        ("https://x.y/a", "", "Menu", "'menu' does not stand there"),
        ("https://x.y/a", "wick-1", "$x$", None),
        ("https://x.y/a", "title", "$x$", "leads to"),
    ],
)
def test_a_chunk_is_right_where_its_words_stand_under_its_heading(
    tmp_path: Path, url: str, anchor: str, text: str, fault: str | None
) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    section = Section(path=("T", "Wick"), anchor=anchor, blocks=(Block(kind="prose", text=text),))
    page = Page(source="a.md", title="T", part="", url=url, sections=(section,))

    checked = check(
        cut(Book(title="T", kind="markdown", pages=(page,))), read_built(tmp_path, main="//main")
    )

    assert len(checked.wrong) == (1 if fault else 0)
    assert all((fault or "") in wrong for wrong in checked.wrong)
    assert str(checked) == f"1 chunks checked, {0 if fault else 1} correct"
