"""Measure search on a labelled set, through the same reader, index and search as the service.

A set is a folder with `corpus.jsonl` (`id`, `title`, `section`, `text`, `page`), `queries.jsonl`
(`id`, `text`, `answerable`, `gold_ids`, `gold_pages`, `history`) and, if it is known, `META.json`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Any

from quire.domain import Filters, Hit
from quire.errors import BadRequest
from quire.evals import metrics
from quire.ports import Index
from quire.retrieve.rewrite import Exchange, standalone_question
from quire.retrieve.search import Searcher

TOP_K = 10
CORPUS = "corpus.jsonl"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with the passages and pages that answer it."""

    id: str
    text: str
    answerable: bool = True
    gold: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A labelled set."""

    name: str
    queries: tuple[Query, ...]
    page_of: dict[str, str]
    """The page of each passage."""
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search gave for one question."""

    query: Query
    standalone: str
    ids: tuple[str, ...]
    """Passages, each once, best first."""
    similarities: tuple[float, ...]
    answerability: float
    seconds: float


def read_set(folder: Path, queries: str = "queries.jsonl") -> QuestionSet:
    """Read a set.

    Raises:
        BadRequest: a file is missing or a line is not what it should be.
    """
    page_of = {row["id"]: row.get("page") or row["id"] for row in rows_of(folder / CORPUS)}
    found = []
    for row in rows_of(folder / queries):
        gold = frozenset(row.get("gold_ids") or ())
        pages = frozenset(row.get("gold_pages") or (page_of[g] for g in gold if g in page_of))
        found.append(
            Query(
                id=str(row["id"]),
                text=row["text"],
                answerable=bool(row.get("answerable", True)),
                gold=gold,
                pages=pages,
                history=tuple(
                    turn["text"] for turn in row.get("history") or () if turn["role"] == "user"
                ),
            )
        )
    meta = folder / "META.json"
    known = json.loads(meta.read_text("utf-8")) if meta.is_file() else {}
    return QuestionSet(folder.resolve().name, tuple(found), page_of, known)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines.

    Raises:
        BadRequest: the file is missing or a line is no JSON object with an `id`.
    """
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} cannot be read: {error}.") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            row["id"], row["text"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"{path}, line {number}: no JSON with `id` and `text`.") from error
        rows.append(row)
    return rows


def write_book(folder: Path, out: Path) -> Path:
    """Write the corpus as a book of JSON lines whose pages are the passages of the set."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / CORPUS
    with path.open("w", encoding="utf-8") as book:
        for row in rows_of(folder / CORPUS):
            kept = {name: row.get(name) or "" for name in ("title", "section", "text", "url")}
            book.write(json.dumps({"page": row["id"], **kept}, ensure_ascii=False) + "\n")
    return path


async def run_set(
    asked: QuestionSet, searcher: Searcher, index: Index, progress: Progress = lambda *_: None
) -> list[Found]:
    """Search for every question, follow-ups as part of their conversation."""
    found = []
    for number, query in enumerate(asked.queries, start=1):
        begun = perf_counter()
        standalone = query.text
        earlier: list[Exchange] = []
        for text in query.history:
            earlier.append(Exchange(standalone_question(text, earlier)))
        standalone = standalone_question(query.text, earlier)
        result = await searcher.search(index, standalone, filters=Filters(), top_k=TOP_K)
        spent = perf_counter() - begun
        ids = list(dict.fromkeys(passage_id(hit) for hit in result.hits))
        best = {i: max(h.similarity for h in result.hits if passage_id(h) == i) for i in ids}
        found.append(
            Found(
                query=query,
                standalone=standalone,
                ids=tuple(ids),
                similarities=tuple(best[i] for i in ids),
                answerability=result.answerability,
                seconds=spent,
            )
        )
        progress(number, len(asked.queries))
    return found


def passage_id(hit: Hit) -> str:
    """Give the set's own name of a passage."""
    return hit.chunk.source_file.removeprefix(f"{CORPUS}/")


def figures(asked: QuestionSet, results: Sequence[Found]) -> dict[str, Any]:
    """Give every figure of a run."""
    covered = [r for r in results if r.query.answerable and r.query.gold]
    pages = [list(dict.fromkeys(asked.page_of.get(i, i) for i in r.ids)) for r in covered]
    golds = [r.query.gold for r in covered]

    def mean(values: Sequence[float]) -> float:
        return round(fmean(values), 4) if values else 0.0

    def by_page(k: int) -> float:
        return mean(
            [metrics.hit_at(p, r.query.pages, k) for p, r in zip(pages, covered, strict=True)]
        )

    said = [r.answerability for r in results]
    # An answer is right if the book holds one and the search has found it.
    right = [r.query.answerable and metrics.hit_at(r.ids, r.query.gold, 5) > 0 for r in results]
    refusal = metrics.auroc(said, [r.query.answerable for r in results])
    shown = [
        (s, i in r.query.gold)
        for r in results
        for i, s in list(zip(r.ids, r.similarities, strict=True))[:5]
    ]
    return {
        "questions": len(results),
        "answerable": sum(r.query.answerable for r in results),
        "page@1": by_page(1),
        "page@5": by_page(5),
        "hit@1": mean([metrics.hit_at(r.ids, g, 1) for r, g in zip(covered, golds, strict=True)]),
        "hit@5": mean([metrics.hit_at(r.ids, g, 5) for r, g in zip(covered, golds, strict=True)]),
        "mrr@10": mean(
            [metrics.reciprocal_rank(r.ids, g) for r, g in zip(covered, golds, strict=True)]
        ),
        "ndcg@10": mean([metrics.ndcg_at(r.ids, g) for r, g in zip(covered, golds, strict=True)]),
        "recall@10": mean(
            [metrics.recall_at(r.ids, g, 10) for r, g in zip(covered, golds, strict=True)]
        ),
        "refusal_auroc": None if refusal is None else round(refusal, 4),
        "answered_at_5%_wrong": round(metrics.answered_at_risk(said, right), 4),
        "ece_confidence": round(metrics.calibration_error(said, right), 4),
        "ece_similarity": round(
            metrics.calibration_error([s for s, _ in shown], [g for _, g in shown]), 4
        ),
        "reliability": [
            (round(p, 3), round(share, 3), n) for p, share, n in metrics.reliability(said, right)
        ],
        "ms_p50": round(1000 * median(r.seconds for r in results), 1),
        "ms_p95": round(1000 * sorted(r.seconds for r in results)[int(0.95 * len(results))], 1),
    }
