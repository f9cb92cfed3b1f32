"""Evaluate JavaScript and TypeScript expressions statically."""

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
    """The type of `UNKNOWN`, a value that only execution would determine."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


class Loader(Protocol):
    """Loads imported modules."""

    def count(self, steps: int) -> None:
        """Count evaluated expressions; raise an error if there are too many."""
        ...

    def find(self, file: Path, name: str) -> Path | None:
        """Resolve a relative import of a module."""
        ...

    def load(self, file: Path, name: str) -> Mapping[str, object]:
        """Return the exports of a module imported by `file`."""
        ...


@dataclass(slots=True)
class Scope:
    """The names visible to an expression, evaluated lazily."""

    modules: Loader
    file: Path
    outer: "Scope | None" = None
    pending: dict[str, Callable[[], object]] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)

    def look_up(self, name: str) -> object:
        """Return the value of a name."""
        if name in self.values:
            return self.values[name]
        if name in self.pending:
            # Guards against a definition that refers to itself.
            self.values[name] = UNKNOWN
            self.values[name] = self.pending[name]()
            return self.values[name]
        return self.outer.look_up(name) if self.outer else UNKNOWN

    def inner(self) -> "Scope":
        """Return a new scope inside this one."""
        return Scope(self.modules, self.file, self)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the module."""

    parameters: tuple[Node, ...]
    body: Node
    scope: Scope


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_GLOBAL_VALUES: dict[str, object] = {
    "undefined": None,
    "process": {"env": {"NODE_ENV": "production"}},
}
"""Global values as in a production build, without environment variables."""


def evaluate(node: Node, scope: Scope) -> object:
    """Return the value of an expression, or `UNKNOWN` if it cannot be evaluated statically.

    Raises:
        UnreadableFile: the module computes too much.
    """
    evaluator = _EVALUATORS.get(node.type)
    value = evaluator(node, scope) if evaluator else UNKNOWN
    # Large values count more: a few lines can double a list or string until memory is full.
    scope.modules.count(1 + (len(value) // 8 if isinstance(value, str | list) else 0))
    return value


def declare(block: Node, scope: Scope) -> None:
    """Add the declarations of a block to the scope."""
    for statement in block.named_children:
        inner = statement
        if statement.type == "export_statement":
            inner = statement.child_by_field_name("declaration") or statement
        if inner.type == "import_statement":
            _declare_imports(inner, scope)
        elif inner.type.endswith("function_declaration"):
            if name := inner.child_by_field_name("name"):
                scope.pending[text_of(name)] = _deferred(function, inner, scope)
        elif inner.type in ("lexical_declaration", "variable_declaration"):
            for declarator in inner.named_children:
                name = declarator.child_by_field_name("name")
                value = declarator.child_by_field_name("value")
                if name and value:
                    _bind(name, _deferred(evaluate, value, scope), scope)


def call(function: Function, arguments: Sequence[object]) -> object:
    """Return the result of calling a function."""
    scope = function.scope.inner()
    for index, parameter in enumerate(function.parameters):
        pattern = parameter.child_by_field_name("pattern") or parameter
        default = parameter.child_by_field_name("value")
        argument = arguments[index] if index < len(arguments) else None
        if argument is None and default:
            _bind(pattern, _deferred(evaluate, default, scope), scope)
        else:
            _bind(pattern, lambda argument=argument: argument, scope)  # type: ignore[misc]
    if function.body.type != "statement_block":
        return evaluate(function.body, scope)
    return _return_value(function.body, scope)


def function(node: Node, scope: Scope) -> Function:
    """Return a function as a value."""
    single = node.child_by_field_name("parameter")  # `x => x + 1` has no brackets
    listed = node.child_by_field_name("parameters")
    body = node.child_by_field_name("body")
    parameters = [single] if single else listed.named_children if listed else []
    return Function(tuple(parameters), body or node, scope)


def _deferred(
    evaluate_node: Callable[[Node, Scope], object], node: Node, scope: Scope
) -> Callable[[], object]:
    return lambda: evaluate_node(node, scope)


def _bind(pattern: Node, value: Callable[[], object], scope: Scope) -> None:
    if pattern.type != "object_pattern":
        scope.pending[text_of(pattern)] = value
        return
    for part in pattern.named_children:
        key = part.child_by_field_name("key") or part.child_by_field_name("left") or part
        name = part.child_by_field_name("value") or key
        scope.pending[text_of(name)] = lambda key=key: _member(value(), text_of(key))  # type: ignore[misc]


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
                scope.pending[text_of(part)] = lambda: load("default")
            elif part.type == "namespace_import":
                scope.pending[text_of(part.named_children[0])] = lambda: load(None)
            for specifier in part.named_children if part.type == "named_imports" else ():
                key = specifier.child_by_field_name("name")
                alias = specifier.child_by_field_name("alias") or key
                if key and alias:
                    scope.pending[text_of(alias)] = lambda key=key: load(text_of(key))  # type: ignore[misc]


def _return_value(block: Node, scope: Scope) -> object:
    declare(block, scope)
    for statement in block.named_children:
        if statement.type == "return_statement":
            values = [c for c in statement.named_children if c.type != "comment"]
            return evaluate(values[0], scope) if values else None
        if statement.type in ("if_statement", "switch_statement", "for_statement"):
            # Control flow is not evaluated.
            return UNKNOWN
    return None


def _string(node: Node, scope: Scope) -> object:
    text = ""
    for part in node.named_children:
        if part.type == "escape_sequence":
            text += _unescape(text_of(part))
        elif part.type == "template_substitution":
            value = evaluate(part.named_children[0], scope) if part.named_children else UNKNOWN
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                return UNKNOWN
            text += str(value)
        else:
            text += text_of(part)
    return text


def _unescape(escape: str) -> str:
    if code := re.fullmatch(r"\\(?:u\{?|x)([0-9a-fA-F]{1,6})\}?", escape):
        return chr(min(int(code[1], 16), sys.maxunicode))
    return _ESCAPES.get(escape[1:], escape[1:])


def _number(node: Node, _: Scope) -> object:
    text = text_of(node).replace("_", "")
    try:
        return float(text) if re.search(r"[.eE]", text) and text[:2] != "0x" else int(text, 0)
    except ValueError:
        return UNKNOWN


def _array(node: Node, scope: Scope) -> object:
    items: list[object] = []
    for part in node.named_children:
        if part.type == "spread_element":
            spread = evaluate(part.named_children[0], scope)
            items += spread if isinstance(spread, list) else [UNKNOWN]
        elif part.type != "comment":
            items.append(evaluate(part, scope))
    return items


def _object(node: Node, scope: Scope) -> object:
    result: dict[str, object] = {}
    for part in node.named_children:
        if part.type == "pair":
            key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
            if key and value:
                result[_key(key, scope)] = evaluate(value, scope)
        elif part.type == "shorthand_property_identifier":
            result[text_of(part)] = scope.look_up(text_of(part))
        elif part.type == "spread_element":
            spread = evaluate(part.named_children[0], scope)
            result |= spread if isinstance(spread, dict) else {}
        elif part.type == "method_definition" and (name := part.child_by_field_name("name")):
            result[text_of(name)] = function(part, scope)
    return result


def _key(node: Node, scope: Scope) -> str:
    if node.type == "computed_property_name":
        return scalar(evaluate(node.named_children[0], scope))
    return str(_string(node, scope)) if node.type == "string" else text_of(node)


def _identifier(node: Node, scope: Scope) -> object:
    name = text_of(node)
    if name == "__dirname":
        return str(scope.file.parent)
    value = scope.look_up(name)
    return _GLOBAL_VALUES.get(name, UNKNOWN) if value is UNKNOWN else value


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


def _unwrapped(node: Node, scope: Scope) -> object:
    wrapped = next((child for child in node.named_children if child.type != "comment"), None)
    return evaluate(wrapped, scope) if wrapped else UNKNOWN


def _ternary(node: Node, scope: Scope) -> object:
    condition, if_true, if_false = (
        evaluate(part, scope) if (part := node.child_by_field_name(name)) else UNKNOWN
        for name in ("condition", "consequence", "alternative")
    )
    if condition is UNKNOWN:
        return if_true if if_true == if_false else UNKNOWN
    return if_true if condition else if_false


def _binary(node: Node, scope: Scope) -> object:
    operator = text_of(node.child_by_field_name("operator") or node)
    left, right = (
        evaluate(part, scope) if (part := node.child_by_field_name(name)) else UNKNOWN
        for name in ("left", "right")
    )
    if operator in ("||", "??"):
        # An unknown left side is usually an environment variable, which may be unset.
        use_right = left is None or left is UNKNOWN or (operator == "||" and not left)
        return right if use_right else left
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if operator == "&&":
        return right if left else left
    if operator in ("===", "==", "!==", "!="):
        return (left == right) == (operator[0] == "=")
    if operator == "+" and isinstance(left, str | int) and isinstance(right, str | int):
        is_concatenation = isinstance(left, str) or isinstance(right, str)
        return f"{left}{right}" if is_concatenation else int(left) + int(right)
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
    argument_list = node.child_by_field_name("arguments")
    if not callee or not argument_list:
        return UNKNOWN
    arguments = _array(argument_list, scope)
    assert isinstance(arguments, list)
    name = text_of(callee)
    if builtin := _GLOBAL_FUNCTIONS.get(name):
        return builtin(arguments, scope)
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
        results = [call(first, [value, index]) for index, value in enumerate(values)]
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


_GLOBAL_FUNCTIONS: dict[str, Callable[[list[object], Scope], object]] = {
    "require": _require,
    "require.resolve": _require_resolve,
    "path.resolve": _join,
    "path.join": _join,
    "Object.entries": _entries,
    "Object.keys": _keys,
}
_EVALUATORS: dict[str, Callable[[Node, Scope], object]] = {
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
    "parenthesized_expression": _unwrapped,
    "as_expression": _unwrapped,
    "satisfies_expression": _unwrapped,
    "non_null_expression": _unwrapped,
    "await_expression": _unwrapped,
    "ternary_expression": _ternary,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "call_expression": _call,
    "arrow_function": function,
    "function_expression": function,
}
