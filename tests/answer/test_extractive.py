import pytest

from citewell.answer.extractive import MAX_SENTENCES, compose_answer
from citewell.answer.prompts import NOT_IN_BOOK
from citewell.answer.quoting import MAX_ROWS, render_piece
from citewell.retrieve.rerank import UNRANKED_SCORE, Evidence, Passage
from citewell.text.sentences import split_spans


def composed(
    *passages: tuple[str, dict[int, float]], question: str = "Why?", coverage: float = 0.5
) -> str:
    """Compose from passages and the scores of some of their sentences, the rest unread."""
    found = []
    for number, (text, scores) in enumerate(passages, start=1):
        passage = Passage(number=number, text=text, heading="The lens", similarity=0.9)
        found += [
            Evidence(passage, place, span, coverage, scores.get(place, UNRANKED_SCORE))
            for place, span in enumerate(split_spans(text))
        ]
    pieces = compose_answer(question, sorted(found, key=lambda e: -e.score))
    return "".join(render_piece(piece) for piece in pieces)


def test_the_paragraph_of_the_best_sentence_is_quoted_with_its_marks() -> None:
    text = composed(("Rain falls.\n\nA lens turns. Fog is wet.\n\nSnow falls.", {1: 5}))

    assert text == "A lens turns. [1] Fog is wet. [1]"


def test_a_hard_wrapped_sentence_is_given_on_one_line() -> None:
    assert composed(("A lens\n  turns.", {0: 5})) == "A lens turns. [1]"


def test_a_quoted_sentence_loses_its_quote_signs() -> None:
    assert composed(("> A lens\n> turns.", {0: 5})) == "A lens turns. [1]"


def test_sentences_nearly_as_good_are_added_in_reading_order() -> None:
    text = composed(("Fog is wet.\n\nA lens turns.\n\nRain falls.", {0: 4, 1: 5, 2: 1.5}))

    assert text == "Fog is wet. [1]\n\nA lens turns. [1]\n\nRain falls. [1]"


def test_a_sentence_next_to_the_best_may_be_a_little_worse() -> None:
    text = composed(("A lens turns.\n\nFog is wet.\n\nRain falls.", {0: 5, 1: 1.5, 2: 1.5}))

    assert text == "A lens turns. [1]\n\nFog is wet. [1]"


def test_the_passage_of_the_best_sentence_comes_first() -> None:
    text = composed(("A lens turns.", {0: 4}), ("Fog is wet.", {0: 5}))

    assert text == "Fog is wet. [2]\n\nA lens turns. [1]"


def test_what_has_been_said_is_not_said_again() -> None:
    text = composed(("A thin lens turns slowly.", {0: 5}), ("A thin lens turns.", {0: 4.9}))

    assert text == "A thin lens turns slowly. [1]"


def test_no_more_than_a_few_sentences_are_given() -> None:
    words = ["fog", "rain", "snow", "hail", "wind", "sun"]

    text = composed(
        ("\n\n".join(f"{word.title()} falls." for word in words), dict.fromkeys(range(6), 5))
    )

    assert text.count("[1]") == MAX_SENTENCES


def test_a_paragraph_that_leans_back_brings_its_predecessor() -> None:
    text = composed(("Fog is wet.\n\nA lens turns.\n\nIt saves glass.", {2: 5}))

    assert text == "A lens turns. [1]\n\nIt saves glass. [1]"


def test_an_announcing_sentence_brings_its_list() -> None:
    text = composed(("There are two:\n\n1. lamps\n2. horns\n\nFog is wet.", {0: 5}))

    assert text == "There are two: [1]\n\n1. lamps [1]\n2. horns [1]"


def test_an_item_brings_its_whole_list_and_what_announces_it() -> None:
    text = composed(("Fog is wet. There are two:\n\n- lamps\n- horns\n\nRain falls.", {3: 5}))

    assert text == "There are two: [1]\n\n- lamps [1]\n- horns [1]"


def test_a_list_brings_the_code_inside_it() -> None:
    text = composed(("Do this:\n\n- wind it\n\n  ```sh\n  wind\n  ```\n- rest\n", {0: 5}))

    assert text == "Do this: [1]\n\n- wind it [1]\n\n  ```sh\n  wind\n  ```\n\n  [1]\n\n- rest [1]"


def test_a_list_in_a_list_keeps_its_form() -> None:
    text = composed(("Do this:\n\n1. wind it\n   - slowly\n   - fully\n2. rest\n", {1: 5}))

    assert text == "Do this: [1]\n\n1. wind it [1]\n   - slowly [1]\n   - fully [1]\n2. rest [1]"


def test_a_long_list_is_cut_and_says_so() -> None:
    items = "".join(f"- lamp {n}\n" for n in range(MAX_ROWS + 5))

    text = composed((f"Lamps:\n\n{items}", {0: 5}))
    one = composed((f"Lamps:\n\n{items}", {15: 5}))

    assert text.count("- lamp") == MAX_ROWS
    assert text.endswith(f"Showing {MAX_ROWS} of {MAX_ROWS + 5} items.")
    assert one == f"Lamps: [1]\n\n- lamp 14 [1]\n\nShowing 1 of {MAX_ROWS + 5} items."


def test_an_announcing_sentence_brings_its_code_and_what_else_it_announces() -> None:
    code = "```sh\nwind\n```\n\n```sh\nrest\n```"
    shown = "Type this: [1]\n\n```sh\nwind\n```\n\n[1]\n\n```sh\nrest\n```\n\n[1]"

    assert composed((f"Type this:\n\n{code}\n\nFog is wet.", {0: 5})) == shown
    assert composed((f"Type this:\n\n{code}\n\nFog is wet.", {2: 5})) == shown


def test_a_formula_comes_with_the_sentence_it_stands_in() -> None:
    passage = "Fog is wet. The force is\n\n$$\nF = m a\n$$\n\nwhere $m$ is the mass. Rain falls."
    shown = (
        "The force is [1]\n\n$$\nF = m a\n$$\n\n[1]\n\nwhere $m$ is the mass. [1] Rain falls. [1]"
    )

    assert composed((passage, {1: 5})) == f"Fog is wet. [1] {shown}"
    assert composed((passage, {2: 5})) == shown
    assert composed((passage, {3: 5})) == shown


def test_a_paragraph_is_quoted_without_the_announcement_at_its_end() -> None:
    passage = "Fog is wet. Type this:\n\n```sh\nwind\n```"

    assert composed((passage, {0: 5})) == "Fog is wet. [1]"


def test_an_announcing_sentence_brings_its_table() -> None:
    table = "| a | b |\n| --- | --- |\n| c | d |"

    assert composed((f"Orders:\n\n{table}", {0: 5})) == f"Orders: [1]\n\n{table}\n\n[1]"


def test_an_announcement_of_nothing_is_no_answer() -> None:
    assert composed(("Mind this:", {0: 5})) == NOT_IN_BOOK
    assert composed(("A lens turns. Mind this:", {0: 5})) == "A lens turns. [1]"


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_row_brings_its_whole_table(row: int) -> None:
    table = "| a | b |\n|---|---|\n| c | d |\n| e | f |"

    assert composed((table, {row: 5})) == f"{table}\n\n[1]"


LONG = "| Lamp | Height |\n| --- | --- |\n" + "".join(f"| lamp{n} | {n} m |\n" for n in range(21))


def test_of_a_long_table_the_rows_that_are_asked_for_are_shown_and_how_many() -> None:
    text = composed((LONG, {3: 5}), question="How high is lamp7?")

    rows = "| Lamp | Height |\n| --- | --- |\n| lamp7 | 7 m |"
    assert text == f"{rows}\n\n[1]\n\nShowing 1 of 21 rows."


def test_of_a_long_table_that_is_asked_for_the_first_rows_are_shown() -> None:
    text = composed((LONG, {3: 5}), question="Which lamps are there?")

    assert text.count("\n| lamp") == MAX_ROWS
    assert text.endswith("[1]\n\nShowing 12 of 21 rows.")


def test_rows_of_two_tables_are_never_joined() -> None:
    one, two = "| a |\n|---|\n| b |", "| c |\n|---|\n| d |"

    assert composed((f"{one}\n\n{two}", {1: 5, 3: 5})) == f"{one}\n\n[1]\n\n{two}\n\n[1]"


def test_what_two_sentences_bring_comes_once() -> None:
    text = composed(("Orders:\n\n- thin lamps\n- loud horns", {0: 5, 1: 4.5, 2: 4.5}))

    assert text == "Orders: [1]\n\n- thin lamps [1]\n- loud horns [1]"


def test_a_paragraph_after_an_item_stands_apart() -> None:
    text = composed(("- A lens turns.\n\nFog is wet.", {0: 5, 1: 5}))

    assert text == "- A lens turns. [1]\n\nFog is wet. [1]"


@pytest.mark.parametrize(
    ("info", "shown"),
    [
        ('python title="talker.py" {8-9} showLineNumbers', 'python title="talker.py"'),
        ("python3", "python3"),
        ("rust,editable", "rust"),
        ("{.python .input}", "python"),
        ("{code-cell} ipython3", "ipython3"),
        ("{1,3-5}", ""),
        ("", ""),
    ],
)
def test_a_fence_says_language_and_title_and_nothing_else(info: str, shown: str) -> None:
    text = composed((f"Turn it:\n\n```{info}\nturn()\n```", {1: 5}))

    assert text == f"Turn it: [1]\n\n```{shown}\nturn()\n```\n\n[1]"


def test_a_piece_of_a_block_that_was_too_long_says_so() -> None:
    passage = Passage(number=1, text="```sh\nwind\n```", heading="", similarity=0.9, part="2 of 3")
    found = Evidence(passage, 0, split_spans(passage.text)[0], 0.5, 5.0)

    text = "".join(render_piece(piece) for piece in compose_answer("Why?", [found]))

    assert text == "```sh\nwind\n```\n\n[1]\n\nPart 2 of 3."


def test_what_was_not_read_is_never_chosen() -> None:
    text = composed(("What is a lens?\n\nRain falls.\n\nA lamp shines.", {2: UNRANKED_SCORE + 2}))

    assert text == "A lamp shines. [1]"


def test_with_nothing_read_it_declines() -> None:
    assert composed(("What is a lens?", {})) == NOT_IN_BOOK
    assert composed() == NOT_IN_BOOK


def test_sentences_without_words_of_meaning_are_not_taken_for_the_same() -> None:
    assert composed(("It is so. That was it.", {0: 5, 1: 4.5})) == "It is so. [1] That was it. [1]"


CODE = "A lens turns.\n\nTurn it by hand:\n\n```bash\nturn lens\n```"


@pytest.mark.parametrize(
    "question", ["How do I turn the lens?", "Show me the command.", "What is an example of it?"]
)
def test_who_asks_how_is_shown_the_code_and_what_announces_it(question: str) -> None:
    text = composed((CODE, {0: 5}), question=question)

    assert text == "A lens turns. [1]\n\nTurn it by hand: [1]\n\n```bash\nturn lens\n```\n\n[1]"


@pytest.mark.parametrize(
    ("question", "coverage"), [("Why does a lens turn?", 0.9), ("How do I turn the lens?", 0.4)]
)
def test_code_that_was_not_asked_for_is_left_out(question: str, coverage: float) -> None:
    assert composed((CODE, {0: 5}), question=question, coverage=coverage) == "A lens turns. [1]"


def test_a_listing_that_would_be_all_there_is_to_see_is_left_out() -> None:
    long = CODE.replace("turn lens", "turn lens\n" * 60)

    assert composed((long, {0: 5}), question="How do I turn it?") == "A lens turns. [1]"


def test_what_a_follow_up_was_told_already_does_not_stand_alone() -> None:
    passage = Passage(
        number=1, text="A lens turns.\n\nFog is wet.", heading="The lens", similarity=0.9
    )
    spans = split_spans(passage.text)
    told = Evidence(passage, 0, spans[0], 0.5, 8.0, already_answered=True)
    new = Evidence(passage, 1, spans[1], 0.5, 1.0)

    text = "".join(render_piece(piece) for piece in compose_answer("Why?", [told, new]))
    assert text == "A lens turns. [1]\n\nFog is wet. [1]"
