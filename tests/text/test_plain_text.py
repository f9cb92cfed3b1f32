import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.plain_text import detach_from_page, plain, preview, strip_inline_markup


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("**bold** and __strong__", "bold and strong"),
        ("*slanted* and _leaning_", "slanted and leaning"),
        ("~~gone~~ text", "gone text"),
        ("call `a_b.c_d` now", "call a_b.c_d now"),
        ("call ``a `b` c`` now", "call a `b` c now"),
        ("a [link](https://x.y) here", "a link here"),
        ('a [link](x.md "its title") here', "a link here"),
        ("a [link][ref] here", "a link here"),
        ("a [`code`](x) link", "a code link"),
        ("see ![a robot](robot.png)", "see a robot"),
        ("mail <mailto:a@b.c> or <https://x.y>", "mail mailto:a@b.c or https://x.y"),
        ("said so[^1] once", "said so once"),
        ("[^1]: the note", "the note"),
        ("see [Mermaid.js] and [`Vec`]", "see Mermaid.js and Vec"),
        ("the [lens][] and ![a lamp][lamp]", "the lens and a lamp"),
        ("[one [inner] link](x.md)", "one inner link"),
        ("the [lens](https://x.y/a_(b)) bends", "the lens bends"),
        ("a beam {.wide #beam} of light{: .own }", "a beam of light"),
        ("[!NOTE]\nMind the fog.", "Mind the fog."),
        (r"5 \* 3 and \_x\_", "5 * 3 and _x_"),
        (r"press \`a\` twice", "press `a` twice"),
        ("two\nlines   and\tmore ", "two lines and more"),
    ],
)
def test_inline_markup_gives_way_to_its_words(source: str, seen: str) -> None:
    assert strip_inline_markup(source) == seen


@pytest.mark.parametrize(
    "kept",
    [
        *("snake_case_name", "5 * 3 * 2", "__", "a[0]", "2 ** 3", "m[row][column]"),
        *("it holds [1]", "within [0, 1]", "E[x | s = 1]", "{.5, .7}", "x[^1"),
    ],
)
def test_what_only_looks_like_markup_is_kept(kept: str) -> None:
    assert strip_inline_markup(kept) == kept


def test_code_is_kept_to_the_letter_even_if_it_looks_like_markup() -> None:
    assert strip_inline_markup("`a[i][j]`, `**x**` and `[a](b)`") == "a[i][j], **x** and [a](b)"


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("```python title='x'\nprint(1)\n```", "print(1)"),
        ("~~~\nls\n~~~", "ls"),
        (":::warning[Fog]\nSound the horn.\n:::", "Fog Sound the horn."),
        (":::note Mind this\nText.\n:::", "Mind this Text."),
        ("| a | b |\n| --- | --: |\n| 1 | 2 |", "a b 1 2"),
        ("> Be brief.\n> > Be clear.", "Be brief. Be clear."),
        ("- one\n- [x] two\n  1. three\n  2) four", "one two three four"),
        ("$$\nx = 1\n$$", "x = 1"),
        ("where $x$ is", "where x is"),
        ("Lamp\n: It burns oil.\n\n: It is old.", "Lamp: It burns oil. It is old."),
        ('!!! note "Fog"\n    Sound the horn.', "Fog Sound the horn."),
        ("See [the rules].\n\n[the rules]: rules.md", "See the rules."),
        ("> [!TIP]\n> Be brief.", "Be brief."),
        (r"it costs \$5 or \| so", "it costs $5 or | so"),
    ],
)
def test_block_markup_gives_way_to_its_words(source: str, seen: str) -> None:
    assert plain(source) == seen


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[Mermaid.js] draws **charts**", "Mermaid.js draws **charts**"),
        ("as [with a pencil][pencil][^1].", "as with a pencil."),
        ("the [`Vec<T>`][vec] of `a[i][j]`", "the `Vec<T>` of `a[i][j]`"),
        ("see [the lens](lens.md) and [it][lens]", "see [the lens](lens.md) and it"),
        ("$[cost]$ lies in [0, 1] [2]", "$[cost]$ lies in [0, 1] [2]"),
        (r"a literal \[word\] stays", r"a literal \[word\] stays"),
        ("```\n[section]\nkey = [value]\n```", "```\n[section]\nkey = [value]\n```"),
        ("Lamp\n: It burns oil.", "Lamp: It burns oil."),
        ("| [Glass][glass] | [Copper] |", "| Glass | Copper |"),
    ],
)
def test_text_away_from_its_page_shows_no_signs_that_only_the_page_explains(
    source: str, shown: str
) -> None:
    assert detach_from_page(source) == shown


@given(st.text(st.sampled_from(list("ab1 \n`*_[]()!<>^~\\|$:-#\x00")), max_size=40))
def test_any_text_gives_one_trimmed_line(text: str) -> None:
    for seen in (plain(text), strip_inline_markup(text)):
        assert seen == " ".join(seen.split())


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1))
def test_text_without_markup_stays_as_it_is(words: list[str]) -> None:
    assert plain(" ".join(words)) == strip_inline_markup(" ".join(words)) == " ".join(words)


def test_a_preview_has_no_tex() -> None:
    text = "Precision is:\n\n$$\n\\frac{TP}{TP + FP}\n$$\n\nThe pose $(x, \\theta)$ is $\\hat{x}$."

    assert preview(text, 200) == "Precision is: … The pose (x, theta) is …."
