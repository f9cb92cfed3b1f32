"""What readers of a page do not see, or see struck out, is no text of the book."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from citewell.text.sanitize import mask_hidden_text
from tests.ingest.ingest_helpers import chunks, ingest_lamps, texts

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
    "line-through": f'<p style="text-decoration: red line-through">{FALSE}</p>',
    "line": f'<p style="text-decoration-line:line-through">{FALSE}</p>',
    "class-hidden": f'<p class="note hidden">{FALSE}</p>',
    "class-d-none": f'<p class="d-none">{FALSE}</p>',
    "class-invisible": f'<p class="invisible">{FALSE}</p>',
    "comment": f'<p style="display:/**/none">{FALSE}</p>',
    "entity": f'<p style="display&#58;none">{FALSE}</p>',
    "nearly-white": f'<p style="color:#fefefe">{FALSE}</p>',
    "nearly-white-rgb": f'<p style="color:rgb(252, 254, 250)">{FALSE}</p>',
    "datalist": f"<datalist><option>{FALSE}</option></datalist>",
    "rp": f"<p><ruby>lamp<rp>{FALSE}</rp></ruby></p>",
    "svg-title": f"<svg><title>{FALSE}</title></svg>",
    "svg-defs": f"<svg><defs><text>{FALSE}</text></defs></svg>",
    "style-class": f"<style>.gone, .old {{ display: none }}</style><p class='old'>{FALSE}</p>",
    "style-id": f"<style>/* a */ #gone {{ opacity: 0 }}</style><p id='gone'>{FALSE}</p>",
}
SHOWN = {
    "badge": f'<p style="color:white;background:#333">{SEEN}</p>',
    "tab": f'<div role="tabpanel" hidden>{SEEN}</div>',
    "details": f"<details><summary>More</summary>{SEEN}</details>",
    "print": f"<style>@media print {{ .p {{display:none}} }}</style><p class='p'>{SEEN}</p>",
    "switched": "<style>.tab {display:none} .tab.on {display:block}</style>"
    f"<p class='tab'>{SEEN}</p>",
    "wide": f'<p class="hidden md:block">{SEEN}</p>',
    "wide-bootstrap": f'<p class="d-none d-md-block">{SEEN}</p>',
    "grey": f'<p style="color:#e0e0e0">{SEEN}</p>',
    "underline": f'<p style="text-decoration:underline">{SEEN}</p>',
    "small": f'<p style="font-size:0.9em;height:10px;left:-5px">{SEEN}</p>',
    "findable": f'<p hidden="until-found">{SEEN}</p>',
}
PAGES = {f"hidden-{name}": html for name, html in HIDDEN.items()} | {
    f"shown-{name}": html for name, html in SHOWN.items()
}
Write = Callable[[Path, dict[str, str]], Path]


def _files(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def _markdown(folder: Path, pages: dict[str, str], ending: str = ".md") -> Path:
    return _files(
        folder,
        {
            f"{name}{ending}": f"# Valves\n\n{TRUE}\n\n{html}\n\nEnd.\n"
            for name, html in pages.items()
        },
    )


def _mdx(folder: Path, pages: dict[str, str]) -> Path:
    return _markdown(folder, pages, ".mdx")


def _page(html: str) -> str:
    return f"<html><body><h1>Valves</h1><p>{TRUE}</p>{html}</body></html>"


def _html(folder: Path, pages: dict[str, str]) -> Path:
    return _files(folder, {f"{name}.html": _page(html) for name, html in pages.items()})


def _notebooks(folder: Path, pages: dict[str, str]) -> Path:
    files = {}
    for name, html in pages.items():
        cells = [
            {"cell_type": "markdown", "metadata": {}, "source": [text]}
            for text in (f"# Valves\n\n{TRUE}", html)
        ]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        files[f"{name}.ipynb"] = json.dumps(notebook)
    return _files(folder, files)


def _epub(folder: Path, pages: dict[str, str]) -> Path:
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in pages
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in pages)
    folder.mkdir()
    path = folder / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr(
            "b.opf",
            f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, html in pages.items():
            archive.writestr(f"{name}.xhtml", _page(html))
    return path


FORMATS: dict[str, Write] = {
    "markdown": _markdown,
    "mdx": _mdx,
    "html": _html,
    "notebooks": _notebooks,
    "epub": _epub,
}


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
def test_what_is_not_seen_is_in_no_passage_and_what_is_seen_stays(
    tmp_path: Path, library: Path, write: Write
) -> None:
    report = ingest_lamps(write(tmp_path / "book", PAGES), library)

    assert report.pages == len(PAGES)
    pages: dict[str, str] = dict.fromkeys(PAGES, "")
    for chunk in chunks(library):
        name = PurePosixPath(chunk.source_file).stem
        pages[name] += f"{chunk.text}\n"
    assert [name for name, text in pages.items() if "900 bar" in text] == []
    assert [name for name, text in pages.items() if TRUE not in text] == []
    assert [n for n, text in pages.items() if n.startswith("shown") and SEEN not in text] == []


def test_what_jsx_hides_is_in_no_passage(tmp_path: Path, library: Path) -> None:
    hidden = {
        "style": f"<p style={{{{display: 'none'}}}}>{FALSE}</p>",
        "number": f"<p style={{{{fontSize: 0, color: 'red'}}}}>{FALSE}</p>",
        "class": f'<p className="sr-only">{FALSE}</p>',
        "attribute": f"<p hidden={{true}}>{FALSE}</p>",
    }
    ingest_lamps(_mdx(tmp_path / "book", hidden), library)

    assert [text for text in texts(library) if "900 bar" in text] == []


def test_neither_open_elements_nor_code_take_text_away(tmp_path: Path, library: Path) -> None:
    code = f"Write `<del>{SEEN}</del>`:\n\n```html\n<p hidden>{TRUE}</p>\n```"
    pages = {"open": f"<del>{FALSE}\n\n{SEEN}", "code": code}
    ingest_lamps(_markdown(tmp_path / "book", pages), library)

    read = "\n".join(texts(library))
    assert read.count(SEEN) == len(pages)
    assert f"<p hidden>{TRUE}</p>" in read
    assert FALSE not in read


STRUCK = {"tildes": f"~~{FALSE}~~", "tilde": f"~{FALSE}~", "lines": FALSE.join(("~~", "\n~~"))}


@pytest.mark.parametrize("text", ["H~2~O is water.", "~5 mm and ~6 mm", "a ~ b ~ c", "\\~no~"])
def test_single_tildes_that_strike_out_nothing_are_text(text: str) -> None:
    assert mask_hidden_text(text) == text


@pytest.mark.parametrize("html", [*HIDDEN.values(), *STRUCK.values()], ids=[*HIDDEN, *STRUCK])
def test_what_is_not_seen_proves_nothing_wherever_it_comes_from(html: str) -> None:
    seen = mask_hidden_text(f"{TRUE}\n\n{html}\n\nEnd.")

    assert TRUE in seen
    assert "900 bar" not in seen
