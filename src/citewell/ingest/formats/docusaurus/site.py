"""Docusaurus books: the URLs, titles and order of the built site, without building it."""

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
    CURRENT_VERSION,
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
    DEFAULT_EXCLUDE,
    Category,
    Doc,
    Translate,
    is_index,
    matches,
    order_docs,
    page_id,
    page_slug,
    parse_position,
    read_category,
    split_prefix,
)
from citewell.ingest.formats.includes import Includes
from citewell.ingest.formats.markdown import (
    Dialect,
    add_heading_ids,
    markdown_files,
    parse_page,
    read_prefix,
    read_text,
)
from citewell.ingest.formats.mdx import split_front_matter
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

_FRONT_MATTER = re.compile(r"^(sidebar_position|sidebar_label|slug):", re.M)
_OTHER_BOOK_FILES = ("book.toml", "SUMMARY.md", "mkdocs.yml", "mkdocs.yaml", "_toctree.yml", "docs")
_SAMPLE_SIZE = 500
"""How many pages are opened to detect the site generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Docs:
    """The pages of one docs plugin, in one version."""

    site: Path
    config: SiteConfig
    plugin: DocsPlugin
    version: str
    route: tuple[str, str]
    """The URL prefix of the pages: the plugin's route and the version's path."""

    @property
    def folder(self) -> Path:
        """The folder of the pages."""
        if self.version == CURRENT_VERSION:
            return self.site / self.plugin.path
        return self.site / self.plugin.named("versioned_docs") / f"version-{self.version}"

    @property
    def sidebars(self) -> Path | None:
        """The sidebars file, if there is one."""
        if self.version == CURRENT_VERSION:
            return self.site / self.plugin.sidebars if self.plugin.sidebars else None
        folder = self.site / self.plugin.named("versioned_sidebars")
        return folder / f"version-{self.version}-sidebars.json"

    @property
    def translations(self) -> Path:
        """The folder of translated pages; the labels are in the `.json` file next to it."""
        suffix = "" if self.plugin.id == "default" else f"-{self.plugin.id}"
        name = CURRENT_VERSION if self.version == CURRENT_VERSION else f"version-{self.version}"
        folder = self.site / self.config.locale.folder
        return folder / f"docusaurus-plugin-content-docs{suffix}" / name

    def files(self, skipped: list[SkippedFile] | None = None) -> Iterator[SourceFile]:
        """Yield the pages; a translated page has the path of its translation."""
        include = self.plugin.include or ("**/*.{md,mdx}",)
        exclude = DEFAULT_EXCLUDE if self.plugin.exclude is None else self.plugin.exclude
        for file in markdown_files(self.folder, skipped, private=(".",)):
            if matches(file.name, include) and not matches(file.name, exclude):
                translated = self.translations / file.name
                yield SourceFile(translated if translated.is_file() else file.path, file.name)

    def name_in_site(self, path: Path) -> str:
        """Return a path relative to the site, which may begin with `..` (`path: '../docs'`)."""
        return Path(os.path.relpath(path, self.site)).as_posix()

    def is_mdx(self, name: str, front_matter: dict[str, Any]) -> bool:
        """Return whether a page is parsed as MDX."""
        mdx = front_matter.get("mdx")
        page_format = (mdx.get("format") if isinstance(mdx, dict) else None) or self.config.format
        return name.endswith(".mdx") if page_format == "detect" else page_format == "mdx"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    file: SourceFile
    text: str
    front_matter: dict[str, Any]
    mdx: bool


class DocusaurusFormat(BookFormat):
    """A Docusaurus 2 or 3 site, or its docs folder."""

    name = "docusaurus"

    def matches(self, root: Path) -> bool:
        """Return whether the folder is a Docusaurus site or its docs folder."""
        return _find_site(root) is not None

    def book_folder(self, root: Path) -> Path:
        """Return the folder of the site, which may be the parent of `root`."""
        return _find_site(root) or root

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the navigation and the pages of every version."""
        site = _find_site(root) or root
        config = read_config(site, IngestOptions())
        paths = [config_file(site)]
        for docs in _all_versions(site, config):
            paths += [site / docs.plugin.named("versions.json"), docs.sidebars]
            paths += sorted(docs.folder.rglob("_category_.*"))
            paths += [f.path for f in markdown_files(docs.folder, private=(".",))]
            includes = _includes(docs, "", IngestOptions())
            for file in docs.files():
                with skip_on_error(file.name, []):
                    if "import " in read_text(file, IngestOptions()):
                        _read_source(docs, file, IngestOptions(), includes)
            paths += [file.path for file in includes.requested.values()]
        paths += sorted(
            (site / config.locale.folder).parent.glob("*/docusaurus-plugin-content-docs*/**/*.*")
        )
        unique = {path.resolve(): path for path in paths if path and path.is_file()}
        return [SourceFile(p, Path(os.path.relpath(p, site)).as_posix()) for p in unique.values()]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every published page.

        Raises:
            UnsupportedSource: the site has no such version or locale.
        """
        site = _find_site(root) or root
        config = read_config(site, options)
        source = config_file(site)
        skipped = [
            SkippedFile(
                source=source.name if source else "", reason=note, failed=not config.readable
            )
            for note in config.notes
        ]
        pages: list[Page] = []
        for docs in _selected_versions(root, site, config, options):
            pages += _pages(docs, options, skipped)
        return Book(title=config.title, kind=self.name, pages=tuple(pages), skipped=tuple(skipped))


def _all_versions(site: Path, config: SiteConfig) -> Iterator[_Docs]:
    file = config_file(site)
    for plugin in config.plugins:
        check_configured_folder(
            site / plugin.path, "path", file.name if file else "the configuration"
        )
        names = read_versions(site, plugin)
        default_version = last_version(names, plugin)
        for name in names:
            route = (plugin.route, version_path(name, default_version, plugin))
            yield _Docs(site=site, config=config, plugin=plugin, version=name, route=route)


def _selected_versions(
    root: Path, site: Path, config: SiteConfig, options: IngestOptions
) -> list[_Docs]:
    all_docs = list(_all_versions(site, config))
    # If `root` is a docs folder, read only its pages.
    own_docs = [docs for docs in all_docs if docs.folder.resolve() == root.resolve()]
    if own_docs and root.resolve() != site.resolve():
        return own_docs
    version = options.version
    versions = list(dict.fromkeys(docs.version for docs in all_docs))
    if version and version not in versions:
        known = " or ".join(versions)
        raise UnsupportedSource(f"The book has no version {version!r}: use {known}.")
    selected: list[_Docs] = []
    for plugin in config.plugins:
        names = read_versions(site, plugin)
        # Another plugin may not have the version; then use its default.
        name = version if version in names else last_version(names, plugin)
        selected += [docs for docs in all_docs if docs.plugin == plugin and docs.version == name]
    return selected


def _pages(docs: _Docs, options: IngestOptions, skipped: list[SkippedFile]) -> list[Page]:
    pages: dict[str, Page] = {}
    sidebar_docs: list[Doc] = []
    for file in docs.files(skipped):
        name = docs.name_in_site(file.path)
        with skip_on_error(name, skipped):
            includes = _includes(docs, name, options)
            source = _read_source(docs, file, options, includes)
            skipped += includes.skipped
            flag = next((k for k in ("draft", "unlisted") if source.front_matter.get(k)), None)
            if flag:
                skipped.append(SkippedFile(source=name, reason=f"is {flag}", failed=False))
                continue
            page = _page(docs, name, source)
            doc = _doc(docs, source, page)
            if doc.id in pages:
                reason = f"{name} is the same page"
                skipped.append(SkippedFile(source=pages[doc.id].source, reason=reason))
                sidebar_docs = [other for other in sidebar_docs if other.id != doc.id]
            pages[doc.id] = page
            sidebar_docs.append(doc)
    order = _order_pages(docs, sidebar_docs, options, skipped)
    return [replace(pages[id], part=part) for id, part in order]


def _order_pages(
    docs: _Docs, sidebar_docs: list[Doc], options: IngestOptions, skipped: list[SkippedFile]
) -> list[tuple[str, str]]:
    sidebars = _sidebars(docs, options, skipped)
    categories, labels = _categories(docs, options), _labels(docs, options)
    prefixes = docs.plugin.number_prefixes
    try:
        return order_docs(sidebar_docs, sidebars, categories, labels, prefixes=prefixes)
    except RecursionError:
        reason = "is nested too deeply; the folder structure defines the order"
        name = docs.name_in_site(docs.sidebars or docs.folder)
        skipped.append(SkippedFile(source=name, reason=reason, failed=False))
        return order_docs(sidebar_docs, None, categories, labels, prefixes=prefixes)


def _read_source(
    docs: _Docs, file: SourceFile, options: IngestOptions, includes: Includes
) -> _Source:
    text = read_text(file, options)
    front_matter, _ = split_front_matter(re.sub(r"\r\n?", "\n", text))
    mdx = docs.is_mdx(file.name, front_matter)

    def prepare(body: str, path: Path) -> str:
        inner = docs.is_mdx(path.name, {})
        # Repeated headings are numbered per file.
        return add_heading_ids(body, mdx=inner, dialect=_dialect(docs, mdx=inner))

    if mdx:
        partials = Partials(site=docs.site, includes=includes, prepare=prepare)
        text = partials.expand(text, file.path)
    return _Source(file=file, text=text, front_matter=front_matter, mdx=mdx)


def _dialect(docs: _Docs, *, mdx: bool) -> Dialect:
    return dialect(mdx=mdx, keep_case=docs.config.keep_case)


def _includes(docs: _Docs, page: str, options: IngestOptions) -> Includes:
    return Includes(page=page, root=docs.site, folders=(docs.site, docs.folder), options=options)


def _page(docs: _Docs, name: str, source: _Source) -> Page:
    parsed = parse_page(source.text, mdx=source.mdx, dialect=_dialect(docs, mdx=source.mdx))
    prefixes = docs.plugin.number_prefixes
    name_from_id = page_id(source.file.name, source.front_matter, prefixes=prefixes)
    slug = page_slug(source.file.name, source.front_matter, prefixes=prefixes)
    return Page(
        source=name,
        title=scalar(source.front_matter.get("title"))
        or parsed.heading
        or name_from_id.rpartition("/")[2],
        part="",
        url=quote_path(docs.config.page_url(*docs.route, slug)),
        sections=parsed.sections,
    )


def _doc(docs: _Docs, source: _Source, page: Page) -> Doc:
    name, front_matter = source.file.name, source.front_matter
    prefixes = docs.plugin.number_prefixes
    number = split_prefix(PurePosixPath(name).stem)[0] if prefixes else None
    position = parse_position(front_matter.get("sidebar_position"))
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
    reason = "is computed and cannot be read; the folder structure defines the order"
    try:
        sidebars = read_module(file, docs.site, options)
    except UnreadableFile as error:
        sidebars, reason = None, f"{error}; the folder structure defines the order"
    if not isinstance(sidebars, dict) or UNKNOWN in sidebars.values():
        skipped.append(SkippedFile(source=docs.name_in_site(file), reason=reason, failed=False))
    return sidebars


def _labels(docs: _Docs, options: IngestOptions) -> Translate:
    file = docs.translations.with_name(f"{docs.translations.name}.json")
    try:
        translations = json.loads(read_text(SourceFile(file, file.name), options))
    except (UnreadableFile, ValueError, RecursionError):
        translations = None

    def translate(sidebar: str, label: str) -> str:
        entries = translations if isinstance(translations, dict) else {}
        entry = entries.get(f"sidebar.{sidebar}.category.{label}")
        message = entry.get("message") if isinstance(entry, dict) else None
        return message if isinstance(message, str) else label

    return translate


def _find_site(root: Path) -> Path | None:
    if config_file(root):
        return root
    parent = root.resolve().parent
    if config_file(parent):
        plugins = read_config(parent, IngestOptions()).plugins
        folders = [(parent / plugin.path).resolve() for plugin in plugins]
        return parent if root.resolve() in folders else None
    # Without a configuration, detect Docusaurus by the pages and use its defaults.
    if _written_for_docusaurus(root / "docs"):
        return root
    if root.resolve().name == "docs" and _written_for_docusaurus(root):
        return parent
    return _find_nested_site(root)


def _find_nested_site(root: Path) -> Path | None:
    """Return the only site in the subfolders, unless `root` is a book of another format."""
    if not root.is_dir() or any((root / name).exists() for name in _OTHER_BOOK_FILES):
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
        # A folder that cannot be opened is reported when the book is read.
        return False


def _written_for_docusaurus(docs: Path) -> bool:
    if not docs.is_dir():
        return False
    if next(docs.rglob("_category_.*"), None):
        return True
    signs: set[str] = set()
    for file in islice(markdown_files(docs), _SAMPLE_SIZE):
        signs.update({".mdx"} if file.name.endswith(".mdx") else ())
        text = read_prefix(file.path, 2000)
        signs.update(_FRONT_MATTER.findall(text.split("\n---", 1)[0] if text[:3] == "---" else ""))
    # Other generators use `slug`, too.
    return bool(signs & {"sidebar_position", "sidebar_label"} or {"slug", ".mdx"} <= signs)
