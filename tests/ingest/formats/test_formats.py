"""Every format through the whole ingest: what is stored, and where its links lead."""

from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.errors import EmptyBook
from citewell.index.revision import current_revision, read_chunks
from citewell.ingest.pipeline import ingest
from citewell.text.sentences import split_spans
from tests.ingest.formats.test_epub import THREE, packed
from tests.ingest.paper import Paper
from tests.servers import HashEmbedder


def html(folder: Path) -> Path:
    path = folder / "lamps.html"
    path.write_text("<h1>Lamps</h1><h2 id='lens'>Lens</h2><p>Glass bends light. It breaks.</p>")
    return path


def epub(folder: Path) -> Path:
    path = folder / "lamps.epub"
    path.write_bytes(packed(THREE))
    return path


def pdf(folder: Path) -> Path:
    paper = Paper()
    for title in ("Lens", "Oil"):
        paper.add_page()
        paper.heading(title, outline=True)
        paper.paragraph(f"{title} is what this is about. It breaks.")
    return paper.save(folder / "lamps.pdf")


@pytest.mark.parametrize(
    ("write", "kind", "urls"),
    [
        (html, "html", ["/lamps.html#lens"]),
        (
            epub,
            "epub",
            [
                "lamps.epub/OEBPS/text/lens.xhtml",
                "lamps.epub/OEBPS/text/lens.xhtml#rings",
                "lamps.epub/OEBPS/text/oil%20lamp.xhtml",
            ],
        ),
        (pdf, "pdf", ["/lamps.pdf#page=1", "/lamps.pdf#page=2"]),
    ],
)
def test_each_format_is_stored_with_links_to_its_passages(
    tmp_path: Path, write: Callable[[Path], Path], kind: str, urls: list[str]
) -> None:
    source, library = write(tmp_path), tmp_path / "library"

    report = ingest(source, library, HashEmbedder())
    again = ingest(source, library, HashEmbedder())

    revision = current_revision(library / "lamps")
    assert revision is not None
    chunks = list(read_chunks(revision))
    assert (report.kind, report.changed, again.changed) == (kind, True, False)
    assert [chunk.url for chunk in chunks] == urls
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert all(split_spans(chunk.text) for chunk in chunks)


def test_a_book_that_cannot_be_read_at_all_says_why(tmp_path: Path) -> None:
    (tmp_path / "lamps.pdf").write_bytes(b"nothing")

    with pytest.raises(EmptyBook, match=r"holds no text: lamps\.pdf is damaged or not a PDF\.$"):
        ingest(tmp_path / "lamps.pdf", tmp_path / "library", HashEmbedder())
