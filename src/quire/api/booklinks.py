"""Where the links of a book lead: to a page that this service can show, or out of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from posixpath import commonpath, dirname, join, normpath
from typing import Literal
from urllib.parse import unquote, urljoin, urlsplit

from quire.domain import Contents

LinkKind = Literal["page", "away", "broken"]
_SAFE = ("http", "https", "mailto")
_PATHNAME = "pathname://"
"""What Docusaurus takes for a path of the site that is no page of the docs."""
_ENDINGS = re.compile(r"\.(?:mdx?|markdown|rst|ipynb|x?html?)$")
_INDEX = re.compile(r"(?:^|/)(?:index|README)$", re.I)


@dataclass(frozen=True, slots=True)
class Link:
    """Where one link leads."""

    kind: LinkKind
    href: str = ""
    """The address to follow, for what leads away; for what is broken, as it is written."""
    file: str = ""
    """Source file of the page, for what stays in the book."""
    anchor: str = ""


class BookLinks:
    """The pages of a book, by the names that its authors link them by.

    Authors write the path of a file or the address that it has on the built site.
    """

    def __init__(self, contents: Contents) -> None:
        """Note the source file and the address of every page."""
        pages = {one.source_file: one.url for one in contents.walk() if one.source_file}
        self._files: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        for file, url in pages.items():
            self._files[normpath(file)] = file
            self._files.setdefault(_bare(normpath(file)), file)
            self._addresses.setdefault(_bare(url), file)
        self._urls = {file: url.partition("#")[0] for file, url in pages.items()}
        self._root = _root(pages)

    def resolve(self, href: str, source_file: str) -> Link:
        """Return where a link on a page leads."""
        href = href.removeprefix(_PATHNAME)
        parts = urlsplit(href)
        # An address that could run a program was left out when the book was read.
        if not href or (parts.scheme and parts.scheme.lower() not in _SAFE):
            return Link("broken", href)
        path, _, anchor = href.partition("#")
        file = self._find(path, source_file) if path else source_file
        if file is not None:
            return Link("page", file=file, anchor=unquote(anchor))
        published = urljoin(self._urls.get(source_file, ""), href)
        return Link("away", published) if urlsplit(published).scheme else Link("broken", href)

    def _find(self, path: str, source_file: str) -> str | None:
        if not urlsplit(path).scheme and not path.startswith("//"):
            named = unquote(path.partition("?")[0])
            beside = () if named.startswith("/") else (dirname(source_file),)
            for folder in (*beside, self._root, ""):
                below = normpath(join(folder, named.lstrip("/")))
                if found := self._files.get(below) or self._files.get(_bare(below)):
                    return found
        return self._addresses.get(_bare(urljoin(self._urls.get(source_file, ""), path)))


def safe_href(url: str) -> str:
    """Return an address that may be followed; of one that could run a program, nothing."""
    scheme = urlsplit(url.strip()).scheme.lower()
    return url if not scheme or scheme in _SAFE else ""


def _bare(address: str) -> str:
    """Return an address or path without what sites add to it or leave out."""
    stem = unquote(address.partition("#")[0].partition("?")[0]).rstrip("/")
    return _INDEX.sub("", _ENDINGS.sub("", stem))


def _root(files: Iterable[str]) -> str:
    """Return the folder that all pages stand in."""
    folders = [f"/{dirname(file)}" for file in files]
    return commonpath(folders)[1:] if folders else ""
