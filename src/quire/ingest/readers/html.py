"""Built sites and single pages of HTML: the page's own words, at the address the site gives it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from quire.domain import Book, Page, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.budget import reporting
from quire.ingest.readers.folder import files_below, read_bytes
from quire.ingest.readers.markdown import markdown_files, read_start

if TYPE_CHECKING:
    from quire.ingest.readers.htmlsite import PageFacts
    from quire.ingest.readers.htmltree import Element

ENDINGS = (".html", ".htm", ".xhtml")
_MACHINE_MADE = re.compile(
    r"(?:^|/)(?:404|search|genindex(?:-\w+)?|py-modindex|print|searchindex|google\w{16})\.html?$"
)
_OPENS = re.compile(r"(?:^|/)index(?:\.[a-z]{2}(?:[-_]\w+)?)?\.x?html?$")
_HEAD = 100_000
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,500})</title>", re.I)


@dataclass(frozen=True, slots=True)
class _Site:
    name: str
    root: str
    bare: bool
    """Whether the site links its pages without `.html`."""


class HtmlReader:
    """A folder with a built site, or one page of HTML."""

    kind = "html"

    def recognises(self, root: Path) -> bool:
        """Tell whether `root` is a page, or a folder with more pages than Markdown."""
        if root.is_file():
            return root.name.lower().endswith(ENDINGS)
        pages = sum(1 for _ in files_below(root, ENDINGS))
        sources = sum(1 for _ in markdown_files(root)) if pages else 0
        built = (root / "index.html").is_file() or (root / "sitemap.xml").is_file()
        return pages > 0 and (sources == 0 or (built and pages >= sources))

    def home(self, root: Path) -> Path:
        """Return the folder of the book."""
        return root if root.is_dir() else root.parent

    def files(self, root: Path) -> list[SourceFile]:
        """List the pages, and the maps that order them."""
        return [*files_below(root, ENDINGS), *_sitemaps(root)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page that is not made for machines."""
        # lxml is loaded only for books that need it.
        from quire.ingest.readers.htmltree import text_of

        skipped: list[Skipped] = []
        files = [f for f in files_below(root, ENDINGS, skipped) if not _MACHINE_MADE.search(f.name)]
        index, tree = _index(files, options)
        site = _site(root, files, tree, options)
        read: dict[str, tuple[Page, PageFacts]] = {}
        for file in files:
            with reporting(file.name, skipped):
                read[file.name] = _read_page(file, site, options)
        kept = _listed(read, skipped)
        pages = _ordered(root, kept, (index, tree), options)
        title = (
            site.name or next((text_of(e) for e in tree.iter("title")), "")
            if tree is not None
            else ""
        )
        name = root.stem if root.is_file() else root.resolve().name
        return Book(title=title or name, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped))


def _sitemaps(root: Path) -> list[SourceFile]:
    if root.is_file():
        return []
    return [SourceFile(path, path.name) for path in sorted(root.glob("sitemap*.xml"))]


def _maps(root: Path, options: IngestOptions) -> Iterator[bytes]:
    limit = options.max_file_bytes
    for file in _sitemaps(root):
        with suppress(UnreadableFile):  # an order that cannot be read is no loss of text
            yield read_bytes(file, limit=limit, setting="QUIRE_INGEST__MAX_FILE_BYTES")


def _bytes(file: SourceFile, options: IngestOptions) -> bytes:
    return read_bytes(file, limit=options.max_page_bytes, setting="QUIRE_INGEST__MAX_PAGE_BYTES")


def _index(files: Sequence[SourceFile], options: IngestOptions) -> tuple[str, "Element | None"]:
    """Give the page that the site opens with, as far as it can be read."""
    from quire.ingest.readers.htmltree import parse_html

    first = sorted(files, key=lambda f: (not _OPENS.search(f.name), f.name.count("/"), f.name))
    for file in first[:1]:
        try:
            return file.name, parse_html(_bytes(file, options))
        except UnreadableFile:
            return file.name, None
    return "", None


def _site(
    root: Path, files: Sequence[SourceFile], index: "Element | None", options: IngestOptions
) -> _Site:
    from quire.ingest.readers.htmlsite import links_without_ending, site_name
    from quire.ingest.readers.htmltree import fold

    titles: list[str] = []
    for file in files if root.is_dir() else ():
        found = _TITLE.search(read_start(file.path, _HEAD))
        titles += [fold(unescape(found[1]))] if found else []
    bare = index is not None and links_without_ending(index, [file.name for file in files])
    return _Site(site_name(titles), options.site_url or "", bare)


def _read_page(file: SourceFile, site: _Site, options: IngestOptions) -> "tuple[Page, PageFacts]":
    from quire.ingest.readers.htmlmath import settle_math
    from quire.ingest.readers.htmlsite import facts_of, page_address, without_site
    from quire.ingest.readers.htmltext import read_sections
    from quire.ingest.readers.htmltree import ids_of, main_content, parse_html

    tree = parse_html(_bytes(file, options))
    facts, ids = facts_of(tree), ids_of(tree)
    settle_math(tree)
    address = page_address(file.name, facts.base or site.root, bare=site.bare)
    url = facts.canonical or address
    title = without_site(facts.title, site.name) or Path(file.name).stem
    # Where the site puts its name behind every title, what stands before it is the page's own.
    certain = title != facts.title and bool(facts.title)
    content = main_content(tree)
    single = certain or not facts.title or _titled(content, title)
    parsed = read_sections(content, title=title, base=url, certain=certain, single=single)
    page = Page(
        source=file.name,
        title=parsed.title,
        part=facts.part,
        url=url,
        sections=parsed.sections,
        ids=ids,
    )
    # A canonical address that every page gives says nothing about any of them.
    return page, replace(facts, base=address)


def _titled(content: "Element", title: str) -> bool:
    """Tell whether the first heading is the page's title; of several it may be only one section."""
    from quire.ingest.readers.htmltree import text_of

    heads = [text_of(e).lower() for e in content.iter("h1")]
    return len(heads) < 2 or heads[0] in title.lower()  # noqa: PLR2004


def _listed(
    read: "dict[str, tuple[Page, PageFacts]]", skipped: list[Skipped]
) -> "dict[str, tuple[Page, PageFacts]]":
    """Leave out pages that only lead elsewhere or ask not to be found."""
    private = sum(facts.unlisted for _, facts in read.values())
    kept: dict[str, tuple[Page, PageFacts]] = {}
    shared = Counter(page.url for page, _ in read.values())
    for name, (page, facts) in read.items():
        # A site that hides every page, a draft of a site say, hides none.
        hidden = facts.unlisted and private < len(read)
        if facts.moved or hidden:
            reason = "only leads to another page" if facts.moved else "asks not to be indexed"
            skipped.append(Skipped(source=name, reason=reason, failed=False))
            continue
        url = page.url if shared[page.url] == 1 else facts.base
        kept[name] = (replace(page, url=url), facts)
    return kept


def _ordered(
    root: Path,
    kept: "dict[str, tuple[Page, PageFacts]]",
    index: "tuple[str, Element | None]",
    options: IngestOptions,
) -> list[Page]:
    from quire.ingest.readers.htmlsite import (
        Addresses,
        address_key,
        navigation_order,
        reading_order,
        sitemap_order,
    )

    addresses = Addresses(kept)
    by_url = {page.url: name for name, (page, _) in kept.items()}
    first = sitemap_order(_maps(root, options), addresses)
    start, tree = index
    if not first and tree is not None:
        first = navigation_order(tree, start, addresses)
    after = {
        name: target
        for name, (_, facts) in kept.items()
        if facts.after
        and (target := by_url.get(facts.after) or addresses.find(facts.after, name)) is not None
    }
    # Without an index, the first page by name is only one among others.
    opening = [start] if start in kept and not address_key(start) else []
    return [kept[name][0] for name in reading_order([*opening, *first], list(kept), after)]
