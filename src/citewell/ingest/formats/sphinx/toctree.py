"""Sphinx's `toctree` directives: the order of the pages, and their parts."""

import fnmatch
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ENTRY = re.compile(r"^(.+?)\s*(?<!\x00)<([^<]*?)>$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toctree:
    """A `toctree` directive: its entries as written, and its options."""

    entries: tuple[str, ...]
    caption: str = ""
    glob: bool = False
    reversed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TocEntry:
    """A page in the table of contents."""

    docname: str
    part: str = ""
    title: str = ""
    """The page's title in the table of contents, if that differs from its own."""


def join_docname(docname: str, target: str) -> str:
    """Resolve a document name relative to the document `docname`."""
    start = "" if target.startswith("/") else posixpath.dirname(docname)
    return posixpath.normpath(posixpath.join("/", start, target.lstrip("/"))).lstrip("/")


def list_entries(
    docname: str, toctree: Toctree, docnames: Sequence[str], suffixes: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the (document, title) pairs of a toctree, in order."""
    pairs: list[tuple[str, str]] = []
    for entry in toctree.entries:
        match = _ENTRY.match(entry)
        title, target = (match[1], match[2]) if match else ("", entry)
        if toctree.glob and not match and re.search(r"[*?\[]", target):
            present = {name for name, _ in pairs}
            pattern = _glob_regex(join_docname(docname, target))
            matching = (name for name in sorted(docnames) if pattern.fullmatch(name))
            pairs += [(name, "") for name in matching if name not in present and name != docname]
            continue
        end = next((s for s in suffixes if target.endswith(s)), "")
        name = join_docname(docname, target.removesuffix(end))
        if name in docnames:
            pairs.append((name, title))
    return pairs[::-1] if toctree.reversed else pairs


def _glob_regex(pattern: str) -> re.Pattern[str]:
    """Translate a pattern as Sphinx does: `*` does not match slashes, `**` does."""
    parts = re.split(r"(\*\*/?|\*|\?|\[!?[^\]]+\])", pattern)
    regex = ""
    for part in parts:
        if part.startswith("**"):
            regex += ".*"
        elif part == "*":
            regex += "[^/]*"
        elif part == "?":
            regex += "[^/]"
        elif part.startswith("["):
            regex += fnmatch.translate(part).removeprefix("(?s:").split(")", 1)[0]
        else:
            regex += re.escape(part)
    try:
        return re.compile(regex)
    except re.error:
        return re.compile(re.escape(pattern))


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a path or one of its parent folders matches one of the patterns."""
    paths = [name]
    while "/" in paths[-1]:
        paths.append(posixpath.dirname(paths[-1]))
    return any(_glob_regex(p.rstrip("/")).fullmatch(path) for p in patterns for path in paths)


def order_pages(
    root: str,
    toctrees: Mapping[str, Sequence[Toctree]],
    titles: Mapping[str, str],
    suffixes: Sequence[str],
) -> list[TocEntry]:
    """Return the pages in reading order, starting from the toctrees of the root document.

    The part of a page is the caption of its toctree, or else the chapter that contains it.
    """
    docnames = list(titles)
    visited = {root}
    pages = [TocEntry(docname=root)] if root in titles else []
    stack: list[TocEntry] = []

    def push(docname: str, part: str, *, top: bool) -> None:
        entries = [
            TocEntry(docname=name, part=tree.caption if top and tree.caption else part, title=title)
            for tree in toctrees.get(docname, ())
            for name, title in list_entries(docname, tree, docnames, suffixes)
        ]
        stack.extend(reversed(entries))

    push(root, "", top=True)
    while stack:
        page = stack.pop()
        if page.docname in visited:
            continue
        visited.add(page.docname)
        pages.append(page)
        push(page.docname, page.part or titles[page.docname], top=False)
    return pages
