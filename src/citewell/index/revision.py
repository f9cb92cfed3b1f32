"""The layout of a book's revisions on disk, and the files of a revision.

    books/<book>/current                 the name of the current revision
    books/<book>/revisions/<revision>/   manifest.json, report.json, chunks.jsonl, contents.json,
                                         terms.json, vocabulary.json, shard/, and seal.json with the
                                         checksums of the last five
    books/<book>/embeddings.db           every vector, so that an index can always be rebuilt

A revision is complete before `current` names it and immutable afterwards.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from citewell.domain import Chunk, Contents, Excerpt, Heading
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary

INDEX_FORMAT = 3
"""The version of the format; revisions in an older format are rebuilt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The metadata of a revision: its book, source and embedder."""

    book: str
    title: str
    kind: str
    source: str
    revision: str
    fingerprint: str
    embedder: str
    width: int
    chunks: int
    pages: int
    tokens: int
    average_length: float
    created_at: str
    format: int = INDEX_FORMAT


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest.json`."""
    (folder / "manifest.json").write_text(json.dumps(asdict(manifest), indent=1), "utf-8")


def read_manifest(folder: Path) -> Manifest | None:
    """Return a revision's manifest; `None` if it is missing, damaged or of another format."""
    try:
        return parse_manifest((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None


def parse_manifest(text: str) -> Manifest | None:
    """Parse a manifest; return `None` if it is damaged or of another format."""
    try:
        manifest = Manifest(**json.loads(text))
    except (ValueError, TypeError):
        return None
    return manifest if manifest.format == INDEX_FORMAT else None


def current_revision(book: Path) -> Path | None:
    """Return the folder of a book's current revision."""
    try:
        name = (book / "current").read_text("utf-8").strip()
    except OSError:
        return None
    folder = book / "revisions" / name
    return folder if name and folder.is_dir() else None


def set_current(book: Path, revision: str) -> None:
    """Atomically make `revision` the current one."""
    temporary = book / "current.new"
    with temporary.open("w", encoding="utf-8") as file:
        file.write(revision)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(book / "current")


def chunk_to_json(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as stored in the index and in `chunks.jsonl`."""
    data = asdict(chunk)
    del data["id"]
    return data | {
        "path": list(chunk.path),
        "captions": list(chunk.captions),
        "chunk_index": chunk.sequence,
        "processed_at": chunk.processed_at.isoformat(),
    }


def chunk_from_json(chunk_id: str, data: Mapping[str, Any]) -> Chunk:
    """Return a chunk from its stored form."""
    fields = {k: v for k, v in data.items() if k not in ("id", "chunk_index")}
    fields["path"] = tuple(fields["path"])
    fields["captions"] = tuple(fields.get("captions", ()))
    fields["processed_at"] = datetime.fromisoformat(fields["processed_at"])
    return Chunk(id=chunk_id, **fields)


def read_chunks(folder: Path) -> Iterator[Chunk]:
    """Yield the chunks of a revision in book order, up to the first damaged line."""
    try:
        with (folder / "chunks.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                data = json.loads(line)
                yield chunk_from_json(data["id"], data)
    except (OSError, ValueError, KeyError, TypeError):
        return


def write_statistics(folder: Path, statistics: TermStatistics) -> None:
    """Write `terms.json`."""
    data = {"documents": statistics.documents, "frequency": dict(statistics.frequency)}
    (folder / "terms.json").write_text(json.dumps(data), "utf-8")


def parse_statistics(text: str) -> TermStatistics:
    """Parse `terms.json`."""
    data = json.loads(text)
    return TermStatistics(data["documents"], data["frequency"])


def write_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Write `vocabulary.json`."""
    text = json.dumps(asdict(vocabulary), ensure_ascii=False)
    (folder / "vocabulary.json").write_text(text, "utf-8")


def parse_vocabulary(text: str) -> Vocabulary:
    """Parse `vocabulary.json`."""
    return Vocabulary(**json.loads(text))


def write_contents(folder: Path, contents: Contents) -> None:
    """Write `contents.json`."""
    text = json.dumps(asdict(contents), ensure_ascii=False)
    (folder / "contents.json").write_text(text, "utf-8")


def parse_contents(text: str) -> Contents:
    """Parse `contents.json`."""
    data = json.loads(text)
    return Contents(
        headings=tuple(_heading(item) for item in data["headings"]),
        figures=tuple(Excerpt(**item) for item in data["figures"]),
        definitions=tuple(Excerpt(**item) for item in data["definitions"]),
    )


def _heading(data: dict[str, Any]) -> Heading:
    children = tuple(_heading(child) for child in data["children"])
    return Heading(**(data | {"chunks": tuple(data["chunks"]), "children": children}))
