"""EPUB files, packed by the tests themselves."""

import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain import Book, SkippedFile
from citewell.errors import CitewellError
from citewell.ingest.detect import detect_format
from citewell.ingest.formats.epub import EpubFormat
from citewell.options import IngestOptions

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/content.opf" media-type='
    '"application/oebps-package+xml"/></rootfiles></container>'
)
NAV = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>
<nav epub:type="landmarks"><ol><li><a href="text/oil.xhtml">Start</a></li></ol></nav>
<nav epub:type="toc"><ol><li><span>Part One</span><ol>
<li><a href="text/lens.xhtml">The Lens</a><ol>
<li><a href="text/lens.xhtml#rings">Rings</a></li></ol></li></ol></li>
<li><a href="text/oil%20lamp.xhtml">Oil</a></li></ol></nav></body></html>"""
NCX = """<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN"
 "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/">
<navMap><navPoint><navLabel><text>Part One</text></navLabel><content src="part.xhtml"/>
<navPoint><navLabel><text>The Lens</text></navLabel><content src="text/lens.xhtml"/></navPoint>
</navPoint><navPoint><navLabel><text>Oil</text></navLabel><content src="text/oil%20lamp.xhtml"/>
</navPoint></navMap></ncx>"""
LENS = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN"
 "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd"><html xmlns="http://www.w3.org/1999/xhtml"
 xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head><body><h2>Lens</h2>
<p>Glass&nbsp;bends light.<a epub:type="noteref" href="#n1">1</a></p><a id="rings"/><h3>Rings</h3>
<p>Fresnel&#8217;s <i>rings</i>.</p><aside epub:type="footnote" id="n1"><p>A note.</p></aside>
</body></html>"""
OIL = "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>Oil</h1><p>Burns.</p></body></html>"


def opf(manifest: str, spine: str, *, extra: str = "", toc: str = "") -> str:
    return f"""<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>On Lamps</dc:title></metadata><manifest>
<item id="lens" href="text/lens.xhtml" media-type="application/xhtml+xml"/>
<item id="oil" href="text/oil%20lamp.xhtml" media-type="application/xhtml+xml"/>{manifest}
</manifest><spine {toc}>{spine}<itemref idref="lens"/><itemref idref="oil"/></spine>{extra}
</package>"""


NAV_ITEM = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
THREE: dict[str, str | bytes] = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/content.opf": opf(NAV_ITEM, '<itemref idref="nav"/>'),
    "OEBPS/nav.xhtml": NAV,
    "OEBPS/text/lens.xhtml": LENS,
    "OEBPS/text/oil lamp.xhtml": OIL,
}
NCX_ITEM = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
TWO = {k: v for k, v in THREE.items() if "nav" not in k} | {
    "OEBPS/content.opf": opf(NCX_ITEM, "", toc='toc="ncx"'),
    "OEBPS/toc.ncx": NCX,
}


def packed(files: Mapping[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def read(folder: Path, files: Mapping[str, str | bytes], **options: object) -> Book:
    path = folder / "lamps.epub"
    path.write_bytes(packed(files))
    reader = detect_format(path)
    assert reader.name == "epub"
    return reader.read(path, IngestOptions(**options))  # type: ignore[arg-type]


def test_the_chapters_come_in_the_order_of_the_spine_with_their_titles(tmp_path: Path) -> None:
    book = read(tmp_path, THREE)

    assert (book.title, book.kind, book.skipped) == ("On Lamps", "epub", ())
    assert [(page.title, page.part) for page in book.pages] == [
        ("The Lens", "Part One"),
        ("Oil", ""),
    ]
    lens = book.pages[0]
    assert [(s.path, s.anchor) for s in lens.sections] == [
        (("The Lens",), ""),
        (("The Lens", "Rings"), "rings"),
    ]
    assert [b.text for s in lens.sections for b in s.blocks] == [
        "Glass bends light.[^1]",
        "Fresnel’s *rings*.",
        "A note.",
    ]


def test_the_older_kind_of_contents_gives_the_same_titles(tmp_path: Path) -> None:
    old, new = read(tmp_path, TWO), read(tmp_path, THREE)

    assert old.pages == new.pages


@pytest.mark.parametrize(
    ("site", "url"),
    [
        (None, "lamps.epub/OEBPS/text/lens.xhtml"),
        ("https://lamps.example/read/", "https://lamps.example/read/OEBPS/text/lens.xhtml"),
    ],
)
def test_an_address_is_the_chapter_below_the_site_or_the_file(
    tmp_path: Path, site: str | None, url: str
) -> None:
    page = read(tmp_path, THREE, site_url=site).pages[0]

    assert (page.url, page.source) == (url, "lamps.epub/OEBPS/text/lens.xhtml")


def test_a_chapter_cut_into_files_keeps_its_title(tmp_path: Path) -> None:
    more = '<item id="more" href="text/more.xhtml" media-type="application/xhtml+xml"/>'
    files = THREE | {
        "OEBPS/content.opf": opf(NAV_ITEM + more, "").replace(
            '<itemref idref="oil"/>', '<itemref idref="more"/><itemref idref="oil"/>'
        ),
        "OEBPS/text/more.xhtml": "<html><body><p>More of it.</p></body></html>",
    }

    assert [page.title for page in read(tmp_path, files).pages] == ["The Lens", "The Lens", "Oil"]


def test_a_book_in_one_file_has_its_chapters_as_sections(tmp_path: Path) -> None:
    nav = NAV.replace("text/oil%20lamp.xhtml", "text/lens.xhtml#oil")
    both = '<html><body><h1>Lens</h1><p>A.</p><h1 id="oil">Oil</h1><p>B.</p></body></html>'
    files = THREE | {"OEBPS/nav.xhtml": nav, "OEBPS/text/lens.xhtml": both}

    page = read(tmp_path, files).pages[0]

    assert [(s.path, s.anchor) for s in page.sections] == [
        (("On Lamps", "Lens"), ""),
        (("On Lamps", "Oil"), "oil"),
    ]


@pytest.mark.parametrize("left_out", ["OEBPS/nav.xhtml", "nothing"])
def test_without_contents_the_headings_are_the_titles(tmp_path: Path, left_out: str) -> None:
    files = {k: v for k, v in THREE.items() if k != left_out}
    files["OEBPS/content.opf"] = opf("" if left_out == "nothing" else NAV_ITEM, "")

    assert [page.title for page in read(tmp_path, files).pages] == ["Lens", "Oil"]


def test_pages_without_text_and_lists_of_contents_are_left_out(tmp_path: Path) -> None:
    more = (
        '<item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="toc" href="toc.xhtml" media-type="application/xhtml+xml"/>'
    )
    files = THREE | {
        "OEBPS/content.opf": opf(
            NAV_ITEM + more,
            '<itemref idref="cover"/><itemref idref="toc"/>',
            extra='<guide><reference type="toc" href="toc.xhtml"/></guide>',
        ),
        "OEBPS/cover.xhtml": "<html><body><svg/></body></html>",
        "OEBPS/toc.xhtml": "<html><body><p>Lens 1, Oil 2</p></body></html>",
    }

    book = read(tmp_path, files)

    assert [page.title for page in book.pages] == ["The Lens", "Oil"]
    assert book.skipped == (
        SkippedFile(source="lamps.epub/OEBPS/cover.xhtml", reason="has no text", failed=False),
    )


ENCRYPTED = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"'
    ' xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod'
    ' Algorithm="{}"/><enc:CipherData><enc:CipherReference URI="OEBPS/text/lens.xhtml"/>'
    "</enc:CipherData></enc:EncryptedData></encryption>"
)


def test_a_protected_book_is_refused_in_one_sentence(tmp_path: Path) -> None:
    drm = ENCRYPTED.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    book = read(tmp_path, THREE | {"META-INF/encryption.xml": drm})

    assert book.pages == ()
    assert book.skipped == (
        SkippedFile(source="lamps.epub", reason="is protected by DRM, so its text cannot be read"),
    )


def test_a_book_with_obfuscated_fonts_is_not_protected(tmp_path: Path) -> None:
    fonts = ENCRYPTED.format("http://www.idpf.org/2008/embedding")

    assert len(read(tmp_path, THREE | {"META-INF/encryption.xml": fonts}).pages) == 2


def test_a_zip_bomb_is_refused_and_the_other_chapters_are_read(tmp_path: Path) -> None:
    bomb = b"<html><body><p>" + b" " * 4_000_000 + b"</p></body></html>"
    book = read(tmp_path, THREE | {"OEBPS/text/lens.xhtml": bomb})
    small = read(tmp_path, THREE | {"OEBPS/text/lens.xhtml": bomb}, max_page_bytes=1_000_000)

    assert [page.title for page in book.pages] == ["Oil"]
    assert book.skipped[0].reason == "unpacks to far more than its size"
    assert small.skipped[0].reason == (
        "4.0 MB is more than the limit of 1 MB (CITEWELL_INGEST__MAX_PAGE_BYTES)"
    )


def test_a_size_that_lies_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "lamps.epub"
    noise = bytes(random.Random(1).randrange(32, 60) for _ in range(50_000))
    data = packed(THREE | {"OEBPS/text/lens.xhtml": noise})
    path.write_bytes(data.replace((50_000).to_bytes(4, "little"), (9).to_bytes(4, "little")))

    book = EpubFormat().read(path, IngestOptions())

    assert [(skip.source, skip.reason) for skip in book.skipped] == [
        ("lamps.epub/OEBPS/text/lens.xhtml", "is damaged")
    ]


def test_entries_outside_the_book_are_never_read(tmp_path: Path) -> None:
    files = dict(THREE)
    files["../secret.xhtml"] = OIL
    files["OEBPS/content.opf"] = opf(
        NAV_ITEM + '<item id="x" href="../../secret.xhtml" media-type="application/xhtml+xml"/>',
        '<itemref idref="x"/>',
    )

    book = read(tmp_path, files)

    assert [page.title for page in book.pages] == ["The Lens", "Oil"]
    assert [skip.reason for skip in book.skipped] == ["is missing from the file"]


def test_entities_of_a_chapter_are_not_looked_up(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    evil = (
        f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}"><!ENTITY y "yyyy"><!ENTITY z'
        f' "&y;&y;&y;">]><html xmlns="http://www.w3.org/1999/xhtml"><body><p>A &x; &z; b.</p>'
        "</body></html>"
    )
    book = read(tmp_path, THREE | {"OEBPS/text/lens.xhtml": evil})

    assert [b.text for b in book.pages[0].sections[0].blocks] == ["A b."]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a": "b"}, "is damaged: META-INF/container.xml is missing"),
        ({"META-INF/container.xml": CONTAINER}, "is damaged: its package document is missing"),
        (
            THREE | {"OEBPS/content.opf": "<package>"},
            "is damaged: OEBPS/content.opf is not well-formed XML",
        ),
    ],
)
def test_a_damaged_book_is_refused_with_what_is_wrong(
    tmp_path: Path, files: dict[str, str | bytes], reason: str
) -> None:
    assert [skip.reason for skip in read(tmp_path, files).skipped] == [reason]


def test_a_file_that_is_no_zip_or_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lamps.epub"
    path.write_bytes(b"not a zip file")

    assert EpubFormat().read(path, IngestOptions()).skipped[0].reason == (
        "is damaged: it is not a ZIP file"
    )
    with path.open("r+b") as sparse:
        sparse.truncate(201_000_000)
    assert EpubFormat().read(path, IngestOptions()).skipped[0].reason == (
        "201.0 MB is more than the limit of 200 MB (CITEWELL_INGEST__MAX_FILE_BYTES)"
    )


@given(st.data())
def test_any_damage_is_reported_and_never_raised(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("epub") / "lamps.epub"
    whole = bytearray(packed(THREE))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])

    book = EpubFormat().read(path, IngestOptions())

    assert book.pages or book.skipped


@given(
    st.sampled_from([name for name in THREE if name.endswith(("xhtml", "opf", "xml"))]),
    st.text(st.sampled_from("<>/=\"'& abchrefliol#;!-"), max_size=30),
    st.integers(0, 400),
)
def test_any_markup_in_any_entry_is_read_or_reported(
    tmp_path_factory: pytest.TempPathFactory, name: str, inserted: str, place: int
) -> None:
    text = str(THREE[name])
    changed = text[:place] + inserted + text[place:]
    try:
        read(tmp_path_factory.mktemp("epub"), THREE | {name: changed})
    except CitewellError as error:
        pytest.fail(f"raised {error}")
