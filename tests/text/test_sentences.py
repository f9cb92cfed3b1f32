import re
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.text.sentences import split_sentences, split_spans


def kinds(text: str) -> list[tuple[str, str]]:
    return [(span.kind, span.of(text)) for span in split_spans(text)]


def test_prose_is_split_behind_each_full_stop_question_mark_and_exclamation_mark() -> None:
    assert split_sentences("A node runs. Does it stop? No! It waits… Then it ends.") == (
        "A node runs.",
        "Does it stop?",
        "No!",
        "It waits…",
        "Then it ends.",
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Sensors, e.g. Lidar and radar, see the world.",
        "The base frame, i.e. The robot's own frame, moves.",
        "See Fig. 2 for the tree.",
        "The bounds of Eq. 3 and Sec. 4 hold.",
        "Release v1.2 came first.",
        "It drives at 0.5 m/s on the flat.",
        "Smith et al. Proved this in 1996.",
        "The paper of J. Smith is short.",
        "It starts on Jan. 5 at noon.",
        "The library by Dr. Ada runs.",
        "Wait ... then go on.",
        "The file setup.py is read.",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(sentence: str) -> None:
    assert split_sentences(f"{sentence} Next one.") == (sentence, "Next one.")


@pytest.mark.parametrize(
    "first",
    [
        'He said "stop."',
        "He said “stop.”",
        "(This is aside.)",
        "**This is bold.**",
        "_This is slanted._",
        "This has a note.[^1]",
        "This has a mark.[2]",
        "Really?!",
    ],
)
def test_closing_marks_stay_with_the_sentence_they_close(first: str) -> None:
    assert split_sentences(f"{first} Next one.") == (first, "Next one.")


@pytest.mark.parametrize(
    "held",
    [
        "`robot.move. Then`",
        "``a. `b`. C``",
        "$f. G$",
        "[the page](a.)",
        "https://ros.org/a.b?c=D",
    ],
)
def test_full_stops_in_code_math_and_links_do_not_end_a_sentence(held: str) -> None:
    text = f"Call {held} Again. Next one."

    assert split_sentences(text) == (f"Call {held} Again.", "Next one.")


def test_a_sentence_may_end_with_an_address() -> None:
    text = "Read https://docs.ros.org/en. Then install it."

    assert split_sentences(text) == ("Read https://docs.ros.org/en.", "Then install it.")


def test_two_prices_are_not_taken_for_a_formula() -> None:
    assert split_sentences("It costs $5. The other costs $6 more.") == (
        "It costs $5.",
        "The other costs $6 more.",
    )


def test_a_sentence_goes_on_over_a_line_break_but_not_over_a_blank_line() -> None:
    text = "A long sentence\ngoes on here\n\nAnother begins"

    assert split_sentences(text) == ("A long sentence\ngoes on here", "Another begins")


def test_each_list_item_stands_alone_without_its_mark() -> None:
    text = "Parts:\n- the base\n* [x] the arm. It bends.\n  1. the wrist\n  2) the hand"

    assert kinds(text) == [
        ("sentence", "Parts:"),
        ("item", "the base"),
        ("item", "the arm."),
        ("item", "It bends."),
        ("item", "the wrist"),
        ("item", "the hand"),
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It was built in\n1996. It stands.", "It was built in\n1996."),
        ("- It was built in\n  1996. It stands.", "It was built in\n  1996."),
    ],
)
def test_a_line_that_begins_with_a_year_goes_on_with_its_paragraph(text: str, first: str) -> None:
    assert split_sentences(text) == (first, "It stands.")


def test_each_table_row_stands_alone_and_the_rule_is_left_out() -> None:
    text = "| Order | Length |\n| --- | :---: |\n| first. Best | 920 mm |"

    assert kinds(text) == [
        ("row", "| Order | Length |"),
        ("row", "| first. Best | 920 mm |"),
    ]


def test_a_code_block_is_one_span_whatever_it_holds() -> None:
    code = '```python\nprint("Hi. There.")\n\n# not a heading\n- not an item\n```'

    assert kinds(f"Run it. Now.\n{code}\nDone.") == [
        ("sentence", "Run it."),
        ("sentence", "Now."),
        ("code", code),
        ("sentence", "Done."),
    ]


def test_a_fence_of_four_ticks_holds_a_fence_of_three() -> None:
    code = "````md\n```bash\nls. Then cd.\n```\n````"

    assert kinds(f"{code}\n\nAfter.") == [("code", code), ("sentence", "After.")]


def test_tildes_fence_code_and_ticks_inside_do_not_close_it() -> None:
    code = "~~~\n```\nA. B.\n~~~"

    assert kinds(f"{code}\nAfter.") == [("code", code), ("sentence", "After.")]


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert kinds("```\nA. B.\n\nC.") == [("code", "```\nA. B.\n\nC.")]


@pytest.mark.parametrize("formula", ["$$\nx = 1. Y\n\ny = 2\n$$", "$$x = 1. Y$$", "$$x\n= 1. Y$$"])
def test_a_display_formula_is_one_span(formula: str) -> None:
    assert kinds(f"Then\n{formula}\nfollows.") == [
        ("sentence", "Then"),
        ("math", formula),
        ("sentence", "follows."),
    ]


def test_admonition_lines_are_markup_and_their_text_is_prose() -> None:
    text = ":::warning[Mind the gap]\nStep back. Wait.\n:::\nGo on."

    assert split_sentences(text) == ("Step back.", "Wait.", "Go on.")


def test_a_heading_is_a_span_of_its_own() -> None:
    assert kinds("## What. Why\nText.") == [("heading", "## What. Why"), ("sentence", "Text.")]


def test_the_mark_of_a_quotation_is_left_out() -> None:
    assert split_sentences("> Be brief. Be clear.") == ("Be brief.", "Be clear.")


@pytest.mark.parametrize("nothing", ["", "  \n\n", ":::note\n:::", "---"])
def test_text_without_words_has_no_sentences(nothing: str) -> None:
    assert split_sentences(nothing) == ()


WORDS = st.sampled_from(
    ["Robots", "move", "at 0.5 m/s", "e.g. here", "`a.b`", "$x. Y$", "x_1", "née"]
)
SENTENCE = st.builds(
    lambda ws, end: " ".join(ws) + end, st.lists(WORDS, min_size=1), st.sampled_from(".!?:")
)
BLOCK = st.one_of(
    SENTENCE,
    st.lists(SENTENCE, min_size=1, max_size=4).map(" ".join),
    SENTENCE.map("- {}".format),
    SENTENCE.map("  12. {}".format),
    SENTENCE.map("- [x] {}".format),
    SENTENCE.map("> {}".format),
    SENTENCE.map("| {} | b |".format),
    SENTENCE.map("## {}".format),
    SENTENCE.map("```py\n{}\n```".format),
    SENTENCE.map("````\n```\n{}\n```\n````".format),
    SENTENCE.map("$$\n{}\n$$".format),
    st.sampled_from(["", "| --- | --- |", ":::tip[Title]", ":::"]),
)  # fmt: skip
BOOK_TEXT = st.lists(BLOCK, max_size=8).map("\n".join)
ANY_TEXT = st.text(st.sampled_from(list("aB1.!\n\n `#|>-*[]x()$:~\\é ")), max_size=60)
MARKUP = re.compile(r":{3,}.*|^[ \t>]*(?:[-*+]|\d+[.)])(?=[ \t])|\[[ xX]\]", re.MULTILINE)


@settings(max_examples=200)
@given(st.one_of(BOOK_TEXT, ANY_TEXT))
def test_spans_are_in_order_inside_the_text_and_leave_out_only_markup(text: str) -> None:
    spans = split_spans(text)

    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    assert all(span.start < span.end for span in spans)
    assert all(end <= start for end, start in zip(ends, starts, strict=True))
    for span in spans:
        assert span.of(text) == span.of(text).strip()
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    assert not [gap for gap in gaps if any(c.isalnum() for c in MARKUP.sub("", gap))]


@pytest.mark.parametrize(
    "sign", ["e.g. ", ". A", "[a](", "](", ".", "`a ``b ", "$a ", "http://.", " ", "--- ", "Fig. 1"]
)
def test_a_long_text_is_split_in_time_that_grows_with_its_length(sign: str) -> None:
    begun = process_time()
    split_spans((sign * 100_000)[:100_000] + "x")

    # A tenth of a second or two; what looks at all of the text for each sign takes minutes.
    assert process_time() - begun < 20
