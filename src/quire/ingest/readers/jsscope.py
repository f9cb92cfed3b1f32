"""What the expressions of a JavaScript module are worked out from: names, functions, modules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, Protocol

from tree_sitter import Node


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
        """Give the file that a module means by a relative name."""
        ...

    def load(self, file: Path, name: str) -> Mapping[str, object]:
        """Give what the module named from `file` exports."""
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
        """Give what a name stands for."""
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
    """Give the source of a node."""
    return (node.text or b"").decode("utf-8", "replace")
