"""Tables of contents: which pages there are, in which order, in which part."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SourceFile
from citewell.ingest.formats.markdown import read_text
from citewell.ingest.formats.yaml_data import load_yaml
from citewell.options import IngestOptions

MAX_ENTRIES = 100_000
"""A few lines of YAML can stand for billions by pointing at each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One line of the contents: a page and its place."""

    title: str
    path: str
    """Of its file, as the contents name it; empty for one that is not written yet."""
    part: str
    """The outermost part or chapter it stands in."""


Split = Callable[[object], Iterable[tuple[str, str | None, object]]]
"""Returns the titles, paths and what stands below them of one entry."""


class _DataLoader(yaml.SafeLoader):
    """Reads data and nothing else: a tag that would run code, or is unknown, gives nothing."""


def _ignore(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    # `!ENV [NAME, default]` says what holds where the variable is not set.
    if isinstance(node, yaml.SequenceNode) and node.value:
        return loader.construct_object(node.value[-1], deep=True)
    return None


_DataLoader.add_multi_constructor("", _ignore)


def read_yaml(path: Path, options: IngestOptions) -> Any:
    """Read a YAML file as plain data.

    Raises:
        UnreadableFile: it cannot be opened or is not YAML.
    """
    try:
        text = read_text(SourceFile(path, path.name), options)
        return load_yaml(text, _DataLoader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise UnreadableFile(f"{path} is not valid YAML (line {line}).") from error
    except UnreadableFile as error:
        raise UnreadableFile(f"{path} {error}.") from error


def walk_contents(entries: object, split: Split) -> Iterator[Chapter]:
    """Yield the pages of nested contents in reading order; `split` understands one entry."""
    waiting: list[tuple[object, str]] = [(entries, "")]
    visited = 0
    while waiting and visited < MAX_ENTRIES and len(waiting) < MAX_ENTRIES:
        visited += 1
        entry, part = waiting.pop()
        if isinstance(entry, list):
            waiting.extend((item, part) for item in reversed(entry))
            continue
        for title, path, below in split(entry):
            if path is not None:
                yield Chapter(title=title, path=path, part=part)
            if below is not None:
                waiting.append((below, part or title))


def unique_chapters(chapters: Iterable[Chapter]) -> list[Chapter]:
    """Keep the first of those that name the same file: a page is read once."""
    first: dict[str, Chapter] = {}
    for chapter in chapters:
        first.setdefault(chapter.path, chapter)
    return list(first.values())
