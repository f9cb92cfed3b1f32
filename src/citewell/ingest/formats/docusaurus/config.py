"""The configuration of a Docusaurus site, read without executing it."""

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
CURRENT_VERSION = "current"
_CONFIG_KEYS = frozenset(("title", "url", "baseUrl", "presets", "plugins", "themeConfig", "i18n"))
_DOCS_PLUGIN = re.compile(r"(?:^|/)plugin-content-docs(?:$|/)|^content-docs$")
_CLASSIC_PRESET = re.compile(r"(?:^|/)preset-classic(?:$|/)|^classic$")
Data = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsPlugin:
    """A docs plugin of the site, with its options."""

    id: str = "default"
    path: str = "docs"
    route: str = "docs"
    sidebars: str | None = None
    """The sidebars file; without one, the folder structure defines the order."""
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
        """Return the plugin-specific name of a file or folder."""
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
    """The settings that determine the pages and URLs of a Docusaurus site."""

    title: str
    locale: Locale
    trailing_slash: bool | None = None
    plugins: tuple[DocsPlugin, ...] = (DocsPlugin(),)
    format: Literal["mdx", "md", "detect"] = "detect"
    keep_case: bool = False
    notes: tuple[str, ...] = ()
    """Settings that could not be determined, with the assumed values."""
    readable: bool = True
    """Whether any of the configuration could be read."""

    def page_url(self, *parts: str) -> str:
        """Return the URL of the page with this route and slug."""
        base = self.locale.base_url
        path = "/".join(part.strip("/") for part in parts if part.strip("/"))
        if not path:
            return f"{self.locale.url}{base}"
        url = f"{self.locale.url}{base}{path}"
        if self.trailing_slash or (self.trailing_slash is None and parts[-1].endswith("/")):
            return f"{url}/"
        return url


def config_file(site: Path) -> Path | None:
    """Return the configuration file of a site, if there is one."""
    return next((site / name for name in CONFIGS if (site / name).is_file()), None)


def read_config(site: Path, options: IngestOptions) -> SiteConfig:
    """Read `docusaurus.config.*`; settings that cannot be determined get their defaults and a note.

    Raises:
        UnsupportedSource: the site does not have the locale of the options.
    """
    file = config_file(site)
    notes: list[str] = []
    settings = _load(file, site, options, notes) if file else None
    data = settings or {}
    markdown = _table(data.get("markdown"))
    page_format = markdown.get("format", "detect" if settings is None else "mdx")
    return SiteConfig(
        title=_string(data, "title", notes) or site.resolve().name,
        locale=_locale(data, options, notes),
        trailing_slash=_flag(data, "trailingSlash", notes),
        plugins=(_default_plugin(site),) if settings is None else _docs_plugins(data, site, notes),
        format=page_format if page_format in ("mdx", "md") else "detect",
        keep_case=_table(markdown.get("anchors")).get("maintainCase") is True,
        notes=tuple(dict.fromkeys(notes)),
        readable=settings is not None or file is None,
    )


def read_versions(site: Path, plugin: DocsPlugin) -> list[str]:
    """Return the versions of a docs plugin, newest first, including `current`."""
    file = site / plugin.named("versions.json")
    try:
        text = read_text(SourceFile(file, file.name), IngestOptions()) if plugin.versioned else "[]"
        versions = json.loads(text)
    except (UnreadableFile, ValueError, RecursionError):
        versions = []
    names = [v for v in versions if isinstance(v, str) and v] if isinstance(versions, list) else []
    if plugin.include_current and CURRENT_VERSION not in names:
        names.insert(0, CURRENT_VERSION)
    only = plugin.only_versions
    return [name for name in names if only is None or name in only] or [CURRENT_VERSION]


def last_version(names: list[str], plugin: DocsPlugin) -> str:
    """Return the default version of the site."""
    if plugin.last_version in names:
        return plugin.last_version or CURRENT_VERSION
    return next((name for name in names if name != CURRENT_VERSION), CURRENT_VERSION)


def version_path(name: str, default_version: str, plugin: DocsPlugin) -> str:
    """Return the URL segment of a version."""
    default = "" if name == default_version else "next" if name == CURRENT_VERSION else name
    return plugin.version_paths.get(name, default)


def _load(file: Path, site: Path, options: IngestOptions, notes: list[str]) -> Data | None:
    try:
        exported = read_module(file, site, options)
        # If a third-party function wraps the configuration, use its object argument.
        data = exported if isinstance(exported, dict) else find_object(file, _CONFIG_KEYS, options)
    except UnreadableFile as error:
        notes.append(f"{error}; the defaults of Docusaurus are assumed")
        return None
    if data is None:
        notes.append("its settings cannot be determined; the defaults of Docusaurus are assumed")
    return data


def _default_plugin(site: Path) -> DocsPlugin:
    names = (f"sidebars.{end}" for end in ("js", "ts", "json", "cjs", "mjs"))
    return DocsPlugin(sidebars=next((name for name in names if (site / name).is_file()), None))


def _locale(data: Data, options: IngestOptions, notes: list[str]) -> Locale:
    i18n = _table(data.get("i18n"))
    default = _string(i18n, "defaultLocale", notes) or "en"
    name = options.locale or default
    config = _table(_table(i18n.get("localeConfigs")).get(name))
    locales = i18n.get("locales")
    if name != default and isinstance(locales, list) and UNKNOWN not in locales:
        names = [item for item in locales if isinstance(item, str)]
        if name not in names:
            raise UnsupportedSource(f"The book has no locale {name!r}: use {' or '.join(names)}.")
    base = f"/{(_string(data, 'baseUrl', notes) or '/').strip('/')}/"
    if "baseUrl" in config:
        base = f"/{(_string(config, 'baseUrl', notes) or '/').strip('/')}/"
    elif name != default:
        base = f"{base}{name}/"
    url = options.site_url or _string(config, "url", notes) or _string(data, "url", notes) or ""
    if not is_web_address(url):
        notes.append(f"`url` is not a web address and is ignored: {url[:40]}")
        url = ""
    folder = posixpath.join(
        _string(i18n, "path", notes) or "i18n", _string(config, "path", notes) or name
    )
    base = re.sub("/{2,}", "/", base)
    return Locale(name=name, folder=folder, base_url=base, url=url.rstrip("/"))


def _docs_plugins(data: Data, site: Path, notes: list[str]) -> tuple[DocsPlugin, ...]:
    plugins: list[DocsPlugin] = []
    for name, options in _entries(data.get("presets"), "presets", notes):
        if _CLASSIC_PRESET.search(name) and options.get("docs") is not False:
            plugins.append(_docs_plugin(_table(options.get("docs")), site, notes))
    for name, options in _entries(data.get("plugins"), "plugins", notes):
        if _DOCS_PLUGIN.search(name):
            plugins.append(_docs_plugin(options, site, notes))
    return tuple(plugins) or (_docs_plugin({}, site, notes),)


def _entries(value: object, setting: str, notes: list[str]) -> list[tuple[str, Data]]:
    if value is UNKNOWN:
        notes.append(f"`{setting}` is computed and cannot be read")
    entries = value if isinstance(value, list) else []
    pairs = [entry if isinstance(entry, list) else [entry] for entry in entries]
    return [
        (pair[0], _table(pair[1] if len(pair) > 1 else {}))
        for pair in pairs
        if pair and isinstance(pair[0], str)
    ]


def _docs_plugin(options: Data, site: Path, notes: list[str]) -> DocsPlugin:
    sidebars = options.get("sidebarPath")
    versions = _table(options.get("versions"))
    paths = {name: _table(item).get("path") for name, item in versions.items()}
    route = _string(options, "routeBasePath", notes)
    return DocsPlugin(
        id=_string(options, "id", notes) or "default",
        path=_relative(_string(options, "path", notes) or "docs", site),
        route="docs" if route is None else route,
        sidebars=_relative(sidebars, site) if isinstance(sidebars, str) and sidebars else None,
        has_sidebars=sidebars is not False,
        include=_strings(options, "include", notes),
        exclude=_strings(options, "exclude", notes),
        number_prefixes=options.get("numberPrefixParser") is not False,
        versioned=options.get("disableVersioning") is not True,
        include_current=options.get("includeCurrentVersion") is not False,
        last_version=_string(options, "lastVersion", notes),
        only_versions=_strings(options, "onlyIncludeVersions", notes),
        version_paths={name: path for name, path in paths.items() if isinstance(path, str)},
    )


def _relative(path: str, site: Path) -> str:
    return os.path.relpath(path, site.resolve()) if posixpath.isabs(path) else path


def _table(value: object) -> Data:
    return value if isinstance(value, dict) else {}


def _string(data: Data, name: str, notes: list[str]) -> str | None:
    value = _known_value(data, name, notes)
    return value if isinstance(value, str) else None


def _strings(data: Data, name: str, notes: list[str]) -> tuple[str, ...] | None:
    value = data.get(name)
    if not isinstance(value, list) or any(item is UNKNOWN for item in value):
        return None
    texts = tuple(item for item in value if isinstance(item, str))
    if len(texts) < len(value):
        notes.append(f"`{name}` should be a list of strings; other items are ignored")
    return texts


def _flag(data: Data, name: str, notes: list[str]) -> bool | None:
    value = _known_value(data, name, notes)
    return value if isinstance(value, bool) else None


def _known_value(data: Data, name: str, notes: list[str]) -> object:
    value = data.get(name)
    if value is UNKNOWN:
        notes.append(f"`{name}` is computed and cannot be read; the default is assumed")
    return value
