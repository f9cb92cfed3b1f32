"""Golden sets: questions with the expected content and sources of their answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from citewell.domain import Answer, Question
from citewell.errors import BadRequest
from citewell.events import Done
from citewell.ports import Answerer
from citewell.text.plain_text import plain
from evals.sets import numbered_lines

Kind = Literal["covered", "followup", "uncovered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenQuestion:
    """One question of a set."""

    id: str
    kind: Kind
    question: str
    pages: tuple[str, ...] = ()
    """Source files, one of which has to be cited."""
    must_contain: tuple[tuple[str, ...], ...] = ()
    """Groups of words; a correct answer contains one of each group."""
    history: tuple[str, ...] = ()
    """Earlier questions of the conversation."""


_QUESTION = TypeAdapter(GoldenQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenResult:
    """The result of one question."""

    question: GoldenQuestion
    answer: Answer
    right: bool
    reason: str
    """Why the answer is wrong; empty if it is correct."""


def read_golden(path: Path) -> list[GoldenQuestion]:
    """Read a set, one JSON object a line.

    Raises:
        BadRequest: the file cannot be read; the message names the line.
    """
    questions = []
    for number, line in numbered_lines(path):
        try:
            data = json.loads(line)
            questions.append(_QUESTION.validate_python(data | {"id": str(data["id"])}))
        except (ValueError, KeyError, TypeError) as error:
            reason = _reason(error)
            raise BadRequest(f"{path}, line {number} is not a golden question: {reason}") from error
    return questions


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"`{first['loc'][0]}`: {first['msg']}."
    return f"{error}."


async def run_golden(
    questions: Sequence[GoldenQuestion], answerer: Answerer, book: str | None
) -> list[GoldenResult]:
    """Ask every question in its own conversation."""
    results = []
    for question in questions:
        thread: str | None = None
        for text in (*question.history, question.question):
            answer = await _ask(answerer, Question(text=text, book=book, thread_id=thread))
            thread = answer.thread_id
        reason = judge_answer(question, answer)
        results.append(
            GoldenResult(question=question, answer=answer, right=not reason, reason=reason)
        )
    return results


async def _ask(answerer: Answerer, question: Question) -> Answer:
    async for event in answerer.answer(question):
        if isinstance(event, Done):
            return event.answer
    raise AssertionError("the pipeline ended without `Done`")


def judge_answer(question: GoldenQuestion, answer: Answer) -> str:
    """Return why an answer is wrong; empty if it is correct."""
    if question.kind == "uncovered":
        return "answered what the book does not cover" if answer.status == "answered" else ""
    if answer.status != "answered":
        return "refused"
    sources = {hit.chunk.id: hit.chunk.source_file for hit in answer.hits}
    cited = {sources[citation.chunk_id] for citation in answer.citations}
    if question.pages and not cited & set(question.pages):
        return f"cites {', '.join(sorted(cited))}"
    said = plain(answer.text).lower()
    missing = [
        group for group in question.must_contain if not any(w.lower() in said for w in group)
    ]
    return f"does not say {' / '.join(missing[0])}" if missing else ""
