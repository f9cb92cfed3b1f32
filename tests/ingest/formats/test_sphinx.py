from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from citewell.ingest.detect import detect_format
from citewell.ingest.formats.sphinx.book import SphinxFormat
from citewell.ingest.formats.sphinx.conf import read_settings
from citewell.ingest.formats.sphinx.toctree import Toctree, join_docname, list_entries, matches
from citewell.ingest.pipeline import ingest
from citewell.options import IngestOptions
from tests.servers import HashEmbedder

OPTIONS = IngestOptions(site_url="https://x.y/")
WriteBook = Callable[[Mapping[str, str]], Path]


def page(title: str, *more: str) -> str:
    return "\n".join([title, "=" * len(title), "", f"About {title}.", "", *more]) + "\n"


def tree(*entries: str, options: str = "") -> str:
    return f".. toctree::\n{options}\n" + "\n".join(f"   {entry}" for entry in entries) + "\n"


def texts(folder: Path, source: str) -> list[str]:
    book = SphinxFormat().read(folder, OPTIONS)
    found = next(page for page in book.pages if page.source == source)
    return [block.text for section in found.sections for block in section.blocks]


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"conf.py": "", "index.rst": page("A")}, "sphinx"),
        ({"conf.py": "master_doc = 'home'", "home.md": "# A\n\nText."}, "sphinx"),
        ({"source/conf.py": "", "source/index.rst": page("A")}, "sphinx"),
        ({"conf.py": "", "source/index.rst": page("A")}, "sphinx"),
        ({"README.md": "# A", "docs/conf.py": "", "docs/index.rst": page("A")}, "sphinx"),
        ({"README.md": "# A", "doc/source/conf.py": "", "doc/source/index.md": "# A"}, "sphinx"),
        ({"index.rst": page("A", tree("b"))}, "sphinx"),
        ({"index.rst": page("A"), "a.md": "A."}, "markdown"),
        ({"conf.py": "", "a.md": "A."}, "markdown"),
        ({"conf.py": "", "_toc.yml": "root: index", "index.md": "# A\n\nText."}, "notebooks"),
    ],
)
def test_a_sphinx_book_is_known_by_its_configuration_or_its_toctree(
    write_book: WriteBook, files: dict[str, str], kind: str
) -> None:
    assert detect_format(write_book(files)).name == kind


def test_pages_stand_in_the_order_of_the_toctrees(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "conf.py": "project = 'Lamps'\nhtml_baseurl = 'https://a.example/'\n",
            "index.rst": page(
                "Home",
                tree("b", "Other name <a.rst>", options="   :caption: First\n   :hidden:\n"),
                tree("deep/*", "https://else.example", "missing", options="   :glob:\n"),
            ),
            "a.rst": page("A"),
            "b.rst": page("B", tree("c")),
            "c.rst": page("C", tree("b")),
            "deep/y.rst": page("Y"),
            "deep/x.rst": page("X", tree("more/z")),
            "deep/more/z.rst": page("Z"),
            "lost.rst": ":orphan:\n\n" + page("Lost"),
        }
    )

    book = SphinxFormat().read(folder, IngestOptions())

    assert (book.title, book.kind, book.skipped) == ("Lamps", "sphinx", ())
    assert [(p.source, p.part, p.url) for p in book.pages] == [
        ("index.rst", "", "https://a.example/index.html"),
        ("b.rst", "First", "https://a.example/b.html"),
        ("c.rst", "First", "https://a.example/c.html"),
        ("a.rst", "First", "https://a.example/a.html"),
        ("deep/x.rst", "", "https://a.example/deep/x.html"),
        ("deep/more/z.rst", "X", "https://a.example/deep/more/z.html"),
        ("deep/y.rst", "", "https://a.example/deep/y.html"),
        ("lost.rst", "", "https://a.example/lost.html"),
    ]


def test_a_reversed_toctree_is_read_backwards() -> None:
    contents = Toctree(entries=("a", "b"), reversed=True)

    assert list_entries("index", contents, ["a", "b"], [".rst"]) == [("b", ""), ("a", "")]


@pytest.mark.parametrize(
    ("docname", "target", "expected"),
    [
        ("a/b", "c", "a/c"),
        ("a/b", "/c", "c"),
        ("a/b", "../../../c", "c"),
        ("a", "./b/../c", "c"),
    ],
)
def test_names_of_documents_are_counted_from_the_page(
    docname: str, target: str, expected: str
) -> None:
    assert join_docname(docname, target) == expected


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a/b.rst", "a", True),
        ("a/b.rst", "*.rst", False),
        ("a/b.rst", "**/b.rst", True),
        ("a/_b.rst", "**/_[!_]*.rst", True),
        ("a/b.rst", "a/?.rst", True),
        ("a/b.rst", "[", False),
    ],
)
def test_patterns_match_as_in_sphinx(name: str, pattern: str, expected: bool) -> None:
    assert matches(name, [pattern]) is expected


def test_the_configuration_is_read_and_never_run(write_book: WriteBook, tmp_path: Path) -> None:
    folder = write_book(
        {
            "conf.py": f"import os\nopen({str(tmp_path / 'ran')!r}, 'w')\n"
            "name: str = 'Lamps'\nproject = f'{name} ' + 'now'\nversion = os.environ['V']\n"
            "exclude_patterns = ['old']\nexclude_patterns += ['**/_*.rst']\n"
            "rst_prolog = '.. |oil| replace:: whale oil\\n'\n"
            "rst_epilog = '.. _ext: https://e.example\\n'\nrelease = '1.2'\n",
            "index.rst": page("Home", "With |oil|, |release|, `ext`_."),
            "old/a.rst": page("Old"),
            "_part.rst": page("Part"),
        }
    )

    book = SphinxFormat().read(folder, OPTIONS)

    assert book.title == "Lamps now"
    assert not (tmp_path / "ran").exists()
    assert [(s.source, s.reason, s.failed) for s in book.skipped] == [
        ("_part.rst", "excluded by conf.py", False),
        ("old/a.rst", "excluded by conf.py", False),
    ]
    assert texts(folder, "index.rst")[1] == "With whale oil, 1.2, [ext](https://e.example)."
    (folder / "conf.py").write_text("print 'two'")
    assert read_settings(folder / "conf.py", OPTIONS) == {}


def test_files_of_the_book_are_taken_in(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "conf.py": "",
            "index.rst": page(
                "Home",
                ".. include:: parts/_a.rst\n",
                ".. literalinclude:: /code/x.py\n   :lines: 2-3,5-\n   :dedent: 2\n",
                ".. literalinclude:: code/x.py\n   :start-after: one\n   :end-before: four\n",
                ".. csv-table::\n   :file: rows.csv\n",
                ".. include:: notes.md\n   :parser: myst_parser.sphinx_\n",
            ),
            "parts/_a.rst": "From a part.\n\n.. include:: parts/_b.rst\n",
            "parts/_b.rst": "Deeper.\n",
            "code/x.py": "  one\n  two\n  three\n  four\n  five\n",
            "rows.csv": "a,b\nc,d\n",
            "notes.md": "# Notes\n\nIn *Markdown*.\n",
        }
    )

    assert texts(folder, "index.rst")[1:] == [
        "From a part.",
        "Deeper.",
        "```py\ntwo\nthree\nfive\n```",
        "```py\n  two\n  three\n```",
        "| a | b |\n| --- | --- |\n| c | d |",
        "**Notes**",
        "In *Markdown*.",
    ]
    names = [file.name for file in SphinxFormat().files(folder)]
    assert names == [
        "code/x.py",
        "conf.py",
        "index.rst",
        "notes.md",
        "parts/_a.rst",
        "parts/_b.rst",
        "parts/parts/_b.rst",
        "rows.csv",
    ]
    skipped = SphinxFormat().read(folder, OPTIONS).skipped
    assert [(s.source, s.failed) for s in skipped] == [
        ("notes.md", False),
        ("parts/_a.rst", False),
        ("parts/_b.rst", False),
    ]


def test_a_change_in_an_included_file_is_seen(write_book: WriteBook, tmp_path: Path) -> None:
    folder = write_book({"conf.py": "", "index.rst": page("Home", ".. include:: a.txt\n")})
    first = ingest(folder, tmp_path / "books", HashEmbedder())

    assert not ingest(folder, tmp_path / "books", HashEmbedder()).changed
    (folder / "a.txt").write_text("New words.")

    again = ingest(folder, tmp_path / "books", HashEmbedder())
    assert again.changed
    assert [skip.source for skip in first.skipped] == ["a.txt"]
    assert again.skipped == ()


def test_includes_that_cannot_be_followed_are_reported(
    write_book: WriteBook, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("Secret.")
    folder = write_book(
        {
            "conf.py": "",
            "index.rst": page(
                "Home",
                ".. include:: ../secret.txt\n",
                ".. literalinclude:: ../secret.txt\n",
                ".. include:: a.txt\n",
                ".. include:: gone.txt\n",
                ".. include:: b.txt\n   :start-after: nowhere\n",
                "The end.",
            ),
            "a.txt": "Once.\n\n.. include:: a.txt\n",
            "b.txt": "Text.",
        }
    )
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "page.rst").write_text(page("Page", ".. include:: link.txt\n"))

    book = SphinxFormat().read(folder, OPTIONS)

    assert texts(folder, "index.rst") == ["About Home.", "Once.", "The end."]
    assert [(s.source, s.reason) for s in book.skipped] == [
        ("../secret.txt", "included by index.rst, but it lies outside the book"),
        ("a.txt", "included by index.rst, but it includes itself"),
        ("gone.txt", "included by index.rst, but there is no such file"),
        ("b.txt", "included by index.rst, but Text not found."),
        ("link.txt", "included by page.rst, but it lies outside the book"),
    ]


def test_pages_that_take_each_other_in_without_end_are_stopped(write_book: WriteBook) -> None:
    twice = [f".. include:: {n}.txt\n\n.. include:: {n}.txt\n" for n in range(1, 13)]
    folder = write_book(
        {"conf.py": "", "index.rst": page("Home", twice[0])}
        | {f"{n}.txt": text for n, text in enumerate(twice[1:], start=1)}
        | {"12.txt": "Word.\n"}
    )

    reasons = {s.reason for s in SphinxFormat().read(folder, OPTIONS).skipped}

    assert "included by index.rst, but the page includes more than 500 files" in reasons


def test_pages_that_cannot_be_read_are_reported_and_the_rest_is_read(
    write_book: WriteBook,
) -> None:
    folder = write_book(
        {"conf.py": "", "index.rst": page("Home"), "a.md": "<!-- open", "b.rst": "x", "b.md": "y"}
    )
    (folder / "c.rst").write_bytes(b"caf\xe9")
    (folder / "d.ipynb").write_text("{")

    book = SphinxFormat().read(folder, OPTIONS)

    assert [p.source for p in book.pages] == ["index.rst", "b.md"]
    assert {s.source: s.reason for s in book.skipped} == {
        "a.md": "the comment opened in line 1 is never closed",
        "b.rst": "b.md is the same page",
        "c.rst": "is not UTF-8 text (byte 3)",
        "d.ipynb": "is not a notebook: invalid JSON (line 1)",
    }


def test_references_reach_across_pages_and_formats(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "conf.py": "",
            "index.rst": page("Home", ":ref:`lens`, :ref:`rings`, :doc:`deep/b`."),
            "a.rst": page("A", ".. _lens:\n\nThe lens\n--------\n\nGlass."),
            "deep/b.md": "# Bee\n\n(rings)=\n## Rings\n\nSee {ref}`lens`, {doc}`../a`.\n",
        }
    )

    assert texts(folder, "index.rst")[1] == "The lens, Rings, Bee."
    assert texts(folder, "deep/b.md") == ["See The lens, A."]


def test_a_project_is_read_with_what_its_pages_take_in_from_beside_the_docs(
    write_book: WriteBook, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("Secret.")
    project = write_book(
        {
            "README.rst": page("Lamps"),
            "docs/conf.py": "",
            "docs/index.rst": ".. include:: ../README.rst\n\n" + tree("guide/oil"),
            "docs/guide/oil.rst": page(
                "Oil", ".. include:: /notes.txt\n", ".. include:: ../../../secret.txt\n"
            ),
            "docs/notes.txt": "A note.",
        }
    )

    book = SphinxFormat().read(project, OPTIONS)

    assert [(page.title, page.url) for page in book.pages] == [
        ("Lamps", "https://x.y/index.html"),
        ("Oil", "https://x.y/guide/oil.html"),
    ]
    assert texts(project, "docs/guide/oil.rst") == ["About Oil.", "A note."]
    assert [skip.source for skip in book.skipped] == ["../../../secret.txt"]


def test_a_book_that_does_not_say_its_name_has_that_of_its_first_page(
    write_book: WriteBook,
) -> None:
    computed = write_book({"conf.py": "project = name()", "index.rst": page("Lamps")})

    assert SphinxFormat().read(computed, OPTIONS).title == "Lamps"


@pytest.mark.parametrize(
    ("conf", "title"),
    [("release = '2.1'", "Lamps 2.1 manual"), ("release = find()", "Lamps manual")],
)
def test_a_title_has_the_release_that_sphinx_fills_in_or_none(
    write_book: WriteBook, conf: str, title: str
) -> None:
    folder = write_book({"conf.py": conf, "index.rst": page("Lamps |release| manual", "Text.")})

    (found,) = SphinxFormat().read(folder, OPTIONS).pages

    assert (found.title, found.sections[0].path) == (title, (title,))


def test_a_label_that_another_book_may_have_is_not_called_missing(write_book: WriteBook) -> None:
    conf = "intersphinx_mapping = {'oil': ('https://oil.example', None)}"
    folder = write_book({"conf.py": conf, "index.rst": page("A", "See :ref:`wicks`.")})

    (link,) = SphinxFormat().read(folder, OPTIONS).broken_links

    assert link.reason == "there is no such label in this book; intersphinx may find it in another"


def test_a_part_of_a_file_is_taken_in_by_its_marks_or_lines(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "conf.py": "",
            "index.md": "# Home\n\n```{include} README.md\n:start-after: 'begin -->'\n"
            ":end-before: '<!-- end'\n```\n\n```{include} README.md\n:start-line: -1\n```\n",
            "README.md": "Top.\n\n<!-- begin -->\n\nMiddle.\n\n<!-- end -->\n\nBottom.",
        }
    )

    assert texts(folder, "index.md") == ["Middle.", "Bottom."]
