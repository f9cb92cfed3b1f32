"""Haystack by its preprocessing tutorial: convert, clean, split into 150 words, embed, write."""

from dataclasses import replace
from pathlib import Path

import granite
from haystack import Document, Pipeline, component
from haystack.components.converters import MarkdownToDocument
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from protocol import TOP_K, Passage, Search, measure


@component
class GraniteDocumentEmbedder:
    """The shared embedder in Haystack's interface for documents."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Embed documents."""
        vectors = granite.embed([document.content or "" for document in documents]).tolist()
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}


@component
class GraniteTextEmbedder:
    """The shared embedder in Haystack's interface for questions."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Embed a question."""
        return {"embedding": granite.embed([text])[0].tolist()}


def ingest(book: Path, _: Path) -> Search:
    """Ingest the pages and return the search."""
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    indexing = Pipeline()
    indexing.add_component("converter", MarkdownToDocument(progress_bar=False))
    indexing.add_component("cleaner", DocumentCleaner())
    indexing.add_component(
        "splitter", DocumentSplitter(split_by="word", split_length=150, split_overlap=50)
    )
    indexing.add_component("embedder", GraniteDocumentEmbedder())
    indexing.add_component("writer", DocumentWriter(store))
    indexing.connect("converter", "cleaner")
    indexing.connect("cleaner", "splitter")
    indexing.connect("splitter", "embedder")
    indexing.connect("embedder", "writer")
    indexing.run({"converter": {"sources": sorted(book.glob("*.md"))}})

    querying = Pipeline()
    querying.add_component("embedder", GraniteTextEmbedder())
    querying.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=TOP_K))
    querying.connect("embedder.embedding", "retriever.query_embedding")

    def search(question: str) -> list[Passage]:
        found = querying.run({"embedder": {"text": question}})["retriever"]["documents"]
        return [(document.meta["file_path"], document.content) for document in found]

    return search


if __name__ == "__main__":
    measure(ingest)
