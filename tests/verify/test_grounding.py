import pytest

from quire.domain import Chunk
from quire.verify.claims import split_pieces
from quire.verify.grounding import check_piece
from quire.verify.judges import LexicalJudge
from tests.verify.samples import hit_of

HITS = (
    hit_of("In fog the keeper sounds a horn.", identity="fog", chapter="The keeper", section="Fog"),
    hit_of("A lens has rings.\nIt is thin.\n\n```\nwind --hours 4\n```", identity="lens"),
)


def link(chunk: Chunk, start: int, end: int) -> str:
    return f"{chunk.url}:{start}-{end}"


def check(text: str) -> tuple:  # type: ignore[type-arg]
    (piece,) = split_pieces(text)
    return check_piece(piece, HITS, LexicalJudge(), link)


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


def test_a_question_is_not_judged() -> None:
    claim, shown = check("Does it turn? [1]")

    assert (claim.verdict, claim.citations, shown) == ("not_a_claim", (), "Does it turn?")


def test_white_space_and_bullets_before_the_words_are_kept() -> None:
    _, shown = check("\n\n- A lens has rings.")

    assert shown == "\n\n- A lens has rings. [2]"


def test_each_passage_is_marked_once() -> None:
    table = hit_of("| a | b |\n| --- | --- |\n| c | d |")
    (piece,) = split_pieces("| a | b |\n| --- | --- |\n| c | d |")

    claim, shown = check_piece(piece, [table], LexicalJudge(), link)

    assert len(claim.citations) == 2
    assert shown.endswith("| c | d |\n\n[1]")
