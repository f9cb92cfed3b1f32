from collections.abc import Sequence

import pytest

from citewell.models.cross_encoder import CrossEncoder
from citewell.retrieve import rerank as evidence_module
from citewell.retrieve.rerank import (
    ALREADY_ANSWERED_PENALTY,
    SENTENCE_QUOTAS,
    UNRANKED_SCORE,
    Evidence,
    Passage,
    SentenceReranker,
)
from citewell.text.blocks import is_anaphoric
from citewell.text.terms import TermStatistics
from tests.servers import WordReranker

NOTHING = TermStatistics()


class CountingReader(WordReranker):
    """Remembers what it was given to read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        self.read.extend(texts)
        return super().score(question, texts)


def passage(text: str, number: int = 1, heading: str = "The lens") -> Passage:
    return Passage(number=number, text=text, heading=heading, similarity=0.9)


def ranked(question: str, *texts: str) -> list[Evidence]:
    passages = [passage(text, number) for number, text in enumerate(texts, start=1)]
    return SentenceReranker(WordReranker()).rank(question, passages, NOTHING)


def test_the_sentence_with_the_question_words_comes_first() -> None:
    found = ranked("Who winds the clockwork?", "Fog is wet. The keeper winds the clockwork.")

    assert found[0].text == "The keeper winds the clockwork."
    assert found[0].score > found[1].score


def test_each_passage_has_a_quota_of_sentences_that_are_read() -> None:
    text = " ".join(f"The lamp number {n} burns." for n in range(12))
    found = ranked("Which lamp is seen from a ship at night?", *[text] * (len(SENTENCE_QUOTAS) + 1))

    read = [e.passage.number for e in found if e.score > UNRANKED_SCORE]

    places = range(1, len(SENTENCE_QUOTAS) + 2)
    assert [read.count(n) for n in places] == [*SENTENCE_QUOTAS, SENTENCE_QUOTAS[-1]]
    assert len(found) == 12 * len(places)


def test_nothing_more_is_read_once_a_sentence_surely_answers() -> None:
    reader = CountingReader()
    texts = ["The keeper winds the clockwork.", *(f"Fog number {n} is wet." for n in range(6))]
    passages = [passage(text, number) for number, text in enumerate(texts, start=1)]

    SentenceReranker(reader).rank("Who winds the clockwork?", passages, NOTHING)
    sure = len(reader.read)
    SentenceReranker(reader).rank("Who paints the tower?", passages, NOTHING)

    assert (sure, len(reader.read) - sure) == (3, len(texts))


def test_the_sentences_closest_in_words_are_the_ones_read() -> None:
    text = " ".join(f"Filler {n} stands here." for n in range(20)) + " The horn sounds in fog."

    found = ranked("When does the horn sound?", text)

    assert found[0].text == "The horn sounds in fog."


@pytest.mark.parametrize(
    "text", ["What is a lens?", "**Why does the lens turn?**", "# Lens", "![The lens](lens.png)"]
)
def test_questions_headings_and_pictures_are_never_read_as_evidence(text: str) -> None:
    found = ranked("What is a lens?", f"{text}\n\nGlass is clear.")

    assert [e.score for e in found if e.text == text] == [UNRANKED_SCORE]


def test_a_sentence_is_scored_once_for_a_question() -> None:
    reader = CountingReader()
    evidence = SentenceReranker(reader)
    passages = [passage("A lens bends light. A horn sounds.")]

    first = evidence.rank("What bends light?", passages, NOTHING)
    again = evidence.rank("What bends light?", passages, NOTHING)

    assert first == again
    assert reader.read == ["The lens: A lens bends light.", "The lens: A horn sounds."]


def test_another_question_is_scored_anew() -> None:
    reader = CountingReader()
    evidence = SentenceReranker(reader)

    evidence.rank("What bends light?", [passage("A lens bends light.")], NOTHING)
    evidence.rank("What sounds?", [passage("A lens bends light.")], NOTHING)

    assert len(reader.read) == 2


def test_the_oldest_scores_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_module, "CACHE_SIZE", 1)
    reader = CountingReader()
    evidence = SentenceReranker(reader)

    for text in ("A lens bends light.", "A horn sounds.", "A horn sounds.", "A lens bends light."):
        evidence.rank("What sounds?", [passage(text)], NOTHING)

    assert [text.removeprefix("The lens: ") for text in reader.read] == [
        "A lens bends light.",
        "A horn sounds.",
        "A lens bends light.",
    ]


def test_a_score_of_zero_is_remembered_too() -> None:
    class Undecided(CountingReader):
        def score(self, question: str, texts: Sequence[str]) -> list[float]:
            return [0.0 for _ in super().score(question, texts)]

    reader = Undecided()
    evidence = SentenceReranker(reader)

    evidence.rank("What?", [passage("A lens.")], NOTHING)
    found = evidence.rank("What?", [passage("A lens.")], NOTHING)

    assert found[0].score == 0.0
    assert len(reader.read) == 1


def test_equal_sentences_come_in_reading_order() -> None:
    found = ranked("What shines?", "A lamp shines. A lamp shines.", "A lamp shines.")

    assert [(e.passage.number, e.position) for e in found] == [(1, 0), (1, 1), (2, 0)]


def test_a_heading_counts_for_part_of_a_sentence() -> None:
    under = passage("It sounds in fog.", 1, heading="The horn")
    inside = passage("The horn sounds in fog.", 2, heading="Weather")
    without = passage("It sounds in fog.", 3, heading="Weather")

    found = SentenceReranker(WordReranker()).rank("horn", [under, inside, without], NOTHING)
    coverage = {e.passage.number: e.coverage for e in found}

    assert coverage[2] > coverage[1] > coverage[3] == 0.0


def test_a_long_sentence_is_read_only_in_part() -> None:
    reader = CountingReader()

    SentenceReranker(reader).rank("What?", [passage("word " * 900)], NOTHING)

    assert len(reader.read[0]) == len("The lens: ") + evidence_module.MAX_SENTENCE_CHARS


def test_a_question_without_words_of_meaning_covers_nothing() -> None:
    assert ranked("What is it?", "A lens.")[0].coverage == 0.0


def test_no_passages_give_no_evidence() -> None:
    assert ranked("What is a lens?") == []


def test_a_table_row_is_read_under_its_header() -> None:
    reader = CountingReader()
    table = "| Order | Length |\n|---|---|\n| first | 920 mm |\n| sixth | 150 mm |"

    SentenceReranker(reader).rank("How long?", [passage(table)], NOTHING)

    assert reader.read == [
        "The lens: Order Length",
        "The lens: Order Length first 920 mm",
        "The lens: Order Length sixth 150 mm",
    ]


@pytest.mark.parametrize(
    ("sentence", "leans"),
    [
        ("It turns.", True),
        ("**These** rings are thin.", True),
        ("Otherwise the lamp goes out.", True),
        ("The latter is thin.", True),
        ("Items are thin.", False),
        ("The lens is thin.", False),
    ],
)
def test_a_sentence_that_begins_with_a_pronoun_leans_back(sentence: str, leans: bool) -> None:
    assert is_anaphoric(sentence) is leans


def test_what_was_told_before_counts_for_less() -> None:
    passages = [passage("The **lens** turns. Fog is wet.")]
    reader = SentenceReranker(WordReranker())

    fresh = reader.rank("What turns?", passages, NOTHING)
    told = reader.rank(
        "What turns?", passages, NOTHING, previous_answers="As was said, The lens turns."
    )

    assert [(one.text, one.already_answered) for one in told if one.already_answered] == [
        ("The **lens** turns.", True)
    ]
    assert fresh[0].score - ALREADY_ANSWERED_PENALTY == next(
        one.score for one in told if one.already_answered
    )
    assert not any(one.already_answered for one in fresh)


ROS = [
    "ROS 2 is a set of tools for robot software made of many small programs.",
    "The price of composition is isolation: a component that crashes takes all others with it.",
]


def read_by_the_model(question: str, texts: Sequence[str], statistics: TermStatistics) -> str:
    passages = [passage(text, n, heading="Robots") for n, text in enumerate(texts, start=1)]
    return (
        SentenceReranker(CrossEncoder())
        .rank(question, passages, statistics, first_pass_quotas=())[0]
        .text
    )


def test_naming_what_the_whole_book_is_about_makes_no_answer() -> None:
    book = TermStatistics(100, {"ros": 60, "2": 60, "composit": 2})

    assert read_by_the_model("What is composition in ROS 2?", ROS, book) == ROS[1]


def test_a_question_about_the_subject_of_the_book_is_answered_by_what_names_it() -> None:
    book = TermStatistics(100, {"ros": 60, "2": 60, "composit": 2})

    assert read_by_the_model("What is ROS 2?", ROS, book) == ROS[0]


def test_a_sentence_is_asked_in_the_form_that_it_says() -> None:
    question = "Does ICP (iterative closest point) need a good first guess?"
    texts = [
        "The iterative closest point (ICP) algorithm pairs each point with its neighbour.",
        "ICP finds only a local minimum, so it needs an initial guess that is already close.",
    ]

    assert read_by_the_model(question, texts, TermStatistics(100)) == texts[1]
