"""Navigation files: the pages of a book, their order and their parts."""

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
"""Limit against YAML aliases that expand to billions of entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A page in the navigation."""

    title: str
    path: str
    """The path of its file in the navigation; empty for a chapter not yet written."""
    part: str
    """The outermost part or chapter that contains it."""


SplitEntry = Callable[[object], Iterable[tuple[str, str | None, object]]]
"""Splits an entry into (title, path, nested entries)."""


class _DataLoader(yaml.SafeLoader):
    """Loads plain data; custom tags are ignored."""


def _ignore(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    # `!ENV [NAME, default]` evaluates to its default: the environment is not read.
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


def walk_contents(entries: object, split: SplitEntry) -> Iterator[Chapter]:
    """Yield the pages of a nested navigation in reading order."""
    stack: list[tuple[object, str]] = [(entries, "")]
    visited = 0
    while stack and visited < MAX_ENTRIES and len(stack) < MAX_ENTRIES:
        visited += 1
        entry, part = stack.pop()
        if isinstance(entry, list):
            stack.extend((item, part) for item in reversed(entry))
            continue
        for title, path, nested in split(entry):
            if path is not None:
                yield Chapter(title=title, path=path, part=part)
            if nested is not None:
                stack.append((nested, part or title))


def unique_chapters(chapters: Iterable[Chapter]) -> list[Chapter]:
    """Drop chapters whose file occurs earlier."""
    first: dict[str, Chapter] = {}
    for chapter in chapters:
        first.setdefault(chapter.path, chapter)
    return list(first.values())
