"""The whole service on stand-ins: real index, real store, real pipeline, no weights."""

from dataclasses import replace
from pathlib import Path

from quire.answer.models import ModelFor, Writers, choose_writers, sole_writer
from quire.answer.options import AnswerOptions, LlmOptions
from quire.answer.pipeline import Pipeline
from quire.answer.receipts import Receipts
from quire.answer.workflows import DEFAULT_WORKFLOWS, WorkflowOptions
from quire.compose import (
    Services,
    build_by_book,
    build_library,
    build_spending,
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

PLAIN_CALIBRATION = Calibration(
    answerability=Logistic(1.0, {"reader": 8.0}),
    relevance=Logistic(1.5, {"words": 3.0}),
)
"""Calls a question answered when the reader likes a sentence, and all passages relevant: those with
more of its words, more so."""


def build_services(  # noqa: PLR0913 - one for each part that a test may replace
    data_dir: Path,
    *,
    embedder: HashEmbedder | None = None,
    model: ModelFor | Writers | str = "embedded",
    judge: Judge | None = None,
    options: AnswerOptions | None = None,
    llm: LlmOptions | None = None,
    workflows: tuple[WorkflowOptions, ...] = DEFAULT_WORKFLOWS,
) -> Services:
    """Wire a service over the books that a `HashEmbedder` ingested into `data_dir`.

    The other settings are read as always, so that the books may be on a server.
    """
    settings = Settings(
        data_dir=data_dir,
        answer=options or AnswerOptions(),
        llm=llm or LlmOptions(),
        workflows=workflows,
    )
    embedder = embedder or HashEmbedder()
    library = build_library(settings, embedder.id)
    evidence = EvidenceReader(WordReader())
    searcher = Searcher(embedder, evidence, PLAIN_CALIBRATION, settings.search)
    threads = build_threads(settings)
    judge = judge or LexicalJudge()
    spending = build_spending(settings)

    def writers(name: str | None) -> Writers:
        if name or isinstance(model, str):
            return choose_writers(name or str(model), evidence, settings.llm, spending)
        if isinstance(model, Writers):
            return model
        return sole_writer("scripted", model, settings.llm)

    chosen: list[Writers] = []

    def answering(name: str | None, answer: AnswerOptions) -> Pipeline:
        chosen.append(writers(name) if name or not chosen else chosen[0])
        return Pipeline(library, searcher, judge, threads, chosen[-1], answer)

    pipeline = build_by_book(settings, library, answering)
    receipts = Receipts(library, searcher, judge, threads)
    named = build_workflows(settings, threads, answering)
    services = Services(settings, embedder, library, searcher, threads, pipeline, receipts, named)
    return replace(services, writers=tuple(chosen))
