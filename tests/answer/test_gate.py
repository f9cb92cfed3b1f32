"""The context is packed by value, not by order."""

from dataclasses import replace

from quire.answer.gate import fitting
from quire.domain import Hit
from tests.verify.samples import hit_of


def hit(rank: int, tokens: int, similarity: float = 0.9) -> Hit:
    made = hit_of("Text.", identity=str(rank), token_count=tokens)
    return replace(made, rank=rank, similarity=similarity)


def ranks(hits: list[Hit]) -> list[int]:
    return [one.rank for one in hits]


def test_a_long_passage_gives_way_to_several_that_say_more_together() -> None:
    hits = [hit(1, 200), hit(2, 800), hit(3, 300), hit(4, 300), hit(5, 200)]

    assert ranks(fitting(hits, 1_000)) == [1, 3, 4, 5]
    assert ranks(fitting(hits, 1_800)) == [1, 2, 3, 4, 5]


def test_a_long_passage_that_is_worth_more_is_kept() -> None:
    hits = [hit(1, 200), hit(2, 800), hit(9, 400, 0.2), hit(10, 400, 0.2)]

    assert ranks(fitting(hits, 1_000)) == [1, 2]


def test_the_best_passage_is_shown_however_long_it_is() -> None:
    assert ranks(fitting([hit(1, 5_000), hit(2, 10)], 1_000)) == [1]


def test_what_was_shown_before_takes_its_room() -> None:
    shown = [hit(1, 600)]

    assert ranks(fitting([hit(1, 600), hit(2, 500), hit(3, 300)], 1_000, beside=shown)) == [3]
    assert fitting([hit(2, 500)], 1_000, beside=shown) == []
