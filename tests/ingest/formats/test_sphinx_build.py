"""The addresses Citewell works out, against those of a book that Sphinx built."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from citewell.ingest.formats.notebooks import NotebooksFormat
from citewell.ingest.formats.sphinx.book import SphinxFormat
from citewell.options import IngestOptions
from tests.ingest.formats.built_site import check, cut, read_built

WriteBook = Callable[[Mapping[str, str]], Path]

pytestmark = pytest.mark.skipif(
    not find_spec("sphinx") or not find_spec("myst_parser"),
    reason="sphinx and myst-parser are not installed: there is nothing to compare with",
)

LAMPS = """\
.. index:: lamps

.. _lamps:

Lamps
=====

.. contents::

Before everything [#first]_ there was light.

.. _wick-label:

The ``wick`` & its *care*
-------------------------

Text about :term:`oil`.

Wick
----

One.

Oil
^^^

Two.

.. index:: wick

Wick
----

Again, with a note [1]_.

.. _oil:

Oil
---

Its label has its name.

Contents
--------

Named like the list above.

3. Größe: naïve 日本
--------------------

Not ASCII.

日本
----

Nothing of it is ASCII.

:ref:`wick-label` and :doc:`/deep/notes`
----------------------------------------

A heading of references.

.. only:: html

   Only here
   ---------

   Kept.

.. note::

   A note.

.. function:: light(lamp)

   Lights it.

.. rubric:: Wick

.. [#first] A footnote.
.. [1] Another.
"""
NOTES = """\
---
title: ignored
---

(notes-label)=

# Notes on `lamps`

Text.[^a]

## Wick

One.

## Wick

Two.

(care)=
## Care

Three. See {ref}`wick-label`.

### Größe & Co

Four.

Setext heading
--------------

Five.

(six)=
## Six

Six.

[^a]: A footnote.
"""
CARE = """\
====
Care
====

.. toctree::
   :maxdepth: 1

   /lamps

Cleaning
========

A lamp is cleaned once a week.

.. list-table::
   :header-rows: 1

   * - Part
     - Days
   * - Wick
     - 2

Cleaning
========

.. code-block:: python

   clean("lamp")

.. include:: /parts/shared.txt

1.2 Version numbers
-------------------

They begin with a digit.

``code`` | pipe, *emphasis* and "quotes"
----------------------------------------

A heading of many marks.

.. _own:
.. _other:

Two labels
----------

Both lead here.

A heading that is long enough to be found out: really
-----------------------------------------------------

.. warning::

   Hot glass.

Cleaning
--------

The third of that name, one level down.
"""
SHARED = """\
Shared words.

Shared heading
--------------

It stands in another file.
"""
TABLES = """\
# Tables & lists

Opening words.

## Lists

- One item
- Another item

## Lists

| a | b |
| - | - |
| 1 | 2 |

### `code` *and* more

```python
light()
```

## Ünïcödé 日本 heading

Letters of all kinds.

(target)=
## With a target

Under a target.
"""
MORE = {"deep/care.rst": CARE, "parts/shared.txt": SHARED, "deep/tables.md": TABLES}
BOOK = {
    "conf.py": "project = 'Lamps'\nextensions = ['myst_parser']\nexclude_patterns = ['drafts']\n",
    "index.rst": "Home\n====\n\nWelcome.\n\n.. toctree::\n   :glob:\n\n   lamps\n   deep/*\n",
    "lamps.rst": LAMPS,
    "deep/notes.md": NOTES,
    "drafts/no.rst": "No\n==\n\nNot built.\n",
}


def built_ids(folder: Path) -> dict[str, list[str]]:
    """Builds the book, and gives the ids of the sections of each page."""
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "_build")],
        check=True,
        capture_output=True,
        timeout=300,
    )
    pages = {}
    for page in sorted((folder / "_build").rglob("*.html")):
        text = page.read_text("utf-8")
        if page.name not in ("genindex.html", "search.html"):
            found = re.findall(r"<section [^>]*?\bid=\"([^\"]*)\"", text)
            pages[page.relative_to(folder / "_build").as_posix()] = found
    return pages


def test_every_chunk_has_its_place_in_the_built_book(
    write_book: WriteBook, say: Callable[[str], None]
) -> None:
    folder = write_book({**BOOK, **MORE})
    built_ids(folder)
    pages = read_built(folder / "_build", main="//*[@role='main']", site="https://x.y/")

    book = SphinxFormat().read(folder, IngestOptions(site_url="https://x.y"))

    checked = check(cut(book), pages)
    say(f"small book by Sphinx: {checked}")
    assert checked.wrong == ()
    assert checked.chunks > 15


def test_pages_and_anchors_are_those_of_the_built_book(write_book: WriteBook) -> None:
    folder = write_book(BOOK)

    book = SphinxFormat().read(folder, IngestOptions(site_url="https://x.y"))

    built = built_ids(folder)
    assert sorted(page.url for page in book.pages) == [f"https://x.y/{name}" for name in built]
    for page in book.pages:
        anchors = [section.anchor for section in page.sections if section.anchor]
        # The first section is the page itself; every other one here has text of its own.
        assert anchors == built[page.url.removeprefix("https://x.y/")][1:]


def test_the_anchors_of_a_jupyter_book_are_those_of_the_built_book(write_book: WriteBook) -> None:
    folder = write_book(
        {**BOOK, "_toc.yml": "format: jb-book\nroot: index\nchapters:\n- file: deep/notes\n"}
    )

    book = NotebooksFormat().read(folder, IngestOptions(site_url="https://x.y"))

    built = built_ids(folder)
    notes = next(page for page in book.pages if page.source == "deep/notes.md")
    assert notes.url == "https://x.y/deep/notes.html"
    assert [s.anchor for s in notes.sections if s.anchor] == built["deep/notes.html"][1:]
