"""A piece of reStructuredText inside a Markdown page."""

from quire.errors import UnreadableFile
from quire.ingest.readers.doctree import read_sections
from quire.ingest.readers.doctree_inline import Names
from quire.ingest.readers.rst import parse_rst
from quire.ingest.readers.surroundings import Surroundings


def rst_to_markdown(text: str, around: Surroundings) -> list[str]:
    """Give a fragment as lines of Markdown, as written where it cannot be parsed."""
    try:
        document = parse_rst(text, around)
    except UnreadableFile:
        return text.split("\n")
    lines: list[str] = []
    for section in read_sections(document, Names(), "", ""):
        if section.anchor:
            lines += [f"**{section.path[-1]}**", ""]
        for block in section.blocks:
            lines += [*block.text.split("\n"), ""]
    return lines
