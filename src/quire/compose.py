"""The composition root: settings to wired objects, and the only module that names them together."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from quire.errors import DiskFull
from quire.index.embed import GraniteEmbedder
from quire.index.embedders import choose_embedder
from quire.ports import Answerer, Embedder, Judge, Reader
from quire.settings import Settings

if TYPE_CHECKING:
    from quire.answer.models import ModelFor
    from quire.answer.receipts import Receipts
    from quire.index.library import DiskLibrary
    from quire.retrieve.calibrate import Calibration
    from quire.retrieve.evidence import EvidenceReader
    from quire.retrieve.search import Searcher
    from quire.threads.store import SqlThreadStore

Say = Callable[[str], None]


def books_folder(settings: Settings) -> Path:
    """Give the folder that holds the indexes, one folder a book."""
    return settings.data_dir.expanduser() / "books"


def build_embedder(settings: Settings, say: Say = lambda _: None) -> Embedder:
    """Make the embedder; nothing is loaded yet.

    Raises:
        BadSettings: `QUIRE_EMBEDDER` names none, or a setting that it needs is missing.
    """
    folder = settings.data_dir.expanduser() / "models"
    embedded = GraniteEmbedder(folder, threads=settings.embed_threads, say=say)
    return choose_embedder(settings.embedder, embedded, settings.embedding, folder)


def build_calibration(settings: Settings, embedder: str) -> "Calibration":
    """Read how scores are to be understood: as the operator fitted it, or as it ships."""
    from quire.retrieve.calibrate import load_calibration

    return load_calibration(embedder, settings.data_dir.expanduser() / "calibration")


def build_library(settings: Settings) -> "DiskLibrary":
    """Open the shelf of books."""
    # The engine loads in milliseconds, but `quire --help` needs none of it.
    from quire.index.library import DiskLibrary

    embedder = build_embedder(settings).id
    return DiskLibrary(books_folder(settings), embedder=embedder, default=settings.book)


def build_threads(settings: Settings) -> "SqlThreadStore":
    """Make the store of conversations; nothing is opened yet."""
    from quire.threads.store import SqlThreadStore

    given = settings.database_url
    url = given.get_secret_value() if given else _default_database(settings)
    return SqlThreadStore(url, pool_size=settings.threads.pool_size)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a running Quire has."""

    settings: Settings
    embedder: Embedder
    library: "DiskLibrary"
    searcher: "Searcher"
    threads: "SqlThreadStore"
    answerer: Answerer
    receipts: "Receipts"

    async def __aenter__(self) -> Self:
        await self.threads.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.threads.close()
        self.library.close()


def build_judge(settings: Settings) -> Judge:
    """Make the judge that checks every claim."""
    from quire.index.crossencoder import EntailmentModel
    from quire.verify.judges import LexicalJudge
    from quire.verify.trained import TrainedJudge

    if settings.answer.judge == "strict":
        return LexicalJudge()
    return TrainedJudge(EntailmentModel(threads=settings.embed_threads))


def build_reader(settings: Settings) -> Reader:
    """Make the model that reads questions and sentences together."""
    from quire.index.crossencoder import CrossEncoder

    return CrossEncoder(threads=settings.embed_threads)


def build_searcher(
    settings: Settings, embedder: Embedder, evidence: "EvidenceReader"
) -> "Searcher":
    """Make the search over any book."""
    from quire.retrieve.search import Searcher

    calibration = build_calibration(settings, embedder.id)
    return Searcher(embedder, evidence, calibration, settings.search)


def build(
    settings: Settings,
    say: Say = lambda _: None,
    *,
    model: "tuple[str, ModelFor] | None" = None,
) -> Services:
    """Wire the service that the settings describe; `model` takes the place of theirs.

    Raises:
        BadSettings: a setting names something that does not exist.
    """
    # Imported here: the agent stack takes seconds to load, and ingest does without it.
    from quire.answer.models import choose_model
    from quire.answer.pipeline import Pipeline
    from quire.answer.receipts import Receipts
    from quire.retrieve.evidence import EvidenceReader

    embedder = build_embedder(settings, say)
    library = build_library(settings)
    evidence = EvidenceReader(build_reader(settings))
    searcher = build_searcher(settings, embedder, evidence)
    threads = build_threads(settings)
    model = model or (settings.model, choose_model(settings.model, evidence))
    judge = build_judge(settings)
    pipeline = Pipeline(library, searcher, judge, threads, model, settings.answer)
    receipts = Receipts(library, searcher, judge, threads)
    return Services(settings, embedder, library, searcher, threads, pipeline, receipts)


def _default_database(settings: Settings) -> str:
    folder = settings.data_dir.expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskFull(f"{folder} cannot be made: {error.strerror}.") from error
    return f"sqlite+aiosqlite:///{folder / 'threads.db'}"
