"""Evaluate the exports of a JavaScript or TypeScript module without executing it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SourceFile, is_allowed_path
from citewell.ingest.formats.docusaurus.js_values import (
    UNKNOWN,
    Function,
    Scope,
    call,
    declare,
    evaluate,
    function,
    text_of,
)
from citewell.ingest.formats.markdown import read_text
from citewell.options import IngestOptions

_TSX = Language(tree_sitter_typescript.language_tsx())
_SUFFIXES = ("", ".js", ".ts", ".json", ".mjs", ".cjs", ".mts", ".cts", "/index.js", "/index.ts")
MAX_STEPS = 200_000
"""Limit on evaluated expressions for one module."""
MAX_MODULES = 50


@dataclass(slots=True, kw_only=True)
class ModuleLoader:
    """Loads a module and the modules that it imports."""

    root: Path
    """Modules outside this folder are not loaded."""
    options: IngestOptions
    loaded: dict[Path, dict[str, object]] = field(default_factory=dict)
    steps: int = 0

    def count(self, steps: int) -> None:
        """Count evaluated expressions.

        Raises:
            UnreadableFile: there are too many.
        """
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise UnreadableFile("takes too long to evaluate")

    def find(self, file: Path, name: str) -> Path | None:
        """Resolve a relative import of a module."""
        base = (file.parent / name).resolve()
        paths = (Path(f"{base}{suffix}") for suffix in _SUFFIXES)
        path = next((path for path in paths if path.is_file()), None)
        return path if path and is_allowed_path(path, self.root) else None

    def exports(self, file: Path) -> dict[str, object]:
        """Return the exports of a module by name; `module.exports` is its `default`."""
        if file in self.loaded or len(self.loaded) >= MAX_MODULES:
            return self.loaded.get(file, {})
        self.loaded[file] = {}
        text = read_text(SourceFile(file, file.name), self.options)
        if file.suffix == ".json":
            try:
                self.loaded[file] = {"default": json.loads(text)}
            except (ValueError, RecursionError) as error:
                raise UnreadableFile(f"is not valid JSON ({error})") from error
        else:
            self.loaded[file] = _module_exports(_parse(text), Scope(self, file))
        return self.loaded[file]

    def load(self, file: Path, name: str) -> dict[str, object]:
        """Return the exports of a module imported by `file`; empty for packages."""
        path = self.find(file, name) if name.startswith(".") else None
        try:
            return self.exports(path) if path else {}
        except UnreadableFile:
            return {}


def read_module(file: Path, root: Path, options: IngestOptions) -> object:
    """Return the default export of a module as plain data, with `UNKNOWN` for computed values.

    An exported function is called, because a configuration may be one.

    Raises:
        UnreadableFile: the file cannot be read, is nested too deeply, or computes too much.
    """
    modules = ModuleLoader(root=root, options=options)
    try:
        value = modules.exports(file.resolve()).get("default", UNKNOWN)
        return call(value, []) if isinstance(value, Function) else value
    except RecursionError as error:
        raise UnreadableFile("is nested too deeply to be read") from error


def find_object(
    file: Path, keys: frozenset[str], options: IngestOptions
) -> dict[str, object] | None:
    """Return the first object literal in a module that has at least two of the keys.

    Raises:
        UnreadableFile: the file cannot be read, is nested too deeply, or computes too much.
    """
    scope = Scope(ModuleLoader(root=file.parent, options=options), file)
    try:
        root = _parse(read_text(SourceFile(file, file.name), options))
        declare(root, scope)
        for node in _object_nodes(root):
            value = evaluate(node, scope)
            if isinstance(value, dict) and len(keys & value.keys()) > 1:
                return value
    except RecursionError as error:
        raise UnreadableFile("is nested too deeply to be read") from error
    return None


def _parse(text: str) -> Node:
    return Parser(_TSX).parse(text.encode("utf-8", "replace")).root_node


def _object_nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "object":
            yield node
        stack.extend(reversed(node.named_children))


def _module_exports(root: Node, scope: Scope) -> dict[str, object]:
    exports: dict[str, object] = {}
    declare(root, scope)
    for statement in root.named_children:
        if statement.type == "export_statement":
            exports |= _exports_of_statement(statement, scope)
        elif statement.type == "expression_statement" and statement.named_children:
            assignment = statement.named_children[0]
            target_node = assignment.child_by_field_name("left")
            value_node = assignment.child_by_field_name("right")
            if assignment.type != "assignment_expression" or not target_node or not value_node:
                continue
            target = text_of(target_node)
            if target == "module.exports":
                exports["default"] = evaluate(value_node, scope)
            elif target.startswith(("exports.", "module.exports.")):
                exports[target.rpartition(".")[2]] = evaluate(value_node, scope)
    if "default" not in exports and exports:
        exports["default"] = dict(exports)
    return exports


def _exports_of_statement(statement: Node, scope: Scope) -> dict[str, object]:
    value = statement.child_by_field_name("value")
    declaration = statement.child_by_field_name("declaration")
    is_default = any(child.type == "default" for child in statement.children)
    if value:
        return {"default": evaluate(value, scope)}
    if declaration and declaration.type.endswith("function_declaration") and is_default:
        return {"default": function(declaration, scope)}
    if declaration:
        names = [child.child_by_field_name("name") for child in declaration.named_children]
        names += [declaration.child_by_field_name("name")]
        return {text_of(name): scope.look_up(text_of(name)) for name in names if name}
    exports: dict[str, object] = {}
    for clause in statement.named_children:
        for specifier in clause.named_children if clause.type == "export_clause" else ():
            name = specifier.child_by_field_name("name")
            alias = specifier.child_by_field_name("alias")
            if name:
                exports[text_of(alias or name)] = scope.look_up(text_of(name))
    return exports
