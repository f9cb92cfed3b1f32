"""Text that opens markup and never closes it is read in time that grows with its length.

That takes a fraction of a second; where each opening sign is searched for to the end, it takes from
ten seconds to minutes.
"""

import time
from collections.abc import Callable

import pytest

from citewell.text.plain_text import detach_from_page, plain, strip_inline_markup
from citewell.text.render_map import render
from citewell.text.sanitize import mask_hidden_text, sanitize_markdown

LENGTH = 60_000
SECONDS = 6
OPENINGS = (
    *("[", "[a](", "![", "![a](", '[a](b "', "[a](b(", "[a][", "[aaa", r"[\]", "[^", "\n[^a]: x"),
    *("*a ", "**a ", "_a ", "__a ", "(_a", "~~a", "`", "` `` ", "`a``b", "```a", "~~~a\n"),
    *(
        "<a@",
        "<a ",
        "<http:",
        "<div style=",
        "<!--",
        "<script>",
        "{",
        "{.a",
        "&a",
        "$",
        "$a ",
        "$$",
    ),
    *("  ", "- ", "---", "|", "> ", "::: a[", ":::a", ": a\n", "!!! a ", "[!a", "++a", ":a", "\\"),
)


@pytest.mark.parametrize(
    "read",
    [strip_inline_markup, plain, detach_from_page, render, sanitize_markdown, mask_hidden_text],
    ids=lambda one: one.__name__,
)
def test_signs_that_never_close_are_given_up_at_once(read: Callable[[str], object]) -> None:
    for sign in OPENINGS:
        text = sign * (LENGTH // len(sign))
        began = time.process_time()

        read(text)

        assert time.process_time() - began < SECONDS, sign
