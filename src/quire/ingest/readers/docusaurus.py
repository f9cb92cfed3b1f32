"""Docusaurus books: the addresses, titles and order of the built site, without building it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from quire.domain import Book, Page, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.markdown import ParsedPage, markdown_files, parse_page, read_text

_CONFIGS = tuple(f"docusaurus.config.{end}" for end in ("ts", "js", "mjs", "cjs", "mts", "cts"))
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
# Dates and version numbers look like prefixes but are names.
_NOT_PREFIX = re.compile(r"^(?:\d{2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{2}|\d{4}))?.*$|^\d+[-_.]\d+.*$")
_COMMENT = re.compile(r"//[^\n\"']*$|/\*.*?\*/", re.M | re.S)


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
        bare = f"{self.url}/{path}" if path else f"{self.url}/"
        if self.trailing_slash is True and not bare.endswith("/"):
            return f"{bare}/"
        if self.trailing_slash is None and slug.endswith("/") and not bare.endswith("/"):
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


def read_config(root: Path, options: IngestOptions) -> SiteConfig:
    """Read what is needed of `docusaurus.config.*` without running it."""
    source = next((root / name for name in _CONFIGS if (root / name).is_file()), None)
    config = _COMMENT.sub("", source.read_text("utf-8")) if source else ""
    docs = re.search(r"\bdocs\s*:\s*\{(.*)", config, re.S)
    inside = docs[1] if docs else ""
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
    if isinstance(slug, str):
        return "/" + "/".join([*folders, slug])
    last = str(front_matter.get("id") or stem)
    at_index = "id" not in front_matter and (
        stem.lower() in ("index", "readme") or bool(folders and stem == folders[-1])
    )
    return "/" + "/".join([*folders, ""] if at_index else [*folders, last])


def read_category(folder: Path) -> Category:
    """Read a folder's `_category_` file, or make its label from its name."""
    position, name = split_prefix(folder.name)
    data: dict[str, Any] = {}
    for file in sorted(folder.glob("_category_.*")):
        try:
            text = file.read_text("utf-8")
            loaded = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
        except (ValueError, yaml.YAMLError, OSError):
            continue
        data = loaded if isinstance(loaded, dict) else {}
    place = data.get("position", position)
    return Category(str(data.get("label") or name), float("inf") if place is None else float(place))


class DocusaurusReader:
    """A Docusaurus 2 or 3 site, or its docs folder."""

    kind = "docusaurus"

    def recognises(self, root: Path) -> bool:
        """Tell whether the folder, or the one above it, is a Docusaurus site."""
        return _site(root) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the pages and the files that decide their addresses and order."""
        site = _site(root) or root
        docs = site / read_config(site, IngestOptions()).docs
        deciding = [site / name for name in _CONFIGS] + sorted(docs.rglob("_category_.*"))
        return [
            *(SourceFile(p, p.relative_to(site).as_posix()) for p in deciding if p.is_file()),
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
            try:
                parsed = parse_page(read_text(file, options), mdx=file.name.endswith(".mdx"))
            except UnreadableFile as error:
                skipped.append(Skipped(source=where.name, reason=str(error)))
                continue
            hidden = next((k for k in ("draft", "unlisted") if parsed.front_matter.get(k)), None)
            if hidden:
                skipped.append(Skipped(source=where.name, reason=f"is {hidden}", failed=False))
                continue
            found.append((_order(docs, file, parsed), _page(docs, file, where, parsed, config)))
        pages = tuple(page for _, page in sorted(found, key=lambda pair: pair[0]))
        return Book(title=config.title, kind=self.kind, pages=pages, skipped=tuple(skipped))


def _site(root: Path) -> Path | None:
    for folder in (root, root.resolve().parent):
        if any((folder / name).is_file() for name in _CONFIGS):
            return folder
    return None


def _below(site: Path, docs: Path, file: SourceFile) -> SourceFile:
    return SourceFile(file.path, (docs / file.name).relative_to(site).as_posix())


def _order(docs: Path, file: SourceFile, parsed: ParsedPage) -> tuple[tuple[float, str], ...]:
    place = PurePosixPath(file.name)
    folders = [docs.joinpath(*place.parts[:n]) for n in range(1, len(place.parts))]
    own = parsed.front_matter.get("sidebar_position", split_prefix(place.stem)[0])
    position = float(own) if isinstance(own, int | float) else float("inf")
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
