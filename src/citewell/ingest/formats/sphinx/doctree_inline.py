"""Render the inline nodes of a docutils document as Markdown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from docutils import nodes

from citewell.ingest.formats.sphinx.toctree import join_docname

# Only what Markdown would parse as markup, not a single `*`, `snake_case` or `5 < 6`.
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
    """The targets of references in the whole book."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Document name to title."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label to the title or caption of its target."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Sphinx's default substitutions: `|version|`, `|release|`."""
    references: list[tuple[str, str, str]] = field(default_factory=list)
    """References as (document, role, target), recorded during rendering."""


def escape(text: str) -> str:
    """Escape Markdown markup."""
    return _SPECIAL.sub(lambda m: f"\\{m[0]}", text)


def escape_block_start(line: str) -> str:
    """Escape the beginning of a paragraph that looks like a list item, table or heading."""
    return _LINE_START.sub(lambda m: f"{m[1]}{m[3] or ''}\\{m[4] or m[2]}", line)


def inline_code(text: str) -> str:
    """Write inline code with a fence longer than any run of backticks inside."""
    text = _SPACE.sub(" ", text).strip()
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


class InlineText:
    """Renders the inline nodes of a page."""

    def __init__(self, targets: ReferenceTargets, docname: str) -> None:
        self._targets = targets
        self._docname = docname

    def render(self, node: nodes.Node) -> str:
        """Return the children of `node` as Markdown on one line."""
        return _SPACE.sub(" ", self._render_children(node)).strip()

    def _render_children(self, node: nodes.Node) -> str:
        return "".join(self._render_node(child) for child in node.children)

    def _render_node(self, node: nodes.Node) -> str:  # noqa: C901, PLR0911, PLR0912 - one case per node
        match node:
            case nodes.Text():
                return escape(node.astext())
            case nodes.strong():
                return self._wrap("**", node)
            case nodes.emphasis() | nodes.title_reference():
                return self._wrap("*", node)
            case nodes.literal():
                return inline_code(node.astext())
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
                return f"![{escape(alt)}]({_escape_url(node.get('uri', ''))})" if alt else ""
            case nodes.superscript():
                text = self._render_children(node)
                return f"^{text}" if _DIGITS.fullmatch(text) else text
            case nodes.abbreviation():
                explanation = node.get("explanation")
                suffix = f" ({escape(str(explanation))})" if explanation else ""
                return self._render_children(node) + suffix
            case nodes.problematic() | nodes.substitution_reference():
                return self._unresolved(node)
            case nodes.raw() | nodes.system_message() | nodes.comment() | nodes.pending():
                return ""
            case _:
                return self._render_children(node)

    def _wrap(self, mark: str, node: nodes.Node) -> str:
        text = self._render_children(node).strip()
        return f"{mark}{text}{mark}" if text else ""

    def _link(self, node: nodes.reference) -> str:
        text = self._render_children(node)
        uri = str(node.get("refuri", ""))
        plain_text = _SPACE.sub(" ", node.astext()).strip()
        if not re.match(r"(?:https?|mailto|ftp):", uri) or not plain_text:
            return text
        if plain_text in (uri, uri.removeprefix("mailto:")):
            return plain_text
        return f"[{_SPACE.sub(' ', text).strip()}]({_escape_url(uri)})"

    def _cross_reference(self, node: nodes.inline) -> str:
        text = node.astext()
        if node["kind"] in ("ref", "doc"):
            self._targets.references.append((self._docname, node["kind"], str(node["target"])))
        if not node["explicit"]:
            text = self._resolve(node["kind"], str(node["target"])) or text
        return inline_code(text) if node["code"] else escape(text)

    def _resolve(self, role: str, target: str) -> str | None:
        targets = self._targets
        match role:
            case "ref" | "numref":
                return targets.labels.get(nodes.fully_normalize_name(target))
            case "doc":
                return targets.titles.get(join_docname(self._docname, target))
            case "eq":
                return f"({target})"
            case _:
                return None

    def _unresolved(self, node: nodes.Element) -> str:
        text = node.astext()
        if isinstance(node, nodes.substitution_reference):
            return escape(self._targets.values.get(text, text))
        match = _UNRESOLVED.fullmatch(text)
        name = next((g for g in match.groups() if g), text) if match else text
        return escape(self._targets.values.get(name, name))


def _escape_url(uri: object) -> str:
    return re.sub(r"[\s()<>]", lambda m: f"%{ord(m[0]):02X}", str(uri))
