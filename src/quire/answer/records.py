"""An answer as it is stored: exactly what the reader saw, and where it came from."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from quire.domain import Answer, Hit


def answer_record(answer: Answer) -> dict[str, Any]:
    """Give everything about an answer but its text, ready for JSON."""
    return {
        "standalone_question": answer.standalone_question,
        "headings": list(dict.fromkeys(citation.section for citation in answer.citations)),
        "status": answer.status,
        "book": answer.book,
        "revision": answer.revision,
        "model": answer.model,
        "confidence": asdict(answer.confidence),
        "claims": [asdict(claim) for claim in answer.claims],
        "withheld": [asdict(claim) for claim in answer.withheld],
        "unsupported": [claim.text for claim in answer.unsupported],
        "hits": [_hit(hit) for hit in answer.hits],
        "timings": asdict(answer.timings),
    }


def cited_in(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the ids of the passages that a stored answer cites."""
    claims = record.get("claims", ())
    ids = (citation["chunk_id"] for claim in claims for citation in claim["citations"])
    return tuple(dict.fromkeys(ids))


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "chunk_id": hit.chunk.id,
        "content_hash": hit.chunk.content_hash,
        "chapter": hit.chunk.chapter,
        "section": hit.chunk.section,
        "url": hit.chunk.url,
        "similarity": hit.similarity,
        "cosine": hit.cosine,
    }
