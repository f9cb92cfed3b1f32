from citewell.options import SearchOptions
from citewell.ports import Rankings
from citewell.retrieve.fusion import fuse

OPTIONS = SearchOptions()


def order_of(rankings: Rankings, options: SearchOptions = OPTIONS) -> list[str]:
    return list(fuse(rankings, options))


def test_what_both_rankings_like_comes_first() -> None:
    rankings = Rankings(dense=[("a", 0.9), ("b", 0.8)], keyword=[("b", 5.0), ("c", 4.0)])

    assert order_of(rankings)[0] == "b"


def test_what_stands_out_in_one_ranking_passes_what_is_a_little_better_in_both() -> None:
    rest = [(f"rest {n}", 0.5) for n in range(10)]
    by_meaning = Rankings(
        dense=[("right", 0.9), ("both", 0.55), *rest], keyword=[("both", 5.0), ("right", 4.0)]
    )
    by_keywords = Rankings(
        dense=[("both", 0.52), ("right", 0.51), *rest], keyword=[("right", 9.0), ("both", 2.0)]
    )

    assert order_of(by_meaning)[0] == "right"
    assert order_of(by_keywords)[0] == "right"


def test_the_spread_of_the_cosines_does_not_matter() -> None:
    wide = [("a", 0.9), ("b", 0.5), ("c", 0.1)]
    narrow = [("a", 0.84), ("b", 0.80), ("c", 0.76)]
    keyword = [("c", 6.0), ("b", 3.0)]

    assert fuse(Rankings(dense=wide, keyword=keyword), OPTIONS) == fuse(
        Rankings(dense=narrow, keyword=keyword), OPTIONS
    )


def test_a_word_that_one_passage_alone_has_counts_fully() -> None:
    dense = [("a", 0.8), ("b", 0.7), ("c", 0.6)]

    assert order_of(Rankings(dense=dense, keyword=[("c", 7.0)]))[0] == "c"


def test_where_keywords_fill_their_ranking_the_others_are_no_better_than_its_last() -> None:
    found = Rankings(
        dense=[("a", 0.9), ("b", 0.8)], keyword=[(f"{n:02}", 10.0 - n / 10) for n in range(10)]
    )

    full = fuse(found, SearchOptions(depth=10))
    open_ended = fuse(found, SearchOptions(depth=11))

    assert full["a"] > open_ended["a"]
    assert full["00"] == open_ended["00"]


def test_what_the_rankings_like_alike_falls_by_id() -> None:
    rankings = Rankings(dense=[("b", 0.9), ("a", 0.9)], keyword=[("b", 5.0), ("a", 5.0)])

    assert order_of(rankings) == ["a", "b"]


def test_the_keyword_ranking_counts_by_its_weight() -> None:
    rankings = Rankings(
        dense=[("meaning", 0.9), ("words", 0.5)], keyword=[("words", 5.0), ("meaning", 1.0)]
    )

    assert order_of(rankings, SearchOptions(keyword_weight=1))[0] == "meaning"
    assert order_of(rankings, SearchOptions(keyword_weight=9))[0] == "words"


def test_empty_rankings_give_nothing() -> None:
    assert fuse(Rankings(dense=[], keyword=[]), OPTIONS) == {}
