"""Stand-ins for tests: fast, deterministic, and honest about what they leave out."""

from quire.testing.books import write_tiny_book
from quire.testing.chat import ChatServer, Reply
from quire.testing.doubles import HashEmbedder, WordReader
from quire.testing.embeddings import EmbeddingServer, Fault
from quire.testing.services import build_services

__all__ = [
    "ChatServer",
    "EmbeddingServer",
    "Fault",
    "HashEmbedder",
    "Reply",
    "WordReader",
    "build_services",
    "write_tiny_book",
]
