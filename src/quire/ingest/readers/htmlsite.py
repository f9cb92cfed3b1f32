"""A built site seen as a whole: which file an address means, and in what order to read."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from quire.errors import UnreadableFile
from quire.ingest.readers.folder import address
from quire.ingest.readers.htmltree import Element, class_of, fold, name_of, parse_xml, text_of

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
        """Give the file that `href` on the page `start` leads to, if it is one of the site."""
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
    """Give the one form of a page's address that all ways to write it share."""
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
        if "next" in (link.get("rel") or "").split() or "link--next" in class_of(link):
            return link.get("href") or ""
    return ""


def _part(tree: Element) -> str:
    """Give the first of the breadcrumbs that is neither the way home nor the page itself."""
    crumbs = next((e for e in tree.iter("ul", "ol") if "breadcrumb" in class_of(e)), None)
    if crumbs is None:
        return ""
    items = [e for e in crumbs.iter("li") if "aside" not in class_of(e)]
    words = [text for item in items[:-1] if (text := text_of(item)) and not _leads_home(item)]
    return words[0] if words else ""


def _above(tree: Element) -> str:
    """Give the title of the chapter that DocBook links a page to as standing above it."""
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
    """Give what the titles of most pages end with: the name of the site."""
    ends = Counter(parts[-1] for title in titles if len(parts := _SEPARATOR.split(title)) > 1)
    name, count = next(iter(ends.most_common(1)), ("", 0))
    return name if count > 1 and count >= len(titles) / 2 else ""


def without_site(title: str, site: str) -> str:
    """Give a page's title without the site's name behind it."""
    short = title.removesuffix(site) if site else title
    return re.sub(r"\s+[|–—·•»:-]\s*$", "", short).strip() or title


def sitemap_order(sitemaps: Iterable[bytes], addresses: Addresses) -> list[str]:
    """Give the files in the order of the site's map."""
    found: list[str] = []
    for data in sitemaps:
        try:
            places = [text_of(e) for e in parse_xml(data).iter("loc")]
        except UnreadableFile:
            continue
        found += (name for place in places if (name := addresses.find(place)))
    return found


def navigation_order(index: Element, start: str, addresses: Addresses) -> list[str]:
    """Give the files in the order in which the first page links to them, its menus first."""
    menus = [link for nav in index.iter("nav", "aside") for link in nav.iter("a")]
    named = [e for e in index.iter("div") if re.search(r"toctree|sidebar", class_of(e))]
    listed = [link for box in named for link in box.iter("a")]
    links = (*menus, *listed, *index.iter("a"))
    return [n for a in links if name_of(a) and (n := addresses.find(a.get("href") or "", start))]


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
    """Tell whether the site links its pages without `.html`."""
    bare = {address_key(n).rpartition("/")[2] for n in names if not n.endswith("index.html")}
    hrefs = (urlsplit_path(a.get("href") or "") for a in index.iter("a"))
    return any(path.rpartition("/")[2] in bare for path in hrefs if path)


def urlsplit_path(href: str) -> str:
    """Give the path of a link, however broken it is."""
    try:
        return urlsplit(href).path.rstrip("/")
    except ValueError:
        return ""


def page_address(name: str, root: str, *, bare: bool) -> str:
    """Give a page's address below the site's root; a folder's index is the folder."""
    folder, _, last = name.rpartition("/")
    if last.lower() in ("index.html", "index.htm"):
        path = f"{folder}/" if folder else ""
    else:
        path = re.sub(r"\.html?$", "", name) if bare else name
    return f"{root.rstrip('/')}/{address(path)}"
