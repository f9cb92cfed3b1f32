"""The whole service on stand-ins: real index, real store, real pipeline, no weights."""

from dataclasses import replace
from pathlib import Path

from citewell.answer.models import ModelChain, ModelFactory, build_model_chain, single_model_chain
from citewell.answer.pipeline import Pipeline
from citewell.answer.replay import ReceiptService
from citewell.options import DEFAULT_WORKFLOWS, AnswerOptions, LlmOptions, WorkflowOptions
from citewell.ports import Judge
from citewell.retrieve.calibration import Calibration, LogisticModel
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import Searcher
from citewell.settings import Settings
from citewell.verify.judge import LexicalJudge
from citewell.wiring import (
    Services,
    build_book_router,
    build_library,
    build_spending,
    build_threads,
    build_workflows,
)
from tests.servers.doubles import HashEmbedder, WordReranker

PLAIN_CALIBRATION = Calibration(
    answerability=LogisticModel(1.0, {"reader": 8.0}),
    relevance=LogisticModel(1.5, {"words": 3.0}),
)
"""Calls a question answered when the reader likes a sentence, and all passages relevant: those with
more of its words, more so."""


def build_services(  # noqa: PLR0913 - one for each part that a test may replace
    data_dir: Path,
    *,
    embedder: HashEmbedder | None = None,
    model: ModelFactory | ModelChain | str = "embedded",
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
        llm=llm or LlmOptions(check_claims=False),
        workflows=workflows,
    )
    embedder = embedder or HashEmbedder()
    library = build_library(settings, embedder.id)
    evidence = SentenceReranker(WordReranker())
    searcher = Searcher(embedder, evidence, PLAIN_CALIBRATION, settings.search)
    threads = build_threads(settings)
    judge = judge or LexicalJudge()
    spending = build_spending(settings)

    def writers(name: str | None) -> ModelChain:
        if name or isinstance(model, str):
            return build_model_chain(name or str(model), evidence, settings.llm, spending)
        if isinstance(model, ModelChain):
            return model
        return single_model_chain("scripted", model, settings.llm)

    chosen: list[ModelChain] = []

    def answering(name: str | None, answer: AnswerOptions) -> Pipeline:
        chosen.append(writers(name) if name or not chosen else chosen[0])
        return Pipeline(library, searcher, judge, threads, chosen[-1], answer)

    pipeline = build_book_router(settings, library, answering)
    receipts = ReceiptService(library, searcher, judge, threads)
    named = build_workflows(settings, threads, answering)
    services = Services(settings, embedder, library, searcher, threads, pipeline, receipts, named)
    return replace(services, model_chains=tuple(chosen))
