"""The composition root: settings to wired objects, and the only module that names them together."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from quire.compose.stores import Access as Access
from quire.compose.stores import build_access as build_access
from quire.compose.stores import build_databases as build_databases
from quire.compose.stores import build_feedback as build_feedback
from quire.compose.stores import build_journal as build_journal
from quire.compose.stores import build_keys as build_keys
from quire.compose.stores import build_threads as build_threads
from quire.compose.stores import check_space as check_space
from quire.errors import BadSettings
from quire.index.embed import GraniteEmbedder
from quire.index.embedders import choose_embedder
from quire.ports import Answerer, Embedder, Judge, Library, Reader, ThreadStore
from quire.settings import Settings

if TYPE_CHECKING:
    from quire.answer.budget import Spending
    from quire.answer.models import ModelFor, Writers
    from quire.answer.options import AnswerOptions
    from quire.answer.receipts import Receipts
    from quire.answer.shared import SharedAnswers
    from quire.index.server import Server
    from quire.index.shelf import Shelf
    from quire.ingest.pipeline import Progress
    from quire.ingest.report import IngestReport
    from quire.retrieve.calibrate import Calibration
    from quire.retrieve.evidence import EvidenceReader
    from quire.retrieve.search import Searcher
    from quire.threads.store import SqlThreadStore

Say = Callable[[str], None]
DEPENDED_ON = {"embedder", "embedding", "model", "search", "answer", "llm", "books", "workflows"}
"""The settings by which an answer may differ."""


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


def build_server(settings: Settings) -> "Server | None":
    """Give the server that holds the indexes, if there is one; nothing is sent yet.

    Raises:
        BadSettings: `QUIRE_INDEX_URL` is no address.
    """
    if not settings.index_url:
        return None
    from quire.index.server import Server

    return Server(settings.index_url.get_secret_value(), settings.index)


def build_library(settings: Settings, embedder: str | None = None) -> "Shelf":
    """Open the shelf of books that `embedder` built, by default the one of the settings."""
    embedder = embedder or build_embedder(settings).id
    if server := build_server(settings):
        from quire.index.served_library import ServerLibrary

        return ServerLibrary(server, embedder=embedder, default=settings.book)
    # The engine loads in milliseconds, but `quire --help` needs none of it.
    from quire.index.library import DiskLibrary

    return DiskLibrary(
        books_folder(settings),
        embedder=embedder,
        default=settings.book,
        most=settings.index.open_books,
    )


def ingest_book(
    settings: Settings,
    source: Path,
    embedder: Embedder,
    *,
    book: str | None = None,
    kind: str | None = None,
    progress: "Progress" = lambda *_: None,
) -> "IngestReport":
    """Bring a book's index up to date, in the data folder and on the server if there is one."""
    # Imported here: a moment's wait that `--help` need not have.
    from quire.ingest.pipeline import book_name, ingest

    library = books_folder(settings)

    def run() -> "IngestReport":
        return ingest(
            source,
            library,
            embedder,
            book=book,
            format=kind,
            options=settings.ingest,
            progress=progress,
        )

    server = build_server(settings)
    if server is None:
        return run()
    from quire.ingest.shared import ingest_shared

    with closing(server):
        return ingest_shared(server, library, book or book_name(source), embedder.id, run)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a running Quire has."""

    settings: Settings
    embedder: Embedder
    library: "Shelf"
    searcher: "Searcher"
    threads: "SqlThreadStore"
    answerer: Answerer
    receipts: "Receipts"
    workflows: Mapping[str, Answerer] = field(default_factory=dict)
    """An answerer for each workflow, by its id."""
    writers: tuple["Writers", ...] = ()
    """All models that may be asked."""
    shared: "SharedAnswers | None" = None
    """What is remembered together with other processes."""

    async def __aenter__(self) -> Self:
        await self.threads.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for writers in self.writers:
            await writers.close()
        await self.threads.close()
        if self.shared:
            await self.shared.close()
        self.library.close()


def build_spending(settings: Settings) -> "Spending":
    """Make the account of what models cost in a day."""
    from quire.answer.budget import Spending

    llm = settings.llm
    folder = settings.data_dir.expanduser() / "spending"
    return Spending(folder, tokens=llm.day_tokens, dollars=llm.day_dollars)


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


def build_workflows(
    settings: Settings,
    threads: ThreadStore,
    answering: "Callable[[str | None, AnswerOptions], Answerer]",
) -> dict[str, Answerer]:
    """Make an answerer for each workflow; `answering` makes one for a model, with options.

    Raises:
        BadSettings: a workflow names a model that does not exist.
    """
    from quire.answer.bookless import Bookless

    made: dict[str, Answerer] = {}
    for one in settings.workflows:
        try:
            answerer = answering(one.model, one.answering(settings.answer))
        except BadSettings as error:
            raise BadSettings(f"The workflow {one.id!r} cannot be used: {error}") from error
        made[one.id] = Bookless(answerer, threads, rag=one.rag_integration_enabled)
    return made


def build_by_book(
    settings: Settings,
    library: Library,
    answering: "Callable[[str | None, AnswerOptions], Answerer]",
) -> Answerer:
    """Make the answerer of all books, each as it is set for it.

    Raises:
        BadSettings: a book names a model that does not exist.
    """
    from quire.answer.bybook import ByBook

    general = answering(None, settings.answer)
    named: dict[str, Answerer] = {}
    for one in settings.books:
        try:
            named[one.name] = answering(one.model, one.answering(settings.answer))
        except BadSettings as error:
            raise BadSettings(f"The book {one.name!r} cannot be served: {error}") from error
    return ByBook(general, named, library) if named else general


def build(
    settings: Settings,
    say: Say = lambda _: None,
    *,
    model: "tuple[str, ModelFor] | None" = None,
    cached: bool = False,
) -> Services:
    """Wire the service that the settings describe; `model` takes the place of theirs.

    Only what is `cached` remembers answers: what is measured should be made.

    Raises:
        BadSettings: a setting names something that does not exist.
    """
    # Imported here: the agent stack takes seconds to load, and ingest does without it.
    from quire.answer.models import Writers, choose_writers, sole_writer
    from quire.answer.pipeline import Pipeline
    from quire.answer.receipts import Receipts
    from quire.retrieve.evidence import EvidenceReader

    embedder = build_embedder(settings, say)
    library = build_library(settings)
    evidence = EvidenceReader(build_reader(settings))
    searcher = build_searcher(settings, _remembering(embedder, settings, cached), evidence)
    threads = build_threads(settings)
    spending = build_spending(settings)
    chosen: dict[str, Writers] = {}
    if model:
        chosen[settings.model] = sole_writer(*model, settings.llm)
    judge = build_judge(settings)

    def answering(name: str | None, options: "AnswerOptions") -> Pipeline:
        name = name or settings.model
        if name not in chosen:
            chosen[name] = choose_writers(name, evidence, settings.llm, spending)
        return Pipeline(library, searcher, judge, threads, chosen[name], options)

    pipeline = build_by_book(settings, library, answering)
    receipts = Receipts(library, searcher, judge, threads)
    workflows = build_workflows(settings, threads, answering)
    services = Services(
        settings, embedder, library, searcher, threads, pipeline, receipts, workflows
    )
    services = replace(services, writers=tuple(chosen.values()))
    return with_cache(services, chosen[settings.model].name) if cached else services


def with_cache(services: Services, model: str) -> Services:
    """Let answers be remembered, as far as the settings say."""
    from quire.answer.cache import CachedAnswerer

    options = services.settings.cache
    if not options.answers:
        return services

    shared = build_shared_answers(services.settings)
    # Hosts that are set up in another way share nothing by mistake.
    told = services.settings.model_dump_json(include=DEPENDED_ON)

    def cached(answerer: Answerer, workflow: str = "") -> Answerer:
        library, threads = services.library, services.threads
        return CachedAnswerer(
            answerer,
            library,
            threads,
            model=model,
            options=options,
            shared=shared.within(f"{told} {workflow}") if shared else None,
        )

    return replace(
        services,
        answerer=cached(services.answerer),
        # Each remembers for itself: another workflow may have another model or instructions.
        workflows={name: cached(one, name) for name, one in services.workflows.items()},
        shared=shared,
    )


def build_shared_answers(settings: Settings) -> "SharedAnswers | None":
    """Make what processes remember together, if there is a place for it; nothing is opened yet.

    Raises:
        BadSettings: `QUIRE_REDIS_URL` cannot be used.
    """
    from quire.answer.shared import SharedAnswers

    if not settings.redis_url:
        return None
    timeout, keep = settings.limits.redis_timeout_seconds, settings.cache.ttl_seconds
    return SharedAnswers(settings.redis_url.get_secret_value(), timeout=timeout, keep=keep)


def _remembering(embedder: Embedder, settings: Settings, cached: bool) -> Embedder:
    from quire.index.cache import CachedEmbedder

    size = settings.cache.embeddings if cached else 0
    return CachedEmbedder(embedder, size) if size else embedder
