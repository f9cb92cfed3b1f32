"""Books on a real Qdrant server: what is there, what goes wrong, and who may read."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
from pydantic import SecretStr
from qdrant_client import QdrantClient
from qdrant_client.models import PayloadSchemaType

from citewell.domain import Filters
from citewell.errors import BadSettings, IndexMismatch, IndexUnavailable, RevisionGone, UnknownBook
from citewell.index import qdrant_server as module
from citewell.index.library import DiskLibrary
from citewell.index.qdrant_library import ServerLibrary, _create
from citewell.index.qdrant_server import QdrantServer, RevisionCatalog, ServerRevision
from citewell.ingest.pipeline import ingest
from citewell.ingest.sync import ingest_shared, pull_book, push_book, remove_shared
from citewell.options import IndexOptions
from tests.qdrant_server import free_ports, running_qdrant
from tests.servers import HashEmbedder, write_tiny_book

VECTOR = HashEmbedder().embed_query("fresnel lens")


def options(**more: object) -> IndexOptions:
    return IndexOptions(prefix=f"t{uuid4().hex[:8]}", refresh_seconds=0, **more)


@pytest.fixture
def server(qdrant: str) -> Iterator[QdrantServer]:
    """A server without books."""
    opened = QdrantServer(qdrant, options())
    yield opened
    opened.close()


@pytest.fixture
def books(tiny_copy: Path) -> Path:
    return tiny_copy / "books"


def shelf(server: QdrantServer, default: str | None = None) -> ServerLibrary:
    return ServerLibrary(server, embedder=HashEmbedder.id, default=default)


def test_passages_can_be_looked_up_by_every_field_that_has_an_index() -> None:
    """Made in memory, where indexes do nothing: what a server is told is what counts."""
    told: dict[str, str] = {}

    class Recording(QdrantClient):
        def create_payload_index(self, _: str, name: str, kind: PayloadSchemaType) -> None:
            told[name] = kind.value

    client = Recording(":memory:")
    _create(client, QdrantServer("http://127.0.0.1:1", options(replication_factor=1)), "book", 8)
    client.close()

    keywords = ("chapter", "section", "url", "source_file", "content_hash")
    assert told == {**dict.fromkeys(keywords, "keyword"), "chunk_index": "integer", "text": "text"}


def test_a_server_without_books_says_so(server: QdrantServer) -> None:
    assert shelf(server).books() == []
    with pytest.raises(UnknownBook, match="No book has been ingested yet"):
        shelf(server).open(None)
    with pytest.raises(UnknownBook, match=r"no book 'tiny'\. None has been ingested yet"):
        shelf(server).open("tiny")
    with pytest.raises(UnknownBook, match="no book 'tiny' on the server"):
        pull_book(server, Path("books"), "tiny", HashEmbedder.id)
    with pytest.raises(UnknownBook):
        remove_shared(server, Path("books"), "tiny")
    with pytest.raises(UnknownBook):
        push_book(Path("books"), "tiny", server)


@pytest.mark.smoke
def test_readers_keep_a_revision_until_the_next_but_one(
    server: QdrantServer, tmp_path: Path, books: Path
) -> None:
    source = write_tiny_book(tmp_path / "source")
    library = shelf(server)

    def publish() -> str:
        def run() -> object:
            return ingest(source, books, HashEmbedder(), book="tiny")

        return ingest_shared(server, books, "tiny", HashEmbedder.id, run).revision

    publish()
    first = library.open(None)
    (source / "docs/intro.md").write_text("# Other\n\nOther words.\n")
    second = publish()
    assert library.open(None).revision == second
    assert first.page("docs/intro.md")[0].text.startswith("This book explains")
    (source / "docs/intro.md").unlink()
    third = publish()
    with pytest.raises(RevisionGone):
        first.page("docs/intro.md")
    assert {one.revision for one in RevisionCatalog(server).all("tiny")} == {second, third}
    # What is there already is not written again.
    assert publish() == third
    assert len(RevisionCatalog(server).all("tiny")) == 2

    assert remove_shared(server, books, "tiny") > 0
    assert library.books() == []
    assert RevisionCatalog(server).all("tiny") == []


def test_what_another_host_begins_is_left_alone_for_a_day(
    server: QdrantServer, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_book(books, "tiny", server)
    catalog = RevisionCatalog(server)
    current = catalog.current()["tiny"]
    begun = catalog.create_revision("tiny", "half")

    assert catalog.delete_obsolete("tiny", [current]) == 0
    assert begun in catalog.all("tiny")
    monkeypatch.setattr(module, "ABANDONED_AFTER", timedelta(0))
    assert catalog.delete_obsolete("tiny", [current]) == 1
    assert catalog.all("tiny") == [current]


def test_what_is_recorded_of_every_book_is_not_read_for_one(
    server: QdrantServer, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_book(books, "tiny", server)
    library = shelf(server)
    asked: list[int] = []
    manifests = RevisionCatalog.manifests

    def counted(self: RevisionCatalog, kept: Iterable[ServerRevision]) -> object:
        wanted = list(kept)
        asked.append(len(wanted))
        return manifests(self, wanted)

    monkeypatch.setattr(RevisionCatalog, "manifests", counted)
    library.ping()
    assert library.open(None).book == "tiny"
    with pytest.raises(UnknownBook, match=r"no book 'other'\. Known: tiny\.$"):
        library.open("other")
    assert asked == []
    assert library.find("tiny").book == "tiny"
    assert asked == [1]


@pytest.mark.parametrize("step", ["write_parts", "set_current"])
def test_two_hosts_that_ingest_at_once_leave_a_book_that_can_be_read(
    server: QdrantServer, tmp_path: Path, books: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    push_book(books, "tiny", server)
    source = write_tiny_book(tmp_path / "source")
    hosts = [tmp_path / "one", tmp_path / "other"]
    for host in hosts:
        shutil.copytree(books, host)
        (source / "docs/intro.md").write_text(f"# By {host.name}\n\nWritten there.\n")
        ingest(source, host, HashEmbedder(), book="tiny")
    done = getattr(RevisionCatalog, step)

    def overtaken(self: RevisionCatalog, *given: object) -> object:
        """The other host does all of it between this step and the next."""
        said = done(self, *given)
        monkeypatch.setattr(RevisionCatalog, step, done)
        push_book(hosts[1], "tiny", server)
        return said

    monkeypatch.setattr(RevisionCatalog, step, overtaken)
    push_book(hosts[0], "tiny", server)

    index = shelf(server).open("tiny")
    assert index.page("docs/intro.md")[0].text == "Written there."


def test_a_book_that_was_made_from_other_bytes_that_say_the_same_is_not_written_again(
    server: QdrantServer, tmp_path: Path, books: Path
) -> None:
    source = write_tiny_book(tmp_path / "source")
    ingest(source, books, HashEmbedder(), book="tiny")
    before = push_book(books, "tiny", server)
    kept = RevisionCatalog(server).current()["tiny"]
    config = source / "docusaurus.config.js"
    config.write_text(config.read_text() + "\n// A remark.\n")
    ingest(source, books, HashEmbedder(), book="tiny")
    after = push_book(books, "tiny", server)

    assert after == before
    assert RevisionCatalog(server).current()["tiny"] == kept
    ours = DiskLibrary(books, embedder=HashEmbedder.id).find("tiny")
    assert shelf(server).find("tiny") == ours


def test_a_revision_that_lacks_a_part_is_unavailable(server: QdrantServer, books: Path) -> None:
    push_book(books, "tiny", server)
    catalog = RevisionCatalog(server)
    kept = catalog.current()["tiny"]
    catalog._write_pieces(kept, {"terms": "{}"})

    with pytest.raises(IndexUnavailable, match="'tiny' is incomplete or damaged"):
        shelf(server).open("tiny")
    with pytest.raises(IndexUnavailable, match="'tiny' is incomplete or damaged"):
        pull_book(server, books, "tiny", HashEmbedder.id)


def test_a_passage_that_changed_on_the_server_is_not_taken(
    server: QdrantServer, books: Path
) -> None:
    push_book(books, "tiny", server)
    kept = RevisionCatalog(server).current()["tiny"]
    (chunk, *_) = shelf(server).open("tiny").page("docs/intro.md")
    server.write(
        "testing",
        lambda client: client.set_payload(kept.collection, {"text": "Forged."}, [chunk.id]),
    )

    with pytest.raises(IndexUnavailable, match="'tiny' on the server is damaged"):
        pull_book(server, books.parent / "other" / "books", "tiny", HashEmbedder.id)


def test_a_damaged_book_is_not_put_on_the_server(server: QdrantServer, books: Path) -> None:
    for chunks in books.rglob("chunks.jsonl"):
        chunks.write_text("")

    with pytest.raises(IndexUnavailable, match="'tiny' is damaged; ingest the book again"):
        push_book(books, "tiny", server)
    assert shelf(server).books() == []


def test_a_book_of_another_embedder_is_told(server: QdrantServer, books: Path) -> None:
    push_book(books, "tiny", server)

    with pytest.raises(IndexMismatch, match="was built with the embedder 'hash@1'"):
        ServerLibrary(server, embedder="other@1").open("tiny")
    with pytest.raises(IndexMismatch, match="was built with the embedder 'hash@1'"):
        pull_book(server, books, "tiny", "other@1")


@pytest.mark.parametrize("smaller", ["int8", "binary"])
def test_vectors_in_a_smaller_form_give_the_same_best(
    qdrant: str, books: Path, smaller: str
) -> None:
    server = QdrantServer(qdrant, options(quantization=smaller))
    push_book(books, "tiny", server)
    here = DiskLibrary(books, embedder=HashEmbedder.id).open("tiny")
    there = shelf(server).open("tiny")

    ours, theirs = [
        index.rank("fresnel lens", VECTOR, filters=Filters(), depth=3) for index in (here, there)
    ]
    assert ours.dense == theirs.dense
    server.close()


@pytest.mark.parametrize("place", [0, 1])
def test_another_address_is_asked_when_one_does_not_answer(
    qdrant: str, books: Path, place: int
) -> None:
    (closed,) = free_ports(1)
    urls = [qdrant]
    urls.insert(place, f"http://127.0.0.1:{closed}")
    server = QdrantServer(", ".join(urls), options())
    push_book(books, "tiny", server)

    assert shelf(server).open(None).page("docs/intro.md")
    server.close()


def test_a_server_that_is_down_is_unavailable_after_some_tries() -> None:
    (closed,) = free_ports(1)
    server = QdrantServer(f"http://127.0.0.1:{closed}", options(retries=1))

    with pytest.raises(IndexUnavailable, match=r"while listing: .*refused"):
        shelf(server).books()


@pytest.mark.parametrize("key", [None, SecretStr("a secret")])
def test_the_server_is_asked_to_pack_no_answer(key: SecretStr | None) -> None:
    seen: list[str | None] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("accept-encoding"))
            answer = b'{"result": {"collections": []}, "status": "ok", "time": 0}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    with HTTPServer(("127.0.0.1", 0), Listener) as listener:
        Thread(target=listener.serve_forever, daemon=True).start()
        server = QdrantServer(f"http://127.0.0.1:{listener.server_port}", options(api_key=key))
        server.read("testing", lambda client: client.get_collections())
        server.close()
        listener.shutdown()

    assert seen == ["identity"]


def test_what_the_server_refuses_is_told_in_its_words(server: QdrantServer) -> None:
    with pytest.raises(IndexUnavailable, match="The index failed while testing: "):
        server.read("testing", lambda client: client.create_collection("a/b", vectors_config={}))


@pytest.mark.parametrize("url", ["", " , ", "localhost:6333", "ftp://host", "http://"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(BadSettings, match="CITEWELL_INDEX_URL"):
        QdrantServer(url, IndexOptions())


def test_a_server_with_tls_and_a_key(books: Path, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: TLS to Qdrant is NOT tested here")
    certificate, secret = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", str(secret), "-out", str(certificate), "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    with running_qdrant(
        QDRANT__SERVICE__ENABLE_TLS="true",
        QDRANT__TLS__CERT=str(certificate),
        QDRANT__TLS__KEY=str(secret),
        QDRANT__SERVICE__API_KEY="a secret",
    ) as node:
        right = options(ca_file=certificate, api_key=SecretStr("a secret"), retries=0)
        server = QdrantServer(node.url, right)
        push_book(books, "tiny", server)
        assert shelf(server).open(None).book == "tiny"
        server.close()
        for wrong in ({"ca_file": None}, {"api_key": None}):
            other = QdrantServer(node.url, right.model_copy(update=wrong))
            with pytest.raises(IndexUnavailable):
                shelf(other).books()
            other.close()
