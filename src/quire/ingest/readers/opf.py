"""The package of an EPUB: what it holds, in which order, under which titles."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from quire.errors import UnreadableFile
from quire.ingest.readers.archive import Archive, inside
from quire.ingest.readers.htmltree import (
    Element,
    epub_type,
    name_of,
    parse_xhtml,
    parse_xml,
    text_of,
)

_LIMIT = 20_000_000
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS_ONLY = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_TEXT = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table of contents."""

    title: str
    name: str
    fragment: str
    trail: tuple[str, ...]
    """The titles of the lines that it stands under."""


@dataclass(frozen=True, slots=True)
class Package:
    """What an EPUB says about itself."""

    title: str
    spine: tuple[str, ...]
    """The chapters by their names in the archive, in reading order."""
    contents: dict[str, list[Entry]] = field(default_factory=dict)
    """The lines of the table of contents by the chapter they lead to."""


def read_package(archive: Archive) -> Package:
    """Find the chapters, their order and their titles.

    Raises:
        UnreadableFile: it is protected, or its description is missing or damaged.
    """
    if _CONTAINER not in archive:
        raise UnreadableFile("is damaged: META-INF/container.xml is missing")
    if _is_protected(archive):
        raise UnreadableFile("is protected by DRM, so its text cannot be read")
    roots = [e.get("full-path", "") for e in _xml(archive, _CONTAINER).iter("rootfile")]
    place = next((root for root in roots if root in archive), None)
    if place is None:
        raise UnreadableFile("is damaged: it does not say what it holds")
    tree = _xml(archive, place)
    items = {e.get("id", ""): e for e in tree.iter("item")}
    names = {key: _target(place, item.get("href", ""))[0] for key, item in items.items()}
    entries = list(_contents(archive, tree, items, names))
    toc = {name for e in tree.iter("reference") if e.get("type") in ("toc", "cover")
           for name in (_target(place, e.get("href", ""))[0],)}  # fmt: skip
    by_chapter: dict[str, list[Entry]] = {}
    for entry in entries:
        by_chapter.setdefault(entry.name, []).append(entry)
    spine = [
        names[key]
        for ref in tree.iter("itemref")
        if (key := ref.get("idref", "")) in items
        and items[key].get("media-type", _TEXT[0]) in _TEXT
        and "nav" not in (items[key].get("properties") or "").split()
    ]
    title = next((text for e in tree.iter("title") if (text := text_of(e))), "")
    kept = tuple(name for name in dict.fromkeys(spine) if name not in toc)
    return Package(title=title, spine=kept, contents=by_chapter)


def _xml(archive: Archive, name: str) -> Element:
    data = archive.read(name, limit=_LIMIT, setting="the most a table of contents may hold")
    try:
        return parse_xml(data)
    except UnreadableFile as error:
        raise UnreadableFile(f"is damaged: {name} {error}") from error


def _is_protected(archive: Archive) -> bool:
    if _ENCRYPTION not in archive:
        return "META-INF/sinf.xml" in archive
    tree = _xml(archive, _ENCRYPTION)
    return any(
        e.get("Algorithm", "") not in _FONTS_ONLY
        for data in tree.iter("encrypteddata")
        for e in data.iterchildren("encryptionmethod")
    )


def _target(base: str, href: str) -> tuple[str, str]:
    """Give the entry and the place in it that a link leads to."""
    try:
        parts = urlsplit(href.strip())
    except ValueError:
        return "", ""
    if not parts.path:
        return "", parts.fragment
    return inside(base, unquote(parts.path)), parts.fragment


def _contents(
    archive: Archive, tree: Element, items: dict[str, Element], names: dict[str, str]
) -> Iterator[Entry]:
    """Give the lines of the table of contents, from the newer kind if there is one."""
    spine = next(tree.iter("spine"), None)
    navs = [k for k, i in items.items() if "nav" in (i.get("properties") or "").split()]
    lists = [spine.get("toc", "")] if spine is not None else []
    ncx = [k for k, i in items.items() if i.get("media-type") == "application/x-dtbncx+xml"]
    for key in (*navs, *lists, *ncx):
        name = names.get(key, "")
        try:
            data = archive.read(name, limit=_LIMIT, setting="the most a table may hold")
            root = parse_xhtml(data)
        except UnreadableFile:
            continue
        # Without a table of contents, the headings of the chapters are still there.
        found = list(_nav_lines(root, name) if key in navs else _ncx_lines(root, name))
        if found:
            yield from found
            return


def _nav_lines(root: Element, base: str) -> Iterator[Entry]:
    navs = list(root.iter("nav"))
    chosen = next((nav for nav in navs if epub_type(nav) == "toc"), navs[0] if navs else None)
    for top in chosen.iterchildren("ol") if chosen is not None else ():
        yield from _nav_list(top, base, ())


def _nav_list(top: Element, base: str, trail: tuple[str, ...]) -> Iterator[Entry]:
    if len(trail) > _DEEPEST:
        return
    for item in top.iterchildren("li"):
        label = next((e for e in item if name_of(e) in ("a", "span")), None)
        title = text_of(label) if label is not None else ""
        if label is not None and label.get("href"):
            name, fragment = _target(base, label.get("href", ""))
            yield Entry(title, name, fragment, trail)
        for below in item.iterchildren("ol"):
            yield from _nav_list(below, base, (*trail, title))


def _ncx_lines(root: Element, base: str) -> Iterator[Entry]:
    for top in root.iter("navmap"):
        yield from _ncx_points(top.iterchildren("navpoint"), base, ())


def _ncx_points(points: Iterable[Element], base: str, trail: tuple[str, ...]) -> Iterator[Entry]:
    if len(trail) > _DEEPEST:
        return
    for point in points:
        label = next(point.iterchildren("navlabel"), None)
        title = text_of(label) if label is not None else ""
        content = next(point.iterchildren("content"), None)
        if content is not None:
            name, fragment = _target(base, content.get("src", ""))
            yield Entry(title, name, fragment, trail)
        yield from _ncx_points(point.iterchildren("navpoint"), base, (*trail, title))
