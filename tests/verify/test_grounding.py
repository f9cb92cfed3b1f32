from collections.abc import Sequence

import pytest

from citewell.domain import Chunk, Verdict
from citewell.verify.claims import split_pieces
from citewell.verify.grounding import check_piece, with_citation_marks
from citewell.verify.judge import LexicalJudge
from tests.verify.samples import hit_of

HITS = (
    hit_of("In fog the keeper sounds a horn.", identity="fog", chapter="The keeper", section="Fog"),
    hit_of("A lens has rings.\nIt is thin.\n\n```\nwind --hours 4\n```", identity="lens"),
)


def link(chunk: Chunk, start: int, end: int) -> str:
    return f"{chunk.url}:{start}-{end}"


def check(text: str) -> tuple:  # type: ignore[type-arg]
    (piece,) = split_pieces(text)
    claim = check_piece(piece, HITS, LexicalJudge(), link)
    return claim, with_citation_marks(piece, claim)


@pytest.mark.parametrize(
    "text",
    [
        "A lens has rings. [2]",
        "A lens has rings.",
        "A lens has rings. [1]",
        "A lens has rings. [9]",
        "A lens has rings [0].",
    ],
    ids=["right", "missing", "wrong", "unknown", "zero"],
)
def test_the_mark_shown_is_the_one_that_is_proven(text: str) -> None:
    claim, shown = check(text)

    assert shown == "A lens has rings. [2]"
    assert [citation.number for citation in claim.citations] == [2]


def test_a_citation_says_where_the_words_stand() -> None:
    claim, _ = check("In fog the keeper sounds a horn. [1]")

    (citation,) = claim.citations
    assert (citation.chunk_id, citation.chapter, citation.section) == ("fog", "The keeper", "Fog")
    assert citation.quote == HITS[0].chunk.text[citation.start : citation.end]
    assert citation.url == "https://tiny.example/lamps/lens#orders:0-32"


def test_code_is_marked_below() -> None:
    claim, shown = check("```\nwind --hours 4\n```")

    assert shown == "```\nwind --hours 4\n```\n\n[2]"
    assert claim.citations[0].quote == "wind --hours 4"


def test_an_unsupported_claim_has_neither_mark_nor_citation() -> None:
    claim, shown = check("Bananas are yellow. [1]")

    assert (claim.verdict, claim.citations, shown) == ("unsupported", (), "Bananas are yellow.")


def test_a_question_to_the_reader_is_not_judged() -> None:
    claim, shown = check("Would you like to know more? [1]")

    assert (claim.verdict, claim.citations) == ("not_a_claim", ())
    assert shown == "Would you like to know more?"


def test_a_question_that_tells_something_is_judged() -> None:
    claim, _ = check("Did you know that a lens weighs 5 tons? [2]")

    assert claim.verdict == "unsupported"


@pytest.mark.parametrize(
    "text",
    [
        "I think a lens has rings.",
        "In short, a lens has rings. [1]",
        "According to the book, a lens has rings (source 2).",
        "> A lens has\n> rings.",
    ],
)
def test_what_frames_a_statement_is_shown_but_not_judged(text: str) -> None:
    claim, shown = check(text)

    assert (claim.verdict, claim.citations[0].quote) == ("supported", "A lens has rings.")
    assert shown.startswith(text.split(" has", maxsplit=1)[0])
    assert shown.endswith(" [2]")


def test_a_contradicted_claim_cites_what_speaks_against_it_and_has_no_mark() -> None:
    claim, shown = check("In fog the keeper does not sound a horn. [1]")

    assert claim.verdict == "contradicted"
    assert [citation.quote for citation in claim.citations] == [HITS[0].chunk.text]
    assert shown == "In fog the keeper does not sound a horn."


def test_a_heading_of_the_book_needs_no_proof_and_another_does() -> None:
    assert check("## The keeper")[0].verdict == "not_a_claim"
    assert check("## The keeper is asleep")[0].verdict == "unsupported"


TOWER = hit_of("A tower has stairs. It is tall. It weighs five tons.", identity="tower")
LENS = hit_of("A lens has rings. It weighs little.", identity="lens")


@pytest.mark.parametrize(
    ("before", "leaning", "verdict"),
    [
        ("A tower has stairs.", "It is tall.", "supported"),
        ("A tower has stairs.", "It weighs five tons.", "supported"),
        ("The tower has stairs.", "It weighs five tons.", "supported"),
        ("A lens has rings.", "It weighs five tons.", "unsupported"),
        ("A lens has rings.", "It weighs little.", "supported"),
        ("A tower has stairs.", "It weighs little.", "unsupported"),
    ],
)
def test_a_sentence_that_leans_back_must_mean_what_it_means_in_the_book(
    before: str, leaning: str, verdict: str
) -> None:
    hits = (TOWER, LENS)
    first, second = split_pieces(f"{before} {leaning}")
    said = check_piece(first, hits, LexicalJudge(), link)

    claim = check_piece(second, hits, LexicalJudge(), link, said)

    assert said.verdict == "supported"
    assert claim.verdict == verdict


def test_words_that_stand_in_several_passages_are_proven_where_they_mean_the_same() -> None:
    hits = (TOWER, hit_of("A lens has rings. It is tall.", identity="tall lens"))
    first, second = split_pieces("A lens has rings. It is tall. [1]")
    said = check_piece(first, hits, LexicalJudge(), link)

    claim = check_piece(second, hits, LexicalJudge(), link, said)

    assert (claim.verdict, claim.citations[0].chunk_id) == ("supported", "tall lens")
    assert with_citation_marks(second, claim) == " It is tall. [2]"


class Credulous:
    """A judge who believes everything."""

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        return Verdict(kind="supported", probability=1.0, evidence=((1, 0, 5),))


@pytest.mark.parametrize("text", ["```\nlaunch\n```", "| a |\n| --- |\n| b |", "$$\nx = 5\n$$"])
def test_code_formulas_and_tables_are_compared_whoever_judges(text: str) -> None:
    (piece,) = split_pieces(text)

    assert check_piece(piece, HITS, Credulous(), link).verdict == "unsupported"


def test_the_first_sentence_of_an_answer_leans_on_the_question() -> None:
    (piece,) = split_pieces("It weighs five tons.")

    assert check_piece(piece, (TOWER,), LexicalJudge(), link).verdict == "supported"


def test_white_space_and_bullets_before_the_words_are_kept() -> None:
    _, shown = check("\n\n- A lens has rings.")

    assert shown == "\n\n- A lens has rings. [2]"


def test_each_passage_is_marked_once() -> None:
    table = hit_of("| a | b |\n| --- | --- |\n| c | d |")
    (piece,) = split_pieces("| a | b |\n| --- | --- |\n| c | d |")

    claim = check_piece(piece, [table], LexicalJudge(), link)

    assert len(claim.citations) == 2
    assert with_citation_marks(piece, claim).endswith("| c | d |\n\n[1]")
