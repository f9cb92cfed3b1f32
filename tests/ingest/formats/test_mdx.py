import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import UnreadableFile
from citewell.ingest.formats.mdx import split_front_matter, strip_markup


def test_front_matter_is_read_and_the_body_keeps_its_line_numbers() -> None:
    data, body = split_front_matter("---\ntitle: The lens\nslug: /lens\n---\nFirst line.\n")

    assert data == {"title": "The lens", "slug": "/lens"}
    assert body.split("\n")[4] == "First line."


@pytest.mark.parametrize(
    "text", ["No front matter.", "Text\n---\ntitle: x\n---\n", "---\nopen: 1\n"]
)
def test_text_without_front_matter_is_all_body(text: str) -> None:
    assert split_front_matter(text) == ({}, text)


def test_empty_front_matter_is_no_data() -> None:
    assert split_front_matter("---\n---\nText") == ({}, "\n\nText")


@pytest.mark.parametrize(
    ("yaml", "line"),
    [
        ("title: [open\nslug: x: y", 3),
        ("good: 1\nbad: 'never closed", 4),
        ("date: 2024-13-45", 2),
        ("deep: " + "[" * 5000, 2),
        ("bell: \a", 2),
    ],
)
def test_broken_front_matter_is_reported_with_its_line(yaml: str, line: int) -> None:
    with pytest.raises(UnreadableFile, match=rf"not valid YAML \(line {line}\)"):
        split_front_matter(f"---\n{yaml}\n---\nText")


def test_front_matter_that_is_not_a_mapping_is_reported() -> None:
    with pytest.raises(UnreadableFile, match="front matter is not a list of `name: value` lines"):
        split_front_matter("---\n- one\n- two\n---\nText")


@pytest.mark.parametrize(
    "source",
    [
        "import Tabs from '@theme/Tabs';",
        'import "./style.css";',
        "import {\n  Tabs,\n  TabItem,\n} from '@theme/Tabs';",
        "import * as all from 'x';\nimport a, {b} from 'y';",
        "export const limit = 3;",
        "export const Box = ({children}) => (\n  <div style={{a: 1}}>\n  {children}\n </div>\n);",
        "export default function Page() {\n  const x = 1;\n\n  return <div/>;\n}",
        "export {a} from './a';",
        "export * from './a';",
        "{/* a comment\nover lines */}",
        "<!-- a comment\nover lines -->",
        "<Tabs\n  groupId=\"os\"\n  values={[\n    {label: 'A', value: {a: 'b'}},\n  ]}\n/>",
        "<Icon render={<b>x</b>} title='a > b' on={() => go({a: 1})} />",
        "<></>",
        "{props.name}",
        "{items.map((x) => (\n  `${x}`\n))}",
    ],
)
def test_what_mdx_runs_leaves_no_trace_but_its_lines(source: str) -> None:
    stripped = strip_markup(f"Before.\n\n{source}\n\nAfter.", mdx=True)

    lines = source.count("\n")
    assert stripped == "Before.\n\n" + "\n" * lines + "\n\nAfter."


def test_the_text_inside_tags_is_kept() -> None:
    source = 'The <Term kind="x">signal</Term> goes<br/>on <b>and</b> on.'

    assert strip_markup(source, mdx=True) == "The signal goes on and on."


@pytest.mark.parametrize(
    "kept",
    [
        "```jsx\nimport a from 'b';\n<Tag/> {x} {/* c */}\n```",
        "````md\n```jsx\n<Tag/>\n```\n<!-- c -->\n````",
        "~~~\nexport const a = 1;\n~~~",
        "```\n<Never closed>",
        "Use `<Tag prop={x}>` and ``a `<b>` c``.",
        "$$\nx_{a} <b> y\n$$",
        "Inline $T_{base}^{arm}$ here.",
        "A price of 5 < 6 and 7 > 3.",
        "See <https://ros.org> and <mailto:a@b.c>.",
        "## Title {#the-id}",
        "## Title {/* #the-id */}",
        r"Braces \{as text\}.",
        "The tool can\nexport default values\nimport 'x' as well.",
        "Never <closed tag and <b",
    ],
)
def test_code_math_and_text_are_untouched(kept: str) -> None:
    assert strip_markup(kept, mdx=True) == kept


def test_braces_are_only_text_in_plain_markdown() -> None:
    assert strip_markup("A set {a, b} and <b>c</b>.", mdx=False) == "A set {a, b} and c."


@pytest.mark.parametrize("opening", ["<!-- ", "{/* "])
def test_a_comment_that_is_never_closed_is_reported_with_its_line(opening: str) -> None:
    with pytest.raises(UnreadableFile, match="comment opened in line 3 is never closed"):
        strip_markup(f"One.\n\nThree {opening}four.\n", mdx=True)


def test_a_tag_that_never_ends_is_given_up_in_no_time() -> None:
    endless = "<a" + " " * 200_000

    # With a pattern that tries every way to split the spaces, this would take years.
    assert strip_markup(endless, mdx=True) == endless


@given(st.text(st.sampled_from(list("ab \n<>{}/*'\"$`-!#=\\")), max_size=50), st.booleans())
def test_line_numbers_are_kept_whatever_the_text(text: str, mdx: bool) -> None:
    try:
        stripped = strip_markup(text, mdx=mdx)
    except UnreadableFile as error:
        assert "never closed" in str(error)  # noqa: PT017 - either outcome is allowed
    else:
        assert stripped.count("\n") == text.count("\n")


def test_cells_and_items_on_one_line_stay_apart() -> None:
    source = "<tr><td>One</td><td>two</td></tr><li>three</li> 2<sup>n</sup>"

    assert strip_markup(source, mdx=False) == "One two three  2n"


def test_the_caption_of_a_listing_is_text() -> None:
    source = '<Listing number="1-1"\n  caption="A `lens` of glass">'

    assert strip_markup(source, mdx=False) == "A `lens` of glass\n"
