"""A filtered search is the unfiltered one with the rest left out, whatever the filters."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.domain import Chunk, Filters, Prefix
from citewell.index.qdrant_local import EdgeIndex, build_shard
from citewell.ingest.toc import build_contents
from citewell.text.terms import TermStatistics
from tests.index.index_helpers import make_chunk, make_manifest
from tests.servers import HashEmbedder

CHAPTERS = ("Fog", "Foghorns", "Lamps", "Über Öl", "50 % more")
SECTIONS = ("Lens", "Lenses", "Oil & wicks", "")
WORDS = ["lens", "oil", "horn", "keeper", "glass", "ring", "wick", "clock", "tower", "storm"]
CHUNKS = [
    make_chunk(
        number,
        " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 3, 7)) + f" {number}",
        chapter=CHAPTERS[number % 5],
        section=SECTIONS[number % 4],
        source_file=f"docs/{number % 7}.md",
        url=f"https://x.y/{CHAPTERS[number % 5][:3]}#{number % 3}",
    )
    for number in range(90)
]
FIELDS = ("chapter", "section", "url", "source_file")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeIndex]:
    folder = tmp_path_factory.mktemp("revision")
    entries = ((c, c.text, HashEmbedder().embed_query(c.text)) for c in CHUNKS)
    build_shard(folder / "shard", entries, width=HashEmbedder.width, average=4.0)
    statistics = TermStatistics.count(chunk.text for chunk in CHUNKS)
    opened = EdgeIndex(folder, make_manifest(), statistics, build_contents("Lamps", CHUNKS))
    yield opened
    opened.close()


def values_of(field: str) -> st.SearchStrategy[tuple[str | Prefix, ...]]:
    known = st.sampled_from(sorted({getattr(chunk, field) for chunk in CHUNKS}))
    begun = st.tuples(known, st.integers(0, 12)).map(lambda pair: Prefix(pair[0][: pair[1]]))
    return st.lists(known | begun | st.text(max_size=3), max_size=3).map(tuple)


FILTERS = st.builds(Filters, **{field: values_of(field) for field in FIELDS})


def by_brute_force(ranked: list[tuple[str, float]], filters: Filters) -> dict[str, float]:
    chunks = {chunk.id: chunk for chunk in CHUNKS}
    return {one: score for one, score in ranked if _stands(chunks[one], filters)}


def _stands(chunk: Chunk, filters: Filters) -> bool:
    for field in FIELDS:
        values = getattr(filters, field)
        own = getattr(chunk, field)
        whole = [value for value in values if isinstance(value, str)]
        begun = [value.text for value in values if isinstance(value, Prefix)]
        if values and own not in whole and not any(own.startswith(one) for one in begun):
            return False
    return True


@settings(deadline=None, max_examples=150)
@given(FILTERS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join))
def test_a_filtered_search_is_the_exhaustive_one_with_the_rest_left_out(
    index: EdgeIndex, filters: Filters, question: str
) -> None:
    vector = HashEmbedder().embed_query(question)
    depth = len(CHUNKS)

    everything = index.rank(question, vector, filters=Filters(), depth=depth)
    some = index.rank(question, vector, filters=filters, depth=depth)
    few = index.rank(question, vector, filters=filters, depth=3)

    for way in ("dense", "keyword"):
        expected = by_brute_force(getattr(everything, way), filters)
        found = dict(getattr(some, way))
        assert found.keys() == expected.keys()
        assert found == pytest.approx(expected, abs=1e-5)
        best = sorted(expected.values(), reverse=True)[:3]
        assert [score for _, score in getattr(few, way)] == pytest.approx(best, abs=1e-5)


@given(FILTERS)
def test_a_chunk_is_told_to_stand_where_the_search_goes_as_the_search_tells_it(
    filters: Filters,
) -> None:
    assert [c for c in CHUNKS if filters.matches(c)] == [c for c in CHUNKS if _stands(c, filters)]
    assert bool(filters) == any(getattr(filters, field) for field in FIELDS)
