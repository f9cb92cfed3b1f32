"""What a page shows of its source; `•` stands for what only the site knows, `/` for a new block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.render_map import BREAK, UNKNOWN, render


def shown(source: str) -> str:
    return render(source).text.replace(UNKNOWN, "•").replace(BREAK, "/")


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("A **bold** and *slanted* ~~old~~ word", "A bold and slanted old word"),
        ("A [link](x.md) and [`co_de`][ref]", "A link and co_de"),
        ("`a[i][j]` and `**x**`", "a[i][j] and **x**"),
        (r"5 \* 3 and \_x\_", "5 * 3 and _x_"),
        ("see <https://x.y>", "see https://x.y"),
        ("the value $x^2$ holds", "the value • holds"),
        ("it costs $5 or so", "it costs •5 or so"),
        ("said so.[^1] Next", "said so.• Next"),
        ("![a robot](robot.png) walks", "• walks"),
        ("a dash -- here, and &nbsp; there", "a dash • here, and • there"),
        ("A* search in C++ by snake_case", "A* search in C++ by snake_case"),
        ("press ++ctrl+c++ and :smile:", "press • and •"),
        ("soft\u00adhyphen", "softhyphen"),
        ("an [open bracket", "an •open bracket"),
    ],
)
def test_inline_markup_gives_way_to_what_is_shown(source: str, seen: str) -> None:
    assert shown(source) == seen


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("one\nline\n\ntwo", "one line/two"),
        ("hard  \nbreak", "hard/break"),
        ("- one\n- two\n  goes on\n\n1. three", "one/two goes on/three"),
        ("it was in\n1996. It was", "it was in 1996. It was"),
        ("- [x] done", "•/done"),
        ("> quoted\n> words", "quoted words"),
        ("| a | b |\n| --- | --- |\n| `c\\|d` | e |", "a/b/c|d/e"),
        ("before\n\n```py\nimport x\n\ny\n```\n\nafter", "before/•/import x/y/•/after"),
        ("```\na  b c\n    d\n```", "•/a/b c/d/•"),
        ("before\n\n$$\nx = 1\n$$\n\nafter", "before/•/after"),
        (":::tip[The title]\nwords\n:::\n\nafter", "The title/words/after"),
        (":::note The title\nwords\n:::", "The title/words"),
        (":::note\nwords\n:::", "•/words"),
        ("words\n\n[^1]: the note\n\nafter", "words/•/the note/•/after"),
    ],
)
def test_blocks_are_told_apart(source: str, seen: str) -> None:
    assert shown(source) == seen


@given(
    st.text(alphabet=st.sampled_from("ab *_`[]()$\\\n>-|:#~!^1.{}&;\x00\x01\ufffc"), max_size=80)
)
def test_every_character_shown_has_its_place_in_the_source(source: str) -> None:
    page = render(source)

    assert len(page.text) == len(page.offsets)
    assert list(page.offsets) == sorted(page.offsets)
    for char, place in zip(page.text, page.offsets, strict=True):
        assert char in (source[place], UNKNOWN, BREAK, " ")
