"""Built sites, as the generators shell their pages."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain import Book, Page, SkippedFile
from citewell.ingest.detect import detect_format
from citewell.ingest.formats.html.site import HtmlFormat
from citewell.options import IngestOptions

WriteBook = Callable[[Mapping[str, str]], Path]
SITE = "https://lamps.example"


def docusaurus(title: str, body: str, *, path: str, after: str = "") -> str:
    onwards = f'<a class="pagination-nav__link pagination-nav__link--next" href="{after}">Next</a>'
    return f"""<!doctype html><html><head><title data-rh="true">{title} | Lamps</title>
<link data-rh="true" rel="canonical" href="{SITE}/book/{path}"></head><body>
<a class="skipToContent_x" href="#main">Skip to main content</a><nav class="navbar">Lamps</nav>
<aside class="theme-doc-sidebar-container"><a href="/book/oil">Oil</a></aside><main><article>
<nav class="theme-doc-breadcrumbs"><ul class="breadcrumbs"><li><a href="/"><svg/></a></li>
<li>Part 1: Light</li><li>{title}</li></ul></nav>
<div class="theme-doc-toc-mobile"><button>On this page</button></div>
<div class="theme-doc-markdown markdown"><header><h1>{title}</h1></header>{body}</div>
<footer class="theme-doc-footer">Edit this page</footer></article>{onwards if after else ""}
</main><footer>Copyright</footer></body></html>"""


def sphinx(title: str, body: str, *, after: str = "") -> str:
    return f"""<!DOCTYPE html><html><head><title>{title} — Lamps 1.0 documentation</title>
<link rel="next" title="Next" href="{after}"></head><body><div class="related" role="navigation">
<a href="genindex.html">index</a></div><div class="document"><div class="documentwrapper"><div
class="bodywrapper"><div class="body" role="main"><section id="{title.lower()}"><h1>{title}<a
class="headerlink" href="#{title.lower()}" title="Link to this heading">¶</a></h1>{body}</section>
</div></div></div><div class="sphinxsidebar"><h3>Table of Contents</h3></div></div>
<div class="footer">© Copyright.</div></body></html>"""


def mdbook(title: str, body: str, *, after: str = "") -> str:
    return f"""<!DOCTYPE HTML><html><head><title>{title} - Lamps</title></head><body>
<nav id="sidebar" class="sidebar"><ol class="chapter"><li><a href="oil.html">Oil</a></li></ol></nav>
<div id="page-wrapper"><div id="menu-bar" class="menu-bar"><h1 class="menu-title">Lamps</h1></div>
<div id="content" class="content"><main><h1 id="{title.lower()}"><a class="header"
href="#{title.lower()}">{title}</a></h1>{body}</main><nav class="nav-wrapper">
<a rel="next prefetch" href="{after}" class="mobile-nav-chapters next">›</a></nav></div></div>
</body></html>"""


def read(root: Path, **options: object) -> Book:
    reader = detect_format(root)
    assert reader.name == "html"
    return reader.read(root, IngestOptions(**options))  # type: ignore[arg-type]


def texts(page: Page) -> list[str]:
    return [block.text for section in page.sections for block in section.blocks]


def test_a_docusaurus_build_gives_what_its_source_says(write_book: WriteBook) -> None:
    body = (
        '<p>Light.</p><h2 class="anchor" id="lens">Lens<a href="#lens">\u200b</a></h2><p>Glass.</p>'
    )
    book = read(
        write_book(
            {
                "index.html": "<title>Welcome | Lamps</title><h1>Welcome</h1><p>Home.</p>",
                "book/lamp.html": docusaurus("Lamp", body, path="lamp"),
                "404.html": "<h1>Page not found</h1>",
            }
        )
    )

    lamp = book.pages[1]
    assert book.title == "Lamps"
    assert [page.title for page in book.pages] == ["Welcome", "Lamp"]
    assert (lamp.url, lamp.part, lamp.source) == (
        f"{SITE}/book/lamp",
        "Part 1: Light",
        "book/lamp.html",
    )
    assert [(s.path, s.anchor) for s in lamp.sections] == [
        (("Lamp",), ""),
        (("Lamp", "Lens"), "lens"),
    ]
    assert texts(lamp) == ["Light.", "Glass."]


def test_a_sphinx_build_gives_its_sections_in_order(write_book: WriteBook) -> None:
    link = '<a class="headerlink" href="#lens">¶</a>'
    body = f'<p>Text.</p><section id="lens"><h2>Lens{link}</h2><p>Glass.</p></section>'
    folder = write_book(
        {
            "index.html": sphinx("Lamps", "<p>Start.</p>", after="wick.html"),
            "oil.html": sphinx("Oil", "<p>Burns.</p>"),
            "wick.html": sphinx("Wick", body, after="oil.html"),
            "genindex.html": sphinx("Index", "<p>A–Z</p>"),
            "_static/x.html": "<p>No page.</p>",
        }
    )

    book = read(folder, site_url=SITE)

    assert [page.url for page in book.pages] == [
        f"{SITE}/",
        f"{SITE}/wick.html",
        f"{SITE}/oil.html",
    ]
    wick = book.pages[1]
    assert [(s.path, s.anchor) for s in wick.sections] == [
        (("Wick",), ""),
        (("Wick", "Lens"), "lens"),
    ]
    assert texts(wick) == ["Text.", "Glass."]


def test_an_mdbook_build_leaves_its_shell_and_its_print_page_out(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "index.html": mdbook("Intro", "<p>Start.</p>", after="wick.html"),
            "oil.html": mdbook("Oil", "<p>Burns.</p>"),
            "wick.html": mdbook("Wick", "<p>Cotton.</p>", after="oil.html"),
            "print.html": mdbook("Lamps", "<p>All.</p>"),
            "toc.html": '<meta name="robots" content="noindex"><ol><li>Intro</ol>',
        }
    )

    book = read(folder)

    assert [(p.title, p.url, texts(p)) for p in book.pages] == [
        ("Intro", "/", ["Start."]),
        ("Wick", "/wick.html", ["Cotton."]),
        ("Oil", "/oil.html", ["Burns."]),
    ]
    assert book.skipped == (
        SkippedFile(source="toc.html", reason="is marked `noindex`", failed=False),
    )


def test_pages_come_in_the_order_of_the_site_map(write_book: WriteBook) -> None:
    locs = "".join(f"<url><loc>{SITE}/docs/{n}</loc></url>" for n in ("", "oil/", "lens.html"))
    book = read(
        write_book(
            {
                "sitemap.xml": f'<urlset xmlns="http://x.example">{locs}</urlset>',
                "index.html": "<p>Start.</p>",
                "lens.html": "<p>Lens.</p>",
                "oil/index.html": "<p>Oil.</p>",
                "added.html": "<p>Added.</p>",
            }
        )
    )

    names = [page.source for page in book.pages]
    assert names == ["index.html", "oil/index.html", "lens.html", "added.html"]


def test_without_a_map_the_menu_of_the_first_page_gives_the_order(write_book: WriteBook) -> None:
    book = read(
        write_book(
            {
                "a.html": "<p>A.</p>",
                "b/index.html": "<p>B.</p>",
                "c.html": "<p>C.</p>",
                "index.html": "<nav><a href='c.html'>C</a><a href='/b/'>B</a></nav><p>Start.</p>",
            }
        )
    )

    names = [page.source for page in book.pages]
    assert names == ["index.html", "c.html", "b/index.html", "a.html"]


@pytest.mark.parametrize(
    ("head", "site", "url"),
    [
        ('<link rel="canonical" href="https://x.example/a">', SITE, "https://x.example/a"),
        ('<base href="https://x.example/b/">', None, "https://x.example/b/part/a.html"),
        ("", SITE, f"{SITE}/part/a.html"),
        ('<link rel="canonical" href="/a">', None, "/part/a.html"),
    ],
)
def test_a_page_has_the_address_it_says_or_its_path(
    write_book: WriteBook, head: str, site: str | None, url: str
) -> None:
    folder = write_book({"part/a.html": f"<head>{head}</head><p>Text.</p>"})

    assert read(folder, site_url=site).pages[0].url == url


def test_a_site_that_links_without_endings_has_addresses_without_endings(
    write_book: WriteBook,
) -> None:
    folder = write_book({"index.html": '<a href="/oil">Oil</a>', "oil.html": "<p>Oil.</p>"})

    assert [page.url for page in read(folder).pages] == ["/", "/oil"]


def test_an_address_that_every_page_claims_is_not_believed(write_book: WriteBook) -> None:
    head = f'<link rel="canonical" href="{SITE}/">'
    folder = write_book(dict.fromkeys(("a.html", "b.html"), f"{head}<p>Text.</p>"))

    assert [page.url for page in read(folder).pages] == ["/a.html", "/b.html"]


def test_a_page_that_only_leads_elsewhere_is_left_out(write_book: WriteBook) -> None:
    folder = write_book(
        {"a.html": "<p>Text.</p>", "b.html": '<meta http-equiv="refresh" content="0; url=a.html">'}
    )

    assert read(folder).skipped == (
        SkippedFile(source="b.html", reason="redirects to another page", failed=False),
    )


def test_a_site_that_hides_every_page_hides_none(write_book: WriteBook) -> None:
    page = '<meta name="robots" content="noindex"><p>Text.</p>'

    assert len(read(write_book({"a.html": page, "b.html": page})).pages) == 2


def test_a_single_page_is_a_book(write_book: WriteBook) -> None:
    folder = write_book({"lamps.html": "<title>On Lamps</title><h2 id=x>Lens</h2><p>Glass.</p>"})

    book = read(folder / "lamps.html", site_url=SITE)

    assert (book.title, book.pages[0].url) == ("On Lamps", f"{SITE}/lamps.html")


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"index.html": "<p>A.</p>"}, "html"),
        ({"a.html": "<p>A.</p>"}, "html"),
        ({"index.html": "<script></script>", "a.md": "A.", "b.md": "B."}, "markdown"),
        ({"a.html": "<p>A.</p>", "a.md": "A."}, "markdown"),
    ],
)
def test_a_folder_with_more_markdown_than_pages_is_not_a_built_site(
    write_book: WriteBook, files: dict[str, str], kind: str
) -> None:
    assert detect_format(write_book(files)).name == kind


def test_a_page_that_cannot_be_read_is_reported_and_the_rest_is_read(write_book: WriteBook) -> None:
    folder = write_book({"a.html": "<p>Text.</p>", "b.html": "<p>" + "x" * 3_000 + "</p>"})
    (folder / "c.html").write_bytes(b"\0\1")
    (folder / "d.html").write_bytes(b"")
    (folder / "e.html").write_text("<div>" * 10_000)

    book = read(folder, max_page_bytes=60_000)
    small = read(folder, max_page_bytes=2_000)

    assert [page.source for page in book.pages] == ["a.html", "b.html"]
    assert [(skip.source, skip.reason) for skip in book.skipped] == [
        ("c.html", "is a binary file, not text"),
        ("d.html", "is not HTML"),
        ("e.html", "has elements nested more than 2,000 deep"),
    ]
    assert small.skipped[0].reason == (
        "0.0 MB is more than the limit of 0.002 MB (CITEWELL_INGEST__MAX_PAGE_BYTES)"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>Café</p>".encode(), "Café"),
        ("<p>Café</p>".encode("utf-8-sig"), "Café"),
        ("\ufeff<p>Café</p>".encode("utf-16"), "Café"),
        ("\ufeff<p>Café</p>".encode("utf-16-be"), "Café"),
        ('<meta charset="iso-8859-1"><p>Café “x”</p>'.encode("cp1252"), "Café “x”"),
        ("<p>Café</p>".encode("cp1252"), "Café"),
        ('<meta charset="no-such"><p>Café</p>'.encode(), "Café"),
    ],
)
def test_a_page_is_read_in_the_encoding_it_is_written_in(
    tmp_path: Path, data: bytes, text: str
) -> None:
    (tmp_path / "a.html").write_bytes(data)

    assert texts(read(tmp_path).pages[0]) == [text]


def test_every_file_that_matters_is_part_of_the_fingerprint(write_book: WriteBook) -> None:
    folder = write_book({"index.html": "<p>A.</p>", "sitemap.xml": "<urlset/>", "x.css": ""})

    assert [file.name for file in HtmlFormat().files(folder)] == ["index.html", "sitemap.xml"]


HREFS = st.text(st.sampled_from("ab./#?:[]% \nhttp@é"), max_size=12)


def test_a_manual_page_of_asciidoc_begins_with_its_name_and_purpose(write_book: WriteBook) -> None:
    book = read(
        write_book(
            {
                "lamp.html": "<title>lamp(1)</title><body><div id='header'><h1>lamp(1) Manual Page"
                "</h1><h2>NAME</h2><div class='sectionbody'><p>lamp - give light</p></div></div>"
                "<div id='content'><h2 id='_use'>USE</h2><p>Light it.</p></div>"
                "<div id='footer'>Last updated today</div></body>"
            }
        )
    )

    (page,) = book.pages
    assert [(s.path[-1], s.anchor, s.blocks[0].text) for s in page.sections] == [
        ("NAME", "header", "lamp - give light"),
        ("USE", "_use", "Light it."),
    ]


def test_a_page_of_docbook_stands_in_the_chapter_above_it(write_book: WriteBook) -> None:
    home = '<link rel="home" href="index.html" title="Lamps">'
    book = read(
        write_book(
            {
                "index.html": f"<title>Lamps</title>{home}<p>All about them.</p>",
                "ch1.html": f"<title>Chapter 1. Oil</title>{home}"
                '<link rel="up" href="index.html" title="Lamps"><p>Oil burns.</p>',
                "wick.html": f"<title>1.1. Wick</title>{home}"
                '<link rel="up" href="ch1.html" title="Chapter 1. Oil"><p>It soaks.</p>',
            }
        )
    )

    assert {page.title: page.part for page in book.pages} == {
        "Lamps": "",
        "Chapter 1. Oil": "",
        "1.1. Wick": "Chapter 1. Oil",
    }


def test_a_banner_that_leads_home_is_not_the_title_of_every_page(write_book: WriteBook) -> None:
    def themed(title: str) -> str:
        return (
            f"<title>{title} &#8212; Lamps 1.0</title><body><div class='document'>"
            "<div id='hd'><h1><a href='index.html'>Lamps 1.0</a></h1>"
            "<div class='nav'>previous | up | next</div></div>"
            f"<h1>{title}</h1><p>About {title}.</p></div></body>"
        )

    book = read(write_book({f"{name}.html": themed(name) for name in ("index", "oil", "wick")}))

    assert book.title == "Lamps 1.0"
    assert [(page.title, texts(page)) for page in book.pages] == [
        (name, [f"About {name}."]) for name in ("index", "oil", "wick")
    ]
    assert {s.path for page in book.pages for s in page.sections} == {
        ("index",),
        ("oil",),
        ("wick",),
    }


def test_a_page_with_several_great_headings_keeps_its_own_title(write_book: WriteBook) -> None:
    body = "<h1 id='one'>1. Overview</h1><p>First.</p><h1 id='two'>2. Use</h1><p>Second.</p>"
    pages = {"lamp.html": f"<title>The Lamp</title><main>{body}</main>"}

    (page,) = read(write_book(pages)).pages

    assert page.title == "The Lamp"
    assert [(s.path, s.anchor) for s in page.sections] == [
        (("The Lamp", "1. Overview"), "one"),
        (("The Lamp", "2. Use"), "two"),
    ]


def test_a_translated_site_opens_with_the_index_of_its_language(write_book: WriteBook) -> None:
    pages = {
        "advanced.en.html": "<title>Advanced</title><p>More.</p>",
        "index.en.html": "<title>Lamps</title><p>All.</p>",
    }

    assert read(write_book(pages)).title == "Lamps"


@given(
    st.lists(st.tuples(HREFS, HREFS, HREFS), min_size=1, max_size=4),
    st.text(st.sampled_from("<>/urlsetoc abc&;\"'="), max_size=60),
)
def test_any_links_and_any_map_give_a_book(
    tmp_path_factory: pytest.TempPathFactory, pages: list[tuple[str, str, str]], sitemap: str
) -> None:
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitemap.xml").write_text(sitemap)
    for number, (after, canonical, base) in enumerate(pages):
        (folder / f"{number}.html").write_text(
            f'<link rel="next" href="{after}"><link rel="canonical" href="{canonical}">'
            f'<base href="{base}"><nav><a href="{after}">x</a></nav><p>Text.</p>'
        )

    assert len(read(folder).pages) == len(pages)
