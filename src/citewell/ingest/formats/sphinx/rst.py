"""reStructuredText to docutils' tree, with stand-ins for everything Sphinx adds."""

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

# docutils looks names up in tables of the whole process.
_LOOKUPS = threading.RLock()
_SETTINGS: dict[str, Any] = {
    # As Sphinx has them, for they decide the ids.
    "auto_id_prefix": "id",
    "id_prefix": "",
    "doctitle_xform": False,
    "sectsubtitle_xform": False,
    "section_self_link": False,
    # A book is text: nothing is fetched, run or inserted.
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
    """The reader of docutils, without complaints about names that another page defines."""

    def get_transforms(self) -> list[type[Transform]]:
        return [t for t in super().get_transforms() if t is not DanglingReferences]


class _States(dict[str, RSTState]):
    """The states of a machine, each made when it is first looked up."""

    def __init__(self, machine: NestedStateMachine, classes: Sequence[type[RSTState]]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {one.__name__: one for one in classes}
        self.running = False

    def __missing__(self, name: str) -> RSTState:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if self.running:
            state.runtime_init()
        return state


class _NestedMachine(NestedStateMachine):
    """The machine of docutils for what stands within something, as every list.

    That makes all of its fifteen states, of which a list needs three.
    """

    states: Any

    def add_states(self, state_classes: Any) -> None:
        self.states = _States(self, state_classes)

    def runtime_init(self) -> None:
        self.states.running = True
        super().runtime_init()


def parse_rst(text: str, around: IncludeContext) -> nodes.document:
    """Parse one page.

    Raises:
        UnreadableFile: docutils gave up on it.
    """
    settings = _SETTINGS | {"surroundings": around, "warning_stream": io.StringIO()}
    with _standins(around.default_role):
        try:
            return publish_doctree(
                text,
                source_path=str(around.page),
                reader=_Reader(),
                settings_overrides=settings,
            )
        # docutils fails on odd input with whatever its internals raise, and a page that cannot be
        # parsed must not stop the book.
        except Exception as error:
            kind = type(error).__name__
            raise UnreadableFile(
                f"is not reStructuredText that docutils can parse ({kind})"
            ) from error


@contextmanager
def _standins(default_role: str) -> Iterator[None]:
    """Answer docutils' questions for directives and roles while a page is parsed."""
    with _LOOKUPS:
        tables: Any = directives
        named: dict[str, Any] = vars(roles)["_roles"]
        before = dict(named)
        states: Any = RSTState
        machine, states.nested_sm = states.nested_sm, _NestedMachine
        directive, role = directives.directive, roles.role

        def look_up_directive(name: str, language: Any, document: Any) -> Any:
            def own(wanted: str) -> type[Directive] | None:
                return directive(wanted, language, document)[0]

            return find_directive(name, own), []

        def look_up_role(name: str, language: Any, lineno: int, reporter: Any) -> Any:
            def own(wanted: str) -> RoleFunction | None:
                found: Any = role(wanted, language, lineno, reporter)[0]
                return cast("RoleFunction | None", found)

            wanted = name or ("" if "" in named else default_role)
            return (find_role(wanted, own) if wanted else own("")), []

        tables.directive, cast("Any", roles).role = look_up_directive, look_up_role
        try:
            yield
        finally:
            states.nested_sm = machine
            tables.directive, cast("Any", roles).role = directive, role
            named.clear()
            named.update(before)


RoleResult = tuple[Sequence[nodes.Node], Sequence[nodes.system_message]]
RoleFunction = Callable[..., RoleResult]

_EXPLICIT = re.compile(r"^(.+?)\s*(?<!\x00)<([^<]*?)>$", re.S)
_CODE = frozenset(
    re.findall(
        r"\S+",
        """
        func meth class attr data exc obj mod const type macro member any envvar option
        token keyword program regexp makevar confval cmdoption setting var struct enum
        enumerator union concept expr texpr namespace identifier download
        """,
    )
)
_CALLED = frozenset(("func", "meth"))
_LITERAL = frozenset(("file", "samp", "kbd", "code", "mailheader", "mimetype", "newsgroup", "cmd"))
_STRONG = frozenset(("command", "guilabel", "program", "dfn", "menuselection"))
_OWN = frozenset(
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
    """Split `words <target>`; give whether the words were the author's own."""
    found = _EXPLICIT.match(text)
    if found:
        return _unescape(found[1]), _unescape(found[2]), True
    return _unescape(text), _unescape(text), False


def _code_words(words: str, kind: str) -> str:
    """Return `~pkg.mod.name` as Sphinx shows it: `name`, with `()` behind what is called."""
    if words.startswith("!"):
        return words[1:]
    if words.startswith("~"):
        words = words[1:].rsplit(".", 1)[-1]
    words = words.lstrip(".")
    return f"{words}()" if kind in _CALLED and not words.endswith(")") else words


def _reference(kind: str, raw: str, text: str) -> nodes.Node:
    words, target, explicit = split_target(text)
    code = kind in _CODE
    if words.startswith("!"):
        words, explicit = words[1:], True
    elif code and not explicit:
        words = _code_words(words, kind)
    # A node of docutils' own: a contents list visits headings, and refuses others.
    node = nodes.inline(raw, words, kind=kind, target=target)
    node["explicit"], node["code"] = explicit, code
    return node


def _words(kind: str, raw: str, text: str) -> nodes.Node:
    words = _unescape(text)
    if kind in ("file", "samp"):
        words = re.sub(
            r"\\([{}\\])|\{([^{}]+)\}", lambda m: m[1] or m[2], text.replace("\x00", "\\")
        )
    if kind == "guilabel":
        words = re.sub(r"&(&?)", r"\1", words)
    if kind == "menuselection":
        words = re.sub(r"&(&?)", r"\1", words.replace("-->", "‣"))
    if kind in _LITERAL:
        return nodes.literal(raw, words)
    if kind in _STRONG:
        return nodes.strong(raw, words)
    if kind in ("pep", "rfc", "cve", "cwe"):
        words, target, explicit = split_target(text)
        number = words if explicit else f"{kind.upper()} {target}"
        return nodes.inline(raw, number)
    if kind == "abbr":
        found = re.match(r"(.*)\s+\(([^()]*)\)$", words, re.S)
        node = nodes.abbreviation(raw, found[1] if found else words)
        if found:
            node["explanation"] = found[2]
        return node
    return nodes.inline(raw, words)


def find_role(name: str, look_up: Callable[[str], RoleFunction | None]) -> RoleFunction:
    """Choose the role of that name: a stand-in, docutils' own, or one that keeps the words."""
    lower = name.lower()
    kind = lower.rsplit(":", 1)[-1]
    if lower in _LITERAL or lower in _STRONG or lower in ("abbr", "pep", "rfc", "cve", "cwe"):
        return _role(lower, _words)
    if lower in _OWN or lower in _CODE or ":" in lower:
        return _role(kind if lower not in _OWN else lower, _reference)
    return look_up(lower) or _role(lower, _reference)


def _role(kind: str, make: Callable[[str, str, str], nodes.Node]) -> RoleFunction:
    # docutils passes name, raw text, text, line, inliner, options and content.
    def run(_name: str, rawtext: str, text: str, *_rest: Any) -> RoleResult:
        return [make(kind, rawtext, text)], []

    return run
