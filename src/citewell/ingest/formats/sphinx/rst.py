"""Parse reStructuredText with docutils, with replacements for Sphinx's roles and directives."""

import io
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.states import NestedStateMachine, RSTState
from docutils.readers.standalone import Reader as StandaloneReader
from docutils.transforms import Transform
from docutils.transforms.references import DanglingReferences

from citewell.errors import UnreadableFile
from citewell.ingest.formats.sphinx.include_context import IncludeContext
from citewell.ingest.formats.sphinx.rst_directives import find_directive

# docutils keeps roles and directives in global tables.
_LOOKUP_LOCK = threading.RLock()
_SETTINGS: dict[str, Any] = {
    # As in Sphinx: they determine the ids.
    "auto_id_prefix": "id",
    "id_prefix": "",
    "doctitle_xform": False,
    "sectsubtitle_xform": False,
    "section_self_link": False,
    # No file is inserted and no raw markup is passed through.
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "halt_level": 5,
    "report_level": 5,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "line_length_limit": 10_000_000,
}


class _Reader(StandaloneReader):  # type: ignore[type-arg]  # generic in the stubs alone
    """docutils' reader, without errors for targets that another page defines."""

    def get_transforms(self) -> list[type[Transform]]:
        return [t for t in super().get_transforms() if t is not DanglingReferences]


class _LazyStates(dict[str, RSTState]):
    """The states of a state machine, created when first used."""

    def __init__(self, machine: NestedStateMachine, classes: Sequence[type[RSTState]]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {state.__name__: state for state in classes}
        self.running = False

    def __missing__(self, name: str) -> RSTState:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if self.running:
            state.runtime_init()
        return state


class _NestedMachine(NestedStateMachine):
    """docutils' nested state machine, optimised for lists.

    The original creates all of its fifteen states, of which a list needs three.
    """

    states: Any

    def add_states(self, state_classes: Any) -> None:
        self.states = _LazyStates(self, state_classes)

    def runtime_init(self) -> None:
        self.states.running = True
        super().runtime_init()


def parse_rst(text: str, context: IncludeContext) -> nodes.document:
    """Parse one page.

    Raises:
        UnreadableFile: docutils cannot parse it.
    """
    settings = _SETTINGS | {"include_context": context, "warning_stream": io.StringIO()}
    with _patched_lookups(context.default_role):
        try:
            return publish_doctree(
                text, source_path=str(context.page), reader=_Reader(), settings_overrides=settings
            )
        # On unusual input, docutils raises arbitrary internal errors, which must not stop the book.
        except Exception as error:
            error_name = type(error).__name__
            raise UnreadableFile(
                f"is not reStructuredText that docutils can parse ({error_name})"
            ) from error


@contextmanager
def _patched_lookups(default_role: str) -> Iterator[None]:
    """Replace docutils' lookup of directives and roles while a page is parsed."""
    with _LOOKUP_LOCK:
        tables: Any = directives
        registered: dict[str, Any] = vars(roles)["_roles"]
        registered_before = dict(registered)
        states: Any = RSTState
        machine, states.nested_sm = states.nested_sm, _NestedMachine
        directive, role = directives.directive, roles.role

        def look_up_directive(name: str, language: Any, document: Any) -> Any:
            def original(name: str) -> type[Directive] | None:
                return directive(name, language, document)[0]

            return find_directive(name, original), []

        def look_up_role(name: str, language: Any, lineno: int, reporter: Any) -> Any:
            def original(name: str) -> RoleFunction | None:
                return cast("RoleFunction | None", role(name, language, lineno, reporter)[0])

            name = name or ("" if "" in registered else default_role)
            return (find_role(name, original) if name else original("")), []

        tables.directive, cast("Any", roles).role = look_up_directive, look_up_role
        try:
            yield
        finally:
            states.nested_sm = machine
            tables.directive, cast("Any", roles).role = directive, role
            registered.clear()
            registered.update(registered_before)


RoleResult = tuple[Sequence[nodes.Node], Sequence[nodes.system_message]]
RoleFunction = Callable[..., RoleResult]

_EXPLICIT_TITLE = re.compile(r"^(.+?)\s*(?<!\x00)<([^<]*?)>$", re.S)
_CODE_ROLES = frozenset(
    re.findall(
        r"\S+",
        """
        func meth class attr data exc obj mod const type macro member any envvar option
        token keyword program regexp makevar confval cmdoption setting var struct enum
        enumerator union concept expr texpr namespace identifier download
        """,
    )
)
_CALLABLE_ROLES = frozenset(("func", "meth"))
_LITERAL_ROLES = frozenset(
    ("file", "samp", "kbd", "code", "mailheader", "mimetype", "newsgroup", "cmd")
)
_STRONG_ROLES = frozenset(("command", "guilabel", "program", "dfn", "menuselection"))
_REFERENCE_ROLES = frozenset(
    re.findall(
        r"\S+",
        """
        ref numref doc term eq abbr manpage pep rfc cve cwe index cite cite:p cite:t
        footcite
        """,
    )
)


def _unescape(text: str) -> str:
    return nodes.unescape(text).replace("\x00", "")


def split_target(text: str) -> tuple[str, str, bool]:
    """Split `title <target>` into title, target, and whether the title is explicit."""
    match = _EXPLICIT_TITLE.match(text)
    if match:
        return _unescape(match[1]), _unescape(match[2]), True
    return _unescape(text), _unescape(text), False


def _short_code_name(name: str, role: str) -> str:
    """Return `~pkg.mod.name` as Sphinx renders it: `name`, with `()` after functions."""
    if name.startswith("!"):
        return name[1:]
    if name.startswith("~"):
        name = name[1:].rsplit(".", 1)[-1]
    name = name.lstrip(".")
    return f"{name}()" if role in _CALLABLE_ROLES and not name.endswith(")") else name


def _render_reference(role: str, raw: str, text: str) -> nodes.Node:
    label, target, explicit = split_target(text)
    is_code = role in _CODE_ROLES
    if label.startswith("!"):
        label, explicit = label[1:], True
    elif is_code and not explicit:
        label = _short_code_name(label, role)
    # Not a custom node type: docutils' `contents` directive would reject it in headings.
    node = nodes.inline(raw, label, kind=role, target=target)
    node["explicit"], node["code"] = explicit, is_code
    return node


def _render_text_role(role: str, raw: str, text: str) -> nodes.Node:
    label = _unescape(text)
    if role in ("file", "samp"):
        label = re.sub(
            r"\\([{}\\])|\{([^{}]+)\}", lambda m: m[1] or m[2], text.replace("\x00", "\\")
        )
    if role == "guilabel":
        label = re.sub(r"&(&?)", r"\1", label)
    if role == "menuselection":
        label = re.sub(r"&(&?)", r"\1", label.replace("-->", "‣"))
    if role in _LITERAL_ROLES:
        return nodes.literal(raw, label)
    if role in _STRONG_ROLES:
        return nodes.strong(raw, label)
    if role in ("pep", "rfc", "cve", "cwe"):
        label, target, explicit = split_target(text)
        number = label if explicit else f"{role.upper()} {target}"
        return nodes.inline(raw, number)
    if role == "abbr":
        match = re.match(r"(.*)\s+\(([^()]*)\)$", label, re.S)
        node = nodes.abbreviation(raw, match[1] if match else label)
        if match:
            node["explanation"] = match[2]
        return node
    return nodes.inline(raw, label)


def find_role(name: str, look_up: Callable[[str], RoleFunction | None]) -> RoleFunction:
    """Return a replacement role, docutils' own, or one that keeps the text."""
    lower = name.lower()
    role = lower.rsplit(":", 1)[-1]
    if (
        lower in _LITERAL_ROLES
        or lower in _STRONG_ROLES
        or lower in ("abbr", "pep", "rfc", "cve", "cwe")
    ):
        return _make_role(lower, _render_text_role)
    if lower in _REFERENCE_ROLES or lower in _CODE_ROLES or ":" in lower:
        return _make_role(role if lower not in _REFERENCE_ROLES else lower, _render_reference)
    return look_up(lower) or _make_role(lower, _render_reference)


def _make_role(role: str, render: Callable[[str, str, str], nodes.Node]) -> RoleFunction:
    # docutils passes name, raw text, text, line, inliner, options and content.
    def run(_name: str, rawtext: str, text: str, *_rest: Any) -> RoleResult:
        return [render(role, rawtext, text)], []

    return run
