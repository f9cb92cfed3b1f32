"""A book says the same wherever it is kept: embedded, on one server, on a cluster.

Ids, their order, texts, vectors and scores by meaning are compared bit by bit. Scores by keywords
are sums, and engines of different versions add them up in different orders: there the last digit of
a 32-bit float may differ, which is less than `SCORE_TOLERANCE` of it.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.domain import Filters, Prefix
from citewell.index.bm25 import SCORE_TOLERANCE
from citewell.index.book import BookIndex
from citewell.index.library import DiskLibrary
from citewell.index.qdrant_library import ServerLibrary
from citewell.index.qdrant_server import QdrantServer
from citewell.ingest.pipeline import ingest
from citewell.ingest.sync import pull_book, push_book
from citewell.options import IndexOptions, SearchOptions
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import Searcher
from tests.qdrant_server import Node
from tests.servers import HashEmbedder, WordReranker
from tests.servers.services import PLAIN_CALIBRATION

WORDS = [
    f"{a}{b}" for a in ("lens", "oil", "horn", "keep", "glass", "wick") for b in ("", "er", "ry")
]
FIELDS = ("chapter", "section", "url", "source_file")
ENGINES = ["one server", pytest.param("a cluster of three", marks=pytest.mark.cluster)]


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest) -> Iterator[QdrantServer]:
    """Wherever it is, it holds nothing of other tests."""
    if request.param == "one server":
        urls = request.getfixturevalue("qdrant")
    else:
        nodes: list[Node] = request.getfixturevalue("qdrant_cluster")
        urls = ",".join(node.url for node in nodes)
    opened = QdrantServer(urls, IndexOptions(prefix="congruence", refresh_seconds=0))
    yield opened
    opened.close()


class Pair:
    """One book in a data folder and on a server."""

    def __init__(self, folder: Path, server: QdrantServer, name: str) -> None:
        self._source, self._books = folder / "source", folder / "books"
        self._server, self._name = server, name
        self._disk = DiskLibrary(self._books, embedder=HashEmbedder.id)
        self._served = ServerLibrary(server, embedder=HashEmbedder.id)
        self._source.mkdir(parents=True)

    def publish(self, pages: dict[str, str]) -> tuple[BookIndex, BookIndex]:
        """Ingest what the book is now, and put it on the server."""
        for old in self._source.iterdir():
            old.unlink()
        for name, text in pages.items():
            (self._source / name).write_text(text)
        ingest(self._source, self._books, HashEmbedder(), book=self._name)
        push_book(self._books, self._name, self._server)
        return self._disk.open(self._name), self._served.open(self._name)


def page(random: Random, number: int) -> str:
    """Write a page whose sections repeat each other often: equal scores are the hard part."""
    sections = (
        f"## {random.choice(WORDS)} {random.randint(1, 3)}\n\n"
        + " ".join(random.choices(WORDS, k=random.choice((3, 3, 8, 40)))).capitalize()
        + ".\n"
        for _ in range(random.randint(1, 6))
    )
    return f"# Chapter {number % 4} of {random.choice(WORDS)}\n\n" + "\n".join(sections)


@pytest.fixture(scope="module")
def indexes(
    server: QdrantServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[BookIndex, BookIndex]:
    """One book of some hundred passages, in both places."""
    random = Random(9)
    pages = {f"{number:02}.md": page(random, number) for number in range(60)}
    return Pair(tmp_path_factory.mktemp("pair"), server, "large").publish(pages)


def assert_same(
    here: BookIndex, there: BookIndex, question: str, filters: Filters, depth: int
) -> None:
    vector = HashEmbedder().embed_query(question)
    ours = here.rank(question, vector, filters=filters, depth=depth)
    theirs = there.rank(question, vector, filters=filters, depth=depth)

    assert ours.dense == theirs.dense
    assert [one for one, _ in ours.keyword] == [one for one, _ in theirs.keyword]
    expected = pytest.approx([score for _, score in ours.keyword], rel=SCORE_TOLERANCE)
    assert [score for _, score in theirs.keyword] == expected

    ids = [one for one, _ in (*ours.dense, *ours.keyword)][:5]
    for (chunk, own), (other, others) in zip(here.fetch(ids), there.fetch(ids), strict=True):
        assert chunk == other
        assert own.tobytes() == others.tobytes()
    assert here.read(ids) == there.read(ids)
    for chunk in here.read(ids[:1]):
        assert here.page(chunk.source_file) == there.page(chunk.source_file)
        assert here.neighbours(chunk.id, 2) == there.neighbours(chunk.id, 2)


def filters_of(index: BookIndex) -> st.SearchStrategy[Filters]:
    chunks = index.read(index._order)

    def values(field: str) -> st.SearchStrategy[tuple[str | Prefix, ...]]:
        known = st.sampled_from(sorted({getattr(chunk, field) for chunk in chunks}))
        begun = st.tuples(known, st.integers(0, 12)).map(lambda pair: Prefix(pair[0][: pair[1]]))
        return st.lists(known | begun | st.text(max_size=3), max_size=3).map(tuple)

    return st.builds(Filters, **{field: values(field) for field in FIELDS})


QUESTIONS = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6).map(" ".join)


@settings(max_examples=40)
@given(data=st.data(), question=QUESTIONS, depth=st.integers(1, 50))
def test_any_question_with_any_filters_finds_the_same(
    indexes: tuple[BookIndex, BookIndex], data: st.DataObject, question: str, depth: int
) -> None:
    here, there = indexes
    filters = data.draw(filters_of(here))

    assert_same(here, there, question, filters, depth)
    assert_same(here, there, question, Filters(), depth)


async def test_a_search_gives_the_same_hits_to_the_last_bit(
    indexes: tuple[BookIndex, BookIndex],
) -> None:
    searcher = Searcher(
        HashEmbedder(), SentenceReranker(WordReranker()), PLAIN_CALIBRATION, SearchOptions()
    )
    random = Random(4)
    for _ in range(30):
        question = " ".join(random.choices(WORDS, k=3))
        here, there = [
            await searcher.search(index, question, filters=Filters(), top_k=5) for index in indexes
        ]
        assert here == there
        assert here.hits


def test_what_is_recorded_of_a_book_is_the_same(indexes: tuple[BookIndex, BookIndex]) -> None:
    here, there = indexes

    assert (here.book, here.title, here.revision) == (there.book, there.title, there.revision)
    assert here.contents == there.contents
    assert here.statistics == there.statistics
    assert here.vocabulary == there.vocabulary


@settings(max_examples=2)
@given(st.data())
def test_a_book_that_changes_stays_the_same_in_both_places(
    server: QdrantServer, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    random = Random(data.draw(st.integers(0, 10**6)))
    folder = tmp_path_factory.mktemp("changing")
    pair = Pair(folder, server, f"changing-{random.randint(0, 10**9)}")
    pages = {f"{number}.md": page(random, number) for number in range(8)}
    for _ in range(3):
        here, there = pair.publish(pages)
        for _ in range(10):
            filters = data.draw(filters_of(here))
            assert_same(here, there, data.draw(QUESTIONS), filters, data.draw(st.integers(1, 30)))
        # Some pages go, some come, some are written anew.
        for name in random.sample(sorted(pages), 3):
            del pages[name]
        for number in random.sample(range(20), 4):
            pages[f"{number}.md"] = page(random, number)


def test_a_book_comes_back_from_the_server_as_it_went_there(
    server: QdrantServer, tmp_path: Path, indexes: tuple[BookIndex, BookIndex]
) -> None:
    here, _ = indexes
    moved = pull_book(server, tmp_path / "books", "large", HashEmbedder.id)
    back = DiskLibrary(tmp_path / "books", embedder=HashEmbedder.id).open("large")
    again = push_book(tmp_path / "books", "large", server)

    assert (moved.revision, moved.checksum) == (here.revision, again.checksum)
    for question in ("lens oil", "horn keeper", ""):
        vector = HashEmbedder().embed_query(question)
        assert back.rank(question, vector, filters=Filters(), depth=40) == here.rank(
            question, vector, filters=Filters(), depth=40
        )
