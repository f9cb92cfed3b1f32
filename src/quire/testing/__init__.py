"""Stand-ins for tests: fast, deterministic, and honest about what they leave out."""

from quire.testing.books import write_tiny_book
from quire.testing.doubles import HashEmbedder, WordReader

__all__ = ["HashEmbedder", "WordReader", "write_tiny_book"]
