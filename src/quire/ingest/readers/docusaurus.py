"""Docusaurus books: the addresses, titles and order of the built site, without building it."""

import json
import os
import posixpath
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from quire.domain import Book, Page, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.markdown import (
    ParsedPage,
    markdown_files,
    parse_page,
    read_start,
    read_text,
    reporting,
)

_CONFIGS = tuple(f"docusaurus.config.{end}" for end in ("ts", "js", "mjs", "cjs", "mts", "cts"))
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
# Dates and version numbers look like prefixes but are names.
_NOT_PREFIX = re.compile(r"^(?:\d{2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{2}|\d{4}))?.*$|^\d+[-_.]\d+.*$")
_COMMENT = re.compile(r"(?:^|(?<=[\s,;{}()\[\]]))(?://[^\n]*|/\*.*?\*/)", re.M | re.S)

_SIGN = re.compile(r"^(sidebar_position|sidebar_label|slug):", re.M)
_OTHERS = ("book.toml", "SUMMARY.md", "mkdocs.yml", "mkdocs.yaml", "_toctree.yml", "docs")
_LOOKED_AT = 500
"""How many pages are opened to find out who they are written for."""


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """What decides the addresses of a Docusaurus site."""

    title: str
    url: str
    base_url: str
    route: str
    docs: str
    trailing_slash: bool | None

    def address(self, slug: str) -> str:
        """Give the address of the page whose slug is `slug`."""
        path = "/".join(p.strip("/") for p in (self.base_url, self.route, slug) if p.strip("/"))
        if path == self.base_url.strip("/"):
            return f"{self.url}/{path}/" if path else f"{self.url}/"
        bare = f"{self.url}/{path}"
        if self.trailing_slash is True:
            return f"{bare}/"
        if self.trailing_slash is None and slug.endswith("/"):
            return f"{bare}/"
        return bare


@dataclass(frozen=True, slots=True)
class Category:
    """A folder of pages: its label and its place."""

    label: str
    position: float


def _setting(config: str, name: str) -> str | None:
    found = re.search(rf"\b{name}\s*:\s*(['\"`])(.*?)(?<!\\)\1", config)
    return found[2].replace("\\'", "'") if found else None


def _inside(config: str, name: str) -> str:
    """Give what stands in the braces behind `name:`, without what stands in braces further in."""
    kept: list[str] = []
    for found in re.finditer(rf"\b{name}\s*:\s*\{{", config):
        depth = 1
        for char in config[found.end() :]:
            depth += (char == "{") - (char == "}")
            if depth == 0:
                break
            if depth == 1:
                kept.append(char)
    return "".join(kept)


def read_config(root: Path, options: IngestOptions) -> SiteConfig:
    """Read what is needed of `docusaurus.config.*` without running it.

    Raises:
        UnreadableFile: the file cannot be opened or is not text.
    """
    source = next((root / name for name in _CONFIGS if (root / name).is_file()), None)
    try:
        config = _COMMENT.sub("", source.read_text("utf-8")) if source else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{source} cannot be read as text.") from error
    inside = _inside(config, "docs")
    slash = re.search(r"\btrailingSlash\s*:\s*(true|false)\b", config)
    route = _setting(inside, "routeBasePath")
    return SiteConfig(
        title=_setting(config, "title") or root.resolve().name,
        url=(options.site_url or _setting(config, "url") or "").rstrip("/"),
        base_url=_setting(config, "baseUrl") or "/",
        route="docs" if route is None else route,
        docs=_setting(inside, "path") or "docs",
        trailing_slash=None if not slash else slash[1] == "true",
    )


def split_prefix(name: str) -> tuple[float | None, str]:
    """Split `02-control` into its position and its name."""
    found = None if _NOT_PREFIX.match(name) else _PREFIX.match(name)
    return (float(found[1]), found[2]) if found else (None, name)


def page_slug(name: str, front_matter: dict[str, Any]) -> str:
    """Give the page's slug below the docs route, as Docusaurus makes it."""
    path = PurePosixPath(name)
    folders = [split_prefix(part)[1] for part in path.parent.parts]
    _, stem = split_prefix(path.stem)
    slug = front_matter.get("slug")
    if isinstance(slug, str) and slug.startswith("/"):
        return slug
    if isinstance(slug, str) and slug:
        whole = posixpath.normpath("/" + "/".join([*folders, slug]))
        return f"{whole}/" if slug.endswith("/") and whole != "/" else whole
    # By the name as written: `02-index.md` is a page like any other.
    at_index = path.stem.lower() in ("index", "readme", path.parent.name.lower())
    last = "" if at_index else str(front_matter.get("id") or stem)
    return "/" + "/".join([*folders, last])


def read_category(folder: Path) -> Category:
    """Read a folder's `_category_` file, or make its label from its name."""
    position, name = split_prefix(folder.name)
    data: dict[str, Any] = {}
    for file in sorted(folder.glob("_category_.*")):
        try:
            text = file.read_text("utf-8")
            loaded = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
        except (ValueError, yaml.YAMLError, OSError, RecursionError):
            continue
        data = loaded if isinstance(loaded, dict) else {}
    return Category(str(data.get("label") or name), _place(data.get("position", position)))


def _place(value: object) -> float:
    """Give a position as a number; what is none comes last."""
    try:
        return float(str(value))
    except ValueError:
        return float("inf")


class DocusaurusReader:
    """A Docusaurus 2 or 3 site, or its docs folder."""

    kind = "docusaurus"

    def recognises(self, root: Path) -> bool:
        """Tell whether the folder is a Docusaurus site, or the docs folder of one."""
        return _site(root) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the pages and the files that decide their addresses and order."""
        site = _site(root) or root
        docs = site / read_config(site, IngestOptions()).docs
        categories = (SourceFile(p, str(p.relative_to(docs))) for p in docs.rglob("_category_.*"))
        return [
            *(SourceFile(site / name, name) for name in _CONFIGS if (site / name).is_file()),
            *sorted((_below(site, docs, f) for f in categories), key=lambda f: f.name),
            *(_below(site, docs, f) for f in markdown_files(docs)),
        ]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every published page."""
        site = _site(root) or root
        config = read_config(site, options)
        docs = site / config.docs
        found: list[tuple[tuple[tuple[float, str], ...], Page]] = []
        skipped: list[Skipped] = []
        for file in markdown_files(docs, skipped):
            where = _below(site, docs, file)
            with reporting(where.name, skipped):
                parsed = parse_page(read_text(file, options), mdx=file.name.endswith(".mdx"))
                hidden = next(
                    (k for k in ("draft", "unlisted") if parsed.front_matter.get(k)), None
                )
                if hidden:
                    skipped.append(Skipped(source=where.name, reason=f"is {hidden}", failed=False))
                else:
                    page = _page(docs, file, where, parsed, config)
                    found.append((_order(docs, file, parsed), page))
        pages = tuple(page for _, page in sorted(found, key=lambda pair: pair[0]))
        return Book(title=config.title, kind=self.kind, pages=pages, skipped=tuple(skipped))


def _site(root: Path) -> Path | None:
    if _configured(root):
        return root
    above = root.resolve().parent
    if _configured(above):
        docs = above / read_config(above, IngestOptions()).docs
        return above if docs.resolve() == root.resolve() else None
    # Without a configuration the defaults hold, if the pages are written for Docusaurus.
    if _written_for_docusaurus(root / "docs"):
        return root
    if root.resolve().name == "docs" and _written_for_docusaurus(root):
        return above
    return _site_below(root)


def _site_below(root: Path) -> Path | None:
    """Find the only site in a repository whose own folder is no book of another kind."""
    if not root.is_dir() or any((root / name).exists() for name in _OTHERS):
        return None
    sites = [
        folder
        for folder in root.iterdir()
        if folder.is_dir()
        and not folder.name.startswith((".", "_"))
        and folder.name != "node_modules"
        and _is_site(folder)
    ]
    return sites[0] if len(sites) == 1 else None


def _is_site(folder: Path) -> bool:
    try:
        return _configured(folder) or _written_for_docusaurus(folder / "docs")
    except OSError:
        # A folder that may not be opened is reported when the book is read.
        return False


def _written_for_docusaurus(docs: Path) -> bool:
    """Whether pages of a folder use what only Docusaurus understands."""
    if not docs.is_dir():
        return False
    if next(docs.rglob("_category_.*"), None):
        return True
    signs: set[str] = set()
    for file in islice(markdown_files(docs), _LOOKED_AT):
        signs.update({".mdx"} if file.name.endswith(".mdx") else ())
        head = read_start(file.path, 2000)
        signs.update(_SIGN.findall(head.split("\n---", 1)[0] if head[:3] == "---" else ""))
    # Others know slugs, too.
    return bool(signs & {"sidebar_position", "sidebar_label"} or {"slug", ".mdx"} <= signs)


def _configured(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _CONFIGS)


def _below(site: Path, docs: Path, file: SourceFile) -> SourceFile:
    # The pages may lie beside the site: `path: '../docs'`.
    return SourceFile(file.path, Path(os.path.relpath(docs / file.name, site)).as_posix())


def _order(docs: Path, file: SourceFile, parsed: ParsedPage) -> tuple[tuple[float, str], ...]:
    place = PurePosixPath(file.name)
    folders = [docs.joinpath(*place.parts[:n]) for n in range(1, len(place.parts))]
    position = _place(parsed.front_matter.get("sidebar_position", split_prefix(place.stem)[0]))
    return (*((read_category(f).position, f.name) for f in folders), (position, place.name))


def _page(
    docs: Path, file: SourceFile, where: SourceFile, parsed: ParsedPage, config: SiteConfig
) -> Page:
    place = PurePosixPath(file.name)
    title = parsed.front_matter.get("title") or parsed.heading or split_prefix(place.stem)[1]
    part = read_category(docs / place.parts[0]).label if len(place.parts) > 1 else ""
    return Page(
        source=where.name,
        title=str(title),
        part=part,
        url=config.address(page_slug(file.name, parsed.front_matter)),
        sections=parsed.sections,
    )
