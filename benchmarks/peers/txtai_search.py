"""txtai by its RAG quick start: sections, an embeddings database with content, a search.

The quick start reads files by Docling; pages that are text already do without.
"""

from pathlib import Path

import granite
from protocol import TOP_K, Passage, Search, measure
from txtai import Embeddings
from txtai.pipeline import Segmentation


def ingest(book: Path, _: Path) -> Search:
    """Ingest the pages and return the search."""
    segmentation = Segmentation(sections=True)
    chunks = [
        (f"{page.name}#{number}", chunk)
        for page in sorted(book.glob("*.md"))
        for number, chunk in enumerate(segmentation(page.read_text("utf-8")))
    ]
    embeddings = Embeddings(method="external", transform=granite.embed, content=True)
    embeddings.index(chunks)

    def search(question: str) -> list[Passage]:
        found = embeddings.search(question, TOP_K)
        return [(row["id"].partition("#")[0], row["text"]) for row in found]

    return search


if __name__ == "__main__":
    measure(ingest)
