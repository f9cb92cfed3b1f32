"""Evaluation of retrieval on labelled sets, with the same ingest, index and search as the service.

A set is a folder with `corpus.jsonl` (`id`, `title`, `section`, `text`, `page`), `queries.jsonl`
(`id`, `text`, `answerable`, `gold_ids`, `gold_pages`, `history`) and, if it is known, `META.json`.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citewell.domain import Filters, Hit, Question
from citewell.errors import BadRequest
from citewell.ports import Index
from citewell.questions.analyze import analyze_question
from citewell.questions.followup import ConversationContext, Exchange
from citewell.retrieve.followup_search import search_with_history
from citewell.retrieve.search import Searcher, SearchResult
from evals.metrics import SEED
from evals.references import floors_of
from evals.sets import numbered_lines
from evals.timing import Stopwatch, TimedIndex

TOP_K = 10
HISTORY = 3
"""Exchanges that a follow-up can refer to, as in the service."""
LEAST = Question(text="").min_answerability
CORPUS = "corpus.jsonl"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question and its answer."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with the passages and pages that answer it."""

    id: str
    text: str
    answerable: bool = True
    gold: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A labelled set."""

    name: str
    queries: tuple[Query, ...]
    page_of: dict[str, str]
    """The page of each passage."""
    meta: dict[str, Any] = field(default_factory=dict)
    floors: dict[str, dict[str, float]] = field(default_factory=dict)
    """The baselines by metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The search result of one question."""

    query: Query
    standalone: str
    ids: tuple[str, ...]
    """Distinct passages, best first."""
    similarities: tuple[float, ...]
    answerability: float
    stages: Mapping[str, float]
    """Seconds by stage."""


def read_set(folder: Path, queries: str = "queries.jsonl", limit: int | None = None) -> QuestionSet:
    """Read a set, or a reproducible random sample of its questions.

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
                history=turns_of(row.get("history") or ()),
            )
        )
    if limit and limit < len(found):
        chosen = random.Random(SEED).sample(range(len(found)), limit)
        found = [found[place] for place in sorted(chosen)]
    meta = folder / "META.json"
    known = json.loads(meta.read_text("utf-8")) if meta.is_file() else {}
    name = folder.resolve().name
    return QuestionSet(name, tuple(found), page_of, known, floors_of(folder))


def turns_of(messages: Sequence[Mapping[str, str]]) -> tuple[Turn, ...]:
    """Pair questions with their answers."""
    turns: list[Turn] = []
    for message in messages:
        if message["role"] == "user":
            turns.append(Turn(message["text"]))
        elif turns:
            turns[-1] = Turn(turns[-1].question, message["text"])
    return tuple(turns)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines.

    Raises:
        BadRequest: the file is missing or a line is no JSON object with an `id`.
    """
    rows = []
    for number, line in numbered_lines(path):
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
    asked: QuestionSet,
    searcher: Searcher,
    index: Index,
    watch: Stopwatch | None = None,
    progress: Progress = lambda *_: None,
) -> list[Found]:
    """Search for every question; rewrite follow-ups with their conversation.

    `watch` is the one by which the ports of `searcher` are timed.
    """
    watch = watch or Stopwatch()
    asking = _Asking(searcher, TimedIndex(index, watch))
    found = []
    for number, query in enumerate(asked.queries, start=1):
        history = await asking.history_of(query.history)
        watch.restart()
        standalone, result = await asking.ask(query.text, history)
        stages = watch.read()
        best: dict[str, float] = {}
        for hit in result.hits:
            identity = passage_id(hit)
            best[identity] = max(hit.similarity, best.get(identity, 0.0))
        found.append(
            Found(
                query=query,
                standalone=standalone,
                ids=tuple(best),
                similarities=tuple(best.values()),
                answerability=result.answerability,
                stages=stages,
            )
        )
        progress(number, len(asked.queries))
    return found


class _Asking:
    """Searches as the service does, and caches the topics of conversations."""

    def __init__(self, searcher: Searcher, index: Index) -> None:
        self._searcher = searcher
        self._index = index
        self._known: dict[tuple[Turn, ...], Exchange] = {}

    async def ask(self, text: str, history: Sequence[Exchange]) -> tuple[str, SearchResult]:
        asked = analyze_question(text, self._index)
        if asked.small_talk_kind or asked.foreign_language:
            return text, SearchResult((), 0.0)  # the service searches for neither
        found = await search_with_history(
            self._search,
            asked.text,
            history,
            vocabulary=self._index.vocabulary,
            min_answerability=LEAST,
        )
        return found.standalone_question, found.result

    async def history_of(self, turns: Sequence[Turn]) -> list[Exchange]:
        """Return earlier turns as the service would store them.

        A set says what was answered, but not from where: the best passage that the search finds is
        taken to be what was cited.
        """
        history: list[Exchange] = []
        for place, turn in enumerate(turns, start=1):
            said = tuple(turns[:place])
            if said not in self._known:
                standalone, found = await self.ask(turn.question, history[-HISTORY:])
                cited = found.hits[:1]
                self._known[said] = Exchange(
                    standalone,
                    headings=tuple(hit.chunk.section for hit in cited),
                    cited_chunk_ids=tuple(hit.chunk.id for hit in cited),
                    answer=turn.answer,
                )
            history.append(self._known[said])
        return history[-HISTORY:]

    async def _search(self, question: str, leaning: ConversationContext) -> SearchResult:
        return await self._searcher.search(
            self._index, question, filters=Filters(), top_k=TOP_K, conversation_context=leaning
        )


def passage_id(hit: Hit) -> str:
    """Return the set's id of a passage."""
    return hit.chunk.source_file.removeprefix(f"{CORPUS}/")
