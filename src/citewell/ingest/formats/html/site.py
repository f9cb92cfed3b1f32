"""Built sites and single pages of HTML: the page's own words, at the address the site gives it."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import BookFormat, SourceFile, quote_path, read_bytes, walk_files
from citewell.ingest.formats.html.tree import (
    Element,
    class_attribute,
    fold,
    parse_xml,
    tag_name,
    text_of,
)
from citewell.ingest.formats.markdown import markdown_files, read_start
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.html.tree import Element


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


class HtmlFormat(BookFormat):
    """A folder with a built site, or one page of HTML."""

    kind = "html"

    def matches(self, root: Path) -> bool:
        """Return whether `root` is a page, or a folder with more pages than Markdown."""
        if root.is_file():
            return root.name.lower().endswith(ENDINGS)
        pages = sum(1 for _ in walk_files(root, ENDINGS))
        sources = sum(1 for _ in markdown_files(root)) if pages else 0
        built = (root / "index.html").is_file() or (root / "sitemap.xml").is_file()
        return pages > 0 and (sources == 0 or (built and pages >= sources))

    def files(self, root: Path) -> list[SourceFile]:
        """List the pages, and the maps that order them."""
        return [*walk_files(root, ENDINGS), *_sitemaps(root)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page that is not made for machines."""
        # lxml is loaded only for books that need it.
        from citewell.ingest.formats.html.tree import text_of

        skipped: list[SkippedFile] = []
        files = [f for f in walk_files(root, ENDINGS, skipped) if not _MACHINE_MADE.search(f.name)]
        index, tree = _index(files, options)
        site = _site(root, files, tree, options)
        read: dict[str, tuple[Page, PageFacts]] = {}
        for file in files:
            with skip_on_error(file.name, skipped):
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
            yield read_bytes(file, limit=limit, setting="CITEWELL_INGEST__MAX_FILE_BYTES")


def _bytes(file: SourceFile, options: IngestOptions) -> bytes:
    return read_bytes(file, limit=options.max_page_bytes, setting="CITEWELL_INGEST__MAX_PAGE_BYTES")


def _index(files: Sequence[SourceFile], options: IngestOptions) -> tuple[str, "Element | None"]:
    """Return the page that the site opens with, as far as it can be read."""
    from citewell.ingest.formats.html.tree import parse_html

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
    from citewell.ingest.formats.html.tree import fold

    titles: list[str] = []
    for file in files if root.is_dir() else ():
        found = _TITLE.search(read_start(file.path, _HEAD))
        titles += [fold(unescape(found[1]))] if found else []
    bare = index is not None and links_without_ending(index, [file.name for file in files])
    return _Site(site_name(titles), options.site_url or "", bare)


def _read_page(file: SourceFile, site: _Site, options: IngestOptions) -> "tuple[Page, PageFacts]":
    from citewell.ingest.formats.html.convert import read_sections
    from citewell.ingest.formats.html.inline import replace_math
    from citewell.ingest.formats.html.tree import ids_of, main_content, parse_html

    tree = parse_html(_bytes(file, options))
    facts, ids = facts_of(tree), ids_of(tree)
    replace_math(tree)
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
    """Return whether the first heading is the page's title; of several it may be a section."""
    from citewell.ingest.formats.html.tree import text_of

    heads = [text_of(e).lower() for e in content.iter("h1")]
    return len(heads) < 2 or heads[0] in title.lower()  # noqa: PLR2004


def _listed(
    read: "dict[str, tuple[Page, PageFacts]]", skipped: list[SkippedFile]
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
            skipped.append(SkippedFile(source=name, reason=reason, failed=False))
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


_SEPARATOR = re.compile(r"\s+[|–—·•»:-]\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What a page of a site says about itself, outside its text."""

    title: str
    canonical: str
    base: str
    after: str
    """Where its link to the next page leads."""
    part: str
    unlisted: bool
    moved: bool


class Addresses:
    """Finds the file that a link means."""

    def __init__(self, names: Iterable[str]) -> None:
        self._files = {address_key(name): name for name in names}

    def find(self, href: str, start: str = "") -> str | None:
        """Return the file that `href` on the page `start` leads to, if it is one of the site."""
        try:
            path = unquote(urlsplit(href.strip()).path)
            foreign = bool(urlsplit(href).scheme) or path.startswith("/")
        except ValueError:
            return None
        if not path and not foreign:
            return None
        if not foreign:
            return self._files.get(address_key(posixpath.join(posixpath.dirname(start), path)))
        # Where the site is mounted is not known: the longest ending that is a file counts.
        parts = [part for part in path.split("/") if part]
        keys = ("/".join(parts[n:]) for n in range(len(parts) + 1))
        return next((self._files[k] for k in map(address_key, keys) if k in self._files), None)


def address_key(name: str) -> str:
    """Return the one form of a page's address that all ways to write it share."""
    name = posixpath.normpath("/" + name).strip("/")
    name = re.sub(r"\.(?:html?|xhtml)$", "", name)
    return re.sub(r"(?:^|/)index$", "", name)


def facts_of(tree: Element) -> PageFacts:
    """Read a page's head, its breadcrumbs and its link onwards."""
    links = {e.get("rel", ""): e.get("href", "") for e in tree.iter("link")}
    metas = {
        e.get("name") or e.get("http-equiv") or "": e.get("content", "") for e in tree.iter("meta")
    }
    title = next((text_of(e) for e in tree.iter("title")), "")
    base = next((e.get("href", "") for e in tree.iter("base")), "")
    return PageFacts(
        title=title,
        canonical=_absolute(links.get("canonical", "")),
        base=_absolute(base),
        after=links.get("next") or _next_link(tree),
        part=_part(tree) or _above(tree),
        unlisted="noindex" in metas.get("robots", "").lower(),
        moved="url=" in {k.lower(): v for k, v in metas.items()}.get("refresh", "").lower(),
    )


def _absolute(address: str) -> str:
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return ""
    known = parts.scheme in ("http", "https") and bool(parts.netloc)
    return address.strip().partition("#")[0] if known else ""


def _next_link(tree: Element) -> str:
    for link in tree.iter("a"):
        if "next" in (link.get("rel") or "").split() or "link--next" in class_attribute(link):
            return link.get("href") or ""
    return ""


def _part(tree: Element) -> str:
    """Return the first of the breadcrumbs that is neither the way home nor the page itself."""
    crumbs = next((e for e in tree.iter("ul", "ol") if "breadcrumb" in class_attribute(e)), None)
    if crumbs is None:
        return ""
    items = [e for e in crumbs.iter("li") if "aside" not in class_attribute(e)]
    words = [text for item in items[:-1] if (text := text_of(item)) and not _leads_home(item)]
    return words[0] if words else ""


def _above(tree: Element) -> str:
    """Return the title of the chapter that DocBook links a page to as standing above it."""
    links = {e.get("rel", ""): e for e in tree.iter("link")}
    up = links.get("up")
    homes = {links[rel].get("href") for rel in ("home", "start", "top") if rel in links}
    if up is None or up.get("href") in homes:
        return ""
    return fold(up.get("title") or "")


def _leads_home(item: Element) -> bool:
    link = next(iter(item.iter("a")), None)
    return link is not None and text_of(link).lower() in ("home", "index", "")


def site_name(titles: Sequence[str]) -> str:
    """Return what the titles of most pages end with: the name of the site."""
    ends = Counter(parts[-1] for title in titles if len(parts := _SEPARATOR.split(title)) > 1)
    name, count = next(iter(ends.most_common(1)), ("", 0))
    return name if count > 1 and count >= len(titles) / 2 else ""


def without_site(title: str, site: str) -> str:
    """Return a page's title without the site's name behind it."""
    short = title.removesuffix(site) if site else title
    return re.sub(r"\s+[|–—·•»:-]\s*$", "", short).strip() or title


def sitemap_order(sitemaps: Iterable[bytes], addresses: Addresses) -> list[str]:
    """Return the files in the order of the site's map."""
    found: list[str] = []
    for data in sitemaps:
        try:
            places = [text_of(e) for e in parse_xml(data).iter("loc")]
        except UnreadableFile:
            continue
        found += (name for place in places if (name := addresses.find(place)))
    return found


def navigation_order(index: Element, start: str, addresses: Addresses) -> list[str]:
    """Return the files in the order in which the first page links to them, its menus first."""
    menus = [link for nav in index.iter("nav", "aside") for link in nav.iter("a")]
    named = [e for e in index.iter("div") if re.search(r"toctree|sidebar", class_attribute(e))]
    listed = [link for box in named for link in box.iter("a")]
    links = (*menus, *listed, *index.iter("a"))
    return [n for a in links if tag_name(a) and (n := addresses.find(a.get("href") or "", start))]


def reading_order(first: Sequence[str], names: Sequence[str], after: dict[str, str]) -> list[str]:
    """Order the files: as in `first`, but pages that lead on to each other stay together."""
    known = set(names)
    before = {b: a for a, b in after.items() if a in known and b in known and a != b}
    ordered: dict[str, None] = {}
    for name in (*first, *names):
        if name in ordered or name not in known:
            continue
        head, seen = name, {name}
        while (earlier := before.get(head)) and earlier not in seen and earlier not in ordered:
            head = earlier
            seen.add(head)
        at: str | None = head
        while at is not None and at in known and at not in ordered:
            ordered[at] = None
            at = after.get(at)
    return list(ordered)


def links_without_ending(index: Element, names: Iterable[str]) -> bool:
    """Return whether the site links its pages without `.html`."""
    bare = {address_key(n).rpartition("/")[2] for n in names if not n.endswith("index.html")}
    hrefs = (urlsplit_path(a.get("href") or "") for a in index.iter("a"))
    return any(path.rpartition("/")[2] in bare for path in hrefs if path)


def urlsplit_path(href: str) -> str:
    """Return the path of a link, however broken it is."""
    try:
        return urlsplit(href).path.rstrip("/")
    except ValueError:
        return ""


def page_address(name: str, root: str, *, bare: bool) -> str:
    """Return a page's address below the site's root; a folder's index is the folder."""
    folder, _, last = name.rpartition("/")
    if last.lower() in ("index.html", "index.htm"):
        path = f"{folder}/" if folder else ""
    else:
        path = re.sub(r"\.html?$", "", name) if bare else name
    return f"{root.rstrip('/')}/{quote_path(path)}"
