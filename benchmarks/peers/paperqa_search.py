"""The retrieval of PaperQA, by its guide to adding documents by hand; no language model is called.

Answers of PaperQA are made by a model that reads and scores what this search finds.
"""

import asyncio
from pathlib import Path

import granite
from lmi import EmbeddingModel
from paperqa import Docs, Settings
from protocol import TOP_K, Passage, Search, measure


class Granite(EmbeddingModel):
    """The shared embedder in PaperQA's interface."""

    name: str = "granite"
    ndim: int | None = 384

    async def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed passages and questions."""
        return granite.embed(texts).tolist()


def ingest(book: Path, _: Path) -> Search:
    """Ingest the pages and return the search."""
    loop = asyncio.Runner()
    settings = Settings()
    settings.parsing.use_doc_details = False
    embedder, docs = Granite(), Docs()
    for page in sorted(book.glob("*.md")):
        named = {"citation": page.name, "docname": page.name}
        loop.run(docs.aadd(page, **named, settings=settings, embedding_model=embedder))

    def search(question: str) -> list[Passage]:
        found = loop.run(
            docs.retrieve_texts(question, TOP_K, settings=settings, embedding_model=embedder)
        )
        return [(text.doc.docname, text.text) for text in found]

    return search


if __name__ == "__main__":
    measure(ingest)
