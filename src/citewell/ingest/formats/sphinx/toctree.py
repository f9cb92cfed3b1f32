"""Tables of contents: which page follows which, and in which part of the book."""

import fnmatch
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ENTRY = re.compile(r"^(.+?)\s*(?<!\x00)<([^<]*?)>$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """One `toctree`: its lines as written, and its options."""

    entries: tuple[str, ...]
    caption: str = ""
    glob: bool = False
    reversed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page stands in the book."""

    docname: str
    part: str = ""
    title: str = ""
    """What the table of contents calls it, where that differs."""


def join_docname(docname: str, target: str) -> str:
    """Return the document that `target` means when it is written in `docname`."""
    start = "" if target.startswith("/") else posixpath.dirname(docname)
    return posixpath.normpath(posixpath.join("/", start, target.lstrip("/"))).lstrip("/")


def list_entries(
    docname: str, contents: Contents, known: Sequence[str], suffixes: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the (document, title) pairs that one table of contents names, in order."""
    found: list[tuple[str, str]] = []
    for entry in contents.entries:
        explicit = _ENTRY.match(entry)
        title, target = (explicit[1], explicit[2]) if explicit else ("", entry)
        if contents.glob and not explicit and re.search(r"[*?\[]", target):
            listed = {name for name, _ in found}
            pattern = _glob(join_docname(docname, target))
            matching = (name for name in sorted(known) if pattern.fullmatch(name))
            found += [(name, "") for name in matching if name not in listed and name != docname]
            continue
        end = next((s for s in suffixes if target.endswith(s)), "")
        name = join_docname(docname, target.removesuffix(end))
        if name in known:
            found.append((name, title))
    return found[::-1] if contents.reversed else found


def _glob(pattern: str) -> re.Pattern[str]:
    """Translate as Sphinx does: `*` stays within a folder, `**` does not."""
    parts = re.split(r"(\*\*/?|\*|\?|\[!?[^\]]+\])", pattern)
    made = ""
    for part in parts:
        if part.startswith("**"):
            made += ".*"
        elif part == "*":
            made += "[^/]*"
        elif part == "?":
            made += "[^/]"
        elif part.startswith("["):
            made += fnmatch.translate(part).removeprefix("(?s:").split(")", 1)[0]
        else:
            made += re.escape(part)
    try:
        return re.compile(made)
    except re.error:
        return re.compile(re.escape(pattern))


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a path, or a folder above it, is meant by one of the patterns."""
    above = [name]
    while "/" in above[-1]:
        above.append(posixpath.dirname(above[-1]))
    return any(_glob(p.rstrip("/")).fullmatch(n) for p in patterns for n in above)


def arrange(
    root: str,
    trees: Mapping[str, Sequence[Contents]],
    titles: Mapping[str, str],
    suffixes: Sequence[str],
) -> list[Place]:
    """Put the pages in reading order from the root's tables of contents down.

    The part is the caption that a page stands under, or else the chapter that holds it.
    """
    known = list(titles)
    seen = {root}
    placed = [Place(docname=root)] if root in titles else []
    waiting: list[Place] = []

    def push(docname: str, part: str, *, top: bool) -> None:
        entries = [
            Place(docname=name, part=tree.caption if top and tree.caption else part, title=title)
            for tree in trees.get(docname, ())
            for name, title in list_entries(docname, tree, known, suffixes)
        ]
        waiting.extend(reversed(entries))

    push(root, "", top=True)
    while waiting:
        place = waiting.pop()
        if place.docname in seen:
            continue
        seen.add(place.docname)
        placed.append(place)
        push(place.docname, place.part or titles[place.docname], top=False)
    return placed
