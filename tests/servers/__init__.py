"""Stand-ins for tests: fast, deterministic, and honest about what they leave out."""

from tests.servers.books import write_tiny_book
from tests.servers.chat import ChatServer, Reply
from tests.servers.doubles import HashEmbedder, WordReranker
from tests.servers.embeddings import EmbeddingServer, Fault
from tests.servers.services import build_services

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
