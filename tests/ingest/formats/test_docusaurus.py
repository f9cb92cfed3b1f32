"""Docusaurus sites: which files are pages, and what they are called."""

import pytest

from citewell.domain import SkippedFile
from citewell.ingest.formats.docusaurus.sidebars import page_slug, split_prefix
from citewell.ingest.formats.docusaurus.site import DocusaurusFormat
from tests.ingest.formats.docusaurus_site import CONFIG, EMPTY, OPTIONS, config, docs, urls
from tests.ingest.ingest_helpers import WriteBook


def test_pages_are_those_that_the_patterns_of_the_site_leave(write_book: WriteBook) -> None:
    options = "include: ['**/*.md'], exclude: ['**/*.no.md', 'old/**'], numberPrefixParser: false"
    names = ("9-a.md", "b.mdx", "c.no.md", "old/d.md", "_e/f.md", "10-g/h.md")
    site = write_book(
        {
            CONFIG: config(presets=docs(options)),
            **{f"docs/{name}": "Text." for name in names},
        }
    )

    assert urls(site) == ["/docs/10-g/h", "/docs/9-a", "/docs/_e/f"]


@pytest.mark.parametrize(
    ("name", "front_matter", "slug"),
    [
        ("lens.md", {}, "/lens"),
        ("02-lamps/03-lens.mdx", {}, "/lamps/lens"),
        ("02-lamps/03-lens.md", {"slug": "/optics"}, "/optics"),
        ("02-lamps/03-lens.md", {"slug": "optics"}, "/lamps/optics"),
        ("02-lamps/03-lens.md", {"slug": "./optics/"}, "/lamps/optics/"),
        ("02-lamps/03-lens.md", {"slug": "../optics"}, "/optics"),
        ("02-lamps/03-lens.md", {"slug": ""}, "/lamps/lens"),
        ("02-lamps/03-lens.md", {"slug": 7}, "/lamps/lens"),
        ("02-lamps/03-lens.md", {"id": "glass"}, "/lamps/glass"),
        ("index.md", {}, "/"),
        ("02-lamps/index.md", {}, "/lamps/"),
        ("02-lamps/index.md", {"id": "lamps-home"}, "/lamps/"),
        ("02-lamps/README.md", {}, "/lamps/"),
        ("lamps/Lamps.md", {}, "/lamps/"),
        ("02-lamps/01-index.md", {}, "/lamps/index"),
        ("2024-01-15-log.md", {}, "/2024-01-15-log"),
    ],
)
def test_a_page_has_the_slug_that_docusaurus_gives_it(
    name: str, front_matter: dict[str, object], slug: str
) -> None:
    assert page_slug(name, front_matter) == slug


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("02-control", (2, "control")),
        ("3. Control", (3, "Control")),
        ("003_control", (3, "control")),
        ("control", (None, "control")),
        ("2024-01-15-log", (None, "2024-01-15-log")),
        ("21-10-notes", (None, "21-10-notes")),
        ("1.2-release", (None, "1.2-release")),
        ("7", (None, "7")),
        ("7-", (None, "7-")),
    ],
)
def test_a_number_before_a_name_is_a_position_unless_it_is_a_date_or_a_version(
    name: str, expected: tuple[float | None, str]
) -> None:
    assert split_prefix(name) == expected


def test_a_page_is_named_by_its_title_its_heading_or_its_file(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/01-a.md": "---\ntitle: Title\n---\n# Heading\n\nText.",
            "docs/02-b.md": "# Heading\n\nText.",
            "docs/03-c.md": "Text.",
            "docs/04-part/d.md": "Text.",
            "docs/04-part/_category_.yml": "label: The part",
        }
    )

    pages = DocusaurusFormat().read(site, OPTIONS).pages

    assert [(page.title, page.part) for page in pages] == [
        ("Title", ""),
        ("Heading", ""),
        ("c", ""),
        ("d", "The part"),
    ]


def test_pages_that_are_not_published_are_left_out(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.md": "A.",
            "docs/draft.md": "---\ndraft: true\n---\nD.",
            "docs/hidden.md": "---\nunlisted: true\n---\nU.",
            "docs/_partials/p.md": "P.",
            "docs/_part.mdx": "P.",
            "docs/broken.mdx": "{/* never closed",
            "blog/post.md": "B.",
        }
    )

    book = DocusaurusFormat().read(site, OPTIONS)

    assert [page.source for page in book.pages] == ["docs/a.md"]
    assert book.skipped == (
        SkippedFile(
            source="docs/broken.mdx", reason="the comment opened in line 1 is never closed"
        ),
        SkippedFile(source="docs/draft.md", reason="is draft", failed=False),
        SkippedFile(source="docs/hidden.md", reason="is unlisted", failed=False),
    )


def test_the_docs_folder_stands_for_its_site(write_book: WriteBook) -> None:
    site = write_book({CONFIG: config(url="'https://a.example'"), "docs/a.md": "A."})
    reader = DocusaurusFormat()

    assert reader.matches(site)
    assert reader.matches(site / "docs")
    assert reader.read(site / "docs", OPTIONS) == reader.read(site, OPTIONS)


@pytest.mark.parametrize("other", ["blog", "docs/part", "README.md"])
def test_other_parts_of_a_site_do_not_stand_for_it(write_book: WriteBook, other: str) -> None:
    site = write_book({CONFIG: EMPTY, "docs/part/a.md": "A.", "blog/b.md": "B.", "README.md": "R."})

    assert not DocusaurusFormat().matches(site / other)


def test_the_pages_may_lie_beside_the_site(write_book: WriteBook) -> None:
    folder = write_book(
        {
            f"web/{CONFIG}": config(presets=docs("path: '../docs', routeBasePath: '/'")),
            "docs/a.md": "A.",
            "docs/part/_category_.yml": "label: P",
        }
    )
    reader = DocusaurusFormat()

    assert [page.source for page in reader.read(folder / "web", OPTIONS).pages] == ["../docs/a.md"]
    assert [file.name for file in reader.files(folder / "web")] == [
        CONFIG,
        "../docs/part/_category_.yml",
        "../docs/a.md",
    ]


def test_every_file_that_decides_what_the_book_says_is_listed(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.md": "A.",
            "docs/part/b.mdx": "B.",
            "docs/part/_category_.json": "{}",
            "package.json": "{}",
        }
    )

    names = [file.name for file in DocusaurusFormat().files(site)]

    assert names == [CONFIG, "docs/part/_category_.json", "docs/a.md", "docs/part/b.mdx"]
