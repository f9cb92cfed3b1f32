"""Evaluation of the predicted correctness, through the whole pipeline.

An answer counts as right if the passage it cites first stands on a page that the set names. Every
sentence of it was proven before it was shown, so a right page makes it right and supported.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citewell.domain import Answer, Citation, Question
from citewell.events import Done
from citewell.ports import Answerer
from evals import metrics
from evals.metrics import interval
from evals.report import begin_report, markdown_table, pyplot_or_none, write_rows
from evals.retrieval import CORPUS, Progress, Query, QuestionSet


@dataclass(frozen=True, slots=True)
class Replied:
    """A question of a set and the answer of the service."""

    query: Query
    answer: Answer
    right: bool

    @property
    def said(self) -> float | None:
        """The predicted correctness; `None` if the question was refused."""
        answered = self.answer.status == "answered"
        return self.answer.confidence.correctness if answered else None


async def ask_set(
    asked: QuestionSet, answerer: Answerer, book: str, progress: Progress = lambda *_: None
) -> list[Replied]:
    """Ask every question; follow-ups are skipped, because their conversations are missing."""
    replies = []
    for number, query in enumerate(asked.queries, start=1):
        if not query.history:
            answer = await _answer(answerer, Question(text=query.text, book=book))
            replies.append(Replied(query, answer, _is_right(asked, query, answer)))
        progress(number, len(asked.queries))
    return replies


async def _answer(answerer: Answerer, question: Question) -> Answer:
    done = [event.answer async for event in answerer.answer(question) if isinstance(event, Done)]
    return done[0]


def _is_right(asked: QuestionSet, query: Query, answer: Answer) -> bool:
    sources = {hit.chunk.id: hit.chunk.source_file for hit in answer.hits}
    cited = [sources[one.chunk_id] for one in answer.citations if one.chunk_id in sources][:1]
    pages = {asked.page_of.get(source.removeprefix(f"{CORPUS}/"), "") for source in cited}
    return query.answerable and bool(pages & query.pages)


def count_proven(answers: Sequence[Answer]) -> tuple[int, int]:
    """Count the shown statements, and those with a verbatim quote."""
    proven = []
    for answer in answers:
        texts = {hit.chunk.id: hit.chunk.text for hit in answer.hits}
        proven += [
            claim.verdict == "supported" and all(_is_exact(one, texts) for one in claim.citations)
            for claim in answer.claims
            if claim.verdict != "not_a_claim"
        ]
    return len(proven), sum(proven)


def _is_exact(citation: Citation, texts: Mapping[str, str]) -> bool:
    # A heading is quoted from the contents, which stand beside the text.
    text = texts.get(citation.chunk_id, "")
    return citation.of != "text" or text[citation.start : citation.end] == citation.quote


def figures(replies: Sequence[Replied]) -> dict[str, Any]:
    """Return the accuracy of the answers and the calibration of the predicted correctness."""
    shown, proven = count_proven([one.answer for one in replies])
    pairs = [(one.said, one.right) for one in replies if one.said is not None]
    said, right = [p for p, _ in pairs], [was for _, was in pairs]
    searched = [r.answer.confidence.answerability for r in replies if r.said is not None]

    def error(places: Sequence[int]) -> float:
        return metrics.calibration_error([said[p] for p in places], [right[p] for p in places])

    auroc = metrics.auroc(said, right)
    between = interval(len(said), error)
    return {
        "questions": len(replies),
        "answered": len(pairs),
        "right": sum(right),
        "statements": shown,
        "statements_proven": proven,
        "ece": round(error(range(len(said))), 4),
        "ece_95": [round(value, 4) for value in between] if between else None,
        "ece_of_answerability": round(metrics.calibration_error(searched, right), 4),
        "auroc": None if auroc is None else round(auroc, 4),
        "answered_at_5%_wrong": round(metrics.answered_at_risk(said, right), 4),
        "reliability": [
            (round(p, 3), round(share, 3), n) for p, share, n in metrics.reliability(said, right)
        ],
    }


def write_confidence_report(
    out: Path, asked: QuestionSet, replies: Sequence[Replied], seen: dict[str, Any]
) -> Path:
    """Write the report of one set and return the path of its Markdown file."""
    stem, body = begin_report(out, f"confidence-{asked.name}", {"figures": seen})
    write_rows(stem, [_row(one) for one in replies])
    plot = _draw(stem.with_name(f"{stem.name}.svg"), asked.name, seen)
    lines = [
        f"# {asked.name}: is an answer as often right as it is said to be?",
        "",
        f"Citewell {body['citewell']}, {body['measured_at']}. Of {seen['questions']} questions "
        f"{seen['answered']} were answered, {seen['right']} of them from a right page. Expected "
        f"calibration error {seen['ece']}, 95 % by the bootstrap {json.dumps(seen['ece_95'])}; of "
        f"the answerability alone {seen['ece_of_answerability']}. AUROC {seen['auroc']}.",
        "",
        *markdown_table(("said (mean)", "right", "answers"), seen["reliability"]),
    ]
    lines += [f"![Reliability]({plot.name})", ""] if plot else []
    page = stem.with_name(f"{stem.name}.md")
    page.write_text("\n".join(lines), "utf-8")
    return page


def _row(one: Replied) -> dict[str, Any]:
    return {
        "id": one.query.id,
        "status": one.answer.status,
        "said": one.said,
        "answerability": round(one.answer.confidence.answerability, 4),
        "right": one.right,
    }


def _draw(path: Path, name: str, seen: dict[str, Any]) -> Path | None:
    pyplot = pyplot_or_none()
    if pyplot is None:
        return None
    figure, axes = pyplot.subplots(figsize=(4.5, 4))
    axes.plot([0, 1], [0, 1], ":", color="grey")
    axes.plot([p for p, *_ in seen["reliability"]], [s for _, s, _ in seen["reliability"]], "o-")
    axes.set(xlabel="said", ylabel="right", title=f"{name}: confidence")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return path
