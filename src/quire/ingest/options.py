"""How a book is read and cut."""

from pydantic import BaseModel, ConfigDict, Field


class IngestOptions(BaseModel):
    """How a book is read and cut."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_page_bytes: int = Field(5_000_000, ge=1)
    """Pages larger than this are skipped and reported."""
    max_file_bytes: int = Field(200_000_000, ge=1)
    """PDF and EPUB files larger than this are skipped and reported."""
    site_url: str | None = None
    """Address of the published book, where the book's own configuration does not say it."""
    locale: str | None = None
    """Language of a Docusaurus site to read; by default the site's own."""
    version: str | None = None
    """Version of a Docusaurus site to read, such as `2.0` or `current`; by default the last."""
    target_tokens: int = Field(220, ge=20)
    """Blocks of a section are gathered until they reach this size."""
    max_tokens: int = Field(420, ge=40)
    """Prose longer than this is split between sentences."""
    max_block_tokens: int = Field(2000, ge=100)
    """A table, list, code block or admonition longer than this is split at its own seams."""
