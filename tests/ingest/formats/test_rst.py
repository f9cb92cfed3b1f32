"""reStructuredText, as the blocks of a page."""

import re
import tempfile
from pathlib import Path

import pytest
from docutils.parsers.rst import directives, roles
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain import Section
from citewell.errors import CitewellError
from citewell.ingest.formats.sphinx.doctree import document_title, labels_of, read_sections
from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets
from citewell.ingest.formats.sphinx.include_context import IncludeContext
from citewell.ingest.formats.sphinx.rst import parse_rst
from citewell.options import IngestOptions
from citewell.text.plain_text import plain


def sections(text: str, names: ReferenceTargets | None = None) -> tuple[Section, ...]:
    nowhere = Path(tempfile.gettempdir()) / "no-such-book"
    around = IncludeContext(root=nowhere, page=nowhere / "a.rst", options=IngestOptions())
    document = parse_rst(text, around)
    return read_sections(document, names or ReferenceTargets(), "a", document_title(document))


def blocks(text: str, names: ReferenceTargets | None = None) -> list[tuple[str, str]]:
    return [(b.kind, b.text) for s in sections(text, names) for b in s.blocks]


def prose(text: str, names: ReferenceTargets | None = None) -> str:
    [(kind, found)] = blocks(text, names)
    assert kind == "prose"
    return found


@pytest.mark.parametrize(
    ("source", "markdown"),
    [
        ("**Bold**, *thin* and ``co*de``.", "**Bold**, *thin* and `co*de`."),
        ("``a`b``", "``a`b``"),
        ("See `the lens <https://a.example/x y>`__.", "See [the lens](https://a.example/xy)."),
        ("At https://a.example now.", "At https://a.example now."),
        ("See `Lens`_.\n\n.. _Lens: https://a.example", "See [Lens](https://a.example)."),
        ("See `Elsewhere`_.", "See Elsewhere."),
        ("Two\nlines.", "Two lines."),
        (r"5 \* 3 is 15, a_b stays, \_so\_.", r"5 \* 3 is 15, a_b stays, \_so\_."),
        ("Costs $5 and <b>.", r"Costs \$5 and \<b>."),
        (r"\- not an item", r"\- not an item"),
        (r"1\. not an item", r"1\. not an item"),
        (":math:`x^2` wide", "$x^2$ wide"),
        ("10\\ :sup:`3` of H\\ :sub:`2`\\ O", "10^3 of H2O"),
        (":kbd:`Ctrl+C`, :command:`ls`, :file:`/a/{b}.txt`", "`Ctrl+C`, **ls**, `/a/b.txt`"),
        (":abbr:`LED (light-emitting diode)`", "LED (light-emitting diode)"),
        (":menuselection:`File --> &Open`", "**File ‣ Open**"),
        (":pep:`8` and :rfc:`2324`", "PEP 8 and RFC 2324"),
        (":func:`~os.path.join` and :py:class:`!Lamp`", "`join()` and `Lamp`"),
        (":term:`wicks <wick>`", "wicks"),
        (":made-up:`Words <target>`", "Words"),
        ("|lens| glass\n\n.. |lens| replace:: **Fresnel**", "**Fresnel** glass"),
        ("|nothing| here", "nothing here"),
        (":eq:`force` and :download:`the file <a.zip>`", "(force) and `the file`"),
        ("[CIT]_ says", r"\[CIT\] says"),
    ],
)
def test_running_text_becomes_markdown(source: str, markdown: str) -> None:
    assert prose(source) == markdown


def test_references_by_name_say_what_they_stand_for() -> None:
    names = ReferenceTargets(
        titles={"deep/b": "Page B"}, labels={"my label": "The lens"}, values={"release": "1.2"}
    )

    text = ":doc:`deep/b`, :doc:`/deep/b`, :ref:`My Label`, :ref:`so <my label>`, |release|"
    assert prose(text, names) == "Page B, Page B, The lens, so, 1.2"


def test_labels_name_the_headings_and_captions_they_stand_before() -> None:
    text = ".. _a:\n\nLens\n====\n\n.. _b:\n\n.. figure:: x.png\n\n   Caption.\n"
    nowhere = Path("/nowhere")
    document = parse_rst(
        text, IncludeContext(root=nowhere, page=nowhere / "a.rst", options=IngestOptions())
    )

    assert labels_of(document) == {"a": "Lens", "b": "Caption."}


def test_lists_nest() -> None:
    assert blocks("* One\n\n  * In\n\n    More.\n\n* Two::\n\n    code\n\n3. Three\n4. Four") == [
        ("list", "- One\n  - In\n\n    More.\n- Two:\n\n  ```\n  code\n  ```"),
        ("list", "3. Three\n4. Four"),
    ]


def test_code_keeps_its_language_and_its_lines() -> None:
    text = (
        ".. code-block:: python\n   :caption: lamp.py\n   :linenos:\n\n   a = 1\n\n   b = 2\n\n"
        ".. highlight:: c\n\nSo::\n\n   int x;\n\n>>> 1 + 1\n2\n\n"
        ".. code:: text\n\n   ```\n   fence\n   ```\n"
    )

    assert blocks(text) == [
        ("prose", "**lamp.py**:"),
        ("code", "```python\na = 1\n\nb = 2\n```"),
        ("prose", "So:"),
        ("code", "```c\nint x;\n```"),
        ("code", "```python\n>>> 1 + 1\n2\n```"),
        ("code", "````text\n```\nfence\n```\n````"),
    ]


def test_boxes_are_admonitions() -> None:
    text = (
        ".. Note:: Short.\n\n.. admonition:: Mind [this]\n\n   Long.\n\n   - item\n\n"
        ".. seealso::\n\n   There.\n\n.. versionadded:: 1.2 With *care*.\n\n.. deprecated:: 2.0\n"
    )

    assert [text for _, text in blocks(text)] == [
        ":::note\nShort.\n:::",
        ":::admonition[Mind (this)]\nLong.\n\n- item\n:::",
        ":::seealso\nThere.\n:::",
        ":::versionadded\nAdded in version 1.2: With *care*.\n:::",
        ":::deprecated\nDeprecated since version 2.0\n:::",
    ]


def test_tabs_and_cards_keep_their_names() -> None:
    text = (
        ".. tabs::\n\n   .. group-tab:: Linux\n\n      .. code-block:: sh\n\n         ls\n\n"
        "   .. code-tab:: py Snake\n\n      x = 1\n\n"
        ".. tab-set::\n\n   .. tab-item:: Mac\n      :sync: m\n\n      Text.\n\n"
        ".. grid:: 1 2\n\n   .. grid-item-card:: Title\n\n      Card.\n"
    )

    assert [text for _, text in blocks(text)] == [
        "**Linux**:",
        "```sh\nls\n```",
        "**Snake**:",
        "```py\nx = 1\n```",
        "**Mac**:",
        "Text.",
        "**Title**:",
        "Card.",
    ]


def test_tables_of_every_kind_become_markdown_tables() -> None:
    text = (
        ".. list-table:: Sizes\n   :header-rows: 1\n\n   * - Name\n     - Size\n"
        "   * - a|b\n     - one\n\n       two\n\n"
        ".. csv-table::\n   :header: K, V\n\n   x, 1\n\n"
        "+-----+---+\n| A   | B |\n+=====+===+\n| c       |\n"
        "+-----+---+\n| - d | e |\n+-----+---+\n"
    )

    assert blocks(text) == [
        ("prose", "**Sizes**:"),
        ("table", "| Name | Size |\n| --- | --- |\n| a\\|b | one two |"),
        ("table", "| K | V |\n| --- | --- |\n| x | 1 |"),
        ("table", "| A | B |\n| --- | --- |\n| c |  |\n| d | e |"),
    ]


def test_terms_stand_in_the_sentence_about_them() -> None:
    text = (
        ".. glossary::\n\n   lamp\n   lantern\n      Gives light.\n\n   oil\n      Burns.\n\n"
        "Term : kind\n   Meaning.\n\n   More.\n\n--flag  What it does.\n"
    )

    assert [text for _, text in blocks(text)] == [
        "**lamp, lantern**: Gives light.",
        "**oil**: Burns.",
        "**Term**, **kind**: Meaning.",
        "More.",
        "`--flag`: What it does.",
    ]


def test_formulas_quotes_figures_footnotes_and_lines_are_kept() -> None:
    text = (
        ".. math:: a = b\n   :label: x\n\nSays:\n\n   Quoted.\n\n   -- Ann\n\n"
        ".. figure:: a.png\n   :alt: A lamp\n   :wrong: option\n\n   The caption.\n\n"
        "| one\n| two\n\nNote [1]_.\n\n.. [1] Small print.\n\n.. rubric:: Aside\n"
    )

    assert blocks(text) == [
        ("math", "$$\na = b\n$$"),
        ("prose", "Says:"),
        ("quote", "> Quoted.\n>\n> Ann"),
        ("prose", "![A lamp](a.png)"),
        ("caption", "The caption."),
        ("prose", "one\ntwo"),
        ("prose", "Note [^1]."),
        ("prose", "[^1]: Small print."),
        ("prose", "**Aside**"),
    ]


def test_what_readers_do_not_see_is_dropped() -> None:
    text = (
        ".. raw:: html\n\n   <b>x</b>\n\n.. contents::\n\n.. index:: y\n\n.. a comment\n\n"
        ".. toctree::\n\n   z\n\n.. meta::\n   :description: w\n\n.. testsetup::\n\n   v\n"
        "\nT\n=\n\nShown.\n"
    )

    assert blocks(text) == [("prose", "Shown.")]


def test_unknown_directives_keep_their_text() -> None:
    text = (
        ".. shiny:: A title\n   :option: 1\n\n   Its *content*.\n\n.. youtube:: abc123\n\n"
        ".. py:function:: light(lamp)\n                 light()\n\n   Lights it.\n\n"
        ".. autoclass:: lamps.Lamp\n   :members:\n\n.. mermaid::\n\n   a --> b\n"
    )

    assert [text for _, text in blocks(text)] == [
        "**A title**:",
        "Its *content*.",
        "`light(lamp)`, `light()`",
        "Lights it.",
        "`lamps.Lamp`",
        "```mermaid\na --> b\n```",
    ]


def test_what_docutils_cannot_place_is_kept_as_written() -> None:
    text = (
        ".. list-table::\n\n   not a list\n\n===  ===\nA    B\n===  ==\nc    d\n===  ===\n\n"
        ".. image::\n\nEnd.\n"
    )

    found = " ".join(text for _, text in blocks(text))
    assert all(word in found for word in ("not a list", "A    B", "c d", "End."))
    assert "list-table" not in found


def test_only_is_kept_with_its_headings() -> None:
    text = "T\n=\n\n.. only:: html\n\n   Lens\n   ----\n\n   Kept.\n\nAfter\n-----\n\nMore.\n"

    assert [(s.path, s.anchor) for s in sections(text)] == [
        (("T", "Lens"), "lens"),
        (("T", "After"), "after"),
    ]


def test_sections_have_their_path_and_their_id() -> None:
    text = (
        "Before.\n\nT\n=\n\nOne.\n\nA ``b``\n-------\n\nTwo.\n\nC\n~\n\nThree.\n\nU\n=\n\nFour.\n"
    )

    assert [(s.path, s.anchor, s.blocks[0].text) for s in sections(text)] == [
        (("T",), "", "Before."),
        (("T",), "", "One."),
        (("T", "A b"), "a-b", "Two."),
        (("T", "A b", "C"), "c", "Three."),
        (("T", "U"), "u", "Four."),
    ]


def test_roles_and_directives_of_other_users_of_docutils_are_left_alone() -> None:
    before = (directives.directive, roles.role, dict(vars(roles)["_roles"]))

    prose(".. role:: odd\n\n:odd:`x` y")

    assert before == (directives.directive, roles.role, vars(roles)["_roles"])


MARKS = re.findall(r"\S+", "`` ` * ** | _ __ :: : :ref:` .. == -- ~~ +-+ [#]_ <> \\ ===== Word")
DIRECTIVES = """\
.. note::
.. list-table::
.. csv-table::
.. include:: a.rst
.. figure::
.. glossary::\n\n   a
.. |x| replace::
.. tabs::\n\n   .. tab:: a
.. only:: x\n\n   b
.. role:: y(raw)
.. versionadded:: 1
.. math::
"""
PIECES = st.sampled_from(
    [*MARKS, *DIRECTIVES.replace("\\n", "\n").splitlines(), "\n", "\n\n", "   ", "\t", "* ", "1. "]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=30).map("".join))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    try:
        found = blocks(text)
    except CitewellError:
        return
    assert all(block.strip() for _, block in found)


@given(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=40))
def test_escaped_text_reads_back_as_it_was(text: str) -> None:
    literal = "".join(f"\\{c}" for c in text)

    found = blocks(f"x {literal} y")

    assert plain(found[0][1]) == f"x {text} y"
