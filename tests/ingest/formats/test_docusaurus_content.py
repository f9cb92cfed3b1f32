"""Docusaurus sites: partials, headings and MDX."""

import time

import pytest

from citewell.ingest.formats.docusaurus.pages import heading_text
from citewell.ingest.formats.docusaurus.site import DocusaurusFormat
from tests.ingest.formats.docusaurus_site import CONFIG, EMPTY, config, read, sources, text_of
from tests.ingest.ingest_helpers import WriteBook


def test_partials_are_read_where_they_are_shown(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.mdx": "import Part from './_part.mdx';\nimport Same from '@site/parts/x.md'\n\n"
            '## Wick\n\nBefore.\n\n<Part lamp="arc" />\n\n## Wick\n\n'
            "- In a list:\n\n  <Same/>\n\nShown `<Part />` here.\n\n```jsx\n<Part />\n```\n",
            "docs/_part.mdx": "## Wick\n\nThe {props.lamp} lamp.\n\n## Wick\n\nAgain.\n",
            "parts/x.md": "One.\n\nTwo.\n",
        }
    )

    page = read(site).pages[0]

    assert [(s.anchor, [b.text for b in s.blocks]) for s in page.sections] == [
        ("wick", ["Before."]),
        ("wick", ["The arc lamp."]),
        ("wick-1", ["Again."]),
        (
            "wick-1",
            [
                "- In a list:\n\n  One.\n\n  Two.",
                "Shown `<Part />` here.",
                "```jsx\n<Part />\n```",
            ],
        ),
    ]
    listed = {file.name for file in DocusaurusFormat().files(site)}
    assert {"docs/_part.mdx", "parts/x.md"} <= listed


def test_partials_that_are_missing_outside_or_circular_are_named(write_book: WriteBook) -> None:
    site = write_book(
        {
            f"site/{CONFIG}": EMPTY,
            "site/docs/a.mdx": "import A from './_a.mdx';\nimport B from './_gone.mdx';\n"
            "import C from '../../out.mdx';\n\nText.\n\n<A />\n\n<B />\n\n<C />\n",
            "site/docs/_a.mdx": "import A from './_a.mdx';\n\nInner.\n\n<A />\n",
            "out.mdx": "Secret.",
        }
    )

    book = read(site / "site")

    assert text_of(book) == "Text.\n\nInner."
    assert [(s.reason, s.failed) for s in book.skipped] == [
        ("includes itself (included by docs/a.mdx)", True),
        ("does not exist (included by docs/a.mdx)", False),
        ("lies outside the book's folder (included by docs/a.mdx)", True),
    ]


@pytest.mark.parametrize("shown", ["<Part>", "<Part", "<Part a={", '<Part a="'])
def test_partials_that_never_close_take_no_time(write_book: WriteBook, shown: str) -> None:
    start = "import Part from './_part.mdx';\n\nText.\n\n"
    site = write_book(
        {CONFIG: EMPTY, "docs/a.mdx": start + f"{shown}\n\n" * 5_000, "docs/_part.mdx": "P."}
    )

    started = time.process_time()
    assert sources(site) == ["docs/a.mdx"]
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("source", "mdx", "text"),
    [
        ("`wick()` & *its* **care**", True, "wick() & its care"),
        ("A [link](x.md) ![alt *text*](y.png)", True, "A link alt text"),
        ("Badge <Tag a={{b: 1}} />", True, "Badge "),
        ("Value {a + b}", True, "Value a + b"),
        ("Value {a + b}", False, "Value {a + b}"),
        ("A <b>tag</b>", False, "A tag"),
        ("A *<b>tag</b>*", False, "A <b>tag</b>"),
        ("a:b std::vector 10:30 :smile:", True, "a std::vector 10:30 :smile:"),
        (':abbr[HTML]{title="x"} x', True, "HTML x"),
        ("AT&amp;T \\*x\\* ~~y~~ z[^1]", True, "AT&T *x* y z"),
        ("`<T>` and `{x}`", True, "<T> and {x}"),
        ("Two\nlines", True, "Two\nlines"),
    ],
)
def test_ids_are_made_of_what_docusaurus_sees_in_a_heading(
    source: str, mdx: bool, text: str
) -> None:
    assert heading_text(source, mdx=mdx) == text


def test_headings_inside_others_count_and_titles_have_no_ids(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.md": "# Wick\n\nTop.\n\n> ## Wick\n\n## Wick\n\nThird.\n\n# Other\n\nO.\n",
        }
    )

    sections = read(site).pages[0].sections

    assert [(s.anchor, s.blocks[-1].text) for s in sections] == [
        ("", "> ## Wick"),
        ("wick-2", "Third."),
        ("wick-2", "O."),
    ]


def test_ids_keep_their_case_where_the_site_says_so(write_book: WriteBook) -> None:
    markdown = "{anchors: {maintainCase: true}}"
    site = write_book({CONFIG: config(markdown=markdown), "docs/a.md": "## The Wick\n\nX."})

    assert read(site).pages[0].sections[0].anchor == "The-Wick"


@pytest.mark.parametrize(
    ("settings", "front_matter", "text"),
    [
        ({}, "", "A ."),
        ({"markdown": "{format: 'detect'}"}, "", "A {b}."),
        ({"markdown": "{format: 'md'}"}, "", "A {b}."),
        ({}, "---\nmdx:\n  format: md\n---\n", "A {b}."),
        ({}, "---\nmdx:\n  format: detect\n---\n", "A {b}."),
    ],
)
def test_braces_are_code_where_pages_are_mdx(
    write_book: WriteBook, settings: dict[str, str], front_matter: str, text: str
) -> None:
    site = write_book({CONFIG: config(**settings), "docs/a.md": f"{front_matter}A {{b}}."})

    assert text_of(read(site)) == text
