import time
from pathlib import Path

import pytest

from quire.domain import Book, Skipped
from quire.errors import UnsupportedSource
from quire.ingest.options import IngestOptions
from quire.ingest.readers.docusaurus import DocusaurusReader
from quire.ingest.readers.docusaurus_config import DocsPlugin, Locale, SiteConfig, read_config
from quire.ingest.readers.docusaurus_headings import heading_text
from quire.ingest.readers.docusaurus_routes import page_slug, split_prefix
from quire.ingest.readers.docusaurus_sidebars import Category, read_category
from tests.ingest.ingest_helpers import WriteBook

OPTIONS = IngestOptions()
CONFIG = "docusaurus.config.js"
EMPTY = "module.exports = {};"
SITE = """\
// url: 'https://old.example',
export default {
  title: 'Lamp\\'s book',
  /* baseUrl: '/old/', */
  url: 'https://lamps.example/', // where it is
  baseUrl: '/en/',
  trailingSlash: true,
  themeConfig: {docs: {sidebar: {hideable: true}}, image: 'img/**/*.png'},
  presets: [['classic', {
    docs: {
      versions: {current: {path: 'next'}},
      routeBasePath: 'book',
      path: 'pages',
      include: ['**/*.{md,mdx}'],
    },
    blog: {routeBasePath: 'news', path: './blog'},
  }]],
};
"""


def read(site: Path, options: IngestOptions = OPTIONS) -> Book:
    return DocusaurusReader().read(site, options)


def urls(site: Path, options: IngestOptions = OPTIONS) -> list[str]:
    return [page.url for page in read(site, options).pages]


def sources(site: Path, options: IngestOptions = OPTIONS) -> list[str]:
    return [page.source for page in read(site, options).pages]


def text_of(book: Book) -> str:
    return "\n\n".join(b.text for p in book.pages for s in p.sections for b in s.blocks)


def config(**settings: str) -> str:
    return "module.exports = {" + ", ".join(f"{k}: {v}" for k, v in settings.items()) + "};"


def docs(options: str) -> str:
    return f"[['classic', {{docs: {{{options}}}}}]]"


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
        (CONFIG, "`baseUrl`, which only running it would tell; the default is assumed", False),
        (CONFIG, "`plugins`, which only running it would tell", False),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"title: 'caf\xe9'", "is not UTF-8 text (byte 11)"),
        (b"", "its settings cannot be made out"),
        (b"module.exports = (((", "its settings cannot be made out"),
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
    assert book.skipped == (Skipped(source=CONFIG, reason=reason),)


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

    assert SiteConfig(title="t", locale=locale, trailing_slash=slash).address("book", slug) == url


@pytest.mark.parametrize(("base", "url"), [("/", "https://x.y/"), ("/en/", "https://x.y/en/")])
@pytest.mark.parametrize("slash", [None, True, False])
def test_the_front_page_keeps_the_base_address(base: str, url: str, slash: bool | None) -> None:
    locale = Locale(base_url=base, url="https://x.y")

    assert SiteConfig(title="t", locale=locale, trailing_slash=slash).address("/", "", "/") == url


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


SIDEBARS = """\
const oil = ['oil/whale', {type: 'doc', id: 'oil/colza'}];
module.exports = {
  main: ['z', {type: 'category', label: 'Oil', link: {type: 'doc', id: 'oil'}, items: oil},
    {Short: ['hand', {Deep: ['deep']}]}, {type: 'link', href: 'x'}, {type: 'ref', id: 'a'},
    {type: 'autogenerated', dirName: 'auto'}, 'gone'],
};
"""


def test_a_sidebar_decides_the_order_and_the_parts(write_book: WriteBook) -> None:
    names = ("a", "z", "oil", "oil/1-colza", "oil/whale", "hand", "deep", "auto/2-x", "auto/1-y")
    site = write_book(
        {
            CONFIG: config(presets=docs("sidebarPath: require.resolve('./sidebars.js')")),
            "sidebars.js": SIDEBARS,
            **{f"docs/{name}.md": "Text." for name in names},
        }
    )

    pages = [(p.source.removeprefix("docs/"), p.part) for p in read(site).pages]

    assert pages == [
        ("z.md", ""),
        ("oil.md", "Oil"),
        ("oil/whale.md", "Oil"),
        ("oil/1-colza.md", "Oil"),
        ("hand.md", "Short"),
        ("deep.md", "Short"),
        ("auto/1-y.md", ""),
        ("auto/2-x.md", ""),
        ("a.md", ""),
    ]


@pytest.mark.parametrize(
    ("name", "sidebars"),
    [
        ("sidebars.js", "module.exports = make();"),
        ("sidebars.js", "module.exports = {main: make()};"),
        ("sidebars.js", "export default ["),
        ("sidebars.js", "module.exports = {main: " + "{x: [" * 2000 + "]}" * 2000 + "};"),
        ("sidebars.json", '{"main": ' + '{"x": [' * 400 + "]}" * 400 + "}"),
    ],
    ids=["call", "part", "broken", "deep", "deep-json"],
)
def test_a_sidebar_that_cannot_be_made_out_is_named_and_the_folders_decide(
    write_book: WriteBook, name: str, sidebars: str
) -> None:
    site = write_book(
        {
            CONFIG: config(presets=docs(f"sidebarPath: './{name}'")),
            name: sidebars,
            "docs/2-a.md": "A.",
            "docs/1-b.md": "B.",
        }
    )

    book = read(site)

    assert [page.source for page in book.pages] == ["docs/1-b.md", "docs/2-a.md"]
    assert [(s.source, s.failed) for s in book.skipped] == [(name, False)]


def test_a_sidebar_that_is_not_named_does_not_count(write_book: WriteBook) -> None:
    site = write_book(
        {CONFIG: EMPTY, "sidebars.js": SIDEBARS, "docs/z.md": "Z.", "docs/a.md": "A."}
    )

    assert sources(site) == ["docs/a.md", "docs/z.md"]


def test_partials_are_read_where_they_are_shown(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.mdx": "import Part from './_part.mdx';\nimport Same from '@site/parts/x.md'\n\n"
            '## Wick\n\nBefore.\n\n<Part lamp="arc" />\n\n## Wick\n\n'
            "- In a list:\n\n  <Same/>\n\nShown `<Part />` here.\n\n```jsx\n<Part />\n```\n",
            "docs/_part.mdx": "## Wick\n\nThe {props.lamp} lamp.\n\n## Wick\n\nAgain.\n",
            "parts/x.md": "One.\n\nTwo.\n",
        }
    )

    page = read(site).pages[0]

    assert [(s.anchor, [b.text for b in s.blocks]) for s in page.sections] == [
        ("wick", ["Before."]),
        ("wick", ["The arc lamp."]),
        ("wick-1", ["Again."]),
        (
            "wick-1",
            [
                "- In a list:\n\n  One.\n\n  Two.",
                "Shown `<Part />` here.",
                "```jsx\n<Part />\n```",
            ],
        ),
    ]
    listed = {file.name for file in DocusaurusReader().files(site)}
    assert {"docs/_part.mdx", "parts/x.md"} <= listed


def test_partials_that_are_missing_outside_or_circular_are_named(write_book: WriteBook) -> None:
    site = write_book(
        {
            f"site/{CONFIG}": EMPTY,
            "site/docs/a.mdx": "import A from './_a.mdx';\nimport B from './_gone.mdx';\n"
            "import C from '../../out.mdx';\n\nText.\n\n<A />\n\n<B />\n\n<C />\n",
            "site/docs/_a.mdx": "import A from './_a.mdx';\n\nInner.\n\n<A />\n",
            "out.mdx": "Secret.",
        }
    )

    book = read(site / "site")

    assert text_of(book) == "Text.\n\nInner."
    assert [(s.reason, s.failed) for s in book.skipped] == [
        ("includes itself (included by docs/a.mdx)", True),
        ("does not exist (included by docs/a.mdx)", False),
        ("lies outside the book's folder (included by docs/a.mdx)", True),
    ]


@pytest.mark.parametrize("shown", ["<Part>", "<Part", "<Part a={", '<Part a="'])
def test_partials_that_never_close_take_no_time(write_book: WriteBook, shown: str) -> None:
    start = "import Part from './_part.mdx';\n\nText.\n\n"
    site = write_book(
        {CONFIG: EMPTY, "docs/a.mdx": start + f"{shown}\n\n" * 5_000, "docs/_part.mdx": "P."}
    )

    started = time.process_time()
    assert sources(site) == ["docs/a.mdx"]
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("source", "mdx", "text"),
    [
        ("`wick()` & *its* **care**", True, "wick() & its care"),
        ("A [link](x.md) ![alt *text*](y.png)", True, "A link alt text"),
        ("Badge <Tag a={{b: 1}} />", True, "Badge "),
        ("Value {a + b}", True, "Value a + b"),
        ("Value {a + b}", False, "Value {a + b}"),
        ("A <b>tag</b>", False, "A tag"),
        ("A *<b>tag</b>*", False, "A <b>tag</b>"),
        ("a:b std::vector 10:30 :smile:", True, "a std::vector 10:30 :smile:"),
        (':abbr[HTML]{title="x"} x', True, "HTML x"),
        ("AT&amp;T \\*x\\* ~~y~~ z[^1]", True, "AT&T *x* y z"),
        ("`<T>` and `{x}`", True, "<T> and {x}"),
        ("Two\nlines", True, "Two\nlines"),
    ],
)
def test_ids_are_made_of_what_docusaurus_sees_in_a_heading(
    source: str, mdx: bool, text: str
) -> None:
    assert heading_text(source, mdx=mdx) == text


def test_headings_inside_others_count_and_titles_have_no_ids(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.md": "# Wick\n\nTop.\n\n> ## Wick\n\n## Wick\n\nThird.\n\n# Other\n\nO.\n",
        }
    )

    sections = read(site).pages[0].sections

    assert [(s.anchor, s.blocks[-1].text) for s in sections] == [
        ("", "> ## Wick"),
        ("wick-2", "Third."),
        ("wick-2", "O."),
    ]


def test_ids_keep_their_case_where_the_site_says_so(write_book: WriteBook) -> None:
    markdown = "{anchors: {maintainCase: true}}"
    site = write_book({CONFIG: config(markdown=markdown), "docs/a.md": "## The Wick\n\nX."})

    assert read(site).pages[0].sections[0].anchor == "The-Wick"


@pytest.mark.parametrize(
    ("settings", "front_matter", "text"),
    [
        ({}, "", "A ."),
        ({"markdown": "{format: 'detect'}"}, "", "A {b}."),
        ({"markdown": "{format: 'md'}"}, "", "A {b}."),
        ({}, "---\nmdx:\n  format: md\n---\n", "A {b}."),
        ({}, "---\nmdx:\n  format: detect\n---\n", "A {b}."),
    ],
)
def test_braces_are_code_where_pages_are_mdx(
    write_book: WriteBook, settings: dict[str, str], front_matter: str, text: str
) -> None:
    site = write_book({CONFIG: config(**settings), "docs/a.md": f"{front_matter}A {{b}}."})

    assert text_of(read(site)) == text


def test_pages_are_those_that_the_patterns_of_the_site_leave(write_book: WriteBook) -> None:
    options = "include: ['**/*.md'], exclude: ['**/*.no.md', 'old/**'], numberPrefixParser: false"
    names = ("9-a.md", "b.mdx", "c.no.md", "old/d.md", "_e/f.md", "10-g/h.md")
    site = write_book(
        {
            CONFIG: config(presets=docs(options)),
            **{f"docs/{name}": "Text." for name in names},
        }
    )

    assert urls(site) == ["/docs/10-g/h", "/docs/9-a", "/docs/_e/f"]


@pytest.mark.parametrize(
    ("name", "front_matter", "slug"),
    [
        ("lens.md", {}, "/lens"),
        ("02-lamps/03-lens.mdx", {}, "/lamps/lens"),
        ("02-lamps/03-lens.md", {"slug": "/optics"}, "/optics"),
        ("02-lamps/03-lens.md", {"slug": "optics"}, "/lamps/optics"),
        ("02-lamps/03-lens.md", {"slug": "./optics/"}, "/lamps/optics/"),
        ("02-lamps/03-lens.md", {"slug": "../optics"}, "/optics"),
        ("02-lamps/03-lens.md", {"slug": ""}, "/lamps/lens"),
        ("02-lamps/03-lens.md", {"slug": 7}, "/lamps/lens"),
        ("02-lamps/03-lens.md", {"id": "glass"}, "/lamps/glass"),
        ("index.md", {}, "/"),
        ("02-lamps/index.md", {}, "/lamps/"),
        ("02-lamps/index.md", {"id": "lamps-home"}, "/lamps/"),
        ("02-lamps/README.md", {}, "/lamps/"),
        ("lamps/Lamps.md", {}, "/lamps/"),
        ("02-lamps/01-index.md", {}, "/lamps/index"),
        ("2024-01-15-log.md", {}, "/2024-01-15-log"),
    ],
)
def test_a_page_has_the_slug_that_docusaurus_gives_it(
    name: str, front_matter: dict[str, object], slug: str
) -> None:
    assert page_slug(name, front_matter) == slug


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("02-control", (2, "control")),
        ("3. Control", (3, "Control")),
        ("003_control", (3, "control")),
        ("control", (None, "control")),
        ("2024-01-15-log", (None, "2024-01-15-log")),
        ("21-10-notes", (None, "21-10-notes")),
        ("1.2-release", (None, "1.2-release")),
        ("7", (None, "7")),
        ("7-", (None, "7-")),
    ],
)
def test_a_number_before_a_name_is_a_position_unless_it_is_a_date_or_a_version(
    name: str, expected: tuple[float | None, str]
) -> None:
    assert split_prefix(name) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("_category_.json", '{"label": "Lamps", "position": 4}', Category("Lamps", 4)),
        ("_category_.yml", "label: Lamps\nposition: 4.5", Category("Lamps", 4.5)),
        ("_category_.yaml", "label: Lamps", Category("Lamps")),
        ("_category_.json", '{"position": null, "link": null}', Category(linked=True)),
        ("_category_.json", '{"position": "first"}', Category()),
        ("_category_.json", '{"position": "3"}', Category(position=3)),
        (
            "_category_.json",
            '{"link": {"type": "doc", "id": "x"}}',
            Category(link="x", linked=True),
        ),
        ("_category_.json", '["Lamps"]', Category()),
        ("_category_.json", "{broken", Category()),
        ("_category_.yml", "label: [broken", Category()),
        ("other.json", '{"label": "Lamps"}', Category()),
    ],
)
def test_a_category_file_names_and_places_its_folder(
    write_book: WriteBook, name: str, text: str, expected: Category
) -> None:
    folder = write_book({f"02-lamps/{name}": text}) / "02-lamps"

    assert read_category(folder) == expected


def test_a_folder_has_the_label_and_place_of_its_file_its_index_or_its_name(
    write_book: WriteBook,
) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/9-numbered/a.md": "A.",
            "docs/said/_category_.json": '{"label": "Said", "position": 3}',
            "docs/said/b.md": "B.",
            "docs/led/index.md": "---\ntitle: Led\nsidebar_position: 2\n---\nI.",
            "docs/led/c.md": "C.",
            "docs/linked/_category_.json": '{"link": {"type": "doc", "id": "e"}, "position": 1}',
            "docs/linked/d.md": "D.",
            "docs/linked/e.md": "---\nsidebar_label: E it is\n---\nE.",
        }
    )

    assert [(p.source.removeprefix("docs/"), p.part) for p in read(site).pages] == [
        ("linked/e.md", "E it is"),
        ("linked/d.md", "E it is"),
        ("led/index.md", "Led"),
        ("led/c.md", "Led"),
        ("said/b.md", "Said"),
        ("9-numbered/a.md", "numbered"),
    ]


def test_pages_come_in_the_order_of_the_sidebar(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/zero.md": "---\nsidebar_position: 0\n---\nZ.",
            "docs/late/a.md": "A.",
            "docs/01-late/_category_.json": '{"position": 9}',
            "docs/01-late/b.md": "B.",
            "docs/05-early/10-last.md": "L.",
            "docs/05-early/9-first.md": "F.",
            "docs/05-early/x.md": "---\nsidebar_position: 9.5\n---\nX.",
            "docs/05-early/odd.md": "---\nsidebar_position: [1]\n---\nO.",
        }
    )

    book = DocusaurusReader().read(site, OPTIONS)

    assert [page.source.removeprefix("docs/") for page in book.pages] == [
        "zero.md",
        "05-early/9-first.md",
        "05-early/x.md",
        "05-early/10-last.md",
        "05-early/odd.md",
        "01-late/b.md",
        "late/a.md",
    ]


def test_a_page_is_named_by_its_title_its_heading_or_its_file(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/01-a.md": "---\ntitle: Title\n---\n# Heading\n\nText.",
            "docs/02-b.md": "# Heading\n\nText.",
            "docs/03-c.md": "Text.",
            "docs/04-part/d.md": "Text.",
            "docs/04-part/_category_.yml": "label: The part",
        }
    )

    pages = DocusaurusReader().read(site, OPTIONS).pages

    assert [(page.title, page.part) for page in pages] == [
        ("Title", ""),
        ("Heading", ""),
        ("c", ""),
        ("d", "The part"),
    ]


def test_pages_that_are_not_published_are_left_out(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.md": "A.",
            "docs/draft.md": "---\ndraft: true\n---\nD.",
            "docs/hidden.md": "---\nunlisted: true\n---\nU.",
            "docs/_partials/p.md": "P.",
            "docs/_part.mdx": "P.",
            "docs/broken.mdx": "{/* never closed",
            "blog/post.md": "B.",
        }
    )

    book = DocusaurusReader().read(site, OPTIONS)

    assert [page.source for page in book.pages] == ["docs/a.md"]
    assert book.skipped == (
        Skipped(source="docs/broken.mdx", reason="the comment opened in line 1 is never closed"),
        Skipped(source="docs/draft.md", reason="is draft", failed=False),
        Skipped(source="docs/hidden.md", reason="is unlisted", failed=False),
    )


def test_the_docs_folder_stands_for_its_site(write_book: WriteBook) -> None:
    site = write_book({CONFIG: config(url="'https://a.example'"), "docs/a.md": "A."})
    reader = DocusaurusReader()

    assert reader.recognises(site)
    assert reader.recognises(site / "docs")
    assert reader.read(site / "docs", OPTIONS) == reader.read(site, OPTIONS)


@pytest.mark.parametrize("other", ["blog", "docs/part", "README.md"])
def test_other_parts_of_a_site_do_not_stand_for_it(write_book: WriteBook, other: str) -> None:
    site = write_book({CONFIG: EMPTY, "docs/part/a.md": "A.", "blog/b.md": "B.", "README.md": "R."})

    assert not DocusaurusReader().recognises(site / other)


def test_the_pages_may_lie_beside_the_site(write_book: WriteBook) -> None:
    folder = write_book(
        {
            f"web/{CONFIG}": config(presets=docs("path: '../docs', routeBasePath: '/'")),
            "docs/a.md": "A.",
            "docs/part/_category_.yml": "label: P",
        }
    )
    reader = DocusaurusReader()

    assert [page.source for page in reader.read(folder / "web", OPTIONS).pages] == ["../docs/a.md"]
    assert [file.name for file in reader.files(folder / "web")] == [
        CONFIG,
        "../docs/part/_category_.yml",
        "../docs/a.md",
    ]


def test_every_file_that_decides_what_the_book_says_is_listed(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: EMPTY,
            "docs/a.md": "A.",
            "docs/part/b.mdx": "B.",
            "docs/part/_category_.json": "{}",
            "package.json": "{}",
        }
    )

    names = [file.name for file in DocusaurusReader().files(site)]

    assert names == [CONFIG, "docs/part/_category_.json", "docs/a.md", "docs/part/b.mdx"]
