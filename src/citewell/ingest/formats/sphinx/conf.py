"""What `conf.py` says about a Sphinx book, read and never run."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SourceFile
from citewell.ingest.formats.markdown import read_text
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

SUFFIXES = (".rst", ".md", ".ipynb")
MAX_LENGTH = 20_000
"""Characters of a text, or values of a list, that a setting may be put together to."""
_ROOTS = ("index", "contents")
_IN_PROJECTS = ("docs", "docs/source", "doc", "doc/source")


class _TooLong(ValueError):
    """A value was put together to more than any setting needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SphinxConfig:
    """What decides the pages and addresses of a Sphinx book."""

    folder: Path
    """Where the pages are."""
    conf: Path | None
    root: str
    """Name of the document that everything hangs from."""
    suffixes: tuple[str, ...] = SUFFIXES
    exclude: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Which settings were left out that a `conf.py` should not have."""

    def text(self, name: str) -> str:
        """Return a setting that should be a string; empty where it is none."""
        value = self.settings.get(name)
        return value if isinstance(value, str) else ""

    @property
    def linked(self) -> bool:
        """Whether references by name may lead into other books."""
        return bool(self.settings.get("intersphinx_mapping"))


def find_config(root: Path, options: IngestOptions | None = None) -> SphinxConfig | None:
    """Find the Sphinx book in a folder, in `source` below it, or in a project's `docs`."""
    if not root.is_dir():
        return None
    beside = ((root, root), (root / "source",) * 2, (root, root / "source"))
    for conf, folder in (*beside, *((root / place,) * 2 for place in _IN_PROJECTS)):
        file = conf / "conf.py"
        if not file.is_file():
            continue
        notes: list[str] = []
        settings = read_settings(file, options or IngestOptions(), notes)
        named = scalar(settings.get("root_doc")) or scalar(settings.get("master_doc"))
        suffixes = _suffixes(settings)
        if document := _root_document(folder, [named] if named else [*_ROOTS], suffixes):
            return SphinxConfig(
                folder=folder,
                conf=file,
                root=document,
                suffixes=suffixes,
                exclude=(
                    *_strings(settings, "exclude_patterns"),
                    *_strings(settings, "templates_path"),
                ),
                settings=settings,
                notes=tuple(dict.fromkeys(notes)),
            )
    for folder in (root, root / "source"):
        if (folder / "index.rst").is_file() and _has_toctree(folder / "index.rst"):
            return SphinxConfig(folder=folder, conf=None, root="index")
    return None


def _root_document(folder: Path, names: list[str], suffixes: tuple[str, ...]) -> str | None:
    places = (name for name in names for end in suffixes if (folder / f"{name}{end}").is_file())
    return next(places, None)


def _has_toctree(file: Path) -> bool:
    try:
        return ".. toctree::" in read_text(SourceFile(file, file.name), IngestOptions())
    except UnreadableFile:
        return False


def _suffixes(settings: Mapping[str, Any]) -> tuple[str, ...]:
    given = settings.get("source_suffix")
    listed = [given] if isinstance(given, str) else list(given) if given else []
    return tuple(dict.fromkeys([*(s for s in listed if isinstance(s, str)), *SUFFIXES]))


def _strings(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = settings.get(name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def read_settings(
    file: Path, options: IngestOptions, notes: list[str] | None = None
) -> dict[str, Any]:
    """Return the settings that `conf.py` writes down as they are; computed ones are left out."""
    try:
        tree = ast.parse(read_text(SourceFile(file, file.name), options))
    except (UnreadableFile, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, Any] = {}
    for node in _statements(tree):
        try:
            _assign(node, found)
        except _TooLong as error:
            if notes is not None:
                notes.append(f"line {node.lineno} {error}; it is left out")
        except (ValueError, TypeError, RecursionError, MemoryError):
            continue
    return found


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from node.body


def _assign(node: ast.stmt, found: dict[str, Any]) -> None:
    match node:
        case ast.Assign(targets=targets):
            value = _value(node.value, found)
            for target in targets:
                if isinstance(target, ast.Name):
                    found[target.id] = value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as given):
            found[name] = _value(given, found)
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
            more = _value(node.value, found)
            found[name] = _sum(found[name], more) if name in found else more
        case _:
            pass


def _sum(left: Any, right: Any) -> Any:
    """Return two texts or two lists as one; a few lines can double either until it fills memory.

    Raises:
        ValueError: it is neither, or longer than any setting.
    """
    if not any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, list)):
        raise ValueError
    _check_length(len(left) + len(right))
    return left + right


def _joined(parts: list[Any]) -> str:
    if any(isinstance(part, list | dict) for part in parts):
        raise ValueError
    texts = [scalar(part) for part in parts]
    _check_length(sum(map(len, texts)))
    return "".join(texts)


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise _TooLong(f"makes a value longer than {MAX_LENGTH:,}")


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Evaluate what needs no running: literals, names of earlier ones, sums and f-strings.

    Raises:
        ValueError: it has to be computed.
    """
    match node:
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.BinOp(op=ast.Add()):
            return _sum(_value(node.left, known), _value(node.right, known))
        case ast.JoinedStr():
            return _joined([_value(part, known) for part in node.values])
        case ast.FormattedValue(format_spec=None):
            return _value(node.value, known)
        case ast.List() | ast.Tuple():
            return [_value(element, known) for element in node.elts]
        case _:
            return ast.literal_eval(node)
