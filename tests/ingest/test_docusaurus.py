from pathlib import Path

import pytest

from quire.domain import Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers.docusaurus import (
    Category,
    DocusaurusReader,
    SiteConfig,
    page_slug,
    read_category,
    read_config,
    split_prefix,
)
from tests.ingest.ingest_helpers import WriteBook

OPTIONS = IngestOptions()
CONFIG = "docusaurus.config.js"
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


def urls(site: Path, options: IngestOptions = OPTIONS) -> list[str]:
    return [page.url for page in DocusaurusReader().read(site, options).pages]


def test_the_configuration_is_read_without_running_it(write_book: WriteBook) -> None:
    assert read_config(write_book({CONFIG: SITE}), OPTIONS) == SiteConfig(
        title="Lamp's book",
        url="https://lamps.example",
        base_url="/en/",
        route="book",
        docs="pages",
        trailing_slash=True,
    )


def test_the_options_of_other_plugins_are_not_those_of_the_docs(write_book: WriteBook) -> None:
    site = write_book(
        {CONFIG: "x({docs: {sidebarPath: 'a'}, blog: {path: './blog', routeBasePath: 'news'}})"}
    )

    config = read_config(site, OPTIONS)

    assert (config.docs, config.route) == ("docs", "docs")


def test_a_configuration_that_breaks_off_is_read_as_far_as_it_goes(write_book: WriteBook) -> None:
    site = write_book({CONFIG: "x({title: 'T', docs: {routeBasePath: 'book',"})

    assert read_config(site, OPTIONS).route == "book"


def test_what_the_configuration_does_not_say_has_the_defaults_of_docusaurus(
    write_book: WriteBook,
) -> None:
    assert read_config(write_book({"docusaurus.config.ts": "export default {};"}), OPTIONS) == (
        SiteConfig("book", url="", base_url="/", route="docs", docs="docs", trailing_slash=None)
    )


def test_an_address_in_the_settings_wins_over_the_one_of_the_site(write_book: WriteBook) -> None:
    site = write_book({CONFIG: "x = {url: `https://a.example`}", "docs/a.md": "A."})

    assert urls(site) == ["https://a.example/docs/a"]
    assert urls(site, IngestOptions(site_url="https://b.example/")) == ["https://b.example/docs/a"]


def test_a_configuration_that_is_not_text_is_named(write_book: WriteBook) -> None:
    site = write_book({"docs/a.md": "A."})
    (site / CONFIG).write_bytes(b"title: 'caf\xe9'")

    with pytest.raises(UnreadableFile, match=r"docusaurus\.config\.js cannot be read as text"):
        DocusaurusReader().read(site, OPTIONS)


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
    config = SiteConfig("t", "https://x.y", "/en/", "book", "docs", slash)

    assert config.address(slug) == url


@pytest.mark.parametrize(("base", "url"), [("/", "https://x.y/"), ("/en/", "https://x.y/en/")])
@pytest.mark.parametrize("slash", [None, True, False])
def test_the_front_page_keeps_the_base_address(base: str, url: str, slash: bool | None) -> None:
    assert SiteConfig("t", "https://x.y", base, "/", "docs", slash).address("/") == url


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
        ("_category_.yaml", "label: Lamps", Category("Lamps", 2)),
        ("_category_.json", '{"position": null}', Category("lamps", float("inf"))),
        ("_category_.json", '{"position": "first"}', Category("lamps", float("inf"))),
        ("_category_.json", '{"position": "3"}', Category("lamps", 3)),
        ("_category_.json", '["Lamps"]', Category("lamps", 2)),
        ("_category_.json", "{broken", Category("lamps", 2)),
        ("_category_.yml", "label: [broken", Category("lamps", 2)),
        ("other.json", '{"label": "Lamps"}', Category("lamps", 2)),
    ],
)
def test_a_category_file_names_and_places_its_folder(
    write_book: WriteBook, name: str, text: str, expected: Category
) -> None:
    folder = write_book({f"02-lamps/{name}": text}) / "02-lamps"

    assert read_category(folder) == expected


def test_a_folder_without_number_or_category_comes_last(write_book: WriteBook) -> None:
    folder = write_book({"lamps/a.md": ""}) / "lamps"

    assert read_category(folder) == Category("lamps", float("inf"))


def test_pages_come_in_the_order_of_the_sidebar(write_book: WriteBook) -> None:
    site = write_book(
        {
            CONFIG: "",
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
            CONFIG: "",
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
            CONFIG: "",
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


def test_braces_are_code_in_mdx_and_text_in_md(write_book: WriteBook) -> None:
    site = write_book({CONFIG: "", "docs/a.md": "A {b}.", "docs/b.mdx": "A {b}."})

    pages = DocusaurusReader().read(site, OPTIONS).pages

    assert [page.sections[0].blocks[0].text for page in pages] == ["A {b}.", "A ."]


def test_the_docs_folder_stands_for_its_site(write_book: WriteBook) -> None:
    site = write_book({CONFIG: "x = {url: 'https://a.example'}", "docs/a.md": "A."})
    reader = DocusaurusReader()

    assert reader.recognises(site)
    assert reader.recognises(site / "docs")
    assert reader.read(site / "docs", OPTIONS) == reader.read(site, OPTIONS)


@pytest.mark.parametrize("other", ["blog", "docs/part", "README.md"])
def test_other_parts_of_a_site_do_not_stand_for_it(write_book: WriteBook, other: str) -> None:
    site = write_book({CONFIG: "", "docs/part/a.md": "A.", "blog/b.md": "B.", "README.md": "R."})

    assert not DocusaurusReader().recognises(site / other)


def test_the_pages_may_lie_beside_the_site(write_book: WriteBook) -> None:
    folder = write_book(
        {
            f"web/{CONFIG}": "x = {docs: {path: '../docs', routeBasePath: '/'}}",
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
            CONFIG: "",
            "docs/a.md": "A.",
            "docs/part/b.mdx": "B.",
            "docs/part/_category_.json": "{}",
            "package.json": "{}",
        }
    )

    names = [file.name for file in DocusaurusReader().files(site)]

    assert names == [CONFIG, "docs/part/_category_.json", "docs/a.md", "docs/part/b.mdx"]
