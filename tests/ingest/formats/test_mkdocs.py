import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from citewell.domain import Block, Book, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.mkdocs import MkDocsFormat, convert_indented_blocks
from citewell.options import IngestOptions

OPTIONS = IngestOptions()
WriteBook = Callable[[Mapping[str, str]], Path]


def read(root: Path, options: IngestOptions = OPTIONS) -> Book:
    return MkDocsFormat().read(root, options)


def blocks_of(book: Book) -> list[Block]:
    return [block for page in book.pages for s in page.sections for block in s.blocks]


def test_the_navigation_gives_order_titles_and_parts(write_book: WriteBook) -> None:
    root = write_book(
        {
            "mkdocs.yml": "site_name: Lamps\nsite_url: https://x.y/lamps/\nnav:\n"
            "  - Home: index.md\n  - Oil:\n    - oil/whale.md\n"
            "    - More:\n      - C: oil/colza.md\n"
            "  - Elsewhere: https://else.example\n  - Gone: gone.md\n",
            "docs/index.md": "One.",
            "docs/oil/colza.md": "# Colza oil\n\nTwo.",
            "docs/oil/whale.md": "---\ntitle: Whale oil\n---\nThree.",
            "docs/_left-over.md": "Four.",
        }
    )

    book = read(root)

    assert (book.title, book.kind) == ("Lamps", "mkdocs")
    assert [(p.source, p.title, p.part, p.url) for p in book.pages] == [
        ("docs/index.md", "Home", "", "https://x.y/lamps/"),
        ("docs/oil/whale.md", "Whale oil", "Oil", "https://x.y/lamps/oil/whale/"),
        ("docs/oil/colza.md", "C", "Oil", "https://x.y/lamps/oil/colza/"),
        ("docs/_left-over.md", " left over", "", "https://x.y/lamps/_left-over/"),
    ]
    assert book.skipped == (
        SkippedFile(source="gone.md", reason="is in the navigation but does not exist"),
    )


def test_without_a_navigation_a_folders_index_comes_first(write_book: WriteBook) -> None:
    names = ("a.md", "index.md", "z-part/README.md", "z-part/b.md", "z-part/.hidden.md")
    root = write_book({"mkdocs.yml": "", **{f"docs/{name}": "Text." for name in names}})

    assert [(p.source, p.part) for p in read(root).pages] == [
        ("docs/index.md", ""),
        ("docs/a.md", ""),
        ("docs/z-part/README.md", "Z part"),
        ("docs/z-part/b.md", "Z part"),
    ]


def test_addresses_are_files_where_the_configuration_says_so(write_book: WriteBook) -> None:
    root = write_book(
        {
            "mkdocs.yml": "use_directory_urls: false\ndocs_dir: text\nsite_url: https://x.y",
            "text/index.md": "One.",
            "text/a/README.md": "Two.",
            "text/a/b.md": "Three.",
        }
    )

    assert [p.url.removeprefix("https://x.y") for p in read(root).pages] == [
        "/index.html",
        "/a/index.html",
        "/a/b.html",
    ]
    assert read(root, IngestOptions(site_url="https://z")).pages[0].url == "https://z/index.html"


def test_tags_in_the_configuration_are_never_run(write_book: WriteBook, tmp_path: Path) -> None:
    made = tmp_path / "made"
    root = write_book(
        {
            "mkdocs.yml": f"site_name: !ENV [NAME, Lamps]\nx: !!python/name:os.system\n"
            f'y: !!python/object/apply:os.mkdir ["{made}"]\nz: !relative $docs_dir\n',
            "docs/a.md": "Text.",
        }
    )

    assert read(root).title == "Lamps"
    assert not made.exists()


@pytest.mark.parametrize("config", ["nav: [", "a: b: c", "x: " + "[" * 3000, "a: \a"])
def test_a_broken_configuration_is_named(write_book: WriteBook, config: str) -> None:
    with pytest.raises(UnreadableFile, match=r"mkdocs\.yml is not valid YAML \(line \d+\)"):
        read(write_book({"mkdocs.yml": config, "docs/a.md": "A."}))


def test_contents_that_point_at_each_other_come_to_an_end(write_book: WriteBook) -> None:
    bombs = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    root = write_book(
        {"mkdocs.yml": f"a0: &a0 [a.md]\n{bombs}\nnav: &n [*a11, *n]", "docs/a.md": "Text."}
    )

    assert [p.source for p in read(root).pages] == ["docs/a.md"]


def test_headings_have_the_ids_of_python_markdown(write_book: WriteBook) -> None:
    headings = (
        "Use",
        "Use",
        "Größe & Maß",
        "A {#use_2}",
        "Use",
        "B { .wide #b-id }",
        "C {: .x }",
        "模",
    )
    text = "".join(f"## {heading}\n\nText.\n\n" for heading in headings)
    root = write_book({"mkdocs.yml": "", "docs/a.md": text})

    sections = read(root).pages[0].sections

    assert [s.anchor for s in sections] == [
        "use",
        "use_1",
        "groe-ma",
        "use_2",
        "use_3",
        "b-id",
        "c",
        "_1",
    ]
    assert [s.path[-1] for s in sections[5:7]] == ["B", "C"]


def test_an_admonition_is_one_block_with_all_of_its_text(write_book: WriteBook) -> None:
    root = write_book(
        {
            "mkdocs.yml": "",
            "docs/a.md": 'Before.\n\n!!! warning "In fog"\n    One.\n\n\n    ```sh\n    !!! no\n'
            '    ```\n\n    ??? tip inline end "Inner"\n        Two.\n\nAfter.\n\n'
            "???+ note\n\tTabbed.\n",
        }
    )

    blocks = blocks_of(read(root))

    assert [block.kind for block in blocks] == ["prose", "admonition", "prose", "admonition"]
    assert blocks[1].text == (
        "::::warning In fog\nOne.\n\n\n```sh\n!!! no\n```\n\n\n:::tip Inner\nTwo.\n\n:::"
    )
    assert blocks[3].text == ":::note\nTabbed."


def test_the_text_of_tabs_is_text() -> None:
    body = (
        '=== "Linux"\n\n    Use `apt`.\n\n    ```sh\n    === "no"\n    ```\n\n'
        '=== "Mac"\n\n    Use.\n'
    )

    assert (
        re.sub(r"\s+", " ", convert_indented_blocks(body))
        == ' Linux Use `apt`. ```sh === "no" ``` Mac Use. '
    )
    assert "\nUse `apt`." in convert_indented_blocks(body)


def test_snippets_are_put_in_their_places(write_book: WriteBook) -> None:
    root = write_book(
        {
            "mkdocs.yml": "markdown_extensions:\n  - pymdownx.snippets: {base_path: [parts]}\n",
            "docs/a.md": '--8<-- "one.txt:2:3"\n\n```py\n--8<-- "code.py:run"\n```\n\n'
            '--8<--\nparts/two.md\n--8<--\n\n;--8<-- "shown"\n',
            "docs/one.txt": "1\n2\n3\n4\n",
            "code.py": "no\n# --8<-- [start:run]\nrun()\n# --8<-- [end:run]\nno\n",
            "parts/two.md": 'Two. \n\n--8<-- "three.md"\n',
            "parts/three.md": "Three.",
        }
    )

    assert [block.text for block in blocks_of(read(root))] == [
        "2\n3",
        "```py\nrun()\n```",
        "Two.",
        "Three.",
        '--8<-- "shown"',
    ]
    assert [file.name for file in MkDocsFormat().files(root)] == [
        "mkdocs.yml",
        "docs/a.md",
        "docs/one.txt",
        "code.py",
        "parts/two.md",
        "parts/three.md",
    ]


@pytest.mark.parametrize(
    ("path", "reason", "failed"),
    [
        ("../secret.txt", "lies outside the book's folder (included by docs/a.md)", True),
        ("/etc/passwd", "lies outside the book's folder (included by docs/a.md)", True),
        ("gone.md", "does not exist (included by docs/a.md)", False),
        ("loop.md", "includes itself (included by docs/a.md)", True),
    ],
)
def test_a_snippet_that_may_not_be_read_is_left_out_and_reported(
    write_book: WriteBook, path: str, reason: str, failed: bool
) -> None:
    root = write_book(
        {
            "mkdocs.yml": "",
            "docs/a.md": f'Before.\n\n--8<-- "{path}"\n',
            "loop.md": '--8<-- "loop.md"',
        }
    )
    (root.parent / "secret.txt").write_text("Secret.")

    book = read(root)

    assert [block.text for block in blocks_of(book)] == ["Before."]
    assert [(skip.reason, skip.failed) for skip in book.skipped] == [(reason, failed)]
