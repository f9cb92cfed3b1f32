from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.domain import Chunk, Filters
from citewell.errors import IndexUnavailable
from citewell.index.qdrant_local import BATCH_SIZE, EdgeIndex, build_shard
from citewell.ingest.toc import build_contents
from citewell.ports import Vectors
from citewell.text.terms import TermStatistics
from tests.index.index_helpers import make_chunk, make_manifest
from tests.servers import HashEmbedder

EVERYWHERE = Filters()
LENS = make_chunk(1, "A Fresnel lens is made of rings.", chapter="Lamps", section="Lens")
OIL = make_chunk(2, "Colza oil burns in the lamp.", chapter="Lamps", section="Oil")
HORN = make_chunk(3, "The keeper sounds a horn.", chapter="Fog", section="Horn", source_file="b.md")
MANY = [
    make_chunk(n, f"Row {n}.", source_file="long.md") for n in range(10, 10 + 2 * BATCH_SIZE - 3)
]
ALL = [LENS, OIL, HORN, *reversed(MANY)]
CONTENTS = build_contents("Lamps", [LENS, OIL, HORN, *MANY])


def entry(chunk: Chunk) -> tuple[Chunk, str, Vectors]:
    return chunk, chunk.text, HashEmbedder().embed_query(chunk.text)


def open_index(folder: Path) -> EdgeIndex:
    return EdgeIndex(folder, make_manifest(), TermStatistics.count(c.text for c in ALL), CONTENTS)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeIndex]:
    folder = tmp_path_factory.mktemp("revision")
    build_shard(folder / "shard", map(entry, ALL), width=HashEmbedder.width, average=5.0)
    opened = open_index(folder)
    yield opened
    opened.close()


def found(index: EdgeIndex, text: str, filters: Filters = EVERYWHERE, depth: int = 5) -> list[str]:
    vector = HashEmbedder().embed_query(text)
    ranked = index.rank(text, vector, filters=filters, depth=depth)
    return [chunk.text for chunk, _ in index.fetch([identity for identity, _ in ranked.keyword])]


def test_an_index_says_what_it_is_the_index_of(index: EdgeIndex) -> None:
    assert (index.book, index.title, index.revision) == ("lamps", "Lamps", "abc")
    assert index.statistics.documents == len(ALL)


def test_chunks_are_ranked_by_meaning_and_by_keywords_best_first(index: EdgeIndex) -> None:
    vector = HashEmbedder().embed_query(LENS.text)

    ranked = index.rank("rings of a lens", vector, filters=EVERYWHERE, depth=5)

    assert ranked.dense[0][0] == ranked.keyword[0][0] == LENS.id
    assert ranked.dense[0][1] == pytest.approx(1, abs=1e-4)
    scores = [score for _, score in ranked.dense]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5


def test_a_rare_word_counts_more_than_a_common_one(index: EdgeIndex) -> None:
    assert found(index, "row horn")[0] == HORN.text


def test_no_more_than_depth_are_ranked(index: EdgeIndex) -> None:
    assert len(found(index, "row", depth=3)) == 3


def test_a_question_without_terms_is_ranked_by_meaning_only(index: EdgeIndex) -> None:
    vector = HashEmbedder().embed_query("horn")

    ranked = index.rank("what is it?", vector, filters=EVERYWHERE, depth=2)

    assert len(ranked.dense) == 2
    assert ranked.keyword == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(chapter=("Fog",)), {HORN.text}),
        (Filters(section=("Oil",)), {OIL.text}),
        (Filters(section=("Oil", "Horn")), {OIL.text, HORN.text}),
        (Filters(chapter=("Fog",), section=("Oil",)), set()),
        (Filters(chapter=("Nowhere",)), set()),
    ],
)
def test_a_search_may_be_kept_to_chapters_and_sections(
    index: EdgeIndex, filters: Filters, expected: set[str]
) -> None:
    assert set(found(index, "lens oil horn", filters)) == expected


def test_chunks_are_fetched_whole_in_the_order_asked_for(index: EdgeIndex) -> None:
    fetched = index.fetch([HORN.id, LENS.id])

    assert [chunk for chunk, _ in fetched] == [HORN, LENS]
    np.testing.assert_allclose(fetched[0][1], entry(HORN)[2], atol=1e-6)


@pytest.mark.parametrize("unknown", [make_chunk(9999).id, "nonsense", "", "5", LENS.id.upper()])
def test_unknown_ids_are_left_out(index: EdgeIndex, unknown: str) -> None:
    assert [chunk for chunk, _ in index.fetch([unknown, OIL.id])] == [OIL]


def test_a_page_is_given_in_order_however_long_it_is(index: EdgeIndex) -> None:
    assert index.page("long.md") == MANY
    assert index.page("b.md") == [HORN]
    assert index.page("gone.md") == []


def test_an_index_may_be_read_by_two_at_once(tmp_path: Path) -> None:
    build_shard(tmp_path / "shard", [entry(LENS)], width=HashEmbedder.width, average=5.0)
    first, second = open_index(tmp_path), open_index(tmp_path)

    assert first.page("a.md") == second.page("a.md") == [LENS]
    first.close()
    assert second.page("a.md") == [LENS]
    second.close()


def test_an_index_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match="The index failed while opening: "):
        open_index(tmp_path)


def test_an_index_that_was_closed_is_unavailable(tmp_path: Path) -> None:
    build_shard(tmp_path / "shard", [entry(LENS)], width=HashEmbedder.width, average=5.0)
    index = open_index(tmp_path)
    index.close()

    with pytest.raises(IndexUnavailable, match="The index failed while reading: "):
        index.fetch([LENS.id])


def test_vectors_of_another_width_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match="The index failed while writing: "):
        build_shard(tmp_path / "shard", [entry(LENS)], width=3, average=5.0)


def test_what_went_wrong_while_the_entries_were_made_is_said_as_it_is(tmp_path: Path) -> None:
    def broken() -> Iterator[tuple[Chunk, str, Vectors]]:
        yield entry(LENS)
        raise IndexUnavailable("The old index is gone.")

    with pytest.raises(IndexUnavailable, match=r"^The old index is gone\.$"):
        build_shard(tmp_path / "shard", broken(), width=HashEmbedder.width, average=5.0)


def test_neighbours_are_those_next_to_a_chunk_in_the_book(index: EdgeIndex) -> None:
    assert [chunk.text for chunk in index.neighbours(OIL.id, 1)] == [c.text for c in ALL[:3]]
    assert [chunk.text for chunk in index.neighbours(LENS.id, 1)] == [LENS.text, OIL.text]
    assert index.neighbours(MANY[-1].id, 2) == index.read([c.id for c in MANY[-3:]])
    assert index.neighbours("nonsense", 1) == []
