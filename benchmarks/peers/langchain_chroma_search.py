"""LangChain with Chroma by its semantic search tutorial: 1,000 characters, 200 of them shared."""

from pathlib import Path

import granite
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter
from protocol import TOP_K, Passage, Search, measure


class Granite(Embeddings):
    """The shared embedder in LangChain's interface."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed passages."""
        return granite.embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """Embed a question."""
        return granite.embed([text])[0].tolist()


def ingest(book: Path, store: Path) -> Search:
    """Ingest the pages and return the search."""
    documents = [
        Document(page_content=page.read_text("utf-8"), metadata={"source": page.name})
        for page in sorted(book.glob("*.md"))
    ]
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=1000, chunk_overlap=200, add_start_index=True
    )
    passages = splitter.split_documents(documents)
    database = Chroma(
        collection_name="book", embedding_function=Granite(), persist_directory=str(store)
    )
    database.add_documents(passages)

    def search(question: str) -> list[Passage]:
        found = database.similarity_search(question, k=TOP_K)
        return [(document.metadata["source"], document.page_content) for document in found]

    return search


if __name__ == "__main__":
    measure(ingest)
