"""Counts and logs what the pipeline does, from its events."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from citewell.domain import Answer, Hit, Question
from citewell.errors import CitewellError
from citewell.events import Done, Event, Retrieved
from citewell.ports import Answerer
from citewell.telemetry import ANSWERS, CACHE_AGE, FAILURES, FLAGGED, STAGE_SECONDS

LOG = logging.getLogger("citewell.answers")


class ObservedAnswerer:
    """Passes every event on, and notes what it says."""

    def __init__(self, inner: Answerer, *, words: bool = False) -> None:
        """Observe `inner`; with `words`, questions and answers are logged too."""
        self._inner = inner
        self._words = words

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question, saying what happens as it does."""
        hits: Sequence[Hit] = ()
        asked = {"question": question.text} if self._words else {}
        try:
            async with aclosing(self._inner.answer(question)) as events:
                async for event in events:
                    if isinstance(event, Retrieved):
                        hits = event.hits
                    if isinstance(event, Done):
                        _count(event.answer)
                        LOG.info("answered", extra=self._fields(event.answer, hits))
                    yield event
        except CitewellError as error:
            code = type(error).__name__
            FAILURES.labels(code).inc()
            LOG.warning("not answered: %s", error, extra={"code": code, **asked})
            raise
        except Exception:
            FAILURES.labels("Unexpected").inc()
            raise

    def _fields(self, answer: Answer, hits: Sequence[Hit]) -> dict[str, Any]:
        words = {"question": answer.question, "answer": answer.text} if self._words else {}
        return {
            "answer_id": answer.id,
            "thread_id": answer.thread_id,
            "book": answer.book,
            "revision": answer.revision,
            "model": answer.model,
            "status": answer.status,
            "state": answer.state,
            "confidence_level": answer.confidence.level,
            "chunks": [{"id": hit.chunk.id, "score": round(hit.similarity, 4)} for hit in hits],
            "timings": asdict(answer.timings),
            "cache_age": answer.cache_age,
            **words,
        }


def _count(answer: Answer) -> None:
    ANSWERS.labels(answer.book, answer.status, answer.confidence.level).inc()
    if answer.state == "flagged":
        FLAGGED.labels(answer.book).inc()
    if answer.cache_age is not None:
        CACHE_AGE.observe(answer.cache_age)
        return
    for stage, spent in asdict(answer.timings).items():
        STAGE_SECONDS.labels(stage.removesuffix("_ms")).observe(spent / 1000)
