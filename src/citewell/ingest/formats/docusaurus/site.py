"""Docusaurus books: the addresses, titles and order of the built site, without building it."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile, UnsupportedSource
from citewell.ingest.formats.base import BookFormat, SourceFile, check_configured_folder, quote_path
from citewell.ingest.formats.docusaurus.config import (
    CURRENT,
    DocsPlugin,
    SiteConfig,
    config_file,
    last_version,
    read_config,
    read_versions,
    version_path,
)
from citewell.ingest.formats.docusaurus.js_module import read_module
from citewell.ingest.formats.docusaurus.js_values import UNKNOWN
from citewell.ingest.formats.docusaurus.pages import Partials, dialect
from citewell.ingest.formats.docusaurus.sidebars import (
    EXCLUDED,
    Category,
    Doc,
    Translate,
    arrange,
    as_position,
    is_index,
    matches,
    page_id,
    page_slug,
    read_category,
    split_prefix,
)
from citewell.ingest.formats.includes import Includes
from citewell.ingest.formats.markdown import (
    Dialect,
    markdown_files,
    parse_page,
    read_start,
    read_text,
    write_ids,
)
from citewell.ingest.formats.mdx import split_front_matter
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

_SIGN = re.compile(r"^(sidebar_position|sidebar_label|slug):", re.M)
_OTHERS = ("book.toml", "SUMMARY.md", "mkdocs.yml", "mkdocs.yaml", "_toctree.yml", "docs")
_SAMPLE_SIZE = 500
"""How many pages are opened to find out who they are written for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Docs:
    """The pages of one docs plugin, in one version."""

    site: Path
    config: SiteConfig
    plugin: DocsPlugin
    version: str
    route: tuple[str, str]
    """What stands before the slugs of its pages: the plugin's route and the version's."""

    @property
    def folder(self) -> Path:
        """Where the pages lie."""
        if self.version == CURRENT:
            return self.site / self.plugin.path
        return self.site / self.plugin.named("versioned_docs") / f"version-{self.version}"

    @property
    def sidebars(self) -> Path | None:
        """The file that orders the pages, if there is one."""
        if self.version == CURRENT:
            return self.site / self.plugin.sidebars if self.plugin.sidebars else None
        folder = self.site / self.plugin.named("versioned_sidebars")
        return folder / f"version-{self.version}-sidebars.json"

    @property
    def translations(self) -> Path:
        """Where pages lie that were translated; beside it, `.json`, the labels."""
        mine = "" if self.plugin.id == "default" else f"-{self.plugin.id}"
        name = CURRENT if self.version == CURRENT else f"version-{self.version}"
        folder = self.site / self.config.locale.folder
        return folder / f"docusaurus-plugin-content-docs{mine}" / name

    def files(self, skipped: list[SkippedFile] | None = None) -> Iterator[SourceFile]:
        """Yield the files that are pages, each where its translation lies if it has one."""
        include = self.plugin.include or ("**/*.{md,mdx}",)
        exclude = EXCLUDED if self.plugin.exclude is None else self.plugin.exclude
        for file in markdown_files(self.folder, skipped, private=(".",)):
            if matches(file.name, include) and not matches(file.name, exclude):
                translated = self.translations / file.name
                yield SourceFile(translated if translated.is_file() else file.path, file.name)

    def below_site(self, path: Path) -> str:
        """Return the name of a file; the pages may lie beside the site: `path: '../docs'`."""
        return Path(os.path.relpath(path, self.site)).as_posix()

    def is_mdx(self, name: str, front_matter: dict[str, Any]) -> bool:
        """Return whether braces and tags in a file are code."""
        own = front_matter.get("mdx")
        chosen = own.get("format") if isinstance(own, dict) else None
        chosen = chosen or self.config.format
        return name.endswith(".mdx") if chosen == "detect" else chosen == "mdx"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A page as it is written, with what it imports in its place."""

    file: SourceFile
    text: str
    front_matter: dict[str, Any]
    mdx: bool


class DocusaurusFormat(BookFormat):
    """A Docusaurus 2 or 3 site, or its docs folder."""

    kind = "docusaurus"

    def matches(self, root: Path) -> bool:
        """Return whether the folder is a Docusaurus site, or the docs folder of one."""
        return _site(root) is not None

    def book_folder(self, root: Path) -> Path:
        """Return the folder of the site, be it the one above."""
        return _site(root) or root

    def files(self, root: Path) -> list[SourceFile]:
        """List what decides the pages, their addresses and their order, in every version."""
        site = _site(root) or root
        config = read_config(site, IngestOptions())
        found = [config_file(site)]
        for docs in _every(site, config):
            found += [site / docs.plugin.named("versions.json"), docs.sidebars]
            found += sorted(docs.folder.rglob("_category_.*"))
            found += [f.path for f in markdown_files(docs.folder, private=(".",))]
            includes = _includes(docs, "", IngestOptions())
            for file in docs.files():
                with skip_on_error(file.name, []):
                    if "import " in read_text(file, IngestOptions()):
                        _read(docs, file, IngestOptions(), includes)
            found += [file.path for file in includes.seen.values()]
        found += sorted(
            (site / config.locale.folder).parent.glob("*/docusaurus-plugin-content-docs*/**/*.*")
        )
        unique = {path.resolve(): path for path in found if path and path.is_file()}
        return [SourceFile(p, Path(os.path.relpath(p, site)).as_posix()) for p in unique.values()]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every published page.

        Raises:
            UnsupportedSource: the site has no such version or language.
        """
        site = _site(root) or root
        config = read_config(site, options)
        source = config_file(site)
        skipped = [
            SkippedFile(
                source=source.name if source else "", reason=note, failed=not config.readable
            )
            for note in config.notes
        ]
        pages: list[Page] = []
        for docs in _chosen(root, site, config, options):
            pages += _pages(docs, options, skipped)
        return Book(title=config.title, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped))


def _every(site: Path, config: SiteConfig) -> Iterator[_Docs]:
    file = config_file(site)
    for plugin in config.plugins:
        check_configured_folder(
            site / plugin.path, "path", file.name if file else "the configuration"
        )
        names = read_versions(site, plugin)
        last = last_version(names, plugin)
        for name in names:
            route = (plugin.route, version_path(name, last, plugin))
            yield _Docs(site=site, config=config, plugin=plugin, version=name, route=route)


def _chosen(root: Path, site: Path, config: SiteConfig, options: IngestOptions) -> list[_Docs]:
    every = list(_every(site, config))
    # A docs folder of the site that is named itself stands for its own pages only.
    named = [docs for docs in every if docs.folder.resolve() == root.resolve()]
    if named and root.resolve() != site.resolve():
        return named
    wanted = options.version
    known = list(dict.fromkeys(docs.version for docs in every))
    if wanted and wanted not in known:
        raise UnsupportedSource(f"The book has no version {wanted!r}: use {' or '.join(known)}.")
    chosen: list[_Docs] = []
    for plugin in config.plugins:
        names = read_versions(site, plugin)
        # Pages that have no such version are the same for every version of the others.
        name = wanted if wanted in names else last_version(names, plugin)
        chosen += [docs for docs in every if docs.plugin == plugin and docs.version == name]
    return chosen


def _pages(docs: _Docs, options: IngestOptions, skipped: list[SkippedFile]) -> list[Page]:
    pages: dict[str, Page] = {}
    placed: list[Doc] = []
    for file in docs.files(skipped):
        name = docs.below_site(file.path)
        with skip_on_error(name, skipped):
            includes = _includes(docs, name, options)
            source = _read(docs, file, options, includes)
            skipped += includes.notes
            hidden = next((k for k in ("draft", "unlisted") if source.front_matter.get(k)), None)
            if hidden:
                skipped.append(SkippedFile(source=name, reason=f"is {hidden}", failed=False))
                continue
            page = _page(docs, name, source)
            doc = _doc(docs, source, page)
            if doc.id in pages:
                reason = f"{name} is the same page"
                skipped.append(SkippedFile(source=pages[doc.id].source, reason=reason))
                placed = [other for other in placed if other.id != doc.id]
            pages[doc.id] = page
            placed.append(doc)
    return [replace(pages[id], part=part) for id, part in _ordered(docs, placed, options, skipped)]


def _ordered(
    docs: _Docs, placed: list[Doc], options: IngestOptions, skipped: list[SkippedFile]
) -> list[tuple[str, str]]:
    sidebars = _sidebars(docs, options, skipped)
    categories, labels = _categories(docs, options), _labels(docs, options)
    prefixes = docs.plugin.number_prefixes
    try:
        return arrange(placed, sidebars, categories, labels, prefixes=prefixes)
    except RecursionError:
        reason = "it is nested too deeply; the folders order the pages"
        name = docs.below_site(docs.sidebars or docs.folder)
        skipped.append(SkippedFile(source=name, reason=reason, failed=False))
        return arrange(placed, None, categories, labels, prefixes=prefixes)


def _read(docs: _Docs, file: SourceFile, options: IngestOptions, includes: Includes) -> _Source:
    text = read_text(file, options)
    front_matter, _ = split_front_matter(re.sub(r"\r\n?", "\n", text))
    mdx = docs.is_mdx(file.name, front_matter)

    def prepare(body: str, path: Path) -> str:
        inner = docs.is_mdx(path.name, {})
        # Each file has its headings counted for itself.
        return write_ids(body, mdx=inner, dialect=_dialect(docs, mdx=inner))

    if mdx:
        partials = Partials(site=docs.site, includes=includes, prepare=prepare)
        text = partials.expand(text, file.path)
    return _Source(file=file, text=text, front_matter=front_matter, mdx=mdx)


def _dialect(docs: _Docs, *, mdx: bool) -> Dialect:
    return dialect(mdx=mdx, keep_case=docs.config.keep_case)


def _includes(docs: _Docs, page: str, options: IngestOptions) -> Includes:
    return Includes(page=page, home=docs.site, folders=(docs.site, docs.folder), options=options)


def _page(docs: _Docs, name: str, source: _Source) -> Page:
    parsed = parse_page(source.text, mdx=source.mdx, dialect=_dialect(docs, mdx=source.mdx))
    prefixes = docs.plugin.number_prefixes
    own = page_id(source.file.name, source.front_matter, prefixes=prefixes).rpartition("/")[2]
    slug = page_slug(source.file.name, source.front_matter, prefixes=prefixes)
    return Page(
        source=name,
        title=scalar(source.front_matter.get("title")) or parsed.heading or own,
        part="",
        url=quote_path(docs.config.address(*docs.route, slug)),
        sections=parsed.sections,
    )


def _doc(docs: _Docs, source: _Source, page: Page) -> Doc:
    name, front_matter = source.file.name, source.front_matter
    prefixes = docs.plugin.number_prefixes
    number = split_prefix(PurePosixPath(name).stem)[0] if prefixes else None
    position = as_position(front_matter.get("sidebar_position"))
    return Doc(
        id=page_id(name, front_matter, prefixes=prefixes),
        name=name,
        label=scalar(front_matter.get("sidebar_label")) or page.title,
        position=number if position is None else position,
        index=is_index(name),
    )


def _categories(docs: _Docs, options: IngestOptions) -> dict[str, Category]:
    folders = {file.parent for file in docs.folder.rglob("_category_.*")}
    return {f.relative_to(docs.folder).as_posix(): read_category(f, options) for f in folders}


def _sidebars(docs: _Docs, options: IngestOptions, skipped: list[SkippedFile]) -> object:
    file = docs.sidebars
    if not docs.plugin.has_sidebars or not file or not file.is_file():
        return None
    note = "the order of its pages, which only running it would tell; their folders order them"
    try:
        sidebars = read_module(file, docs.site, options)
    except UnreadableFile as error:
        sidebars, note = None, f"it {error}; the folders order the pages"
    if not isinstance(sidebars, dict) or UNKNOWN in sidebars.values():
        skipped.append(SkippedFile(source=docs.below_site(file), reason=note, failed=False))
    return sidebars


def _labels(docs: _Docs, options: IngestOptions) -> Translate:
    file = docs.translations.with_name(f"{docs.translations.name}.json")
    try:
        said = json.loads(read_text(SourceFile(file, file.name), options))
    except (UnreadableFile, ValueError, RecursionError):
        said = {}

    def translate(sidebar: str, label: str) -> str:
        entry = said.get(f"sidebar.{sidebar}.category.{label}") if isinstance(said, dict) else None
        message = entry.get("message") if isinstance(entry, dict) else None
        return message if isinstance(message, str) else label

    return translate


def _site(root: Path) -> Path | None:
    if config_file(root):
        return root
    above = root.resolve().parent
    if config_file(above):
        plugins = read_config(above, IngestOptions()).plugins
        folders = [(above / plugin.path).resolve() for plugin in plugins]
        return above if root.resolve() in folders else None
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
        return config_file(folder) is not None or _written_for_docusaurus(folder / "docs")
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
    for file in islice(markdown_files(docs), _SAMPLE_SIZE):
        signs.update({".mdx"} if file.name.endswith(".mdx") else ())
        head = read_start(file.path, 2000)
        signs.update(_SIGN.findall(head.split("\n---", 1)[0] if head[:3] == "---" else ""))
    # Others know slugs, too.
    return bool(signs & {"sidebar_position", "sidebar_label"} or {"slug", ".mdx"} <= signs)
