import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citewell.text.sentences import Span
from citewell.verify import claims
from citewell.verify.claims import Piece, PieceSplitter, split_pieces

PARTS = (
    "A lens turns",
    "The horn sounds",
    "lower",
    ". ",
    "? ",
    ".\n",
    "\n\n",
    "\n",
    " [1]",
    "[2]",
    "[1, 2]",
    "- ",
    "1. ",
    "1996. It",
    "| a | b |\n",
    "| --- | --- |\n",
    "```\nx = [1]. Y\n```",
    "```",
    "`a[0]. B`",
    "``",
    "$a. B$",
    "$5 ",
    "$$",
    "e.g. ",
    "# Head\n",
    "> ",
    "[",
    ":::note\n",
    "https://x.y/z. ",
    "[1](x)",
    " (source 2)",
    "(see ",
    "【3】",
    "[^1]",
    "[0, 1]",
    "![alt](u)",
    ":::tip Heavy\n",
    "- [x] ",
    "**Bold:** ",
    "    code\n",
    "\u200b",
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=10).map("".join)


def pieces_by(text: str, sizes: list[int]) -> list[Piece]:
    reader = PieceSplitter()
    pieces: list[Piece] = []
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces += reader.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    return [*pieces, *reader.finish()]


@given(
    TEXTS,
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
)
@example("`a[0]. B````A lens turns`a[0]. B`", [1])
def test_any_chunking_gives_the_pieces_of_the_whole(text: str, sizes: list[int]) -> None:
    assert pieces_by(text, sizes) == list(split_pieces(text))


def letters(text: str) -> str:
    """Everything but marks and white space."""
    return re.sub(r"\s|\u200b|\[\^?[\d, ]+\]|【3】|\(source 2\)", "", text)


@given(TEXTS)
def test_nothing_but_marks_is_lost_and_nothing_is_said_twice(text: str) -> None:
    pieces = split_pieces(text)

    said, shown = letters(text), letters("".join(p.lead + p.text for p in pieces))
    assert said.startswith(shown)
    # Behind the last words there may be markup that says nothing.
    assert not re.search(r"[^\W\d_]", said[len(shown) :].replace("[x]", ""))


@pytest.mark.parametrize(
    "text",
    [
        "A lens turns [1].",
        "A lens turns.[1]",
        "A lens turns. [1]",
        "A lens turns.\n\n[1]",
        "[1] A lens turns.",
    ],
)
def test_a_mark_belongs_to_its_sentence_wherever_it_stands(text: str) -> None:
    (piece,) = split_pieces(text)

    assert (piece.lead.strip(), piece.text, piece.cited) == ("", "A lens turns.", (1,))


@pytest.mark.parametrize("marks", ["[1, 2]", "[1;2]", "[1][2]", " [1] [2]"])
def test_a_sentence_may_have_several_marks(marks: str) -> None:
    (piece,) = split_pieces(f"A lens turns.{marks}")

    assert piece.cited == (1, 2)


def test_a_mark_between_sentences_belongs_to_the_first() -> None:
    first, second = split_pieces("A lens turns. [1] A horn sounds. [2]")

    assert (first.text, first.cited) == ("A lens turns.", (1,))
    assert (second.text, second.cited) == ("A horn sounds.", (2,))


def test_a_mark_that_comes_late_is_waited_for() -> None:
    reader = PieceSplitter()

    early = [p for bit in ("A lens turns.", " [", "1", "]") for p in reader.feed(bit)]
    (piece,) = reader.feed(" A horn")

    assert early == []
    assert piece.cited == (1,)


def test_a_sentence_is_given_as_soon_as_the_next_begins() -> None:
    reader = PieceSplitter()

    assert list(reader.feed("A lens turns. ")) == []
    assert [piece.text for piece in reader.feed("A")] == ["A lens turns."]


@pytest.mark.parametrize(
    "text", ["Read `ranges[0]` first.", "Read $x[1]$ first.", "See [1](https://tiny.example)."]
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    (piece,) = split_pieces(text)

    assert (piece.text, piece.cited) == (text, ())


def test_a_code_block_is_kept_whole_character_by_character() -> None:
    block = "```python\nx = a[1]. B\n\n# Not a heading. No\n```"

    pieces = pieces_by(f"Like this:\n\n{block}\n\n[2]\n\nDone.", [1])

    assert [(p.text, p.cited, p.kind) for p in pieces] == [
        ("Like this:", (), "sentence"),
        (block, (2,), "code"),
        ("Done.", (), "sentence"),
    ]


def test_a_block_formula_is_kept_whole() -> None:
    (piece,) = split_pieces("$$\nx[1] = 2\n$$\n\n[1]")

    assert (piece.text, piece.cited, piece.kind) == ("$$\nx[1] = 2\n$$", (1,), "math")


def test_the_rows_of_a_table_are_one_piece() -> None:
    table = "| Order | Length |\n| --- | --- |\n| first | 920 mm |"

    (piece,) = split_pieces(f"{table}\n\n[1]")

    assert (piece.text, piece.cited, piece.kind) == (table, (1,), "row")


def test_tables_with_words_between_them_are_not_joined() -> None:
    pieces = split_pieces("| a |\n\nAnd:\n\n| b |")

    assert [piece.text for piece in pieces] == ["| a |", "And:", "| b |"]


def test_each_item_of_a_list_is_a_piece_and_its_bullet_is_not() -> None:
    first, second = split_pieces("- A lens turns. [1]\n- A horn sounds. [2]")

    assert (first.lead, first.text, first.kind) == ("- ", "A lens turns.", "item")
    assert (second.lead, second.text, second.cited) == ("\n- ", "A horn sounds.", (2,))


def test_the_second_sentence_of_an_item_is_no_sentence_of_its_own_when_streamed() -> None:
    pieces = pieces_by("- A lens turns. It is thin.", [1])

    assert [piece.kind for piece in pieces] == ["item", "item"]


@pytest.mark.parametrize(
    "text",
    [
        "A lens turns. (source 1)",
        "A lens turns (source 1).",
        "A lens turns (see passage 1).",
        "A lens turns. (Sources: 1)",
        "A lens turns [source 1].",
        "A lens turns.[^1]",
        "A lens turns. 【1†book】",
    ],
)
def test_a_mark_may_be_written_as_models_write_it(text: str) -> None:
    (piece,) = split_pieces(text)

    assert (piece.text, piece.cited) == ("A lens turns.", (1,))


@pytest.mark.parametrize(
    "text",
    [
        "It lies in [0, 1] here.",
        "It has two (2) rings.",
        "Use the source (2 files).",
        "See [0; 5].",
    ],
)
def test_numbers_in_brackets_that_name_no_passage_stay(text: str) -> None:
    (piece,) = split_pieces(text)

    assert (piece.text, piece.cited) == (text, ())


def test_the_title_of_an_admonition_is_a_piece_and_not_markup() -> None:
    pieces = split_pieces(":::note The lens weighs 5 tons\n\nA lens turns.\n\n:::")

    assert [(piece.text, piece.kind) for piece in pieces] == [
        (":::note The lens weighs 5 tons", "heading"),
        ("A lens turns.", "sentence"),
    ]


@given(TEXTS)
def test_what_stands_before_a_piece_says_nothing(text: str) -> None:
    for piece in split_pieces(text):
        assert not re.search(r"[^\W\d_]", re.sub(r"\[[xX]\]", "", piece.lead))


@given(
    TEXTS, st.sampled_from(["\u200b", "\u202e", "\u2060", "\ufeff", "\u00ad"]), st.integers(0, 99)
)
def test_signs_without_ink_change_nothing(text: str, sign: str, at: int) -> None:
    parted = text[:at] + sign + text[at:]

    assert split_pieces(parted) == split_pieces(text)


@pytest.mark.parametrize("text", ["", "  \n\n ", "[1]", "[1] [2]\n"])
def test_nothing_but_marks_gives_no_piece(text: str) -> None:
    assert split_pieces(text) == ()


LOOPS = [" word", " e.g.", " [1", " `a", " $x", " a.", "[a](", "- a\n", "\n| a |", " [1] and [2]"]


@pytest.mark.parametrize("delta", LOOPS)
def test_a_model_that_loops_is_read_in_proportion_to_what_it_says(
    delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = claims.split_spans
    read = 0

    def counted(text: str) -> tuple[Span, ...]:
        nonlocal read
        read += len(text)
        return split(text)

    monkeypatch.setattr(claims, "split_spans", counted)
    reader = PieceSplitter()
    pieces = [piece for _ in range(4096) for piece in reader.feed(delta)] + [*reader.finish()]

    said = 4096 * len(delta)
    assert read <= 100 * said, "splitting all of it again for each word would read it 2,000 times"
    if delta in (" word", " e.g.", " `a", " $x", " a."):
        assert all(len(piece.text) <= claims.MAX_SENTENCE_CHARS + 500 for piece in pieces)
    assert "".join(f"{p.lead}{p.text}" for p in pieces).count("word") == delta.count("word") * 4096


def test_what_a_cut_off_sentence_leaves_unread_is_read_on() -> None:
    reader = PieceSplitter()
    looping = "".join(f" {number}x" for number in range(3000))
    pieces = [piece for delta in looping.split("x") for piece in reader.feed(f"{delta}x")]
    pieces += [*reader.feed("\n\nThe lens is made of glass. [2]\n"), *reader.finish()]

    said = " ".join(piece.text for piece in pieces).replace("x", "").split()
    assert said[:3000] == [str(number) for number in range(3000)]
    assert (pieces[-1].text, pieces[-1].cited) == ("The lens is made of glass.", (2,))
