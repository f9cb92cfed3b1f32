"""The two kinds of rows the models learn from, and how text is cut and kept for them."""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_spans

Label = Literal["supported", "contradicted", "unsupported", "not"]
"""`not`: contradicted or unsupported, and nobody said which."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question and a passage, and what is known of how they fit."""

    question: str
    heading: str
    sentences: tuple[str, ...]
    answers: bool | None
    marked: tuple[int, ...] | None
    """The sentences that are needed to answer; `None` if nobody marked them."""
    source: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Entailment:
    """A claim, the sentences that bear on it, and whether they say it."""

    claim: str
    heading: str
    evidence: tuple[str, ...]
    label: Label
    source: str
    weight: float = 1.0


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines, gzipped or not."""
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as lines
    ):
        yield from (json.loads(line) for line in lines if line.strip())


def save_rows(path: Path, rows: Iterable[Reading | Entailment]) -> None:
    """Write rows so that a broken-off write leaves nothing behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    making = path.with_suffix(".making")
    with gzip.open(making, "wt", encoding="utf-8", compresslevel=3) as out:
        out.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    making.replace(path)


def load_rows(path: Path) -> list[Reading | Entailment]:
    """Return stored rows; equal passages share their memory."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}

    def shared(texts: list[str]) -> tuple[str, ...]:
        whole = tuple(texts)
        return seen.setdefault(whole, whole)

    rows: list[Reading | Entailment] = []
    for row in read_lines(path):
        if "claim" in row:
            rows.append(Entailment(**{**row, "evidence": shared(row["evidence"])}))
        else:
            marked = None if row["marked"] is None else tuple(row["marked"])
            rows.append(Reading(**{**row, "sentences": shared(row["sentences"]), "marked": marked}))
    return rows


def plain(text: str) -> str:
    """Return a sentence, an item or a block of code as the models see it, on one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~"))]
    shown = "\n".join(lines)
    return " ".join((shown if "```" in text else strip_inline_markup(shown)).split())


def cut(text: str) -> list[tuple[int, str]]:
    """Return the sentences of a text with the offsets at which they begin."""
    found = [(span.start, plain(span.of(text))) for span in split_spans(text)]
    return [(start, said) for start, said in found if said]


def sentences_of(text: str) -> tuple[str, ...]:
    """Return the sentences of a text as the models see them."""
    return tuple(said for _, said in cut(text))


def sentence_at(pieces: list[tuple[int, str]], offset: int) -> int:
    """Return which sentence an offset lies in."""
    return max(sum(start <= offset for start, _ in pieces) - 1, 0)
