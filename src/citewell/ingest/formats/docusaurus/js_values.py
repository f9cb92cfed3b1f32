"""Expressions of JavaScript and TypeScript, as far as their value stands in the text."""

import os.path
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, Protocol

from tree_sitter import Node

from citewell.ingest.formats.yaml_data import scalar


class Unknown(Enum):
    """What only running the module would tell."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


class Loader(Protocol):
    """Opens the modules that a module asks for."""

    def count(self, steps: int) -> None:
        """Count steps; too many are refused."""
        ...

    def find(self, file: Path, name: str) -> Path | None:
        """Return the file that a module means by a relative name."""
        ...

    def load(self, file: Path, name: str) -> Mapping[str, object]:
        """Return what the module named from `file` exports."""
        ...


@dataclass(slots=True)
class Scope:
    """The names that an expression may use; each is worked out when it is first asked for."""

    modules: Loader
    file: Path
    above: "Scope | None" = None
    waiting: dict[str, Callable[[], object]] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)

    def look_up(self, name: str) -> object:
        """Return what a name stands for."""
        if name in self.values:
            return self.values[name]
        if name in self.waiting:
            # A name that needs itself cannot be worked out.
            self.values[name] = UNKNOWN
            self.values[name] = self.waiting[name]()
            return self.values[name]
        return self.above.look_up(name) if self.above else UNKNOWN

    def inner(self) -> "Scope":
        """Open the scope of a function."""
        return Scope(self.modules, self.file, self)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the module: an expression with holes."""

    parameters: tuple[Node, ...]
    body: Node
    scope: Scope


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_KNOWN: dict[str, object] = {
    "undefined": None,
    "process": {"env": {"NODE_ENV": "production"}},
}
"""What the module finds when a site is built: variables of the environment are not set."""


def evaluate(node: Node, scope: Scope) -> object:
    """Return the value of an expression, or `UNKNOWN` where the module would have to be run.

    Raises:
        UnreadableFile: the module computes too much.
    """
    visit = _VISITS.get(node.type)
    value = visit(node, scope) if visit else UNKNOWN
    # A few lines can double a list or a text until it fills the memory.
    scope.modules.count(1 + (len(value) // 8 if isinstance(value, str | list) else 0))
    return value


def declare(block: Node, scope: Scope) -> None:
    """Make the names known that the statements of a block declare."""
    for statement in block.named_children:
        inner = statement
        if statement.type == "export_statement":
            inner = statement.child_by_field_name("declaration") or statement
        if inner.type == "import_statement":
            _declare_imports(inner, scope)
        elif inner.type.endswith("function_declaration"):
            if name := inner.child_by_field_name("name"):
                scope.waiting[text_of(name)] = _later(function, inner, scope)
        elif inner.type in ("lexical_declaration", "variable_declaration"):
            for declarator in inner.named_children:
                name = declarator.child_by_field_name("name")
                value = declarator.child_by_field_name("value")
                if name and value:
                    _bind(name, _later(evaluate, value, scope), scope)


def call(function: Function, arguments: Sequence[object]) -> object:
    """Return what a function returns for the arguments."""
    scope = function.scope.inner()
    for place, parameter in enumerate(function.parameters):
        pattern = parameter.child_by_field_name("pattern") or parameter
        default = parameter.child_by_field_name("value")
        given = arguments[place] if place < len(arguments) else None
        if given is None and default:
            _bind(pattern, _later(evaluate, default, scope), scope)
        else:
            _bind(pattern, lambda given=given: given, scope)  # type: ignore[misc]
    if function.body.type != "statement_block":
        return evaluate(function.body, scope)
    return _returned(function.body, scope)


def function(node: Node, scope: Scope) -> Function:
    """Return a function as a value."""
    one = node.child_by_field_name("parameter")
    several = node.child_by_field_name("parameters")
    body = node.child_by_field_name("body")
    parameters = [one] if one else several.named_children if several else []
    return Function(tuple(parameters), body or node, scope)


def _later(work: Callable[[Node, Scope], object], node: Node, scope: Scope) -> Callable[[], object]:
    return lambda: work(node, scope)


def _bind(pattern: Node, value: Callable[[], object], scope: Scope) -> None:
    if pattern.type != "object_pattern":
        scope.waiting[text_of(pattern)] = value
        return
    for part in pattern.named_children:
        key = part.child_by_field_name("key") or part.child_by_field_name("left") or part
        name = part.child_by_field_name("value") or key
        scope.waiting[text_of(name)] = lambda key=key: _member(value(), text_of(key))  # type: ignore[misc]


def _declare_imports(statement: Node, scope: Scope) -> None:
    source = statement.child_by_field_name("source")
    name = evaluate(source, scope) if source else None
    if not isinstance(name, str):
        return

    def load(key: str | None) -> object:
        exported = scope.modules.load(scope.file, name)
        return exported if key is None else exported.get(key, UNKNOWN)

    for clause in (c for c in statement.named_children if c.type == "import_clause"):
        for part in clause.named_children:
            if part.type == "identifier":
                scope.waiting[text_of(part)] = lambda: load("default")
            elif part.type == "namespace_import":
                scope.waiting[text_of(part.named_children[0])] = lambda: load(None)
            for specifier in part.named_children if part.type == "named_imports" else ():
                key = specifier.child_by_field_name("name")
                alias = specifier.child_by_field_name("alias") or key
                if key and alias:
                    scope.waiting[text_of(alias)] = lambda key=key: load(text_of(key))  # type: ignore[misc]


def _returned(block: Node, scope: Scope) -> object:
    declare(block, scope)
    for statement in block.named_children:
        if statement.type == "return_statement":
            values = [c for c in statement.named_children if c.type != "comment"]
            return evaluate(values[0], scope) if values else None
        if statement.type in ("if_statement", "switch_statement", "for_statement"):
            # Which way it goes is not followed.
            return UNKNOWN
    return None


def _string(node: Node, scope: Scope) -> object:
    made = ""
    for part in node.named_children:
        if part.type == "escape_sequence":
            made += _unescape(text_of(part))
        elif part.type == "template_substitution":
            value = evaluate(part.named_children[0], scope) if part.named_children else UNKNOWN
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                return UNKNOWN
            made += str(value)
        else:
            made += text_of(part)
    return made


def _unescape(escape: str) -> str:
    if found := re.fullmatch(r"\\(?:u\{?|x)([0-9a-fA-F]{1,6})\}?", escape):
        return chr(min(int(found[1], 16), sys.maxunicode))
    return _ESCAPES.get(escape[1:], escape[1:])


def _number(node: Node, _: Scope) -> object:
    text = text_of(node).replace("_", "")
    try:
        return float(text) if re.search(r"[.eE]", text) and text[:2] != "0x" else int(text, 0)
    except ValueError:
        return UNKNOWN


def _array(node: Node, scope: Scope) -> object:
    made: list[object] = []
    for part in node.named_children:
        if part.type == "spread_element":
            value = evaluate(part.named_children[0], scope)
            made += value if isinstance(value, list) else [UNKNOWN]
        elif part.type != "comment":
            made.append(evaluate(part, scope))
    return made


def _object(node: Node, scope: Scope) -> object:
    made: dict[str, object] = {}
    for part in node.named_children:
        if part.type == "pair":
            key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
            if key and value:
                made[_key(key, scope)] = evaluate(value, scope)
        elif part.type == "shorthand_property_identifier":
            made[text_of(part)] = scope.look_up(text_of(part))
        elif part.type == "spread_element":
            spread = evaluate(part.named_children[0], scope)
            made |= spread if isinstance(spread, dict) else {}
        elif part.type == "method_definition" and (name := part.child_by_field_name("name")):
            made[text_of(name)] = function(part, scope)
    return made


def _key(node: Node, scope: Scope) -> str:
    if node.type == "computed_property_name":
        return scalar(evaluate(node.named_children[0], scope))
    return str(_string(node, scope)) if node.type == "string" else text_of(node)


def _identifier(node: Node, scope: Scope) -> object:
    name = text_of(node)
    if name == "__dirname":
        return str(scope.file.parent)
    found = scope.look_up(name)
    return _KNOWN.get(name, UNKNOWN) if found is UNKNOWN else found


def _member(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and name.isdecimal():
        return value[int(name)] if int(name) < len(value) else None
    return UNKNOWN


def _member_expression(node: Node, scope: Scope) -> object:
    owner, name = node.child_by_field_name("object"), node.child_by_field_name("property")
    return _member(evaluate(owner, scope), text_of(name)) if owner and name else UNKNOWN


def _subscript(node: Node, scope: Scope) -> object:
    owner, index = node.child_by_field_name("object"), node.child_by_field_name("index")
    if not owner or not index:
        return None
    return _member(evaluate(owner, scope), scalar(evaluate(index, scope)))


def _inside(node: Node, scope: Scope) -> object:
    inner = next((child for child in node.named_children if child.type != "comment"), None)
    return evaluate(inner, scope) if inner else UNKNOWN


def _ternary(node: Node, scope: Scope) -> object:
    condition, yes, no = (
        evaluate(part, scope) if (part := node.child_by_field_name(name)) else UNKNOWN
        for name in ("condition", "consequence", "alternative")
    )
    if condition is UNKNOWN:
        return yes if yes == no else UNKNOWN
    return yes if condition else no


def _binary(node: Node, scope: Scope) -> object:
    operator = text_of(node.child_by_field_name("operator") or node)
    left, right = (
        evaluate(part, scope) if (part := node.child_by_field_name(name)) else UNKNOWN
        for name in ("left", "right")
    )
    if operator in ("||", "??"):
        # What cannot be known is most often a variable of the environment, with its default.
        missing = left is None or left is UNKNOWN or (operator == "||" and not left)
        return right if missing else left
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if operator == "&&":
        return right if left else left
    if operator in ("===", "==", "!==", "!="):
        return (left == right) == (operator[0] == "=")
    if operator == "+" and isinstance(left, str | int) and isinstance(right, str | int):
        texts = isinstance(left, str) or isinstance(right, str)
        return f"{left}{right}" if texts else int(left) + int(right)
    return UNKNOWN


def _unary(node: Node, scope: Scope) -> object:
    operator = text_of(node.child_by_field_name("operator") or node)
    argument = node.child_by_field_name("argument")
    value = evaluate(argument, scope) if argument else UNKNOWN
    if operator == "!" and value is not UNKNOWN:
        return not value
    if operator == "-" and isinstance(value, int | float):
        return -value
    return UNKNOWN


def _call(node: Node, scope: Scope) -> object:
    callee = node.child_by_field_name("function")
    written = node.child_by_field_name("arguments")
    if not callee or not written:
        return UNKNOWN
    arguments = _array(written, scope)
    assert isinstance(arguments, list)
    name = text_of(callee)
    if known := _GLOBALS.get(name):
        return known(arguments, scope)
    if callee.type == "member_expression":
        owner = callee.child_by_field_name("object")
        method = callee.child_by_field_name("property")
        value = evaluate(owner, scope) if owner else UNKNOWN
        if isinstance(value, list) and method:
            return _list_method(value, text_of(method), arguments)
    target = evaluate(callee, scope)
    return call(target, arguments) if isinstance(target, Function) else UNKNOWN


def _list_method(values: list[object], method: str, arguments: list[object]) -> object:
    first = arguments[0] if arguments else None
    if method in ("map", "flatMap", "filter") and isinstance(first, Function):
        results = [call(first, [value, place]) for place, value in enumerate(values)]
        if method == "filter":
            return [v for v, keep in zip(values, results, strict=True) if keep]
        return results if method == "map" else _flat(results)
    if method == "filter":  # `Boolean`
        return [value for value in values if value]
    if method == "join" and all(isinstance(value, str | int) for value in values):
        return str("," if first is None else first).join(map(str, values))
    if method == "concat":
        return values + _flat(arguments)
    return _flat(values) if method == "flat" else UNKNOWN


def _flat(values: Sequence[object]) -> list[object]:
    return [v for value in values for v in (value if isinstance(value, list) else [value])]


def _require(arguments: list[object], scope: Scope) -> object:
    if not arguments or not isinstance(arguments[0], str):
        return UNKNOWN
    return scope.modules.load(scope.file, arguments[0]).get("default", UNKNOWN)


def _require_resolve(arguments: list[object], scope: Scope) -> object:
    name = arguments[0] if arguments else UNKNOWN
    if not isinstance(name, str):
        return UNKNOWN
    return str(scope.modules.find(scope.file, name) or UNKNOWN) if name[:1] == "." else name


def _join(arguments: list[object], _: Scope) -> object:
    parts = [part for part in arguments if isinstance(part, str)]
    return os.path.normpath("/".join(parts)) if parts and len(parts) == len(arguments) else UNKNOWN


def _entries(arguments: list[object], _: Scope) -> object:
    value = arguments[0] if arguments else UNKNOWN
    return [[k, v] for k, v in value.items()] if isinstance(value, dict) else UNKNOWN


def _keys(arguments: list[object], _: Scope) -> object:
    return list(arguments[0]) if arguments and isinstance(arguments[0], dict) else UNKNOWN


_GLOBALS: dict[str, Callable[[list[object], Scope], object]] = {
    "require": _require,
    "require.resolve": _require_resolve,
    "path.resolve": _join,
    "path.join": _join,
    "Object.entries": _entries,
    "Object.keys": _keys,
}
_VISITS: dict[str, Callable[[Node, Scope], object]] = {
    "string": _string,
    "template_string": _string,
    "number": _number,
    "true": lambda *_: True,
    "false": lambda *_: False,
    "null": lambda *_: None,
    "undefined": lambda *_: None,
    "array": _array,
    "object": _object,
    "identifier": _identifier,
    "member_expression": _member_expression,
    "subscript_expression": _subscript,
    "parenthesized_expression": _inside,
    "as_expression": _inside,
    "satisfies_expression": _inside,
    "non_null_expression": _inside,
    "await_expression": _inside,
    "ternary_expression": _ternary,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "call_expression": _call,
    "arrow_function": function,
    "function_expression": function,
}
