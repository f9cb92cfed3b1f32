"""One page of HTML, from its markup to Markdown blocks."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain import Block
from citewell.errors import UnreadableFile
from citewell.ingest.formats.html.convert import ParsedHtml, read_sections
from citewell.ingest.formats.html.inline import replace_math
from citewell.ingest.formats.html.tree import main_content, parse_html
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_sentences

BASE = "https://lamps.example/book/page.html"


def read(markup: str, *, base: str = BASE) -> ParsedHtml:
    tree = parse_html(f"<html><body>{markup}</body></html>".encode())
    replace_math(tree)
    return read_sections(main_content(tree), title="Page", base=base)


def blocks(markup: str, *, base: str = BASE) -> list[Block]:
    return [block for section in read(markup, base=base).sections for block in section.blocks]


def only(markup: str) -> Block:
    (block,) = blocks(markup)
    return block


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One\n   line.</p>", "One line."),
        (
            "<p>A <b>bold</b>, <i>slanted</i> and <code>a_b</code>.</p>",
            "A **bold**, *slanted* and `a_b`.",
        ),
        ("<p><strong> Spaced </strong>word</p>", "**Spaced** word"),
        ("<p><em>un</em>likely</p>", "unlikely"),
        ("<p>Use <code>a`b</code>.</p>", "Use `` a`b ``."),
        ("<p><del>Old</del> new</p>", "new"),
        ("<p>First<br>second</p>", "First\nsecond"),
        ("<p>Ten<sup>2</sup> and H<sub>2</sub>O</p>", "Ten² and H2O"),
        ("<p>soft\u00adhyphen zero\u200bwidth</p>", "softhyphen zerowidth"),
        ("<p>He said <q>no</q>.</p>", "He said “no”."),
        ("<p>1996. A year.</p>", "1996\\. A year."),
        ("<p># no heading</p>", "\\# no heading"),
        ("<p>-40 degrees</p>", "-40 degrees"),
        ("<p>a * b and snake_case stay</p>", "a * b and snake_case stay"),
        ("<p>*stars* are words</p>", "\\*stars\\* are words"),
        ("<p>from $5 to $6</p>", "from $5 to $6"),
    ],
)
def test_the_words_of_a_paragraph_become_markdown(markup: str, text: str) -> None:
    assert only(markup) == Block(kind="prose", text=text)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('<p><a href="../a/b.html#c">Lens</a></p>', "[Lens](https://lamps.example/a/b.html#c)"),
        (
            '<p><a href="x (1).html">Lens</a></p>',
            "[Lens](https://lamps.example/book/x%20%281%29.html)",
        ),
        ('<p><a href="javascript:void(0)">Lens</a></p>', "Lens"),
        (
            '<p>See<a href="#n1"><sup>1</sup></a></p>',
            "See[¹](https://lamps.example/book/page.html#n1)",
        ),
        ('<p>See.<sup><a href="#n1">1</a></sup></p>', "See.[^1]"),
        ('<p>See.<a class="footnote-reference brackets" href="#n1">[1]</a></p>', "See.[^1]"),
        ('<p>A note.<a href="#r1" role="doc-backlink">↩</a></p>', "A note."),
        ('<p><img src="a.png" alt="A lamp"></p>', "![A lamp](https://lamps.example/book/a.png)"),
        ('<p><img src="data:image/png;base64,AAAA" alt="A lamp"></p>', "![A lamp]()"),
    ],
)
def test_links_and_pictures_lead_where_they_lead_on_the_page(markup: str, text: str) -> None:
    assert only(markup).text == text


def test_a_link_stays_as_it_is_where_the_address_of_the_page_is_unknown() -> None:
    assert blocks('<p><a href="b.html">B</a></p>', base="/a.html")[0].text == "[B](b.html)"


@pytest.mark.parametrize(
    ("markup", "kind", "text"),
    [
        ("<ul><li>a<li>b<ol><li>c</ol></ul>", "list", "- a\n- b\n  1. c"),
        ('<ol start="3"><li>c<li value="7">d<li>e</ol>', "list", "3. c\n7. d\n8. e"),
        ("<ul><li><p>a</p><p>b</p><pre>c</pre></li></ul>", "list",
         "- a\n\n  b\n\n  ```\n  c\n  ```"),
        ('<ul><li><input type="checkbox" checked> done</li></ul>', "list", "- [x] done"),
        ("<dl><dt>Lens</dt><dd>Bends light.</dd><dt>Oil</dt><dd><p>Burns.</p></dd></dl>", "list",
         "- **Lens**: Bends light.\n- **Oil**: Burns."),
        ("<blockquote><p>Said</p><p>so.</p></blockquote>", "quote", "> Said\n>\n> so."),
        ('<pre><code class="language-py">a\n\n  b\n</code></pre>', "code", "```py\na\n\n  b\n```"),
        ('<div class="highlight-rust notranslate"><div class="highlight"><pre><span></span>x</pre>'
         "</div></div>", "code", "```rust\nx\n```"),
        ("<pre>```\nx\n```</pre>", "code", "````\n```\nx\n```\n````"),
        ("<pre>a<br>b</pre>", "code", "```\na\nb\n```"),
        ("<table><tr><th>a<th>b<tr><td>1<td>x|y</table>", "table",
         "| a | b |\n| --- | --- |\n| 1 | x\\|y |"),
        ('<table><tr><th colspan=2>a<tr><td rowspan=2>1<td>2<tr><td>3</table>', "table",
         "| a | a |\n| --- | --- |\n| 1 | 2 |\n| 1 | 3 |"),
        ("<table><tr><td>a\n<p>b</p><td>c<br>d<tr><td>1<td>2</table>", "table",
         "| a b | c d |\n| --- | --- |\n| 1 | 2 |"),
        ('<div class="admonition warning"><p class="admonition-title">Warning</p><p>Hot.</p></div>',
         "admonition", ":::warning\n\nHot.\n\n:::"),
        ('<div class="theme-admonition theme-admonition-tip admonition_x alert alert--success">'
         '<div class="admonitionHeading_y"><span><svg></svg></span>Trim the wick</div>'
         '<div class="admonitionContent_z"><p>Daily.</p></div></div>',
         "admonition", ":::tip[Trim the wick]\n\nDaily.\n\n:::"),
        ('<details class="note"><summary>More</summary>Text.</details>', "admonition",
         ":::note[More]\n\nText.\n\n:::"),
        ('<blockquote class="blockquote-tag blockquote-tag-note"><p class="blockquote-tag-title">'
         "Note</p><p>Text.</p></blockquote>", "admonition", ":::note\n\nText.\n\n:::"),
    ],
)  # fmt: skip
def test_each_kind_of_block_keeps_its_shape(markup: str, kind: str, text: str) -> None:
    assert only(markup) == Block(kind=kind, text=text)  # type: ignore[arg-type]


KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><semantics><mi>x</mi><annotation'
    ' encoding="application/x-tex">x^2</annotation></semantics></math></span><span'
    ' class="katex-html" aria-hidden="true">x2</span></span>'
)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"<p>So {KATEX}.</p>", "So $x^2$."),
        (f'<span class="katex-display">{KATEX}</span>', "$$\nx^2\n$$"),
        ('<p>So <script type="math/tex">x^2</script>.</p>', "So $x^2$."),
        ('<script type="math/tex; mode=display">x^2</script>', "$$\nx^2\n$$"),
        ('<p>So <span class="math notranslate">\\(x^2\\)</span>.</p>', "So $x^2$."),
        ('<div class="math">\\[x^2\\]</div>', "$$\nx^2\n$$"),
        ("<p>So \\(x^2\\).</p>", "So $x^2$."),
        ('<p>So <math alttext="x^2"><mi>x</mi></math>.</p>', "So $x^2$."),
    ],
)
def test_a_formula_is_kept_as_tex(markup: str, text: str) -> None:
    assert only(markup).text == text


@pytest.mark.parametrize(
    ("markup", "anchor"),
    [
        ('<h2 id="lens">Lens</h2>', "lens"),
        ('<section id="lens"><h2>Lens<a class="headerlink" href="#lens">¶</a></h2>', "lens"),
        ('<h2><a id="lens"></a>Lens</h2>', "lens"),
        ('<h2><a name="lens">Lens</a></h2>', "lens"),
        ('<h2 id="lens"><a class="header" href="#lens">Lens</a></h2>', "lens"),
        ('<span id="lens"></span><h2>Lens</h2>', "lens"),
        ('<h2 id="lens">Lens<a class="hash-link" href="#lens">\u200b</a></h2>', "lens"),
        ('<h2 id="lens">Lens <a href="#lens">#</a></h2>', "lens"),
        ("<h2>Lens</h2>", ""),
    ],
)
def test_a_heading_is_found_by_its_id_and_named_by_its_words(markup: str, anchor: str) -> None:
    page = read(f"<h1>Lamps</h1>{markup}<p>Text.</p>")

    assert [(s.path, s.anchor) for s in page.sections] == [(("Lamps", "Lens"), anchor)]


def test_sections_nest_by_the_level_of_their_headings() -> None:
    page = read(
        "<p>Before.</p><h1 id=top>Lamps</h1><p>One.</p><div><h3 id=r>Rings</h3></div><p>Two.</p>"
        "<h2 id=o>Oil</h2><p>Three.</p><h2>Empty</h2>"
    )

    assert page.title == "Lamps"
    assert [(s.path, s.anchor) for s in page.sections] == [
        (("Lamps",), ""),
        (("Lamps",), ""),
        (("Lamps", "Rings"), "r"),
        (("Lamps", "Oil"), "o"),
    ]


def test_a_heading_inside_a_box_opens_no_section() -> None:
    page = read('<h1>Lamps</h1><div class="admonition tip"><h3>Wicks</h3><p>Trim.</p></div>')

    assert [s.path for s in page.sections] == [("Lamps",)]
    assert page.sections[0].blocks[0].text == ":::tip\n\n**Wicks**\n\nTrim.\n\n:::"


def test_what_is_not_the_text_of_the_page_is_left_out() -> None:
    page = read(
        "<a class='skip-link' href='#x'>Skip</a><header>Brand</header><nav>Menu</nav>"
        "<main><ul class='breadcrumbs'><li>Home</li></ul><div class='toc'>On this page</div>"
        "<header><h1>Lamps</h1></header><p>Kept.</p><p hidden>Hidden</p>"
        "<p style='display: none'>Hidden</p><div role='tabpanel' hidden><p>Second tab.</p></div>"
        "<form>Search</form><aside>Advert</aside><aside class='footnote'><p>Kept too.</p></aside>"
        "<div class='theme-edit-this-page'>Edit this page</div><button>Copy</button>"
        "<script>var x</script><style>p{}</style><!-- note --></main><footer>©</footer>"
    )

    assert page.title == "Lamps"
    assert [b.text for s in page.sections for b in s.blocks] == [
        "Kept.",
        "Second tab.",
        "Kept too.",
    ]


def test_a_column_named_like_a_menu_is_kept_if_the_title_is_in_it() -> None:
    assert read('<div class="related"><h1>Lamps</h1><p>Text.</p></div>').title == "Lamps"


def test_ten_thousand_nested_elements_are_refused_with_a_reason() -> None:
    with pytest.raises(UnreadableFile, match="nested more than 2,000 deep"):
        read("<div>" * 10_000 + "deep" + "</div>" * 10_000)


@pytest.mark.parametrize(
    "tag", ["div", "span", "ul><li", "blockquote", "b", "table><tr><td", "dl><dd"]
)
def test_deep_nesting_loses_no_words(tag: str) -> None:
    found = blocks(f"<{tag}>" * 400 + "deep words" + "<p>after</p>")

    assert "deep words" in " ".join(block.text for block in found)


@pytest.mark.parametrize(
    "markup",
    [
        "<p>a</p>",
        "<em>a " + " " * 50,
        "\\(",
        "\\[a ",
        "**a ",
        "__a__",
        "<div class='breadcrumb" + "_" * 60 + "!'>a</div>",
        "<b><i>a</i>",
        "<dl><dt>a<dd>b",
        "<a href='#x'>a",
        "<table><tr><td>a",
        "<h2>a</h2>",
        "<title>a",
        "$a ",
        "&#x1;<",
    ],
)
def test_a_long_page_is_read_in_time_that_grows_with_its_size(markup: str) -> None:
    started = time.monotonic()
    # Nested too deep is an answer too.
    with suppress(UnreadableFile):
        read(markup * 10_000)

    assert time.monotonic() - started < 20


def test_huge_spans_do_not_make_huge_tables() -> None:
    text = only("<table><tr><td colspan=999999 rowspan=999999>a<td>b<tr><td>c<td>d</table>").text

    assert len(text) < 2_000


def test_sentences_can_be_cut_from_what_was_read() -> None:
    text = only("<p>It ran in 1996. It ran <em>well</em>. See <a href='a.html'>more</a>.</p>").text

    assert split_sentences(text) == (
        "It ran in 1996.",
        "It ran *well*.",
        "See [more](https://lamps.example/book/a.html).",
    )


WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\x00"), max_size=30
)
TAGS = (
    "p div ul li ol dl dt dd table tr td th pre h1 h2 b em code blockquote math sup details main"
    " br a annotation"
)
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in re.findall(r"\S+", TAGS)]),
    st.sampled_from([f"</{tag}>" for tag in re.findall(r"\S+", TAGS)]),
    st.sampled_from(
        ["<a href='x'>", "<div class='admonition'>", "<img alt='a'>", "<annotation encoding='tex'>"]
    ),
    st.sampled_from(
        [
            "<!--",
            "-->",
            "<![CDATA[",
            "&",
            "&amp;",
            "&#0;",
            "&#x1;",
            "&#11;",
            "<b<i",
            "\x0b",
            "\x01",
            ":::",
            "```",
        ]
    ),
    st.sampled_from("`*_$|[]()"),
)


@given(st.lists(st.one_of(PIECES, WORDS), max_size=40))
def test_any_markup_is_read_or_refused(pieces: list[str]) -> None:
    try:
        page = read("".join(pieces))
    except UnreadableFile:
        return
    for section in page.sections:
        assert all(block.text.strip() for block in section.blocks)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        tree = parse_html(data)
    except UnreadableFile:
        return
    read_sections(main_content(tree), title="", base=BASE)


@given(st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=60))
def test_words_that_look_like_markdown_are_read_back_as_they_were(words: str) -> None:
    escaped = words.replace("&", "&amp;").replace("<", "&lt;")
    found = blocks(f"<p>{escaped}</p>")

    assert (
        strip_inline_markup(" ".join(b.text for b in found)).split() == words.split()
        or "\\" in words
    )


def test_the_caption_of_a_figure_is_known_as_one() -> None:
    found = blocks(
        "<p>Text.</p><figure><img src='a.png' alt='A lamp'><figcaption>A lit lamp."
        "</figcaption></figure>"
    )

    assert [(block.kind, block.text) for block in found][-1] == ("caption", "A lit lamp.")
    assert found[0] == Block(kind="prose", text="Text.")
