import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import CitewellError, UnreadableFile
from citewell.ingest.detect import detect_format
from citewell.ingest.formats.notebooks import NotebooksFormat
from citewell.ingest.formats.sphinx.notebook_page import notebook_to_markdown
from citewell.options import IngestOptions

OPTIONS = IngestOptions(site_url="https://x.y/")
WriteBook = Callable[[Mapping[str, str]], Path]


def markdown(text: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {"tags": list(tags)}, "source": [text]}


def code(text: str, *outputs: dict[str, Any], tags: tuple[str, ...] = ()) -> dict[str, Any]:
    metadata = {"tags": list(tags)}
    return {"cell_type": "code", "metadata": metadata, "source": text, "outputs": list(outputs)}


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def result(**data: str) -> dict[str, Any]:
    return {
        "output_type": "execute_result",
        "data": {key.replace("_", "/"): value for key, value in data.items()},
    }


def notebook(*cells: dict[str, Any], language: str = "python") -> str:
    metadata = {"language_info": {"name": language}}
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": list(cells)})


def test_cells_make_one_page_whose_headings_go_on(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "S2.ipynb": notebook(
                markdown("# Lamps\n\nText.\n\n## Lens"),
                markdown("Glass."),
                code("x <- 1"),
                markdown("### Rings\n\n```{note}\nThin.\n```"),
                language="R",
            ),
            "S10.ipynb": notebook(markdown("Untitled.")),
            ".hidden/a.ipynb": notebook(markdown("No.")),
        }
    )

    book = detect_format(folder).read(folder, OPTIONS)

    assert [(p.source, p.title, p.url) for p in book.pages] == [
        ("S2.ipynb", "Lamps", "https://x.y/S2.html"),
        ("S10.ipynb", "S10", "https://x.y/S10.html"),
    ]
    assert [(s.path, s.anchor, [b.text for b in s.blocks]) for s in book.pages[0].sections] == [
        (("Lamps",), "", ["Text."]),
        (("Lamps", "Lens"), "lens", ["Glass.", "```r\nx <- 1\n```"]),
        (("Lamps", "Lens", "Rings"), "rings", [":::note\nThin."]),
    ]
    assert book.pages[1].sections[0].path == ("S10",)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (
            code("x", stream("hi\n"), stream("bad", "stderr")),
            "```python\nx\n```\n\n```text\nhi\n```",
        ),
        (code("x", result(text_plain="7")), "```python\nx\n```\n\n```text\n7\n```"),
        (code("x", result(text_plain="<Figure>", image_png="aGk=")), "```python\nx\n```"),
        (code("x", result(text_plain="a", text_html="<p>")), "```python\nx\n```"),
        (code("x", {"output_type": "error", "traceback": ["t"]}), "```python\nx\n```"),
        (code("%%bash\nls"), "```bash\n%%bash\nls\n```"),
        (code("x", stream("hi"), tags=("hide-input",)), "```text\nhi\n```"),
        (code("x", stream("hi"), tags=("remove-output",)), "```python\nx\n```"),
        (code("x", stream("hi"), tags=("hide-cell",)), ""),
        (markdown("Gone.", "remove-cell"), ""),
        ({"cell_type": "raw", "source": "Gone."}, ""),
        ({"cell_type": "heading", "level": 2, "source": "Old"}, "## Old"),
        (markdown("```py\nopen"), "```py\nopen\n```"),
        (code("x", stream("\x1b[31mred\x1b[0m")), "```python\nx\n```\n\n```text\nred\n```"),
        (markdown("---\n\nRule."), "---\n\nRule."),
        ({"cell_type": "code", "source": 7, "outputs": "odd", "metadata": []}, ""),
    ],
)
def test_a_cell_shows_what_a_reader_of_the_page_would_see(
    cell: dict[str, Any], expected: str
) -> None:
    assert notebook_to_markdown(notebook(cell)).strip() == expected


def test_a_formula_that_is_left_open_ends_with_its_cell(write_book: WriteBook) -> None:
    cells = [markdown("# A\n\n$$\nx\n$$\n$$\n\nOpen."), markdown("## B\n\nText.")]
    folder = write_book({"a.ipynb": json.dumps({"cells": cells})})

    (page,) = NotebooksFormat().read(folder, OPTIONS).pages

    assert [section.path for section in page.sections] == [("A",), ("A", "B")]


def test_an_output_is_cut_at_a_screen() -> None:
    lines = notebook_to_markdown(notebook(code("", stream("line\n" * 100)))).count("line")
    long = notebook_to_markdown(notebook(code("", stream("x" * 9000)))).count("x\n")

    assert (lines, long) == (24, 1)
    assert notebook_to_markdown(notebook(code("", stream("y" * 9000)))).count("y") == 2000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "invalid JSON"),
        ("[]", "no list of cells"),
        ('{"cells": 7}', "no list of cells"),
        ("[" * 100_000, "invalid JSON"),
    ],
)
def test_what_is_no_notebook_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(UnreadableFile, match=reason):
        notebook_to_markdown(text)


def test_notebooks_of_the_third_format_are_read() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "x", "outputs": []}]}]}

    assert notebook_to_markdown(json.dumps(old)) == "```python\nx\n```\n"


def test_a_jupyter_book_is_read_in_the_order_of_its_contents(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "_config.yml": "title: Lamps\nhtml:\n  baseurl: https://a.example/\n",
            "_toc.yml": "format: jb-book\nroot: intro\nparts:\n- caption: First\n  chapters:\n"
            "  - file: b.ipynb\n    sections:\n    - file: deep/c\n    - glob: more/*\n"
            "  - file: gone\n  - url: https://else.example\n- chapters:\n  - file: a\n",
            "intro.md": "# Intro\n\nSee {doc}`b`.\n",
            "a.rst": "A\n=\n\nText.\n",
            "b.ipynb": notebook(markdown("# Bee\n\nText.")),
            "deep/c.md": "Text.\n\n```{include} ../part.txt\n```\n",
            "more/10.md": "Ten.",
            "more/9.md": "Nine.",
            "unlisted.md": "Text.",
        }
    )

    book = detect_format(folder).read(folder, IngestOptions())

    assert (book.title, book.kind) == ("Lamps", "notebooks")
    assert [(p.source, p.part, p.url) for p in book.pages] == [
        ("intro.md", "", "https://a.example/intro.html"),
        ("b.ipynb", "First", "https://a.example/b.html"),
        ("deep/c.md", "First", "https://a.example/deep/c.html"),
        ("more/9.md", "First", "https://a.example/more/9.html"),
        ("more/10.md", "First", "https://a.example/more/10.html"),
        ("a.rst", "", "https://a.example/a.html"),
    ]
    assert book.pages[0].sections[0].blocks[0].text == "See Bee."
    assert [(s.source, s.reason) for s in book.skipped] == [
        ("gone", "named in _toc.yml, but there is no such file"),
        ("../part.txt", "included by deep/c.md, but there is no such file"),
    ]
    names = [file.name for file in NotebooksFormat().files(folder)]
    assert names[:2] == ["_toc.yml", "_config.yml"]
    assert "part.txt" in names
    assert "unlisted.md" not in names


def test_a_broken_table_of_contents_is_reported_and_the_notebooks_are_read(
    write_book: WriteBook,
) -> None:
    folder = write_book(
        {
            "_toc.yml": "root: [",
            "_config.yml": "- a",
            "a.ipynb": notebook(markdown("Text.")),
            "b.ipynb": "{",
        }
    )

    book = NotebooksFormat().read(folder, OPTIONS)

    assert [p.source for p in book.pages] == ["a.ipynb"]
    assert [(s.source, s.reason) for s in book.skipped] == [
        ("_toc.yml", "is not valid YAML"),
        ("b.ipynb", "is not a notebook: invalid JSON (line 1)"),
    ]


def test_the_first_form_of_the_contents_and_one_notebook_alone_are_read(
    write_book: WriteBook,
) -> None:
    folder = write_book(
        {"_toc.yml": "- file: b\n- part: P\n  chapters:\n  - file: a\n", "a.md": "A.", "b.md": "B."}
    )
    (folder / "one.ipynb").write_text(notebook(markdown("# One\n\nText.")))

    assert [(p.source, p.part) for p in NotebooksFormat().read(folder, OPTIONS).pages] == [
        ("b.md", ""),
        ("a.md", "P"),
    ]
    alone = detect_format(folder / "one.ipynb")
    assert alone.name == "notebooks"
    assert [p.title for p in alone.read(folder / "one.ipynb", OPTIONS).pages] == ["One"]
    assert [f.name for f in alone.files(folder / "one.ipynb")] == ["one.ipynb"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "cell_type", "source", "metadata", "tags", "outputs", "data", "text"]
            ),
            inner | st.sampled_from(["markdown", "code", "stream", "```", "# A", "<!--"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_read_or_refused_by_name(data: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.ipynb").write_text(json.dumps({"cells": data}), "utf-8")
        try:
            book = NotebooksFormat().read(Path(folder), OPTIONS)
        except CitewellError:
            return
    assert len(book.pages) + len(book.skipped) == 1
