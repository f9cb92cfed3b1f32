import pytest

from quire.answer.extractive import MAX_ITEMS, MAX_SENTENCES, compose_answer
from quire.answer.instructions import NOT_IN_BOOK
from quire.prose.sentences import split_spans
from quire.retrieve.evidence import UNREAD, Evidence, Passage


def composed(
    *passages: tuple[str, dict[int, float]], question: str = "Why?", coverage: float = 0.5
) -> str:
    """Compose from passages and the scores of some of their sentences, the rest unread."""
    found = []
    for number, (text, scores) in enumerate(passages, start=1):
        passage = Passage(number=number, text=text, heading="The lens", similarity=0.9)
        found += [
            Evidence(passage, place, span, coverage, scores.get(place, UNREAD))
            for place, span in enumerate(split_spans(text))
        ]
    return "".join(compose_answer(question, sorted(found, key=lambda e: -e.score)))


def test_the_best_sentence_is_quoted_with_its_mark() -> None:
    assert composed(("A lens turns. Fog is wet.", {0: 5, 1: -5})) == "A lens turns. [1]"


def test_a_hard_wrapped_sentence_is_given_on_one_line() -> None:
    assert composed(("A lens\n  turns.", {0: 5})) == "A lens turns. [1]"


def test_a_quoted_sentence_loses_its_quote_signs() -> None:
    assert composed(("> A lens\n> turns.", {0: 5})) == "A lens turns. [1]"


def test_sentences_nearly_as_good_are_added_in_reading_order() -> None:
    text = composed(("Fog is wet. A lens turns. Rain falls.", {0: 4, 1: 5, 2: 1.5}))

    assert text == "Fog is wet. [1] A lens turns. [1] Rain falls. [1]"


def test_a_sentence_next_to_the_best_may_be_a_little_worse() -> None:
    text = composed(("A lens turns. Fog is wet. Rain falls.", {0: 5, 1: 1.5, 2: 1.5}))

    assert text == "A lens turns. [1] Fog is wet. [1]"


def test_the_passage_of_the_best_sentence_comes_first() -> None:
    text = composed(("A lens turns.", {0: 4}), ("Fog is wet.", {0: 5}))

    assert text == "Fog is wet. [2] A lens turns. [1]"


def test_what_has_been_said_is_not_said_again() -> None:
    text = composed(("A thin lens turns slowly.", {0: 5}), ("A thin lens turns.", {0: 4.9}))

    assert text == "A thin lens turns slowly. [1]"


def test_no_more_than_a_few_sentences_are_given() -> None:
    words = ["fog", "rain", "snow", "hail", "wind", "sun"]

    text = composed(
        (" ".join(f"{word.title()} falls." for word in words), dict.fromkeys(range(6), 5))
    )

    assert text.count("[1]") == MAX_SENTENCES


def test_a_sentence_that_leans_back_brings_its_predecessor() -> None:
    text = composed(("Fog is wet. A lens turns. It saves glass.", {2: 5}))

    assert text == "A lens turns. [1] It saves glass. [1]"


def test_a_sentence_that_leans_on_a_heading_comes_alone() -> None:
    assert composed(("# Lens\n\nIt saves glass.", {1: 5})) == "It saves glass. [1]"


def test_an_announcing_sentence_brings_its_list() -> None:
    text = composed(("There are two:\n\n1. lamps\n2. horns\n\nFog is wet.", {0: 5}))

    assert text == "There are two: [1]\n\n- lamps [1]\n- horns [1]"


def test_a_list_brings_the_code_inside_it() -> None:
    text = composed(("Do this:\n\n- wind it\n\n  ```sh\n  wind\n  ```\n- rest\n", {0: 5}))

    assert text == "Do this: [1]\n\n- wind it [1]\n\n```sh\nwind\n```\n\n[1]\n\n- rest [1]"


def test_a_long_list_is_cut() -> None:
    items = "".join(f"- lamp {n}\n" for n in range(MAX_ITEMS + 5))

    assert composed((f"Lamps:\n\n{items}", {0: 5})).count("- lamp") == MAX_ITEMS


def test_an_announcing_sentence_brings_its_code() -> None:
    text = composed(("Type this:\n\n```sh\nwind\n```\n\n```sh\nrest\n```", {0: 5}))

    assert text == "Type this: [1]\n\n```sh\nwind\n```\n\n[1]"


def test_an_announcing_sentence_brings_its_formula() -> None:
    assert composed(("It is:\n\n$$\nx = 1\n$$", {0: 5})) == "It is: [1]\n\n$$\nx = 1\n$$\n\n[1]"


def test_an_announcing_sentence_brings_its_table() -> None:
    table = "| a | b |\n| --- | --- |\n| c | d |"

    assert composed((f"Orders:\n\n{table}", {0: 5})) == f"Orders: [1]\n\n{table}\n\n[1]"


def test_an_announcement_of_nothing_comes_alone() -> None:
    assert composed(("Mind this:\n\nA lens turns.", {0: 5})) == "Mind this: [1]"
    assert composed(("Mind this:", {0: 5})) == "Mind this: [1]"


def test_a_table_row_brings_its_header() -> None:
    text = composed(("| a | b |\n|---|---|\n| c | d |\n| e | f |", {2: 5}))

    assert text == "| a | b |\n| --- | --- |\n| e | f |\n\n[1]"


def test_the_header_of_a_table_comes_alone_if_it_is_the_answer() -> None:
    assert (
        composed(("| a | b |\n|---|---|\n| c | d |", {0: 5})) == "| a | b |\n| --- | --- |\n\n[1]"
    )


def test_what_two_sentences_bring_comes_once() -> None:
    text = composed(("Orders:\n\n- thin lamps\n- loud horns", {0: 5, 1: 4.5, 2: 4.5}))

    assert text == "Orders: [1]\n\n- thin lamps [1]\n- loud horns [1]"


def test_an_item_alone_is_an_item() -> None:
    assert composed(("- A lens turns. Fog is wet.", {0: 5})) == "- A lens turns. [1]"


def test_the_second_sentence_of_an_item_gets_no_bullet() -> None:
    assert composed(("- A lens turns. Fog is wet.", {1: 5})) == "Fog is wet. [1]"


def test_a_paragraph_after_an_item_stands_apart() -> None:
    text = composed(("- A lens turns.\n\nFog is wet.", {0: 5, 1: 5}))

    assert text == "- A lens turns. [1]\n\nFog is wet. [1]"


def test_indented_code_is_given_without_its_indent() -> None:
    text = composed(("1. Type:\n\n   ```sh\n   if wound:\n     rest\n   ```", {1: 5}))

    assert text == "```sh\nif wound:\n  rest\n```\n\n[1]"


def test_what_was_not_read_is_never_chosen() -> None:
    text = composed(("What is a lens? A lamp shines.", {1: UNREAD + 2}))

    assert text == "A lamp shines. [1]"


def test_with_nothing_read_it_declines() -> None:
    assert composed(("What is a lens?", {})) == NOT_IN_BOOK
    assert composed() == NOT_IN_BOOK


def test_sentences_without_words_of_meaning_are_not_taken_for_the_same() -> None:
    assert composed(("It is so. That was it.", {0: 5, 1: 4.5})) == "It is so. [1] That was it. [1]"


CODE = "A lens turns. Turn it by hand:\n\n```bash\nturn lens\n```"


@pytest.mark.parametrize(
    "question", ["How do I turn the lens?", "Show me the command.", "What is an example of it?"]
)
def test_who_asks_how_is_shown_the_code_and_what_announces_it(question: str) -> None:
    text = composed((CODE, {0: 5}), question=question)

    assert text == "A lens turns. [1] Turn it by hand: [1]\n\n```bash\nturn lens\n```\n\n[1]"


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
        number=1, text="A lens turns. Fog is wet.", heading="The lens", similarity=0.9
    )
    spans = split_spans(passage.text)
    told = Evidence(passage, 0, spans[0], 0.5, 8.0, told=True)
    new = Evidence(passage, 1, spans[1], 0.5, 1.0)

    assert "".join(compose_answer("Why?", [told, new])) == "A lens turns. [1] Fog is wet. [1]"
