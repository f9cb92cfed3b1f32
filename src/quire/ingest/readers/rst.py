"""reStructuredText to docutils' tree, with stand-ins for everything Sphinx adds."""

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.states import NestedStateMachine, RSTState
from docutils.readers.standalone import Reader as StandaloneReader
from docutils.transforms import Transform
from docutils.transforms.references import DanglingReferences

from quire.errors import UnreadableFile
from quire.ingest.readers.rst_directives import find_directive
from quire.ingest.readers.rst_roles import RoleFunction, find_role
from quire.ingest.readers.surroundings import Surroundings

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


def parse_rst(text: str, around: Surroundings) -> nodes.document:
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
