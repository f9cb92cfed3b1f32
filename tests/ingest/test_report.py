"""What an ingest notices, as its report says it."""

import json
from pathlib import Path

import pytest

from citewell.domain import BrokenLink, SkippedFile
from citewell.index.revision import current_revision
from citewell.ingest.detect import detect_format
from citewell.ingest.pipeline import ingest
from citewell.ingest.report import Changes, Duplicate, read_report, report_to_json
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook, ingest_lamps
from tests.servers import HashEmbedder

LONG = "The keeper climbs the two hundred steps of the tower before dusk, and again at dawn."


def test_the_report_counts_what_was_read(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": "# A\n\nOne.\n\n## B\n\nTwo.\n", "b.md": "# C\n\nThree.\n"})

    report = ingest_lamps(book, library)

    assert (report.pages, report.sections, report.chunks, report.embedded) == (2, 3, 3, 3)
    assert report.seconds > 0


def test_pages_without_text_and_repeated_passages_are_named(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book(
        {
            "a.md": f"# A\n\n{LONG}\n",
            "b.md": f"# B\n\n{LONG}\n\n## C\n\n{LONG}\n",
            "empty.md": "# Only a title\n",
            "short.md": "# D\n\nSee also.\n\n## E\n\nSee also.\n",
        }
    )

    report = ingest_lamps(book, library)

    assert report.empty_pages == ("empty.md",)
    assert report.duplicates == (Duplicate(text=LONG[:80], places=("a.md", "b.md", "b.md")),)


def test_the_report_names_the_pages_that_changed(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": "# A\n\nOld.", "b.md": "# B\n\nSame.", "c.md": "# C\n\nGoes."})
    first = ingest_lamps(book, library)
    write_book({"a.md": "# A\n\nNew.", "d.md": "# D\n\nComes."})
    (book / "c.md").unlink()

    second = ingest_lamps(book, library)
    third = ingest_lamps(book, library)

    assert first.changes == Changes(added=("a.md", "b.md", "c.md"))
    assert second.changes == Changes(added=("d.md",), changed=("a.md",), removed=("c.md",))
    assert third.changes == Changes()


def test_the_report_is_kept_with_the_revision(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": "# A\n\nSee [B](b.md).", "bad.md": "---\ntitle: [\n---\nx"})
    made = ingest_lamps(book, library)
    folder = current_revision(library / "lamps")
    assert folder

    assert read_report(folder) == made
    assert made.skipped == (
        SkippedFile(source="bad.md", reason="front matter is not valid YAML (line 3)"),
    )
    assert made.failed == 1
    assert json.loads(report_to_json(made))["broken_links"] == [
        {"source": "a.md", "target": "b.md", "reason": "there is no such page"}
    ]


@pytest.mark.parametrize("damage", ["", "{}", '{"book": 1}'])
def test_a_revision_without_its_report_is_made_again(
    write_book: WriteBook, library: Path, damage: str
) -> None:
    book = write_book({"a.md": "# A\n\nText."})
    ingest_lamps(book, library)
    folder = current_revision(library / "lamps")
    assert folder
    (folder / "report.json").write_text(damage)

    again = ingest_lamps(book, library)

    assert (again.changed, again.embedded) == (True, 0)
    assert not ingest_lamps(book, library).changed


OTHER = "# Other\n\nText.\n\n## A heading\n\nText.\n\n## Parent\n\n### Child\n\nText.\n"


@pytest.mark.parametrize(
    "link",
    [
        "[x](b.md)",
        "[x](./b.md#a-heading)",
        "[x](b#parent)",
        "[x](part/c.md)",
        "[x](/b)",
        "[x](https://lamps.example/b#child)",
        "[x](https://elsewhere.example/b/gone)",
        "[x](mailto:keeper@lamps.example)",
        "[x](picture.png)",
        "[x](../outside.md)",
        "[x](#a)",
        "[x](b.md#written)",
        "![x](gone.md)",
        "`[x](gone.md)`",
        "```\n[x](gone.md)\n```",
        "[x][b]\n\n[b]: b.md",
    ],
)
def test_a_link_that_leads_somewhere_is_no_broken_one(
    write_book: WriteBook, library: Path, link: str
) -> None:
    book = write_book(
        {
            "a.md": f"# A\n\nText.\n\n## A\n\n{link}\n",
            "b.md": f'{OTHER}\n<a id="written"></a>\n',
            "part/c.md": "# C\n\n[up](../b.md)\n",
        }
    )
    options = IngestOptions(site_url="https://lamps.example")

    assert ingest(book, library, HashEmbedder(), options=options).broken_links == ()


@pytest.mark.parametrize(
    ("link", "target", "reason"),
    [
        ("[x](gone.md)", "gone.md", "there is no such page"),
        ("[x](part/gone.md#a)", "part/gone.md#a", "there is no such page"),
        ("[x](b.md#gone)", "b.md#gone", "there is no such heading"),
        ("[x](#gone)", "#gone", "there is no such heading"),
        ("[![picture](x.png)](gone.md)", "gone.md", "there is no such page"),
        ("[x](gone.md 'a title')", "gone.md", "there is no such page"),
        ("[x][b]\n\n[b]: gone.md", "gone.md", "there is no such page"),
        (
            "[x](https://lamps.example/part/gone)",
            "https://lamps.example/part/gone",
            "there is no such page",
        ),
    ],
)
def test_a_link_that_leads_nowhere_is_named(
    write_book: WriteBook, library: Path, link: str, target: str, reason: str
) -> None:
    book = write_book({"a.md": f"# A\n\n{link}\n", "b.md": OTHER, "part/c.md": "# C\n\nText."})
    options = IngestOptions(site_url="https://lamps.example")

    report = ingest(book, library, HashEmbedder(), options=options)

    assert report.broken_links == (BrokenLink(source="a.md", target=target, reason=reason),)


def test_references_by_name_that_lead_nowhere_are_named(write_book: WriteBook) -> None:
    book = write_book(
        {
            "conf.py": "project = 'Lamps'\nextensions = ['myst_parser']\n",
            "index.rst": (
                "Lamps\n=====\n\n.. toctree::\n\n   oil\n   lens\n\n.. _here:\n\nText, see\n"
                ":doc:`oil`, :doc:`the lens </lens>`, :ref:`here <here>`, :ref:`tank`,\n"
                ":ref:`genindex`, :ref:`python:lists`, :doc:`gone` and :ref:`lost <lost>`.\n"
            ),
            "oil.rst": ".. _tank:\n\nOil\n===\n\nText.\n",
            "lens.md": "(glass)=\n# Lens\n\nSee {ref}`glass`, {doc}`oil` and {ref}`broken`.\n",
        }
    )

    found = detect_format(book).read(book, IngestOptions()).broken_links

    assert {(link.source, link.target, link.reason) for link in found} == {
        ("index.rst", "gone", "there is no such page"),
        ("index.rst", "lost", "there is no such label"),
        ("lens.md", "broken", "there is no such label"),
    }
