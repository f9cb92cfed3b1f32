import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.ingest.formats.sphinx.include_context import IncludeContext
from citewell.ingest.formats.sphinx.myst import parse_myst
from citewell.ingest.formats.sphinx.toctree import Toctree
from citewell.options import IngestOptions


def blocks(text: str, folder: Path | None = None) -> list[tuple[str, str]]:
    root = folder or Path(tempfile.gettempdir()) / "no-such-book"
    around = IncludeContext(root=root, page=root / "a.md", options=IngestOptions())
    page = parse_myst(text, around).page
    return [(b.kind, b.text) for s in page.sections for b in s.blocks]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("```{note}\nMind.\n```", [("admonition", ":::note\nMind.")]),
        (":::{tip}\nMind.\n:::", [("admonition", ":::tip\nMind.")]),
        (
            "````{admonition} Look\n:class: tip\n\n```{code-block} py\n:linenos:\nx\n```\n````",
            [("admonition", ":::admonition[Look]\n\n```py\nx\n```")],
        ),
        ("```{math}\n:label: e\na = b\n```", [("math", "$$\na = b\n$$")]),
        ("```{index} a, b\n```\n\nText.", [("prose", "Text.")]),
        ("```{figure} a.png\n:alt: A lamp\n:name: f\n\nCaption.\n```", None),
        ("```{code-cell} ipython3\n---\ntags: [x]\n---\nx\n```", [("code", "```python\nx\n```")]),
        ("```{code-cell}\n:tags: [remove-cell]\nx\n```\n\nText.", [("prose", "Text.")]),
        ("```{versionadded} 1.2 So.\n```", None),
        ("```{dropdown} The title\nText.\n```", [("prose", "**The title**:"), ("prose", "Text.")]),
        ("```{prf:theorem} Name\nText.\n```", [("admonition", ":::theorem[Name]\nText.")]),
        ("```{mermaid}\na --> b\n```", [("code", "```mermaid\na --> b\n```")]),
        (
            "```{doctest} group\n:options: +SKIP\n>>> type(1)\n<class 'int'>\n```",
            [("code", "```pycon\n>>> type(1)\n<class 'int'>\n```")],
        ),
        ("```{made-up}\nText.\n```", [("prose", "Text.")]),
        ("```{eval-rst}\n.. note:: *Mind*.\n```", [("admonition", ":::note\n*Mind*.")]),
        ("```py\n{ref}`x`\n(a)=\n```", [("code", "```py\n{ref}`x`\n(a)=\n```")]),
        (":::note\nPlain.\n:::", [("admonition", ":::note\nPlain.")]),
        ("% a comment\n\n+++\n\nText.", [("prose", "Text.")]),
        ("{term}`oil`, {math}`x`, {sub}`2`, {kbd}`A`", [("prose", "oil, $x$, 2, `A`")]),
        ("{ref}`words <label>` and {py:func}`~a.b`", [("prose", "words and `b()`")]),
        (
            "---\nmyst:\n  substitutions:\n    oil: whale oil\n---\n\nBurns {{ oil }} {{ no }}.",
            [("prose", "Burns whale oil {{ no }}.")],
        ),
        ("- item\n\n  ```{note}\n  In.\n  ```", None),
    ],
)
def test_directives_and_roles_become_markdown(
    source: str, expected: list[tuple[str, str]] | None
) -> None:
    found = blocks(source)

    if expected is None:
        # Where the words stand matters less than that they do.
        words = {"Caption.", "So.", "In.", "1.2"}
        assert any(word in text for _, text in found for word in words)
    else:
        assert found == expected


def test_toctrees_targets_and_front_matter_are_taken_out_of_the_text() -> None:
    parsed = parse_myst(
        "---\ntitle: It's\n---\n\n```{toctree}\n:glob:\n:caption: Part\n\na*\nb\n```\n\n"
        "(label)=\n## Lens ##\n\nText.\n"
    )

    assert parsed.toctrees == (Toctree(entries=("a*", "b"), caption="Part", glob=True),)
    assert parsed.labels == {"label": "Lens"}
    assert [(s.path, s.anchor) for s in parsed.page.sections] == [(("It's", "Lens"), "label")]


def test_files_of_the_book_are_taken_in(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("From *b*.\n\n<!-- end -->\n\nNot this.")
    (tmp_path / "c.rst").write_text("From **c**.")
    (tmp_path / "x.py").write_text("one\ntwo\nthree\n")

    found = blocks(
        "```{include} b.md\n:end-before: <!-- end -->\n```\n\n```{include} c.rst\n```\n\n"
        "```{literalinclude} x.py\n:lines: 2\n```\n\n```{include} ../out.md\n```\n",
        tmp_path,
    )

    assert [text for _, text in found] == ["From *b*.", "From **c**.", "```py\ntwo\n```"]


MARKS = ["```", "`", ":::", "{note}", "{ref}`x`", "(a)=", "# ", "---", "$", "$$", "[^1]", "|", "\n"]


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=6), max_size=30).map("".join))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    try:
        found = blocks(text)
    except CitewellError:
        return
    assert all(block.strip() for _, block in found)
