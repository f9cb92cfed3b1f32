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
class NavigationPage:
    """A page in the navigation."""

    title: str
    path: str
    """Path of the page's file, as the navigation has it; empty if the page is not written yet."""
    part: str
    """Title of the outermost part or page that contains the page; empty if there is none."""


SplitEntry = Callable[[object], Iterable[tuple[str, str | None, object]]]
"""Returns what an entry of the navigation holds: (title, path if it is a page, nested entries)."""


class _DataLoader(yaml.SafeLoader):
    """Loads plain data: a value with a custom tag becomes `None`, and a list its last item."""


def _load_custom_tag(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    # The last item of `!ENV [NAME, default]` is the default: the environment is not read.
    if isinstance(node, yaml.SequenceNode) and node.value:
        return loader.construct_object(node.value[-1], deep=True)
    return None


_DataLoader.add_multi_constructor("", _load_custom_tag)


def read_yaml(path: Path, options: IngestOptions) -> Any:
    """Read a YAML file as plain data.

    Raises:
        UnreadableFile: the file cannot be opened or is not valid YAML.
    """
    try:
        text = read_text(SourceFile(path, path.name), options)
        return load_yaml(text, _DataLoader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise UnreadableFile(f"{path} is not valid YAML (line {line}).") from error
    except UnreadableFile as error:
        # Its message continues a sentence, such as "cannot be opened: …".
        raise UnreadableFile(f"{path} {error}.") from error


def walk_pages(entries: object, split: SplitEntry) -> Iterator[NavigationPage]:
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
                yield NavigationPage(title=title, path=path, part=part)
            if nested is not None:
                stack.append((nested, part or title))


def unique_pages(pages: Iterable[NavigationPage]) -> list[NavigationPage]:
    """Return the first page of each path; unwritten pages share one, so drop them before."""
    by_path: dict[str, NavigationPage] = {}
    for page in pages:
        by_path.setdefault(page.path, page)
    return list(by_path.values())
