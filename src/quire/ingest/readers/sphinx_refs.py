"""References by name, as Sphinx has them: which of them name nothing in the book?"""

import re
from collections.abc import Iterator, Mapping

from docutils import nodes

from quire.domain import BrokenLink
from quire.ingest.readers.doctree_inline import Names
from quire.ingest.readers.markdown import read_start
from quire.ingest.readers.sphinx_pages import Source
from quire.ingest.readers.toctree import join_docname

_LABEL = re.compile(
    r"^[ \t]*(?:\.\.[ \t]+_`?([^`\n]+?)`?:(?:[ \t]|$)"
    r"|\(([^()\n]+)\)="
    r"|:?(?:name|label)[ \t]*:[ \t]*(\S[^\n]*))",
    re.M,
)
_MADE_BY_SPHINX = frozenset(("genindex", "modindex", "py-modindex", "search"))
_WHOLE = 5_000_000


def broken_references(
    names: Names, sources: Mapping[str, Source], *, linked: bool = False
) -> tuple[BrokenLink, ...]:
    """Name the `:doc:` and `:ref:` that lead nowhere; those with a prefix may lead elsewhere.

    A book that is `linked` with others (intersphinx) may also mean theirs.
    """
    wanted = [
        (docname, kind, target) for docname, kind, target in names.wanted if ":" not in target
    ]
    labels: set[str] | None = None
    found: dict[BrokenLink, None] = {}
    for docname, kind, target in wanted:
        if kind == "doc":
            there = join_docname(docname, target) in sources
        else:
            label = nodes.fully_normalize_name(target)
            there = label in names.labels or label in _MADE_BY_SPHINX
            if not there:
                labels = set(_labels(sources)) if labels is None else labels
                there = label in labels
        if not there:
            page = sources[docname].file.name if docname in sources else docname
            reason = f"there is no such {'page' if kind == 'doc' else 'label'}"
            reason += " in this book; intersphinx may find it in another" if linked else ""
            found[BrokenLink(source=page, target=target, reason=reason)] = None
    return tuple(found)


def _labels(sources: Mapping[str, Source]) -> Iterator[str]:
    """Give every label that a source defines, also before what has no title."""
    for source in sources.values():
        for groups in _LABEL.findall(read_start(source.file.path, _WHOLE)):
            label = next(filter(None, groups))
            yield nodes.fully_normalize_name(label.replace("\\", ""))
