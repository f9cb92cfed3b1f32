"""The composition root, which builds all objects from the settings."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from citewell.errors import BadSettings, DiskFull
from citewell.models.embedder import GraniteEmbedder, StatusCallback
from citewell.options import EmbeddingOptions
from citewell.ports import Answerer, Embedder, FeedbackStore, Judge, Library, Reranker, ThreadStore
from citewell.private_files import make_private, touch_private
from citewell.settings import Settings

if TYPE_CHECKING:
    from citewell.answer.models import ModelChain, ModelFactory
    from citewell.answer.remote_model import DailySpend
    from citewell.answer.replay import ReceiptService
    from citewell.answer.shared_cache import SharedAnswerCache
    from citewell.auth.key_cache import KeyCache
    from citewell.auth.rate_limits import Limiter
    from citewell.index.library import BaseLibrary
    from citewell.index.qdrant_server import QdrantServer
    from citewell.ingest.pipeline import Progress
    from citewell.ingest.report import IngestReport
    from citewell.options import AnswerOptions
    from citewell.retrieve.calibration import Calibration
    from citewell.retrieve.rerank import SentenceReranker
    from citewell.retrieve.search import Searcher
    from citewell.storage.database import Database
    from citewell.storage.keys import SqlKeyStore
    from citewell.storage.stream_log import StreamLog
    from citewell.storage.threads import SqlThreadStore


CACHE_KEY_SETTINGS = {
    "embedder",
    "embedding",
    "model",
    "search",
    "answer",
    "llm",
    "books",
    "workflows",
}
"""The settings that influence answers."""


def books_folder(settings: Settings) -> Path:
    """Return the folder of the indexes, which has a subfolder per book."""
    return settings.data_dir.expanduser() / "books"


def build_embedder(settings: Settings, on_status: StatusCallback = lambda _: None) -> Embedder:
    """Return the configured embedder, not loaded yet.

    Raises:
        BadSettings: `CITEWELL_EMBEDDER` is unknown, or a setting that it needs is missing.
    """
    folder = settings.data_dir.expanduser() / "models"
    embedded = GraniteEmbedder(folder, threads=settings.embed_threads, on_status=on_status)
    return choose_embedder(settings.embedder, embedded, settings.embedding, folder)


def choose_embedder(
    name: str, embedded: GraniteEmbedder, options: EmbeddingOptions, folder: Path
) -> Embedder:
    """Return the embedder with a name, not loaded yet.

    Raises:
        BadSettings: the name is unknown, or a setting that it needs is missing.
    """
    if name == "embedded":
        return embedded
    provider, _, model = name.partition("/")
    if model and provider in ("openai", "litellm"):
        from citewell.models.remote_embedder import RemoteEmbedder

        return RemoteEmbedder(name, options, embedded)
    if model and provider == "fastembed":
        from citewell.models.fastembed import FastEmbedder

        return FastEmbedder(model, options, embedded, folder)
    raise BadSettings(
        f"CITEWELL_EMBEDDER={name!r} is not known: 'embedded', 'openai/NAME', 'litellm/NAME' or "
        "'fastembed/NAME'."
    )


def build_calibration(settings: Settings, embedder: str) -> "Calibration":
    """Load the calibration fitted by the operator, or else the packaged one."""
    from citewell.retrieve.calibration import load_calibration

    return load_calibration(embedder, settings.data_dir.expanduser() / "calibration")


def build_index_server(settings: Settings) -> "QdrantServer | None":
    """Return the configured index server, if any, without connecting.

    Raises:
        BadSettings: `CITEWELL_INDEX_URL` is invalid.
    """
    if not settings.index_url:
        return None
    from citewell.index.qdrant_server import QdrantServer

    return QdrantServer(settings.index_url.get_secret_value(), settings.index)


def build_library(settings: Settings, embedder: str | None = None) -> "BaseLibrary":
    """Return the library of books that `embedder` built; by default the configured one."""
    embedder = embedder or build_embedder(settings).id
    if server := build_index_server(settings):
        from citewell.index.qdrant_library import ServerLibrary

        return ServerLibrary(server, embedder=embedder, default=settings.book)
    from citewell.index.library import DiskLibrary

    return DiskLibrary(
        books_folder(settings),
        embedder=embedder,
        default=settings.book,
        max_open=settings.index.open_books,
    )


def ingest_book(
    settings: Settings,
    source: Path,
    embedder: Embedder,
    *,
    book: str | None = None,
    format_name: str | None = None,
    progress: "Progress" = lambda *_: None,
) -> "IngestReport":
    """Ingest a book into the data folder and onto the index server, if there is one."""
    from citewell.ingest.pipeline import book_name, ingest

    library = books_folder(settings)

    def run() -> "IngestReport":
        return ingest(
            source,
            library,
            embedder,
            book=book,
            format=format_name,
            options=settings.ingest,
            progress=progress,
        )

    server = build_index_server(settings)
    if server is None:
        return run()
    from citewell.ingest.sync import ingest_shared

    with closing(server):
        return ingest_shared(server, library, book or book_name(source), embedder.id, run)


BuildAnswerer = Callable[[str | None, "AnswerOptions"], Answerer]
"""Builds an answerer for a model, by default the configured one."""


@dataclass(frozen=True, slots=True)
class Services:
    """The objects of a running service."""

    settings: Settings
    embedder: Embedder
    library: "BaseLibrary"
    searcher: "Searcher"
    threads: "SqlThreadStore"
    answerer: Answerer
    receipts: "ReceiptService"
    workflows: Mapping[str, Answerer] = field(default_factory=dict)
    """The answerer of each workflow, by its id."""
    model_chains: tuple["ModelChain", ...] = ()
    """Each configured model with its fallbacks; the first is that of `CITEWELL_MODEL`."""
    shared_cache: "SharedAnswerCache | None" = None

    async def __aenter__(self) -> Self:
        await self.threads.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        for chain in self.model_chains:
            await chain.close()
        await self.threads.close()
        if self.shared_cache:
            await self.shared_cache.close()
        self.library.close()


def build_spending(settings: Settings) -> "DailySpend":
    """Return the account of the models' daily budget."""
    from citewell.answer.remote_model import DailySpend

    llm = settings.llm
    folder = settings.data_dir.expanduser() / "spending"
    return DailySpend(folder, tokens=llm.day_tokens, dollars=llm.day_dollars)


def build_judge(settings: Settings) -> Judge:
    """Return the configured judge."""
    from citewell.models.cross_encoder import EntailmentModel
    from citewell.verify.judge import LexicalJudge, TrainedJudge

    if settings.answer.judge == "strict":
        return LexicalJudge()
    return TrainedJudge(EntailmentModel(threads=settings.embed_threads))


def build_reranker(settings: Settings) -> Reranker:
    """Return the cross-encoder that reranks sentences."""
    from citewell.models.cross_encoder import CrossEncoder

    return CrossEncoder(threads=settings.embed_threads)


def build_searcher(
    settings: Settings, embedder: Embedder, evidence: "SentenceReranker"
) -> "Searcher":
    """Return the searcher, which works for any book."""
    from citewell.retrieve.search import Searcher

    calibration = build_calibration(settings, embedder.id)
    return Searcher(embedder, evidence, calibration, settings.search)


def build_workflows(
    settings: Settings, threads: ThreadStore, build_answerer: "BuildAnswerer"
) -> dict[str, Answerer]:
    """Return the answerer of each workflow, by its id.

    Raises:
        BadSettings: a workflow names an unknown model.
    """
    from citewell.answer.no_context import NoContextAnswerer

    answerers: dict[str, Answerer] = {}
    for workflow in settings.workflows:
        try:
            options = workflow.answer_options(settings.answer)
            answerer = build_answerer(workflow.model, options)
        except BadSettings as error:
            raise BadSettings(f"The workflow {workflow.id!r} cannot be used: {error}") from error
        rag = workflow.rag_integration_enabled
        answerers[workflow.id] = NoContextAnswerer(answerer, threads, rag=rag)
    return answerers


def build_book_router(
    settings: Settings, library: Library, build_answerer: "BuildAnswerer"
) -> Answerer:
    """Return an answerer that applies the options of each book.

    Raises:
        BadSettings: a book names an unknown model.
    """
    from citewell.answer.book_router import BookRouter

    general = build_answerer(None, settings.answer)
    by_book: dict[str, Answerer] = {}
    for book in settings.books:
        try:
            by_book[book.name] = build_answerer(book.model, book.answer_options(settings.answer))
        except BadSettings as error:
            raise BadSettings(f"The book {book.name!r} cannot be served: {error}") from error
    return BookRouter(general, by_book, library) if by_book else general


def wire_services(
    settings: Settings,
    on_status: StatusCallback = lambda _: None,
    *,
    model: "tuple[str, ModelFactory] | None" = None,
    use_caches: bool = False,
) -> Services:
    """Build all services; `model` replaces the configured model.

    `use_caches` enables the caches of answers and of question embeddings; measurements have to
    bypass both.

    Raises:
        BadSettings: a setting is invalid.
    """
    # Importing the agent stack takes seconds, and ingest does not need it.
    from citewell.answer.models import ModelChain, build_model_chain, single_model_chain
    from citewell.answer.pipeline import Pipeline
    from citewell.answer.replay import ReceiptService
    from citewell.retrieve.rerank import SentenceReranker

    embedder = build_embedder(settings, on_status)
    library = build_library(settings)
    evidence = SentenceReranker(build_reranker(settings))
    search_embedder = _with_embedding_cache(embedder, settings) if use_caches else embedder
    searcher = build_searcher(settings, search_embedder, evidence)
    threads = build_threads(settings)
    spending = build_spending(settings)
    chains: dict[str, ModelChain] = {}
    if model:
        chains[settings.model] = single_model_chain(*model, settings.llm)
    judge = build_judge(settings)

    def build_answerer(name: str | None, options: "AnswerOptions") -> Pipeline:
        name = name or settings.model
        if name not in chains:
            chains[name] = build_model_chain(name, evidence, settings.llm, spending)
        return Pipeline(library, searcher, judge, threads, chains[name], options)

    pipeline = build_book_router(settings, library, build_answerer)
    receipts = ReceiptService(library, searcher, judge, threads)
    workflows = build_workflows(settings, threads, build_answerer)
    services = Services(
        settings, embedder, library, searcher, threads, pipeline, receipts, workflows
    )
    services = replace(services, model_chains=tuple(chains.values()))
    return with_answer_cache(services, chains[settings.model].name) if use_caches else services


def with_answer_cache(services: Services, model: str) -> Services:
    """Return services that cache answers, if the settings enable it."""
    from citewell.answer.cache import CachedAnswerer

    options = services.settings.cache
    if not options.answers:
        return services

    shared = build_shared_cache(services.settings)
    # Processes with different settings must not share answers.
    scope = services.settings.model_dump_json(include=CACHE_KEY_SETTINGS)

    def cached(answerer: Answerer, workflow: str = "") -> Answerer:
        library, threads = services.library, services.threads
        return CachedAnswerer(
            answerer,
            library,
            threads,
            model=model,
            options=options,
            shared=shared.with_scope(f"{scope} {workflow}") if shared else None,
        )

    return replace(
        services,
        answerer=cached(services.answerer),
        # Separate caches, because workflows can have different models and instructions.
        workflows={name: cached(one, name) for name, one in services.workflows.items()},
        shared_cache=shared,
    )


def build_shared_cache(settings: Settings) -> "SharedAnswerCache | None":
    """Return the answer cache in Redis, if configured, without connecting.

    Raises:
        BadSettings: `CITEWELL_REDIS_URL` is invalid.
    """
    from citewell.answer.shared_cache import SharedAnswerCache

    if not settings.redis_url:
        return None
    timeout, ttl = settings.limits.redis_timeout_seconds, settings.cache.ttl_seconds
    return SharedAnswerCache(settings.redis_url.get_secret_value(), timeout=timeout, ttl=ttl)


def _with_embedding_cache(embedder: Embedder, settings: Settings) -> Embedder:
    from citewell.models.embedding_cache import CachedEmbedder

    size = settings.cache.embeddings
    return CachedEmbedder(embedder, size) if size else embedder


THREADS, STREAMS = "threads.db", "streams.db"
MIN_FREE_BYTES = 5_000_000
"""Free disk space that storing conversations needs at least."""


def build_threads(settings: Settings) -> "SqlThreadStore":
    """Return the conversation store, without connecting."""
    from citewell.storage.threads import SqlThreadStore

    options = settings.threads
    return SqlThreadStore(
        _database(settings), pool_size=options.pool_size, policies=options.retention_policies
    )


def build_feedback(threads: "SqlThreadStore") -> FeedbackStore:
    """Return the feedback store, which shares the database of the conversations."""
    from citewell.storage.feedback import SqlFeedbackStore

    return SqlFeedbackStore(threads)


def build_keys(settings: Settings) -> "SqlKeyStore":
    """Return the key store, without connecting."""
    from citewell.storage.keys import SqlKeyStore

    return SqlKeyStore(_database(settings), settings.data_dir / "keys-were-created")


@dataclass(frozen=True, slots=True)
class AccessControl:
    """Authentication and rate limits."""

    key_cache: "KeyCache"
    limiter: "Limiter"


def build_access(settings: Settings) -> AccessControl:
    """Return the keys and rate limits of a service, without connecting.

    Raises:
        BadSettings: `CITEWELL_REDIS_URL` is invalid.
    """
    from citewell.auth.key_cache import KeyCache
    from citewell.auth.rate_limits import Limiter

    redis = settings.redis_url.get_secret_value() if settings.redis_url else None
    key_cache = KeyCache(build_keys(settings), settings.access.refresh_seconds)
    return AccessControl(key_cache, Limiter(settings.limits, redis))


def build_stream_log(settings: Settings) -> "StreamLog":
    """Return the log of running streams, without connecting."""
    from citewell.storage.stream_log import StreamLog

    # A separate SQLite file, so that streams do not wait for writers of conversations.
    return StreamLog(_database(settings, STREAMS))


def build_databases(settings: Settings) -> "tuple[Database, ...]":
    """Return every database with tables of Citewell, without connecting."""
    from citewell.storage.database import Database

    urls = dict.fromkeys(_database(settings, name) for name in (THREADS, STREAMS))
    return tuple(Database(url, pool_size=0) for url in urls)


def check_disk_space(settings: Settings) -> None:
    """Check that conversations can be stored in the data folder, unless they are stored elsewhere.

    Raises:
        DiskFull: the disk is full or not writable.
    """
    if settings.database_url:
        return
    folder = settings.data_dir.expanduser()
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise DiskFull(f"{folder} cannot be read: {error.strerror}.") from error
    if free < MIN_FREE_BYTES:
        raise DiskFull(f"{folder} has {free} bytes left.")
    if not os.access(folder / THREADS, os.W_OK):
        raise DiskFull(f"{folder / THREADS} cannot be written.")


def _database(settings: Settings, name: str = THREADS) -> str:
    if settings.database_url:
        return settings.database_url.get_secret_value()
    folder = settings.data_dir.expanduser()
    try:
        make_private(folder)
    except OSError as error:
        raise DiskFull(f"{folder} cannot be created: {error.strerror}.") from error
    touch_private(folder / name)
    return f"sqlite+aiosqlite:///{folder / name}"
