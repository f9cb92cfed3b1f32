from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from citewell.domain import SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.huggingface import HfDocsFormat
from citewell.options import IngestOptions

OPTIONS = IngestOptions(site_url="https://hf.example/docs/lamps/")
WriteBook = Callable[[Mapping[str, str]], Path]
TOCTREE = """\
- sections:
  - local: index
    title: Lamps
  - title: Deeper
    sections:
    - local: guides/lens
      title: The lens
    - local: gone
      title: Gone
  title: Get started
- local: oil
  title: Oil
"""


def test_the_table_of_contents_gives_order_titles_and_parts(write_book: WriteBook) -> None:
    root = write_book(
        {
            "_toctree.yml": TOCTREE,
            "oil.md": "Four.",
            "index.mdx": "# Heading\n\nOne.",
            "guides/lens.mdx": "Two.",
            "extra.mdx": "# Extra\n\nThree.",
        }
    )

    book = HfDocsFormat().read(root, OPTIONS)

    assert [(p.source, p.title, p.part, p.url) for p in book.pages] == [
        ("index.mdx", "Lamps", "Get started", "https://hf.example/docs/lamps/index"),
        ("guides/lens.mdx", "The lens", "Get started", "https://hf.example/docs/lamps/guides/lens"),
        ("oil.md", "Oil", "", "https://hf.example/docs/lamps/oil"),
        ("extra.mdx", "Extra", "", "https://hf.example/docs/lamps/extra"),
    ]
    assert book.skipped == (
        SkippedFile(source="gone.mdx", reason="is in _toctree.yml but does not exist"),
    )
    assert HfDocsFormat().files(root)[0].name == "_toctree.yml"


@pytest.mark.parametrize("place", ["", "docs/source/", "docs/source/en/"])
@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("_toctree.yml", "[]", True),
        ("a.mdx", "[[open-in-colab]]", True),
        ("a.mdx", "<hfoptions id='x'>", True),
        ("a.mdx", "Use `[[autodoc]]`.", False),
        ("a.md", "[[autodoc]] x", False),
    ],
)
def test_a_folder_is_known_by_its_contents_or_by_what_only_doc_builder_understands(
    write_book: WriteBook, place: str, name: str, text: str, known: bool
) -> None:
    assert HfDocsFormat().matches(write_book({f"{place}{name}": text})) is known


def test_the_syntax_of_doc_builder_is_no_text(write_book: WriteBook) -> None:
    root = write_book(
        {
            "_toctree.yml": "",
            "a.mdx": "<!-- Licence -->\n# A\n\n[[open-in-colab]]\n\nA {set} of text.\n\n"
            "[[autodoc]] lamps.Lens\n    - shine\n    - all\n\n"
            "<Tip warning={true}>\n\nIn fog.\n\nSound.\n\n</Tip>\n\n<Tip>\nNever closed.\n\n"
            '<hfoptions id="os">\n<hfoption id="Linux">\n\nUse `apt`.\n\n</hfoption>\n'
            "</hfoptions>\n\n"
            "```md\n[[autodoc]] shown\n<Tip>\n```\n",
        }
    )

    blocks = HfDocsFormat().read(root, OPTIONS).pages[0].sections[0].blocks

    assert [(block.kind, block.text) for block in blocks] == [
        ("prose", "A {set} of text."),
        ("admonition", ":::warning\n\nIn fog.\n\nSound."),
        ("prose", "Never closed."),
        ("prose", "Use `apt`."),
        ("code", "```md\n[[autodoc]] shown\n<Tip>\n```"),
    ]


def test_headings_have_the_ids_of_doc_builder(write_book: WriteBook) -> None:
    root = write_book(
        {
            "_toctree.yml": "",
            "a.mdx": "# A\n\n## What's `new_in` v1.2?\n\nOne.\n\n## Use[[the-use]]\n\nTwo.\n",
        }
    )

    sections = HfDocsFormat().read(root, OPTIONS).pages[0].sections

    assert [(s.path, s.anchor) for s in sections] == [
        (("A", "What's new_in v1.2?"), "whats-newin-v12"),
        (("A", "Use"), "the-use"),
    ]


def test_a_broken_table_of_contents_is_named(write_book: WriteBook) -> None:
    root = write_book({"_toctree.yml": "- [", "a.mdx": "A."})

    with pytest.raises(UnreadableFile, match=r"_toctree\.yml is not valid YAML"):
        HfDocsFormat().read(root, OPTIONS)
