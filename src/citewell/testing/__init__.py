"""Stand-ins for tests: fast, deterministic, and honest about what they leave out."""

from citewell.testing.books import write_tiny_book
from citewell.testing.chat import ChatServer, Reply
from citewell.testing.doubles import HashEmbedder, WordReranker
from citewell.testing.embeddings import EmbeddingServer, Fault
from citewell.testing.services import build_services

__all__ = [
    "ChatServer",
    "EmbeddingServer",
    "Fault",
    "HashEmbedder",
    "Reply",
    "WordReranker",
    "build_services",
    "write_tiny_book",
]
