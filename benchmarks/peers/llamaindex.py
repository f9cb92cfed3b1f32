"""LlamaIndex by its starter tutorial: a directory, a vector index with defaults, a retriever."""

from pathlib import Path

import granite
from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from protocol import TOP_K, Passage, Search, measure


class Granite(BaseEmbedding):
    """The shared embedder in LlamaIndex's interface."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return granite.embed(texts).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def ingest(book: Path, _: Path) -> Search:
    """Ingest the pages and return the search."""
    documents = SimpleDirectoryReader(str(book)).load_data()
    index = VectorStoreIndex.from_documents(documents, embed_model=Granite())
    retriever = index.as_retriever(similarity_top_k=TOP_K)

    def search(question: str) -> list[Passage]:
        nodes = retriever.retrieve(question)
        return [(node.metadata["file_name"], node.text) for node in nodes]

    return search


if __name__ == "__main__":
    measure(ingest)
