"""What readers of a page do not see, or see struck out, is no text of the book."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.prose.inert import masked
from tests.ingest.ingest_helpers import ingest_lamps, texts

FALSE = "The red valve opens at 900 bar."
TRUE = "The red valve opens at 10 bar."
SEEN = "Every valve is tested once a year."

HIDDEN = {
    "script": f"<script>{FALSE}</script>",
    "style": f"<style>{FALSE}</style>",
    "template": f"<template>{FALSE}</template>",
    "del": f"<p><del>{FALSE}</del></p>",
    "s": f"<p><s>{FALSE}</s></p>",
    "strike": f"<p><strike>{FALSE}</strike></p>",
    "hidden": f"<p hidden>{FALSE}</p>",
    "hidden-outer": f"<div hidden><div>Old.</div><p>{FALSE}</p></div>",
    "display": f'<p style="display: none">{FALSE}</p>',
    "important": f'<p style="display:none !important">{FALSE}</p>',
    "visibility": f'<p style="visibility:hidden">{FALSE}</p>',
    "font-size": f'<p style="font-size:0">{FALSE}</p>',
    "opacity": f'<p style="opacity:0">{FALSE}</p>',
    "white": f'<p style="color:white">{FALSE}</p>',
    "hex": f'<p style="color:#FFFFFF">{FALSE}</p>',
    "transparent": f'<p style="color: transparent">{FALSE}</p>',
    "rgba": f'<p style="color:rgba(0,0,0,0)">{FALSE}</p>',
    "off-screen": f'<p style="position:absolute;left:-9999px">{FALSE}</p>',
    "indent": f'<p style="text-indent:-9999px">{FALSE}</p>',
    "clip": f'<p style="position:absolute;clip:rect(0,0,0,0)">{FALSE}</p>',
    "clip-path": f'<p style="clip-path:inset(50%)">{FALSE}</p>',
    "height": f'<p style="height:0;overflow:hidden">{FALSE}</p>',
    "scale": f'<p style="transform:scale(0)">{FALSE}</p>',
    "sr-only": f'<span class="sr-only">{FALSE}</span>',
    "visually-hidden": f'<span class="note visually-hidden">{FALSE}</span>',
    "canvas": f"<canvas>{FALSE}</canvas>",
}
SHOWN = {
    "badge": f'<p style="color:white;background:#333">{SEEN}</p>',
    "tab": f'<div role="tabpanel" hidden>{SEEN}</div>',
    "details": f"<details><summary>More</summary>{SEEN}</details>",
    "small": f'<p style="font-size:0.9em;height:10px;left:-5px">{SEEN}</p>',
    "findable": f'<p hidden="until-found">{SEEN}</p>',
}
Write = Callable[[Path, str], Path]


def _file(folder: Path, name: str, text: str) -> Path:
    folder.mkdir()
    (folder / name).write_text(text)
    return folder


def _markdown(folder: Path, html: str) -> Path:
    return _file(folder, "a.md", f"# Valves\n\n{TRUE}\n\n{html}\n\nEnd.\n")


def _mdx(folder: Path, html: str) -> Path:
    return _file(folder, "a.mdx", f"# Valves\n\n{TRUE}\n\n{html}\n\nEnd.\n")


def _html(folder: Path, html: str) -> Path:
    return _file(folder, "a.html", f"<html><body><h1>Valves</h1><p>{TRUE}</p>{html}</body></html>")


def _notebook(folder: Path, html: str) -> Path:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [text]}
        for text in (f"# Valves\n\n{TRUE}", html)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return _file(folder, "a.ipynb", json.dumps(notebook))


def _epub(folder: Path, html: str) -> Path:
    chapter = f"<html><body><h1>Valves</h1><p>{TRUE}</p>{html}</body></html>"
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    package = (
        '<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '</manifest><spine><itemref idref="a"/></spine></package>'
    )
    folder.mkdir()
    path = folder / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("b.opf", package)
        archive.writestr("a.xhtml", chapter)
    return path


FORMATS: dict[str, Write] = {
    "markdown": _markdown,
    "mdx": _mdx,
    "html": _html,
    "notebook": _notebook,
    "epub": _epub,
}


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("html", HIDDEN.values(), ids=HIDDEN)
def test_what_is_not_seen_is_in_no_passage(
    tmp_path: Path, library: Path, html: str, write: Write
) -> None:
    ingest_lamps(write(tmp_path / "book", html), library)

    read = "\n".join(texts(library))
    assert TRUE in read
    assert "900 bar" not in read


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("html", SHOWN.values(), ids=SHOWN)
def test_what_is_seen_stays(tmp_path: Path, library: Path, html: str, write: Write) -> None:
    ingest_lamps(write(tmp_path / "book", html), library)

    assert SEEN in "\n".join(texts(library))


@pytest.mark.parametrize(
    "jsx",
    [
        f"<p style={{{{display: 'none'}}}}>{FALSE}</p>",
        f"<p style={{{{fontSize: 0, color: 'red'}}}}>{FALSE}</p>",
        f'<p className="sr-only">{FALSE}</p>',
        f"<p hidden={{true}}>{FALSE}</p>",
    ],
)
def test_what_jsx_hides_is_in_no_passage(tmp_path: Path, library: Path, jsx: str) -> None:
    ingest_lamps(_mdx(tmp_path / "book", jsx), library)

    assert "900 bar" not in "\n".join(texts(library))


def test_an_element_that_is_never_closed_takes_no_more_than_its_paragraph(
    tmp_path: Path, library: Path
) -> None:
    ingest_lamps(_markdown(tmp_path / "book", f"<del>{FALSE}\n\n{SEEN}"), library)

    read = "\n".join(texts(library))
    assert SEEN in read
    assert FALSE not in read


def test_code_that_shows_tags_is_kept(tmp_path: Path, library: Path) -> None:
    code = f"Write `<del>{SEEN}</del>`:\n\n```html\n<p hidden>{TRUE}</p>\n```"
    ingest_lamps(_markdown(tmp_path / "book", code), library)

    read = "\n".join(texts(library))
    assert f"`<del>{SEEN}</del>`" in read
    assert f"<p hidden>{TRUE}</p>" in read


@pytest.mark.parametrize("html", [*HIDDEN.values(), f"~~{FALSE}~~"], ids=[*HIDDEN, "tildes"])
def test_what_is_not_seen_proves_nothing_wherever_it_comes_from(html: str) -> None:
    seen = masked(f"{TRUE}\n\n{html}\n\nEnd.")

    assert TRUE in seen
    assert "900 bar" not in seen
