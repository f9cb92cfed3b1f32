"""What the report of an ingest says is so, and tells what to do."""

import zipfile
from pathlib import Path

import pytest

from citewell.errors import UnsupportedSource
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook, chunks, ingest_lamps

SCRIPT = "javascript:alert(1)//x"
PAGE = "# A\n\nText of the page.\n"


@pytest.mark.parametrize(
    ("files", "setting"),
    [
        (
            {"docusaurus.config.js": f"module.exports = {{url: '{SCRIPT}'}};", "docs/a.md": PAGE},
            "url",
        ),
        ({"mkdocs.yml": f"site_url: {SCRIPT}", "docs/a.md": PAGE}, "site_url"),
        (
            {
                "book.toml": f'[output.html]\nsite-url = "{SCRIPT}"',
                "src/SUMMARY.md": "[A](a.md)",
                "src/a.md": PAGE,
            },
            "site-url",
        ),
        ({"conf.py": f"html_baseurl = '{SCRIPT}'", "index.rst": "A\n=\n\nText.\n"}, "html_baseurl"),
        (
            {"_toc.yml": "root: a", "_config.yml": f"html: {{baseurl: '{SCRIPT}'}}", "a.md": PAGE},
            "baseurl",
        ),
        ({"a.jsonl": '{"text": "Text.", "url": "java\\tscript:alert(1)"}'}, "its URL"),
        (
            {"a.md": f"{PAGE}\n[Click]({SCRIPT}) or <file:///etc/passwd>.\n"},
            "a link",
        ),
    ],
    ids=["docusaurus", "mkdocs", "mdbook", "sphinx", "notebooks", "jsonl", "link"],
)
def test_addresses_that_are_none_of_the_web_are_left_out_and_told(
    write_book: WriteBook, library: Path, files: dict[str, str], setting: str
) -> None:
    report = ingest_lamps(write_book(files), library)

    read = chunks(library)
    assert read
    assert not any("script:" in chunk.url or "](java" in chunk.text for chunk in read)
    assert any(setting in skip.reason and not skip.failed for skip in report.skipped)


def test_the_address_of_the_site_is_one_of_the_web() -> None:
    with pytest.raises(ValueError, match="https://"):
        IngestOptions(site_url=SCRIPT)


def test_links_to_any_element_of_an_epub_are_sound(tmp_path: Path, library: Path) -> None:
    body = (
        '<p>See <a href="b.xhtml#span">there</a>, <a href="#note">note</a>, '
        '<a href="b.xhtml#nowhere">nowhere</a>.</p><aside id="note"><p>Note.</p></aside>'
    )
    path = tmp_path / "book.epub"
    items = "".join(
        f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in "ab"
    )
    spine = '<itemref idref="a"/><itemref idref="b"/>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "b.opf", f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
        )
        archive.writestr("a.xhtml", f"<html><body><h1>A</h1>{body}</body></html>")
        archive.writestr(
            "b.xhtml", '<html><body><h1>B</h1><p>A <span id="span">word</span>.</p></body></html>'
        )

    links = ingest_lamps(path, library).broken_links

    assert [link.target for link in links] == ["b.xhtml#nowhere"]


def test_links_to_what_extensions_and_themes_make_are_not_called_broken(
    write_book: WriteBook, library: Path
) -> None:
    page = (
        "# Settings\n\nSee [^1], [the note](#fn:1), [a tab](#__tabbed_1_2), [4.6](#4.6.0),\n"
        "[option](#+type:note), [setting](#blog.enabled), [word](#word), [gone](#gone).\n\n"
        "A word{ #word }.\n\n[^1]: A note.\n\n"
        "#### <!-- md:setting blog.enabled -->\n\nWhether there is a blog.\n"
    )
    book = write_book({"mkdocs.yml": "site_url: https://x.example", "docs/a.md": page})

    report = ingest_lamps(book, library)

    assert [link.target for link in report.broken_links] == ["#gone"]
    last = chunks(library)[-1]
    assert (last.section, last.url) == ("blog.enabled", "https://x.example/a/#blog.enabled")


def test_the_file_is_named_that_stands_behind_another_of_the_same_page(
    write_book: WriteBook, library: Path
) -> None:
    config = "module.exports = {url: 'https://x.example'};"
    book = write_book(
        {"docusaurus.config.js": config, "docs/intro.md": PAGE, "docs/intro.mdx": "# B\n\nOther.\n"}
    )

    report = ingest_lamps(book, library)

    assert [(skip.source, skip.reason) for skip in report.skipped] == [
        ("docs/intro.md", "docs/intro.mdx is the same page")
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.md": PAGE, ".vitepress/config.ts": ""}, "VitePress"),
        ({"src/content/docs/a.md": PAGE, "astro.config.mjs": ""}, "Astro"),
        ({"content/a.md": PAGE, "hugo.toml": ""}, "Hugo"),
        ({"docs/a.md": PAGE, "zensical.toml": ""}, "Zensical"),
        (
            {"book.toml": "", "src/SUMMARY.md": "[A](a.md)", "src/a.md": PAGE},
            "CITEWELL_INGEST__SITE_URL",
        ),
    ],
    ids=["vitepress", "starlight", "hugo", "zensical", "mdbook"],
)
def test_addresses_that_cannot_be_right_are_told_with_their_cure(
    write_book: WriteBook, library: Path, files: dict[str, str], said: str
) -> None:
    (note,) = ingest_lamps(write_book(files), library).notes

    assert said in note


@pytest.mark.parametrize(
    ("name", "cure"), [("a.qmd", "quarto render"), ("a.adoc", "asciidoctor"), ("a.docx", "pandoc")]
)
def test_a_book_that_cannot_be_read_is_refused_with_a_hint(
    write_book: WriteBook, library: Path, name: str, cure: str
) -> None:
    with pytest.raises(UnsupportedSource, match=cure):
        ingest_lamps(write_book({name: "Text."}), library)
