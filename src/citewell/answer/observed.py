"""Metrics and logs of answers, from the events of the pipeline."""

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
    """Records metrics and logs for another answerer."""

    def __init__(self, inner: Answerer, *, log_text: bool = False) -> None:
        """Wrap `inner`; with `log_text`, the log includes questions and answers."""
        self._inner = inner
        self._log_text = log_text

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question as a stream of events."""
        hits: Sequence[Hit] = ()
        text = {"question": question.text} if self._log_text else {}
        try:
            async with aclosing(self._inner.answer(question)) as events:
                async for event in events:
                    if isinstance(event, Retrieved):
                        hits = event.hits
                    if isinstance(event, Done):
                        _record_metrics(event.answer)
                        LOG.info("answered", extra=self._fields(event.answer, hits))
                    yield event
        except CitewellError as error:
            code = type(error).__name__
            FAILURES.labels(code).inc()
            LOG.warning("not answered: %s", error, extra={"code": code, **text})
            raise
        except Exception:
            FAILURES.labels("Unexpected").inc()
            raise

    def _fields(self, answer: Answer, hits: Sequence[Hit]) -> dict[str, Any]:
        text = {"question": answer.question, "answer": answer.text} if self._log_text else {}
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
            **text,
        }


def _record_metrics(answer: Answer) -> None:
    ANSWERS.labels(answer.book, answer.status, answer.confidence.level).inc()
    if answer.state == "flagged":
        FLAGGED.labels(answer.book).inc()
    if answer.cache_age is not None:
        CACHE_AGE.observe(answer.cache_age)
        return
    for stage, milliseconds in asdict(answer.timings).items():
        STAGE_SECONDS.labels(stage.removesuffix("_ms")).observe(milliseconds / 1000)
