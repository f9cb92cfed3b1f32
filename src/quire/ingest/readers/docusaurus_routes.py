"""Ids and slugs of pages, as Docusaurus makes them from paths and front matter."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from quire.ingest.readers.data import scalar

_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$", re.A)
# Dates and version numbers look like prefixes but are names.
_NOT_PREFIX = re.compile(r"^\d+[-_.]\d+", re.A)
EXCLUDED = (
    "**/_*.{js,jsx,ts,tsx,md,mdx}",
    "**/_*/**",
    "**/*.test.{js,jsx,ts,tsx}",
    "**/__tests__/**",
)
"""What is no page unless the configuration says otherwise."""


def split_prefix(name: str) -> tuple[float | None, str]:
    """Split `02-control` into its position and its name."""
    found = None if _NOT_PREFIX.match(name) else _PREFIX.match(name)
    return (float(found[1]), found[2]) if found else (None, name)


def is_index(name: str) -> bool:
    """Tell whether a page stands for its folder, by its name as written."""
    path = PurePosixPath(name)
    return path.stem.lower() in ("index", "readme", path.parent.name.lower())


def page_id(name: str, front_matter: Mapping[str, Any], *, prefixes: bool = True) -> str:
    """Give the id by which sidebars call a page."""
    folders, base = _names(name, front_matter, prefixes)
    return "/".join([*folders, base])


def page_slug(name: str, front_matter: Mapping[str, Any], *, prefixes: bool = True) -> str:
    """Give the page's slug below the docs route."""
    folders, base = _names(name, front_matter, prefixes)
    slug = front_matter.get("slug")
    if isinstance(slug, str) and slug.startswith("/"):
        return slug
    if isinstance(slug, str) and slug:
        whole = posixpath.normpath("/" + "/".join([*folders, slug]))
        return f"{whole}/" if slug.endswith("/") and whole != "/" else whole
    return "/" + "/".join([*folders, "" if is_index(name) else base])


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a path is meant by one of the patterns, as micromatch reads them."""
    return any(_glob(pattern).fullmatch(name) for pattern in patterns)


def _names(name: str, front_matter: Mapping[str, Any], prefixes: bool) -> tuple[list[str], str]:
    """Give the folders and the name of a page, without their numbers unless they are kept."""
    path = PurePosixPath(name)
    strip = prefixes and front_matter.get("parse_number_prefixes") is not False
    parts = [split_prefix(p)[1] if strip else p for p in (*path.parent.parts, path.stem)]
    return parts[:-1], scalar(front_matter.get("id")) or parts[-1]


def _glob(pattern: str) -> re.Pattern[str]:
    made = ""
    pattern = re.sub(r"(?:\*\*/){2,}", "**/", pattern)  # says the same, and is matched at once
    for part in re.split(r"(\*\*/|\*\*|\*|\?|\{[^{}]*\})", pattern.removeprefix("./")):
        if part.startswith("{"):
            made += "(?:" + "|".join(map(re.escape, part[1:-1].split(","))) + ")"
        else:
            wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
            made += wild.get(part, re.escape(part))
    return re.compile(made)
