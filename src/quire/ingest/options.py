"""How a book is read and cut."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from quire.prose.addresses import is_web_address


class IngestOptions(BaseModel):
    """How a book is read and cut."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_page_bytes: int = Field(5_000_000, ge=1)
    """Pages larger than this are skipped and reported."""
    max_file_bytes: int = Field(200_000_000, ge=1)
    """PDF and EPUB files larger than this are skipped and reported."""
    max_pdf_pages: int = Field(10_000, ge=1)
    """What a PDF file has beyond this number of pages is skipped and reported."""
    max_page_seconds: float = Field(20.0, gt=0)
    """Pages that take longer to read, in seconds of one core, are skipped and reported."""
    max_memory_bytes: int = Field(4_000_000_000, ge=500_000_000)
    """Memory for reading a book; a page that would need more is skipped and reported."""
    allow: tuple[Path, ...] = ()
    """Folders beside the book that its pages and settings may also lie in."""
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

    @field_validator("site_url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is not None and not is_web_address(value):
            raise ValueError("must begin with https:// or http://, or be a path")
        return value
