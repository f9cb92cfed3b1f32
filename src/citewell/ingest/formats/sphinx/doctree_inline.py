"""The running text of docutils' tree, as Markdown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from docutils import nodes

from citewell.ingest.formats.sphinx.toctree import join_docname

# Only what Markdown would read as markup: a lone `*`, `snake_case` and `5 < 6` stay as they are.
_SPECIAL = re.compile(
    r"\\(?=[\\`*_{}\[\]()#+\-.!|<>~$])|[*`$|]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|<(?=[A-Za-z/!])"
    r"|\[(?=[^\]]*\][(\[])|\[(?=\^)"
)
_LINE_START = re.compile(r"^(\s*)(?:([-+>|#]|:::|={3,}|~~~)(?=\s|[|:=~#\w])|(\d+)([.)])(?=\s))")
_SPACE = re.compile(r"\s+")
_UNRESOLVED = re.compile(r"\|([^|]+)\|_{0,2}|`([^`<]+?)(?:\s*<[^>]*>)?`_{1,2}|(.+?)_{1,2}", re.S)
_DIGITS = re.compile(r"[+−-]?[\dn]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTargets:
    """What references by name stand for, across the whole book."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Document name to title."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label to the title or caption it stands before."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Substitutions that Sphinx makes on its own: `|version|`, `|release|`."""
    wanted: list[tuple[str, str, str]] = field(default_factory=list)
    """Which document referred to what, by role and target: gathered while they are rendered."""


def escape(text: str) -> str:
    """Protect what Markdown would read as markup."""
    return _SPECIAL.sub(lambda m: f"\\{m[0]}", text)


def escape_start(line: str) -> str:
    """Protect the beginning of a paragraph that looks like an item, a row or a heading."""

    def protect(found: re.Match[str]) -> str:
        if found[3]:
            return f"{found[1]}{found[3]}\\{found[4]}"
        return f"{found[1]}\\{found[2]}"

    return _LINE_START.sub(protect, line)


def code(text: str) -> str:
    """Make inline code, whatever it holds."""
    text = _SPACE.sub(" ", text).strip()
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


class InlineText:
    """Renders the inline nodes of one page."""

    def __init__(self, names: ReferenceTargets, docname: str) -> None:
        self._names = names
        self._docname = docname

    def render(self, node: nodes.Node) -> str:
        """Return the Markdown of everything inside `node`, on one line."""
        return _SPACE.sub(" ", self._children(node)).strip()

    def _children(self, node: nodes.Node) -> str:
        return "".join(self._one(child) for child in node.children)

    def _one(self, node: nodes.Node) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm a node
        match node:
            case nodes.Text():
                return escape(node.astext())
            case nodes.strong():
                return self._wrapped("**", node)
            case nodes.emphasis() | nodes.title_reference():
                return self._wrapped("*", node)
            case nodes.literal():
                return code(node.astext())
            case nodes.math():
                return f"${_SPACE.sub(' ', node.astext()).strip()}$"
            case nodes.inline() if "kind" in node:
                return self._cross_reference(node)
            case nodes.reference():
                return self._link(node)
            case nodes.footnote_reference():
                return f"[^{node.astext()}]"
            case nodes.citation_reference():
                return f"\\[{escape(node.astext())}\\]"
            case nodes.image():
                alt = _SPACE.sub(" ", str(node.get("alt", ""))).strip()
                return f"![{escape(alt)}]({_address(node.get('uri', ''))})" if alt else ""
            case nodes.superscript():
                text = self._children(node)
                return f"^{text}" if _DIGITS.fullmatch(text) else text
            case nodes.abbreviation():
                more = node.get("explanation")
                return self._children(node) + (f" ({escape(str(more))})" if more else "")
            case nodes.problematic() | nodes.substitution_reference():
                return self._unresolved(node)
            case nodes.raw() | nodes.system_message() | nodes.comment() | nodes.pending():
                return ""
            case _:
                return self._children(node)

    def _wrapped(self, mark: str, node: nodes.Node) -> str:
        text = self._children(node).strip()
        return f"{mark}{text}{mark}" if text else ""

    def _link(self, node: nodes.reference) -> str:
        text = self._children(node)
        uri = str(node.get("refuri", ""))
        plain = _SPACE.sub(" ", node.astext()).strip()
        if not re.match(r"(?:https?|mailto|ftp):", uri) or not plain:
            return text
        if plain in (uri, uri.removeprefix("mailto:")):
            return plain
        return f"[{_SPACE.sub(' ', text).strip()}]({_address(uri)})"

    def _cross_reference(self, node: nodes.inline) -> str:
        words = node.astext()
        if node["kind"] in ("ref", "doc"):
            self._names.wanted.append((self._docname, node["kind"], str(node["target"])))
        if not node["explicit"]:
            words = self._resolved(node["kind"], str(node["target"])) or words
        return code(words) if node["code"] else escape(words)

    def _resolved(self, kind: str, target: str) -> str | None:
        names = self._names
        match kind:
            case "ref" | "numref":
                return names.labels.get(nodes.fully_normalize_name(target))
            case "doc":
                return names.titles.get(join_docname(self._docname, target))
            case "eq":
                return f"({target})"
            case _:
                return None

    def _unresolved(self, node: nodes.Element) -> str:
        text = node.astext()
        if isinstance(node, nodes.substitution_reference):
            return escape(self._names.values.get(text, text))
        found = _UNRESOLVED.fullmatch(text)
        words = next((g for g in found.groups() if g), text) if found else text
        return escape(self._names.values.get(words, words))


def _address(uri: object) -> str:
    return re.sub(r"[\s()<>]", lambda m: f"%{ord(m[0]):02X}", str(uri))
