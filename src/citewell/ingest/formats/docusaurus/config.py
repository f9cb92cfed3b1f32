"""What decides the addresses of a Docusaurus site: its configuration, read without running it."""

import json
import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from citewell.errors import UnreadableFile, UnsupportedSource
from citewell.ingest.formats.base import SourceFile
from citewell.ingest.formats.docusaurus.js_module import find_object, read_module
from citewell.ingest.formats.docusaurus.js_values import UNKNOWN
from citewell.ingest.formats.markdown import read_text
from citewell.options import IngestOptions
from citewell.text.sanitize import is_web_address

CONFIGS = tuple(f"docusaurus.config.{end}" for end in ("ts", "js", "mjs", "cjs", "mts", "cts"))
CURRENT = "current"
_KEYS = frozenset(("title", "url", "baseUrl", "presets", "plugins", "themeConfig", "i18n"))
_DOCS = re.compile(r"(?:^|/)plugin-content-docs(?:$|/)|^content-docs$")
_CLASSIC = re.compile(r"(?:^|/)preset-classic(?:$|/)|^classic$")
Data = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsPlugin:
    """One set of pages: a docs plugin of the site and its options."""

    id: str = "default"
    path: str = "docs"
    route: str = "docs"
    sidebars: str | None = None
    """The file that orders the pages; without one, the folders do."""
    has_sidebars: bool = True
    exclude: tuple[str, ...] | None = None
    include: tuple[str, ...] | None = None
    number_prefixes: bool = True
    versioned: bool = True
    include_current: bool = True
    last_version: str | None = None
    only_versions: tuple[str, ...] | None = None
    version_paths: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str) -> str:
        """Return the name of a file or folder that belongs to this plugin alone."""
        return name if self.id == "default" else f"{self.id}_{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Locale:
    """A language of the site."""

    name: str = "en"
    folder: str = "i18n/en"
    base_url: str = "/"
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    """What decides the addresses of a Docusaurus site."""

    title: str
    locale: Locale
    trailing_slash: bool | None = None
    plugins: tuple[DocsPlugin, ...] = (DocsPlugin(),)
    format: Literal["mdx", "md", "detect"] = "detect"
    keep_case: bool = False
    notes: tuple[str, ...] = ()
    """What could not be made out, and what is assumed instead."""
    readable: bool = True
    """Whether anything of the configuration could be made out."""

    def address(self, *parts: str) -> str:
        """Return the address of the page whose route and slug are given."""
        base = self.locale.base_url
        inner = "/".join(part.strip("/") for part in parts if part.strip("/"))
        if not inner:
            return f"{self.locale.url}{base}"
        bare = f"{self.locale.url}{base}{inner}"
        if self.trailing_slash or (self.trailing_slash is None and parts[-1].endswith("/")):
            return f"{bare}/"
        return bare


def config_file(site: Path) -> Path | None:
    """Return the configuration of the site in a folder, if there is one."""
    return next((site / name for name in CONFIGS if (site / name).is_file()), None)


def read_config(site: Path, options: IngestOptions) -> SiteConfig:
    """Read what is needed of `docusaurus.config.*`; what cannot be read is noted and assumed.

    Raises:
        UnsupportedSource: the site has no such language.
    """
    file = config_file(site)
    notes: list[str] = []
    found = _data(file, site, options, notes) if file else None
    known, data = found is not None, found or {}
    markdown = _table(data.get("markdown"))
    chosen = markdown.get("format", "mdx" if known else "detect")
    return SiteConfig(
        title=_text(data, "title", notes) or site.resolve().name,
        locale=_locale(data, options, notes),
        trailing_slash=_flag(data, "trailingSlash", notes),
        plugins=_plugins(data, site, notes) if known else (_unconfigured(site),),
        format=chosen if chosen in ("mdx", "md") else "detect",
        keep_case=_table(markdown.get("anchors")).get("maintainCase") is True,
        notes=tuple(dict.fromkeys(notes)),
        readable=known or file is None,
    )


def read_versions(site: Path, plugin: DocsPlugin) -> list[str]:
    """Return the versions of a set of pages, newest first, `current` among them."""
    file = site / plugin.named("versions.json")
    try:
        text = read_text(SourceFile(file, file.name), IngestOptions()) if plugin.versioned else "[]"
        found = json.loads(text)
    except (UnreadableFile, ValueError, RecursionError):
        found = []
    names = [n for n in found if isinstance(n, str) and n] if isinstance(found, list) else []
    if plugin.include_current and CURRENT not in names:
        names.insert(0, CURRENT)
    only = plugin.only_versions
    return [name for name in names if only is None or name in only] or [CURRENT]


def last_version(names: list[str], plugin: DocsPlugin) -> str:
    """Return the version that readers of the site see first."""
    if plugin.last_version in names:
        return plugin.last_version or CURRENT
    return next((name for name in names if name != CURRENT), CURRENT)


def version_path(name: str, last: str, plugin: DocsPlugin) -> str:
    """Return what stands for a version in its addresses."""
    default = "" if name == last else "next" if name == CURRENT else name
    return plugin.version_paths.get(name, default)


def _data(file: Path, site: Path, options: IngestOptions, notes: list[str]) -> Data | None:
    try:
        read = read_module(file, site, options)
        # What a function of another package makes of an object most likely keeps the object.
        data = read if isinstance(read, dict) else find_object(file, _KEYS, options)
    except UnreadableFile as error:
        notes.append(f"{error}; the defaults of Docusaurus are assumed")
        return None
    if data is None:
        notes.append("its settings cannot be made out; the defaults of Docusaurus are assumed")
    return data


def _unconfigured(site: Path) -> DocsPlugin:
    names = (f"sidebars.{end}" for end in ("js", "ts", "json", "cjs", "mjs"))
    return DocsPlugin(sidebars=next((name for name in names if (site / name).is_file()), None))


def _locale(data: Data, options: IngestOptions, notes: list[str]) -> Locale:
    i18n = _table(data.get("i18n"))
    default = _text(i18n, "defaultLocale", notes) or "en"
    name = options.locale or default
    own = _table(_table(i18n.get("localeConfigs")).get(name))
    listed = i18n.get("locales")
    if name != default and isinstance(listed, list) and not any(each is UNKNOWN for each in listed):
        known = [each for each in listed if isinstance(each, str)]
        if name not in known:
            raise UnsupportedSource(f"The book has no locale {name!r}: use {' or '.join(known)}.")
    base = f"/{(_text(data, 'baseUrl', notes) or '/').strip('/')}/"
    if "baseUrl" in own:
        base = f"/{(_text(own, 'baseUrl', notes) or '/').strip('/')}/"
    elif name != default:
        base = f"{base}{name}/"
    url = options.site_url or _text(own, "url", notes) or _text(data, "url", notes) or ""
    if not is_web_address(url):
        notes.append(f"`url`, which is no address of a web page, and is left out: {url[:40]}")
        url = ""
    folder = posixpath.join(_text(i18n, "path", notes) or "i18n", _text(own, "path", notes) or name)
    base = re.sub("/{2,}", "/", base)
    return Locale(name=name, folder=folder, base_url=base, url=url.rstrip("/"))


def _plugins(data: Data, site: Path, notes: list[str]) -> tuple[DocsPlugin, ...]:
    found: list[DocsPlugin] = []
    for name, options in _entries(data.get("presets"), "presets", notes):
        if _CLASSIC.search(name) and options.get("docs") is not False:
            found.append(_plugin(_table(options.get("docs")), site, notes))
    for name, options in _entries(data.get("plugins"), "plugins", notes):
        if _DOCS.search(name):
            found.append(_plugin(options, site, notes))
    return tuple(found) or (_plugin({}, site, notes),)


def _entries(listed: object, kind: str, notes: list[str]) -> list[tuple[str, Data]]:
    if listed is UNKNOWN:
        notes.append(f"`{kind}`, which only running it would tell")
    entries = listed if isinstance(listed, list) else []
    pairs = [entry if isinstance(entry, list) else [entry] for entry in entries]
    return [
        (pair[0], _table(pair[1] if len(pair) > 1 else {}))
        for pair in pairs
        if pair and isinstance(pair[0], str)
    ]


def _plugin(options: Data, site: Path, notes: list[str]) -> DocsPlugin:
    sidebars = options.get("sidebarPath")
    versions = _table(options.get("versions"))
    paths = {name: _table(each).get("path") for name, each in versions.items()}
    route = _text(options, "routeBasePath", notes)
    return DocsPlugin(
        id=_text(options, "id", notes) or "default",
        path=_relative(_text(options, "path", notes) or "docs", site),
        route="docs" if route is None else route,
        sidebars=_relative(sidebars, site) if isinstance(sidebars, str) and sidebars else None,
        has_sidebars=sidebars is not False,
        include=_texts(options, "include", notes),
        exclude=_texts(options, "exclude", notes),
        number_prefixes=options.get("numberPrefixParser") is not False,
        versioned=options.get("disableVersioning") is not True,
        include_current=options.get("includeCurrentVersion") is not False,
        last_version=_text(options, "lastVersion", notes),
        only_versions=_texts(options, "onlyIncludeVersions", notes),
        version_paths={name: path for name, path in paths.items() if isinstance(path, str)},
    )


def _relative(path: str, site: Path) -> str:
    """Return a path from the site's folder; one that is absolute was made from that folder."""
    return os.path.relpath(path, site.resolve()) if posixpath.isabs(path) else path


def _table(value: object) -> Data:
    return value if isinstance(value, dict) else {}


def _text(data: Data, name: str, notes: list[str]) -> str | None:
    value = data.get(name)
    if value is UNKNOWN:
        notes.append(f"`{name}`, which only running it would tell; the default is assumed")
    return value if isinstance(value, str) else None


def _texts(data: Data, name: str, notes: list[str]) -> tuple[str, ...] | None:
    value = data.get(name)
    if not isinstance(value, list) or any(each is UNKNOWN for each in value):
        return None
    texts = tuple(each for each in value if isinstance(each, str))
    if len(texts) < len(value):
        notes.append(f"`{name}`, which should be a list of texts; what is no text is left out")
    return texts


def _flag(data: Data, name: str, notes: list[str]) -> bool | None:
    value = data.get(name)
    if value is UNKNOWN:
        notes.append(f"`{name}`, which only running it would tell; the default is assumed")
    return value if isinstance(value, bool) else None
