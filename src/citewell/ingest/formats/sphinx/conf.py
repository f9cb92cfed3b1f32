"""The settings in `conf.py` of a Sphinx book, read without executing it."""

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

DEFAULT_SUFFIXES = (".rst", ".md", ".ipynb")
MAX_LENGTH = 20_000
"""Limit on the characters of a computed string, or the items of a computed list."""
_ROOT_DOCUMENTS = ("index", "contents")
_DOCS_FOLDERS = ("docs", "docs/source", "doc", "doc/source")


class _TooLong(ValueError):
    """A computed value exceeds `MAX_LENGTH`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SphinxConfig:
    """The settings that determine the pages and URLs of a Sphinx book."""

    folder: Path
    """The folder of the pages."""
    conf: Path | None
    root: str
    """The name of the root document."""
    suffixes: tuple[str, ...] = DEFAULT_SUFFIXES
    exclude: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Settings that were ignored, with the reasons."""

    def text(self, name: str) -> str:
        """Return a string setting; empty if it is missing or not a string."""
        value = self.settings.get(name)
        return value if isinstance(value, str) else ""

    @property
    def uses_intersphinx(self) -> bool:
        """Whether references may resolve to other projects."""
        return bool(self.settings.get("intersphinx_mapping"))


def find_config(root: Path, options: IngestOptions | None = None) -> SphinxConfig | None:
    """Find the Sphinx book in a folder, in `source` below it, or in a project's `docs`."""
    if not root.is_dir():
        return None
    layouts = ((root, root), (root / "source",) * 2, (root, root / "source"))
    for conf, folder in (*layouts, *((root / name,) * 2 for name in _DOCS_FOLDERS)):
        file = conf / "conf.py"
        if not file.is_file():
            continue
        notes: list[str] = []
        settings = read_settings(file, options or IngestOptions(), notes)
        root_doc = scalar(settings.get("root_doc")) or scalar(settings.get("master_doc"))
        suffixes = _suffixes(settings)
        names = [root_doc] if root_doc else [*_ROOT_DOCUMENTS]
        if document := _root_document(folder, names, suffixes):
            return SphinxConfig(
                folder=folder,
                conf=file,
                root=document,
                suffixes=suffixes,
                exclude=(
                    *_string_tuple(settings, "exclude_patterns"),
                    *_string_tuple(settings, "templates_path"),
                ),
                settings=settings,
                notes=tuple(dict.fromkeys(notes)),
            )
    for folder in (root, root / "source"):
        if (folder / "index.rst").is_file() and _has_toctree(folder / "index.rst"):
            return SphinxConfig(folder=folder, conf=None, root="index")
    return None


def _root_document(folder: Path, names: list[str], suffixes: tuple[str, ...]) -> str | None:
    existing = (name for name in names for end in suffixes if (folder / f"{name}{end}").is_file())
    return next(existing, None)


def _has_toctree(file: Path) -> bool:
    try:
        return ".. toctree::" in read_text(SourceFile(file, file.name), IngestOptions())
    except UnreadableFile:
        return False


def _suffixes(settings: Mapping[str, Any]) -> tuple[str, ...]:
    value = settings.get("source_suffix")
    suffixes = [value] if isinstance(value, str) else list(value) if value else []
    return tuple(dict.fromkeys([*(s for s in suffixes if isinstance(s, str)), *DEFAULT_SUFFIXES]))


def _string_tuple(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = settings.get(name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def read_settings(
    file: Path, options: IngestOptions, notes: list[str] | None = None
) -> dict[str, Any]:
    """Return the settings of `conf.py` that can be evaluated statically."""
    try:
        tree = ast.parse(read_text(SourceFile(file, file.name), options))
    except (UnreadableFile, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    settings: dict[str, Any] = {}
    for node in _statements(tree):
        try:
            _evaluate_assignment(node, settings)
        except _TooLong as error:
            if notes is not None:
                notes.append(f"line {node.lineno} {error} and is ignored")
        except (ValueError, TypeError, RecursionError, MemoryError):
            continue
    return settings


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from node.body


def _evaluate_assignment(node: ast.stmt, settings: dict[str, Any]) -> None:
    match node:
        case ast.Assign(targets=targets):
            value = _evaluate(node.value, settings)
            for target in targets:
                if isinstance(target, ast.Name):
                    settings[target.id] = value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as expression):
            settings[name] = _evaluate(expression, settings)
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
            value = _evaluate(node.value, settings)
            settings[name] = _add(settings[name], value) if name in settings else value
        case _:
            pass


def _add(left: Any, right: Any) -> Any:
    """Concatenate two strings or two lists; limited, because repeated doubling fills memory.

    Raises:
        ValueError: they are of other types, or too long together.
    """
    if not any(isinstance(left, cls) and isinstance(right, cls) for cls in (str, list)):
        raise ValueError
    _check_length(len(left) + len(right))
    return left + right


def _join(parts: list[Any]) -> str:
    if any(isinstance(part, list | dict) for part in parts):
        raise ValueError
    texts = [scalar(part) for part in parts]
    _check_length(sum(map(len, texts)))
    return "".join(texts)


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise _TooLong(f"makes a value longer than {MAX_LENGTH:,}")


def _evaluate(node: ast.expr, settings: Mapping[str, Any]) -> Any:
    """Evaluate literals, names assigned before, concatenations and f-strings.

    Raises:
        ValueError: the expression cannot be evaluated statically.
    """
    match node:
        case ast.Name(id=name) if name in settings:
            return settings[name]
        case ast.BinOp(op=ast.Add()):
            return _add(_evaluate(node.left, settings), _evaluate(node.right, settings))
        case ast.JoinedStr():
            return _join([_evaluate(part, settings) for part in node.values])
        case ast.FormattedValue(format_spec=None):
            return _evaluate(node.value, settings)
        case ast.List() | ast.Tuple():
            return [_evaluate(element, settings) for element in node.elts]
        case _:
            return ast.literal_eval(node)
