"""Docusaurus sites: their configuration, addresses, versions and languages."""

import pytest

from citewell.domain import SkippedFile
from citewell.errors import UnsupportedSource
from citewell.ingest.formats.docusaurus.config import DocsPlugin, Locale, SiteConfig, read_config
from citewell.options import IngestOptions
from tests.ingest.formats.docusaurus_site import (
    CONFIG,
    EMPTY,
    OPTIONS,
    SITE,
    config,
    docs,
    read,
    sources,
    urls,
)
from tests.ingest.ingest_helpers import WriteBook


def test_the_configuration_is_read_without_running_it(write_book: WriteBook) -> None:
    assert read_config(write_book({CONFIG: SITE}), OPTIONS) == SiteConfig(
        title="Lamp's book",
        locale=Locale(base_url="/en/", url="https://lamps.example"),
        trailing_slash=True,
        plugins=(
            DocsPlugin(
                route="book",
                path="pages",
                include=("**/*.{md,mdx}",),
                version_paths={"current": "next"},
            ),
        ),
        format="mdx",
    )


def test_every_docs_plugin_is_a_set_of_pages(write_book: WriteBook) -> None:
    plugin = "@docusaurus/plugin-content-docs"
    site = write_book(
        {
            CONFIG: config(
                presets="[['@docusaurus/preset-classic', {docs: false}], 'other']",
                plugins=f"['{plugin}', ['{plugin}', {{id: 'api', path: 'api',"
                " routeBasePath: 'ref'}], [() => 1, {}], ['x-content-docs', {}]]",
            ),
            "docs/a.md": "A.",
            "api/b.md": "B.",
        }
    )

    assert urls(site) == ["/docs/a", "/ref/b"]
    assert sources(site / "api") == ["api/b.md"]


def test_what_the_configuration_does_not_say_has_the_defaults_of_docusaurus(
    write_book: WriteBook,
) -> None:
    assert read_config(write_book({"docusaurus.config.ts": "export default {};"}), OPTIONS) == (
        SiteConfig(title="book", locale=Locale(), format="mdx")
    )


def test_an_address_in_the_settings_wins_over_the_one_of_the_site(write_book: WriteBook) -> None:
    site = write_book({CONFIG: config(url="`https://a.example`"), "docs/a.md": "A."})

    assert urls(site) == ["https://a.example/docs/a"]
    assert urls(site, IngestOptions(site_url="https://b.example/")) == ["https://b.example/docs/a"]


def test_what_only_running_the_configuration_would_tell_is_named(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: config(title="'T'", baseUrl="base()", presets="[...more()]", plugins="all()"),
            "docs/a.md": "A.",
        }
    )

    book = read(site)

    assert [(p.url, book.title) for p in book.pages] == [("/docs/a", "T")]
    assert [(s.source, s.reason, s.failed) for s in book.skipped] == [
        (CONFIG, "`baseUrl` is computed and cannot be read; the default is assumed", False),
        (CONFIG, "`plugins` is computed and cannot be read", False),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"title: 'caf\xe9'", "is not UTF-8 text (byte 11)"),
        (b"", "its settings cannot be determined"),
        (b"module.exports = (((", "its settings cannot be determined"),
        (b"module.exports = " + b"[" * 3000 + b"]" * 3000, "is nested too deeply to be read"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_named_and_the_defaults_hold(
    write_book: WriteBook, text: bytes, reason: str
) -> None:
    site = write_book({"docs/a.md": "A."})
    (site / CONFIG).write_bytes(text)

    book = read(site)

    assert [page.url for page in book.pages] == ["/docs/a"]
    reason = f"{reason}; the defaults of Docusaurus are assumed"
    assert book.skipped == (SkippedFile(source=CONFIG, reason=reason),)


@pytest.mark.parametrize(
    ("slash", "slug", "url"),
    [
        (None, "/lens", "https://x.y/en/book/lens"),
        (None, "/lens/", "https://x.y/en/book/lens/"),
        (None, "/", "https://x.y/en/book/"),
        (True, "/lens", "https://x.y/en/book/lens/"),
        (False, "/lens/", "https://x.y/en/book/lens"),
        (False, "/", "https://x.y/en/book"),
    ],
)
def test_an_address_ends_as_trailing_slash_says(slash: bool | None, slug: str, url: str) -> None:
    locale = Locale(base_url="/en/", url="https://x.y")

    assert SiteConfig(title="t", locale=locale, trailing_slash=slash).page_url("book", slug) == url


@pytest.mark.parametrize(("base", "url"), [("/", "https://x.y/"), ("/en/", "https://x.y/en/")])
@pytest.mark.parametrize("slash", [None, True, False])
def test_the_front_page_keeps_the_base_address(base: str, url: str, slash: bool | None) -> None:
    locale = Locale(base_url=base, url="https://x.y")

    assert SiteConfig(title="t", locale=locale, trailing_slash=slash).page_url("/", "", "/") == url


VERSIONED = {
    "versions.json": '["2.0", "1.0"]',
    "docs/a.md": "Next.",
    "versioned_docs/version-2.0/a.md": "Two.",
    "versioned_docs/version-1.0/a.md": "One.",
}


@pytest.mark.parametrize(
    ("options", "wanted", "expected"),
    [
        ("", None, ("/docs/a", "Two.")),
        ("", "current", ("/docs/next/a", "Next.")),
        ("", "1.0", ("/docs/1.0/a", "One.")),
        ("lastVersion: 'current'", None, ("/docs/a", "Next.")),
        ("lastVersion: '1.0', versions: {'1.0': {path: 'one'}}", None, ("/docs/one/a", "One.")),
        ("lastVersion: 'gone'", None, ("/docs/a", "Two.")),
        ("onlyIncludeVersions: ['1.0']", None, ("/docs/a", "One.")),
        ("disableVersioning: true", None, ("/docs/a", "Next.")),
        ("includeCurrentVersion: false", None, ("/docs/a", "Two.")),
    ],
)
def test_the_last_version_is_read_unless_another_is_wanted(
    write_book: WriteBook, options: str, wanted: str | None, expected: tuple[str, str]
) -> None:
    site = write_book({CONFIG: config(presets=docs(options)), **VERSIONED})

    book = read(site, IngestOptions(version=wanted))

    assert [(p.url, p.sections[0].blocks[0].text) for p in book.pages] == [expected]


def test_the_docs_folder_of_a_versioned_site_stands_for_its_own_pages(
    write_book: WriteBook,
) -> None:
    site = write_book({CONFIG: EMPTY, **VERSIONED})

    assert urls(site / "docs") == ["/docs/next/a"]


def test_a_version_or_language_that_there_is_not_is_named_with_those_there_are(
    write_book: WriteBook,
) -> None:
    i18n = "{defaultLocale: 'en', locales: ['en', 'fr']}"
    site = write_book({CONFIG: config(i18n=i18n), **VERSIONED})

    with pytest.raises(UnsupportedSource, match=r"no version '3': use current or 2\.0 or 1\.0\."):
        read(site, IngestOptions(version="3"))
    with pytest.raises(UnsupportedSource, match="no locale 'de': use en or fr"):
        read(site, IngestOptions(locale="de"))


def test_a_translated_page_takes_the_place_of_the_page(write_book: WriteBook) -> None:
    translations = "i18n/fr/docusaurus-plugin-content-docs"
    site = write_book(
        {
            CONFIG: config(
                baseUrl="'/book/'",
                i18n="{defaultLocale: 'en', locales: ['en', 'fr'],"
                " localeConfigs: {de: {baseUrl: '/d/', url: 'https://de.example'}}}",
            ),
            "docs/part/a.md": "English.",
            "docs/part/b.md": "Not translated.",
            "docs/part/_category_.json": '{"label": "Part"}',
            f"{translations}/current/part/a.md": "---\nslug: /une\n---\nFrançais.",
            f"{translations}/current/only.md": "Only French.",
        }
    )

    book = read(site, IngestOptions(locale="fr"))

    assert [(p.url, p.source, p.part) for p in book.pages] == [
        ("/book/fr/docs/une", f"{translations}/current/part/a.md", "Part"),
        ("/book/fr/docs/part/b", "docs/part/b.md", "Part"),
    ]
    assert urls(site) == ["/book/docs/part/a", "/book/docs/part/b"]


def test_a_language_may_have_an_address_and_labels_of_its_own(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: config(
                presets=docs("sidebarPath: 'sidebars.json'"),
                i18n="{defaultLocale: 'en', path: 'words', locales: ['en', 'de'],"
                " localeConfigs: {de: {baseUrl: '/d/', url: 'https://de.example', path: 'dt'}}}",
            ),
            "sidebars.json": '{"main": {"Part": ["a"]}}',
            "docs/a.md": "A.",
            "words/dt/docusaurus-plugin-content-docs/current.json": (
                '{"sidebar.main.category.Part": {"message": "Teil"}}'
            ),
        }
    )

    pages = read(site, IngestOptions(locale="de")).pages

    assert [(p.url, p.part) for p in pages] == [("https://de.example/d/docs/a", "Teil")]
