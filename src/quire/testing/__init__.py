"""Stand-ins for tests: fast, deterministic, and honest about what they leave out."""

from quire.testing.books import write_tiny_book
from quire.testing.doubles import HashEmbedder, WordReader
from quire.testing.services import build_services

__all__ = ["HashEmbedder", "WordReader", "build_services", "write_tiny_book"]
