"""Built HTML sites and single HTML pages: the main content, at the URL of the built page."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import BookFormat, SourceFile, quote_path, read_bytes, walk_files
from citewell.ingest.formats.html.convert import read_sections
from citewell.ingest.formats.html.inline import replace_math
from citewell.ingest.formats.html.tree import (
    Element,
    class_attribute,
    collapse_space,
    ids_of,
    main_content,
    parse_html,
    parse_xml,
    tag_name,
    text_of,
)
from citewell.ingest.formats.markdown import markdown_files, read_prefix
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.options import IngestOptions

ENDINGS = (".html", ".htm", ".xhtml")
_GENERATED_PAGES = re.compile(
    r"(?:^|/)(?:404|search|genindex(?:-\w+)?|py-modindex|print|searchindex|google\w{16})\.html?$"
)
_INDEX_FILE = re.compile(r"(?:^|/)index(?:\.[a-z]{2}(?:[-_]\w+)?)?\.x?html?$")
_HEAD_SIZE = 100_000
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,500})</title>", re.I)


@dataclass(frozen=True, slots=True)
class _Site:
    name: str
    root: str
    extensionless: bool
    """Whether the site links to its pages without `.html`."""


class HtmlFormat(BookFormat):
    """A folder with a built site, or a single HTML page."""

    name = "html"

    def matches(self, root: Path) -> bool:
        """Return whether `root` is a page, or a folder with more HTML pages than Markdown files."""
        if root.is_file():
            return root.name.lower().endswith(ENDINGS)
        pages = sum(1 for _ in walk_files(root, ENDINGS))
        sources = sum(1 for _ in markdown_files(root)) if pages else 0
        is_built = (root / "index.html").is_file() or (root / "sitemap.xml").is_file()
        return pages > 0 and (sources == 0 or (is_built and pages >= sources))

    def files(self, root: Path) -> list[SourceFile]:
        """List the pages and the sitemaps."""
        return [*walk_files(root, ENDINGS), *_sitemaps(root)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page, except generated ones such as search pages."""
        skipped: list[SkippedFile] = []
        files = [
            f for f in walk_files(root, ENDINGS, skipped) if not _GENERATED_PAGES.search(f.name)
        ]
        index, tree = _find_index(files, options)
        site = _site(root, files, tree, options)
        read_pages: dict[str, tuple[Page, PageMetadata]] = {}
        for file in files:
            with skip_on_error(file.name, skipped):
                read_pages[file.name] = _read_page(file, site, options)
        pages_by_name = _drop_unlisted(read_pages, skipped)
        pages = _order_pages(root, pages_by_name, (index, tree), options)
        title = (
            site.name or next((text_of(e) for e in tree.iter("title")), "")
            if tree is not None
            else ""
        )
        name = root.stem if root.is_file() else root.resolve().name
        return Book(title=title or name, kind=self.name, pages=tuple(pages), skipped=tuple(skipped))


def _sitemaps(root: Path) -> list[SourceFile]:
    if root.is_file():
        return []
    return [SourceFile(path, path.name) for path in sorted(root.glob("sitemap*.xml"))]


def _read_sitemaps(root: Path, options: IngestOptions) -> Iterator[bytes]:
    limit = options.max_file_bytes
    for file in _sitemaps(root):
        with suppress(UnreadableFile):  # sitemaps only determine the order
            yield read_bytes(file, limit=limit, setting="CITEWELL_INGEST__MAX_FILE_BYTES")


def _read_page_bytes(file: SourceFile, options: IngestOptions) -> bytes:
    return read_bytes(file, limit=options.max_page_bytes, setting="CITEWELL_INGEST__MAX_PAGE_BYTES")


def _find_index(files: Sequence[SourceFile], options: IngestOptions) -> tuple[str, Element | None]:
    """Return the home page of the site, and its tree if it can be read."""
    ranked = sorted(
        files, key=lambda f: (not _INDEX_FILE.search(f.name), f.name.count("/"), f.name)
    )
    for file in ranked[:1]:
        try:
            return file.name, parse_html(_read_page_bytes(file, options))
        except UnreadableFile:
            return file.name, None
    return "", None


def _site(
    root: Path, files: Sequence[SourceFile], index: Element | None, options: IngestOptions
) -> _Site:
    titles: list[str] = []
    for file in files if root.is_dir() else ():
        title = _TITLE.search(read_prefix(file.path, _HEAD_SIZE))
        titles += [collapse_space(unescape(title[1]))] if title else []
    names = [file.name for file in files]
    extensionless = index is not None and uses_extensionless_links(index, names)
    return _Site(site_name(titles), options.site_url or "", extensionless)


def _read_page(
    file: SourceFile, site: _Site, options: IngestOptions
) -> "tuple[Page, PageMetadata]":
    tree = parse_html(_read_page_bytes(file, options))
    metadata, ids = read_metadata(tree), ids_of(tree)
    replace_math(tree)
    base_url = metadata.base or site.root
    default_url = page_url(file.name, base_url, extensionless=site.extensionless)
    url = metadata.canonical or default_url
    title = strip_site_name(metadata.title, site.name) or Path(file.name).stem
    # A title followed by the site's name is the page's own title.
    is_own = title != metadata.title and bool(metadata.title)
    content = main_content(tree)
    single = is_own or not metadata.title or _first_heading_is_title(content, title)
    parsed = read_sections(content, title=title, base=url, keep_title=is_own, one_chapter=single)
    page = Page(
        source=file.name,
        title=parsed.title,
        part=metadata.part,
        url=url,
        sections=parsed.sections,
        ids=ids,
    )
    # The default URL replaces a canonical URL that several pages share.
    return page, replace(metadata, base=default_url)


def _first_heading_is_title(content: Element, title: str) -> bool:
    """Return whether the first heading is the page's title; one of several may be a section."""
    headings = [text_of(e).lower() for e in content.iter("h1")]
    return len(headings) < 2 or headings[0] in title.lower()  # noqa: PLR2004


def _drop_unlisted(
    read_pages: "dict[str, tuple[Page, PageMetadata]]", skipped: list[SkippedFile]
) -> "dict[str, tuple[Page, PageMetadata]]":
    unlisted = sum(metadata.unlisted for _, metadata in read_pages.values())
    pages_by_name: dict[str, tuple[Page, PageMetadata]] = {}
    url_counts = Counter(page.url for page, _ in read_pages.values())
    for name, (page, metadata) in read_pages.items():
        # If all pages have `noindex`, as in a draft of a site, keep them.
        is_unlisted = metadata.unlisted and unlisted < len(read_pages)
        if metadata.moved or is_unlisted:
            reason = "redirects to another page" if metadata.moved else "is marked `noindex`"
            skipped.append(SkippedFile(source=name, reason=reason, failed=False))
            continue
        url = page.url if url_counts[page.url] == 1 else metadata.base
        pages_by_name[name] = (replace(page, url=url), metadata)
    return pages_by_name


def _order_pages(
    root: Path,
    pages_by_name: "dict[str, tuple[Page, PageMetadata]]",
    index: tuple[str, Element | None],
    options: IngestOptions,
) -> list[Page]:
    resolver = LinkResolver(pages_by_name)
    by_url = {page.url: name for name, (page, _) in pages_by_name.items()}
    listed_order = sitemap_order(_read_sitemaps(root, options), resolver)
    home, tree = index
    if not listed_order and tree is not None:
        listed_order = navigation_order(tree, home, resolver)
    next_pages = {
        name: target
        for name, (_, metadata) in pages_by_name.items()
        if metadata.next
        and (target := by_url.get(metadata.next) or resolver.find(metadata.next, name)) is not None
    }
    # Without an index page, `home` is only the first page by name.
    if home in pages_by_name and not link_key(home):
        listed_order = [home, *listed_order]
    order = reading_order(listed_order, list(pages_by_name), next_pages)
    return [pages_by_name[name][0] for name in order]


_SEPARATOR = re.compile(r"\s+[|–—·•»:-]\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """The metadata of a page, from outside its content."""

    title: str
    canonical: str
    base: str
    next: str
    """The target of the page's link to the next one."""
    part: str
    unlisted: bool
    moved: bool


class LinkResolver:
    """Resolves links to files of the site."""

    def __init__(self, names: Iterable[str]) -> None:
        self._files = {link_key(name): name for name in names}

    def find(self, href: str, start: str = "") -> str | None:
        """Return the file that `href` on the page `start` leads to; `None` for external links."""
        try:
            path = unquote(urlsplit(href.strip()).path)
            absolute = bool(urlsplit(href).scheme) or path.startswith("/")
        except ValueError:
            return None
        if not path and not absolute:
            return None
        if not absolute:
            return self._files.get(link_key(posixpath.join(posixpath.dirname(start), path)))
        # The base path of the site is unknown: use the longest suffix that is a file.
        parts = [part for part in path.split("/") if part]
        keys = ("/".join(parts[n:]) for n in range(len(parts) + 1))
        return next((self._files[k] for k in map(link_key, keys) if k in self._files), None)


def link_key(name: str) -> str:
    """Return the canonical form of a page's path, without `.html` and `index`."""
    name = posixpath.normpath("/" + name).strip("/")
    name = re.sub(r"\.(?:html?|xhtml)$", "", name)
    return re.sub(r"(?:^|/)index$", "", name)


def read_metadata(tree: Element) -> PageMetadata:
    """Read the metadata from a page's head, breadcrumbs and navigation links."""
    links = {e.get("rel", ""): e.get("href", "") for e in tree.iter("link")}
    metas = {
        e.get("name") or e.get("http-equiv") or "": e.get("content", "") for e in tree.iter("meta")
    }
    title = next((text_of(e) for e in tree.iter("title")), "")
    base = next((e.get("href", "") for e in tree.iter("base")), "")
    return PageMetadata(
        title=title,
        canonical=_absolute(links.get("canonical", "")),
        base=_absolute(base),
        next=links.get("next") or _next_link(tree),
        part=_part(tree) or _docbook_parent(tree),
        unlisted="noindex" in metas.get("robots", "").lower(),
        moved="url=" in {k.lower(): v for k, v in metas.items()}.get("refresh", "").lower(),
    )


def _absolute(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    is_absolute = parts.scheme in ("http", "https") and bool(parts.netloc)
    return url.strip().partition("#")[0] if is_absolute else ""


def _next_link(tree: Element) -> str:
    for link in tree.iter("a"):
        if "next" in (link.get("rel") or "").split() or "link--next" in class_attribute(link):
            return link.get("href") or ""
    return ""


def _part(tree: Element) -> str:
    """Return the first breadcrumb that is neither the home page nor the page itself."""
    crumbs = next((e for e in tree.iter("ul", "ol") if "breadcrumb" in class_attribute(e)), None)
    if crumbs is None:
        return ""
    items = [e for e in crumbs.iter("li") if "aside" not in class_attribute(e)]
    texts = (text for item in items[:-1] if (text := text_of(item)) and not _links_home(item))
    return next(texts, "")


def _docbook_parent(tree: Element) -> str:
    """Return the title of the parent page in DocBook's links."""
    links = {e.get("rel", ""): e for e in tree.iter("link")}
    parent_link = links.get("up")
    homes = {links[rel].get("href") for rel in ("home", "start", "top") if rel in links}
    if parent_link is None or parent_link.get("href") in homes:
        return ""
    return collapse_space(parent_link.get("title") or "")


def _links_home(item: Element) -> bool:
    link = next(iter(item.iter("a")), None)
    return link is not None and text_of(link).lower() in ("home", "index", "")


def site_name(titles: Sequence[str]) -> str:
    """Return the common ending of most page titles."""
    ends = Counter(parts[-1] for title in titles if len(parts := _SEPARATOR.split(title)) > 1)
    name, count = next(iter(ends.most_common(1)), ("", 0))
    return name if count > 1 and count >= len(titles) / 2 else ""


def strip_site_name(title: str, site: str) -> str:
    """Return a page's title without the site name at its end."""
    without_name = title.removesuffix(site) if site else title
    return re.sub(r"\s+[|–—·•»:-]\s*$", "", without_name).strip() or title


def sitemap_order(sitemaps: Iterable[bytes], resolver: LinkResolver) -> list[str]:
    """Return the files in the order of the sitemaps."""
    names: list[str] = []
    for data in sitemaps:
        try:
            urls = [text_of(e) for e in parse_xml(data).iter("loc")]
        except UnreadableFile:
            continue
        names += (name for url in urls if (name := resolver.find(url)))
    return names


def navigation_order(index: Element, start: str, resolver: LinkResolver) -> list[str]:
    """Return the files in the order of the links on the home page, menus first."""
    menus = [link for nav in index.iter("nav", "aside") for link in nav.iter("a")]
    boxes = [e for e in index.iter("div") if re.search(r"toctree|sidebar", class_attribute(e))]
    links = (*menus, *(link for box in boxes for link in box.iter("a")), *index.iter("a"))
    return [n for a in links if tag_name(a) and (n := resolver.find(a.get("href") or "", start))]


def reading_order(
    listed_order: Sequence[str], names: Sequence[str], next_pages: dict[str, str]
) -> list[str]:
    """Order the files as in `listed_order`, but keep chains of next-page links together."""
    all_names = set(names)
    previous = {b: a for a, b in next_pages.items() if a in all_names and b in all_names and a != b}
    ordered: dict[str, None] = {}
    for name in (*listed_order, *names):
        if name in ordered or name not in all_names:
            continue
        first_page, chain = name, {name}
        while (page := previous.get(first_page)) and page not in chain and page not in ordered:
            first_page = page
            chain.add(first_page)
        current: str | None = first_page
        while current is not None and current in all_names and current not in ordered:
            ordered[current] = None
            current = next_pages.get(current)
    return list(ordered)


def uses_extensionless_links(index: Element, names: Iterable[str]) -> bool:
    """Return whether the site links to its pages without `.html`."""
    stems = {link_key(n).rpartition("/")[2] for n in names if not n.endswith("index.html")}
    paths = (link_path(a.get("href") or "") for a in index.iter("a"))
    return any(path.rpartition("/")[2] in stems for path in paths if path)


def link_path(href: str) -> str:
    """Return the path of a link; empty if it is malformed."""
    try:
        return urlsplit(href).path.rstrip("/")
    except ValueError:
        return ""


def page_url(name: str, root: str, *, extensionless: bool) -> str:
    """Return the URL of a page below the site's root; an index page has its folder's URL."""
    folder, _, file_name = name.rpartition("/")
    if file_name.lower() in ("index.html", "index.htm"):
        path = f"{folder}/" if folder else ""
    else:
        path = re.sub(r"\.html?$", "", name) if extensionless else name
    return f"{root.rstrip('/')}/{quote_path(path)}"
