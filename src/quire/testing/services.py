"""The whole service on stand-ins: real index, real store, real pipeline, no weights."""

from pathlib import Path

from quire.answer.models import ModelFor, choose_model
from quire.answer.options import AnswerOptions
from quire.answer.pipeline import Pipeline
from quire.answer.receipts import Receipts
from quire.answer.workflows import DEFAULT_WORKFLOWS, WorkflowOptions
from quire.compose import (
    Services,
    build_by_book,
    build_library,
    build_threads,
    build_workflows,
)
from quire.ports import Judge
from quire.retrieve.calibrate import Calibration, Logistic
from quire.retrieve.evidence import EvidenceReader
from quire.retrieve.search import Searcher
from quire.settings import Settings
from quire.testing.doubles import HashEmbedder, WordReader
from quire.verify.judges import LexicalJudge

PLAIN_CALIBRATION = Calibration(answerability=Logistic(1.0, {"reader": 8.0}))
"""Calls passages relevant when the reader likes their sentences."""


def build_services(
    data_dir: Path,
    *,
    embedder: HashEmbedder | None = None,
    model: ModelFor | None = None,
    judge: Judge | None = None,
    options: AnswerOptions | None = None,
    workflows: tuple[WorkflowOptions, ...] = DEFAULT_WORKFLOWS,
) -> Services:
    """Wire a service over the books that a `HashEmbedder` ingested into `data_dir`.

    The other settings are read as always, so that the books may be on a server.
    """
    settings = Settings(data_dir=data_dir, answer=options or AnswerOptions(), workflows=workflows)
    embedder = embedder or HashEmbedder()
    library = build_library(settings, embedder.id)
    evidence = EvidenceReader(WordReader())
    searcher = Searcher(embedder, evidence, PLAIN_CALIBRATION, settings.search)
    threads = build_threads(settings)
    chosen = ("scripted", model) if model else ("embedded", choose_model("embedded", evidence))
    judge = judge or LexicalJudge()

    def answering(name: str | None, answer: AnswerOptions) -> Pipeline:
        used = (name, choose_model(name, evidence)) if name else chosen
        return Pipeline(library, searcher, judge, threads, used, answer)

    pipeline = build_by_book(settings, library, answering)
    receipts = Receipts(library, searcher, judge, threads)
    named = build_workflows(settings, threads, answering)
    return Services(settings, embedder, library, searcher, threads, pipeline, receipts, named)
