"""Parse MyST Markdown: convert its directives, roles and targets to plain Markdown."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from docutils import nodes
from markdown_it import MarkdownIt

from citewell.ingest.formats.markdown import ParsedPage, parse_page
from citewell.ingest.formats.markdown_writer import fenced
from citewell.ingest.formats.mdx import split_front_matter
from citewell.ingest.formats.sphinx.doctree_inline import InlineText, ReferenceTargets
from citewell.ingest.formats.sphinx.include_context import IncludeContext
from citewell.ingest.formats.sphinx.rst import find_role
from citewell.ingest.formats.sphinx.toctree import Toctree
from citewell.ingest.formats.yaml_data import scalar
from citewell.text.plain_text import strip_inline_markup

_FENCE_START = re.compile(r"^([ \t]*)(`{3,}|~{3,}|:{3,})[ \t]*(?:\{([\w:.+-]+)\})?[ \t]*(.*)$")
_TARGET = re.compile(r"^[ \t]*\(([^()\s][^()]*)\)=[ \t]*$")
_ROLE = re.compile(r"(?<![\\`\w])\{([a-zA-Z][\w:+.-]*)\}(`+)(?!`)(.+?)(?<!`)\2(?!`)", re.S)
_FOOTNOTE = re.compile(r"(?<!^)\[\^[^\]\s]+\](?!:)|^\[\^[^\]\s]+\](?!:)", re.M)
_OPTION = re.compile(r"^[ \t]*:([\w-]+):[ \t]*(.*)$")
_SUBSTITUTION = re.compile(r"\{\{\s*([\w-]+)\s*\}\}")
_MAX_DEPTH = 40
_INLINE_ROLES: dict[str, type[nodes.TextElement]] = {
    "math": nodes.math,
    "sub": nodes.subscript,
    "subscript": nodes.subscript,
    "sup": nodes.superscript,
    "superscript": nodes.superscript,
    "emphasis": nodes.emphasis,
    "strong": nodes.strong,
    "literal": nodes.literal,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MystPage:
    """A MyST page, with its toctrees and labels."""

    page: ParsedPage
    toctrees: tuple[Toctree, ...]
    labels: dict[str, str]
    """Label to the heading after it."""


@dataclass(slots=True)
class MystState:
    """The state of the conversion of a page."""

    inline: InlineText
    context: IncludeContext | None = None
    toctrees: list[Toctree] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


def parse_myst(
    text: str,
    context: IncludeContext | None = None,
    targets: ReferenceTargets | None = None,
    docname: str = "",
) -> MystPage:
    """Parse a MyST page into sections with Sphinx's ids.

    Raises:
        UnreadableFile: the front matter or a comment is invalid.
    """
    text = re.sub(r"\r\n?", "\n", text)
    front_matter, body = split_front_matter(text)
    inline = InlineText(targets or ReferenceTargets(), docname)
    state = MystState(inline=inline, context=context, values=_substitutions(front_matter))
    lines = list(convert(body.split("\n"), state))
    labels = _add_heading_ids(lines)
    markdown = "\n".join(lines)
    page = parse_page(markdown, mdx=False)
    if page.heading is None and (title := scalar(front_matter.get("title"))):
        page = parse_page(f"---\ntitle: {_yaml_quote(title)}\n---\n{markdown}", mdx=False)
    return MystPage(page=page, toctrees=tuple(state.toctrees), labels=labels)


def _yaml_quote(title: str) -> str:
    return "'" + " ".join(title.split()).replace("'", "''") + "'"


def _substitutions(front_matter: dict[str, Any]) -> dict[str, Any]:
    myst = front_matter.get("myst")
    for table in (myst if isinstance(myst, dict) else {}, front_matter):
        substitutions = table.get("substitutions")
        if isinstance(substitutions, dict):
            return substitutions
    return {}


def convert(lines: list[str], state: MystState, depth: int = 0) -> Iterator[str]:
    """Yield the lines as plain Markdown, with rendered directives and roles."""
    index = 0
    prose: list[str] = []
    while index < len(lines):
        line = lines[index]
        fence = _FENCE_START.match(line)
        if not fence or (fence[2][0] == "`" and "`" in fence[4]):
            if not line.startswith(("% ", "+++")) and line != "%":
                prose.append(line)
            index += 1
            continue
        yield from _render_roles(prose, state)
        prose = []
        end = _find_closing_fence(lines, index, fence[2])
        body = lines[index + 1 : end]
        if fence[3] is not None and depth < _MAX_DEPTH:
            yield from _directive(fence, body, state, depth)
        elif fence[2][0] == ":":
            yield line
            yield from convert(body, state, depth + 1) if depth < _MAX_DEPTH else body
            yield from lines[end : end + 1]
        else:
            yield from lines[index : end + 1]
        index = end + 1
    yield from _render_roles(prose, state)


def _find_closing_fence(lines: list[str], start: int, fence: str) -> int:
    for end in range(start + 1, len(lines)):
        stripped = lines[end].strip()
        if len(stripped) >= len(fence) and set(stripped) == {fence[0]}:
            return end
    return len(lines)


def _render_roles(lines: list[str], state: MystState) -> list[str]:
    if not lines:
        return []

    def role(match: re.Match[str]) -> str:
        text = " ".join(match[3].split())
        name = match[1].lower()
        if name in _INLINE_ROLES:
            node: nodes.Node = _INLINE_ROLES[name](text, text)
        else:
            node = find_role(name, lambda _: None)(name, text, text, 0, None)[0][0]
        return state.inline.render(nodes.paragraph("", "", node))

    text = _ROLE.sub(role, "\n".join(lines))
    text = _SUBSTITUTION.sub(lambda m: scalar(state.values.get(m[1])) or m[0], text)
    return text.split("\n")


def _unquoted(value: str) -> str:
    """Strip YAML quotes from an option's value."""
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]
    return value[1:-1] if is_quoted else value


def _directive(
    fence: re.Match[str], lines: list[str], state: MystState, depth: int
) -> Iterator[str]:
    indent = fence[1]
    body = [line.removeprefix(indent) for line in lines]
    options: dict[str, str] = {}
    if body and body[0].strip() == "---":
        end = next((n for n, line in enumerate(body[1:], 1) if line.strip() == "---"), 0)
        pairs = (line.partition(":") for line in body[1:end])
        options = {key.strip(): _unquoted(value) for key, _, value in pairs}
        body = body[end + 1 :]
    while body and (option := _OPTION.match(body[0])):
        options[option[1]] = _unquoted(option[2])
        body = body[1:]
    name, argument = fence[3].lower(), fence[4].strip()
    directive = Directive(name=name, argument=argument, options=options, body=body)

    def convert_lines(lines: list[str]) -> list[str]:
        return list(convert(lines, state, depth + 1))

    yield ""
    for line in render_directive(directive, convert_lines, state.toctrees, state.context):
        yield f"{indent}{line}" if line else ""
    yield ""


def _add_heading_ids(lines: list[str]) -> dict[str, str]:
    """Append its id to each heading and blank the targets, in place; return the labels."""
    labels: dict[str, str] = {}
    pending: dict[str, str] = {}
    ids = _IdAllocator()
    markdown = "\n".join(lines)
    headings, fenced = dict(_headings(markdown)), set(_fenced_lines(markdown))
    for number, line in enumerate(lines):
        target = None if number in fenced else _TARGET.match(line)
        if target:
            pending[nodes.fully_normalize_name(target[1])] = ids.take(target[1])
            lines[number] = ""
        elif number in headings:
            markdown = strip_inline_markup(headings[number])
            # An explicit target takes precedence over the id that is made of the heading.
            heading_id = [ids.take(markdown), *pending.values()][-1]
            labels |= dict.fromkeys(pending, markdown)
            pending = {}
            if line.lstrip().startswith("#"):
                line = re.sub(r"[ \t]+#+[ \t]*$", "", line)  # noqa: PLW2901 - without closing `#`
            lines[number] = f"{line.rstrip()} {{#{heading_id}}}"
        elif line.strip():
            pending = {}
            if number not in fenced:
                ids.skip(len(_FOOTNOTE.findall(re.sub(r"`[^`]*`", "", line))))
    return labels


def _headings(text: str) -> Iterator[tuple[int, str]]:
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            is_setext = opening.markup in ("=", "-")
            yield opening.map[1] - 2 if is_setext else opening.map[0], inline.content


def _fenced_lines(text: str) -> Iterator[int]:
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        if token.type in ("fence", "code_block") and token.map:
            yield from range(*token.map)


class _IdAllocator:
    """Generates the ids of a page, by the rules of docutils."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._count = 0

    def take(self, text: str) -> str:
        """Return the id of the next heading or target with this text."""
        name = str(nodes.make_id(text))
        while not name or name in self._used:
            self._count += 1
            name = f"id{self._count}"
        self._used.add(name)
        return name

    def skip(self, count: int) -> None:
        """Reserve generated ids, such as those of footnote references."""
        for _ in range(count):
            self.take("")


Render = Callable[[list[str]], list[str]]

_ADMONITIONS = frozenset(
    re.findall(
        r"\S+",
        """
        note warning tip attention caution danger error hint important seealso margin
        sidebar versionadded versionchanged deprecated epigraph
        """,
    )
)
_TITLED_ADMONITIONS = frozenset(("admonition", "topic", "exercise", "solution"))
_CODE_DIRECTIVES = frozenset(
    ("code-block", "code", "sourcecode", "code-cell", "prompt", "parsed-literal")
)
_TESTED_CODE_LANGUAGES = {"doctest": "pycon", "testcode": "python", "testoutput": "text"}
"""Directives with code that Sphinx can run, and its language."""
_DIAGRAM_DIRECTIVES = frozenset(("mermaid", "graphviz", "plantuml", "uml", "digraph"))
_TITLED_DIRECTIVES = frozenset(
    re.findall(
        r"\S+",
        """
        tab-item tab group-tab dropdown card grid-item-card details figure-md table
        list-table glossary csv-table
        """,
    )
)
_DROPPED_DIRECTIVES = frozenset(
    re.findall(
        r"\S+",
        """
        index raw meta contents tableofcontents bibliography todo todolist testsetup
        testcleanup autosummary automodule currentmodule module nb-exec-table glue iframe
        video youtube
        """,
    )
)
_VERSION_LABELS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_LANGUAGES = {"ipython3": "python", "ipython": "python"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """A parsed directive."""

    name: str
    argument: str
    options: dict[str, str]
    body: list[str]


def render_directive(
    directive: Directive, render: Render, toctrees: list[Toctree], context: IncludeContext | None
) -> list[str]:
    """Render a directive as lines of Markdown; `render` converts its content."""
    name = directive.name
    if name == "toctree":
        toctrees.append(_toctree(directive))
    if name == "toctree" or name in _DROPPED_DIRECTIVES:
        return []
    if name in _CODE_DIRECTIVES or name in _DIAGRAM_DIRECTIVES or name in _TESTED_CODE_LANGUAGES:
        return _render_code(directive)
    if name in ("include", "literalinclude"):
        return _render_include(directive, render, context)
    if name == "eval-rst":
        return _render_rst(directive.body, context)
    return _render_block(directive, render)


def _render_block(directive: Directive, render: Render) -> list[str]:
    if directive.name == "math":
        return ["$$", *_strip_blank([directive.argument, *directive.body]), "$$"]
    if directive.name in ("figure", "image"):
        return _image(directive, render)
    return _render_titled(directive, render)


def _render_titled(directive: Directive, render: Render) -> list[str]:
    name, argument = directive.name.split(":")[-1], directive.argument
    theorem = directive.name.startswith(("prf:", "proof:"))
    if name in _ADMONITIONS:
        if name in _VERSION_LABELS:
            version, _, words = argument.partition(" ")
            argument = f"{_VERSION_LABELS[name]} {version}" + (f": {words}" if words else "")
        return [f":::{name}", *render(_strip_blank([argument, "", *directive.body])), ":::"]
    if name in _TITLED_ADMONITIONS or theorem:
        title = f"[{argument.replace(']', ')')}]" if argument else ""
        return [f":::{name}{title}", *render(_strip_blank(directive.body)), ":::"]
    # For an unknown directive, an argument of several words is a title.
    has_title = argument and (name in _TITLED_DIRECTIVES or len(argument.split()) > 1)
    title_lines = [f"**{argument}**:", ""] if has_title and not argument.isdecimal() else []
    return [*title_lines, *render(directive.body)]


def _strip_blank(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").split("\n")


def _toctree(directive: Directive) -> Toctree:
    return Toctree(
        entries=tuple(line.strip() for line in directive.body if line.strip()),
        caption=directive.options.get("caption", ""),
        glob="glob" in directive.options,
        reversed="reversed" in directive.options,
    )


def _render_code(directive: Directive) -> list[str]:
    tags = directive.options.get("tags", "")
    if "remove-cell" in tags or "hide-cell" in tags:
        return []
    is_diagram = directive.name in _DIAGRAM_DIRECTIVES
    language_name = directive.name if is_diagram else directive.argument.split(" ")[0]
    language = _TESTED_CODE_LANGUAGES.get(directive.name, language_name)
    caption = directive.options.get("caption")
    caption_lines = [f"**{caption}**:", ""] if caption else []
    code = fenced("\n".join(_strip_blank(directive.body)), _LANGUAGES.get(language, language))
    return [*caption_lines, *code.split("\n")]


def _image(directive: Directive, render: Render) -> list[str]:
    alt = directive.options.get("alt", "")
    image = [f"![{alt}]({directive.argument.replace(' ', '%20')})", ""] if alt else []
    return [*image, *render(directive.body)]


def _render_include(
    directive: Directive, render: Render, context: IncludeContext | None
) -> list[str]:
    included = context.read(directive.argument) if context else None
    if included is None or context is None:
        return []
    path, text = included
    if directive.name == "literalinclude" or {"literal", "code"} & set(directive.options):
        from citewell.ingest.formats.sphinx.rst_directives import select_literalinclude_lines

        lines = select_literalinclude_lines(text, directive.options)
        language = directive.options.get("language") or path.suffix.lstrip(".")
        return fenced("\n".join(lines), language).split("\n")
    lines = text.split("\n")
    text = "\n".join(lines[_line(directive, "start-line") : _line(directive, "end-line")])
    for option, keep_after in (("start-after", True), ("end-before", False)):
        if (marker := directive.options.get(option)) and marker in text:
            before, _, after = text.partition(marker)
            text = after if keep_after else before
    return (
        _render_rst(text.split("\n"), context)
        if path.suffix == ".rst"
        else render(text.split("\n"))
    )


def _line(directive: Directive, option: str) -> int | None:
    """Return the value of `start-line` or `end-line`; negative counts from the end."""
    value = directive.options.get(option, "")
    return int(value) if re.fullmatch(r"-?\d{1,9}", value) else None


def _render_rst(lines: list[str], context: IncludeContext | None) -> list[str]:
    # Imported here because it imports this module.
    from citewell.ingest.formats.sphinx.doctree import rst_to_markdown

    return rst_to_markdown("\n".join(lines), context) if context else lines
