"""MyST Markdown: its directives, roles and targets, put into the Markdown every reader shares."""

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
from citewell.ingest.formats.sphinx.toctree import Contents
from citewell.ingest.formats.yaml_data import scalar
from citewell.text.plain_text import strip_inline_markup

_OPEN = re.compile(r"^([ \t]*)(`{3,}|~{3,}|:{3,})[ \t]*(?:\{([\w:.+-]+)\})?[ \t]*(.*)$")
_TARGET = re.compile(r"^[ \t]*\(([^()\s][^()]*)\)=[ \t]*$")
_ROLE = re.compile(r"(?<![\\`\w])\{([a-zA-Z][\w:+.-]*)\}(`+)(?!`)(.+?)(?<!`)\2(?!`)", re.S)
_FOOTNOTE = re.compile(r"(?<!^)\[\^[^\]\s]+\](?!:)|^\[\^[^\]\s]+\](?!:)", re.M)
_OPTION = re.compile(r"^[ \t]*:([\w-]+):[ \t]*(.*)$")
_VALUE = re.compile(r"\{\{\s*([\w-]+)\s*\}\}")
_MAX_DEPTH = 40
_PLAIN: dict[str, type[nodes.TextElement]] = {
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
    """One MyST file: its sections, and what the rest of the book must know of it."""

    page: ParsedPage
    trees: tuple[Contents, ...]
    labels: dict[str, str]
    """Label to the heading it stands before."""


@dataclass(slots=True)
class MystState:
    """What the conversion of one page gathers on its way."""

    inline: InlineText
    around: IncludeContext | None = None
    trees: list[Contents] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


def parse_myst(
    text: str,
    around: IncludeContext | None = None,
    names: ReferenceTargets | None = None,
    docname: str = "",
) -> MystPage:
    """Read one MyST file into sections with the ids that Sphinx gives them.

    Raises:
        UnreadableFile: the front matter or a comment is broken.
    """
    text = re.sub(r"\r\n?", "\n", text)
    front_matter, body = split_front_matter(text)
    inline = InlineText(names or ReferenceTargets(), docname)
    state = MystState(inline=inline, around=around, values=_substitutions(front_matter))
    lines = list(convert(body.split("\n"), state))
    labels = _give_ids(lines)
    whole = "\n".join(lines)
    page = parse_page(whole, mdx=False)
    if page.heading is None and (title := scalar(front_matter.get("title"))):
        page = parse_page(f"---\ntitle: {_quoted(title)}\n---\n{whole}", mdx=False)
    return MystPage(page=page, trees=tuple(state.trees), labels=labels)


def _quoted(title: str) -> str:
    return "'" + " ".join(title.split()).replace("'", "''") + "'"


def _substitutions(front_matter: dict[str, Any]) -> dict[str, Any]:
    inner = front_matter.get("myst")
    for source in (inner if isinstance(inner, dict) else {}, front_matter):
        found = source.get("substitutions")
        if isinstance(found, dict):
            return found
    return {}


def convert(lines: list[str], state: MystState, depth: int = 0) -> Iterator[str]:
    """Yield the lines as plain Markdown, directives and roles in them rendered."""
    place = 0
    prose: list[str] = []
    while place < len(lines):
        line = lines[place]
        found = _OPEN.match(line)
        if not found or (found[2][0] == "`" and "`" in found[4]):
            if not line.startswith(("% ", "+++")) and line != "%":
                prose.append(line)
            place += 1
            continue
        yield from _running(prose, state)
        prose = []
        end = _closing(lines, place, found[2])
        inside = lines[place + 1 : end]
        if found[3] is not None and depth < _MAX_DEPTH:
            yield from _directive(found, inside, state, depth)
        elif found[2][0] == ":":
            yield line
            yield from convert(inside, state, depth + 1) if depth < _MAX_DEPTH else inside
            yield from lines[end : end + 1]
        else:
            yield from lines[place : end + 1]
        place = end + 1
    yield from _running(prose, state)


def _closing(lines: list[str], place: int, fence: str) -> int:
    for end in range(place + 1, len(lines)):
        stripped = lines[end].strip()
        if len(stripped) >= len(fence) and set(stripped) == {fence[0]}:
            return end
    return len(lines)


def _running(lines: list[str], state: MystState) -> list[str]:
    if not lines:
        return []

    def role(match: re.Match[str]) -> str:
        words = " ".join(match[3].split())
        kind = match[1].lower()
        if kind in _PLAIN:
            node: nodes.Node = _PLAIN[kind](words, words)
        else:
            node = find_role(kind, lambda _: None)(kind, words, words, 0, None)[0][0]
        return state.inline.render(nodes.paragraph("", "", node))

    text = _ROLE.sub(role, "\n".join(lines))
    text = _VALUE.sub(lambda m: scalar(state.values.get(m[1])) or m[0], text)
    return text.split("\n")


def _unquoted(value: str) -> str:
    """Return an option's value, which may be quoted as in YAML."""
    value = value.strip()
    quoted = len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]
    return value[1:-1] if quoted else value


def _directive(
    found: re.Match[str], inside: list[str], state: MystState, depth: int
) -> Iterator[str]:
    indent = found[1]
    body = [line.removeprefix(indent) for line in inside]
    options: dict[str, str] = {}
    if body and body[0].strip() == "---":
        end = next((n for n, line in enumerate(body[1:], 1) if line.strip() == "---"), 0)
        pairs = (line.partition(":") for line in body[1:end])
        options = {key.strip(): _unquoted(value) for key, _, value in pairs}
        body = body[end + 1 :]
    while body and (option := _OPTION.match(body[0])):
        options[option[1]] = _unquoted(option[2])
        body = body[1:]
    fence = Fence(name=found[3].lower(), argument=found[4].strip(), options=options, body=body)

    def inner(lines: list[str]) -> list[str]:
        return list(convert(lines, state, depth + 1))

    yield ""
    for line in render_directive(fence, inner, state.trees, state.around):
        yield f"{indent}{line}" if line else ""
    yield ""


def _give_ids(lines: list[str]) -> dict[str, str]:
    """Write each heading's id behind it, and blank the targets; give what the targets name."""
    labels: dict[str, str] = {}
    pending: dict[str, str] = {}
    ids = _Ids()
    text = "\n".join(lines)
    headings, fenced = dict(_headings(text)), set(_fenced_lines(text))
    for number, line in enumerate(lines):
        target = None if number in fenced else _TARGET.match(line)
        if target:
            pending[nodes.fully_normalize_name(target[1])] = ids.take(target[1])
            lines[number] = ""
        elif number in headings:
            words = strip_inline_markup(headings[number])
            # The name its author gave it comes before the one made of its words.
            given = [ids.take(words), *pending.values()][-1]
            labels |= dict.fromkeys(pending, words)
            pending = {}
            bare = re.sub(r"[ \t]+#+[ \t]*$", "", line) if line.lstrip().startswith("#") else line
            lines[number] = f"{bare.rstrip()} {{#{given}}}"
        elif line.strip():
            pending = {}
            if number not in fenced:
                ids.skip(len(_FOOTNOTE.findall(re.sub(r"`[^`]*`", "", line))))
    return labels


def _headings(text: str) -> Iterator[tuple[int, str]]:
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open" and opened.level == 0 and opened.map:
            setext = opened.markup in ("=", "-")
            yield opened.map[1] - 2 if setext else opened.map[0], inline.content


def _fenced_lines(text: str) -> Iterator[int]:
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        if token.type in ("fence", "code_block") and token.map:
            yield from range(*token.map)


class _Ids:
    """The ids of one page, as docutils makes them."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._count = 0

    def take(self, words: str) -> str:
        """Return the id of the next heading or target of that name."""
        name = str(nodes.make_id(words))
        while not name or name in self._taken:
            self._count += 1
            name = f"id{self._count}"
        self._taken.add(name)
        return name

    def skip(self, count: int) -> None:
        """Count nodes that take an id without showing it, as references to footnotes do."""
        for _ in range(count):
            self.take("")


Inner = Callable[[list[str]], list[str]]

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
_CODE = frozenset(("code-block", "code", "sourcecode", "code-cell", "prompt", "parsed-literal"))
_TESTED = {"doctest": "pycon", "testcode": "python", "testoutput": "text"}
"""Code that Sphinx can run, and the language it is written in."""
_DIAGRAMS = frozenset(("mermaid", "graphviz", "plantuml", "uml", "digraph"))
_TITLED = frozenset(
    re.findall(
        r"\S+",
        """
        tab-item tab group-tab dropdown card grid-item-card details figure-md table
        list-table glossary csv-table
        """,
    )
)
_DROPPED = frozenset(
    re.findall(
        r"\S+",
        """
        index raw meta contents tableofcontents bibliography todo todolist testsetup
        testcleanup autosummary automodule currentmodule module nb-exec-table glue iframe
        video youtube
        """,
    )
)
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_LANGUAGES = {"ipython3": "python", "ipython": "python"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One directive as written: its name, argument, options and lines."""

    name: str
    argument: str
    options: dict[str, str]
    body: list[str]


def render_directive(
    fence: Fence, inner: Inner, trees: list[Contents], around: IncludeContext | None
) -> list[str]:
    """Return the lines of Markdown that a directive stands for; `inner` converts what it holds."""
    name = fence.name
    if name == "toctree":
        trees.append(_contents(fence))
    if name == "toctree" or name in _DROPPED:
        return []
    if name in _CODE or name in _DIAGRAMS or name in _TESTED:
        return _code(fence)
    if name in ("include", "literalinclude"):
        return _render_include(fence, inner, around)
    if name == "eval-rst":
        return _rst(fence.body, around)
    return _shown(fence, inner)


def _shown(fence: Fence, inner: Inner) -> list[str]:
    if fence.name == "math":
        return ["$$", *_words([fence.argument, *fence.body]), "$$"]
    if fence.name in ("figure", "image"):
        return _picture(fence, inner)
    return _framed(fence, inner)


def _framed(fence: Fence, inner: Inner) -> list[str]:
    name, argument = fence.name.split(":")[-1], fence.argument
    theorem = fence.name.startswith(("prf:", "proof:"))
    if name in _ADMONITIONS:
        if name in _VERSIONS:
            version, _, words = argument.partition(" ")
            argument = f"{_VERSIONS[name]} {version}" + (f": {words}" if words else "")
        return [f":::{name}", *inner(_words([argument, "", *fence.body])), ":::"]
    if name in _TITLED_ADMONITIONS or theorem:
        title = f"[{argument.replace(']', ')')}]" if argument else ""
        return [f":::{name}{title}", *inner(_words(fence.body)), ":::"]
    # Of an unknown directive, an argument of several words is taken for a title.
    titled = argument and (name in _TITLED or len(argument.split()) > 1)
    lead = [f"**{argument}**:", ""] if titled and not argument.isdecimal() else []
    return [*lead, *inner(fence.body)]


def _words(lines: list[str]) -> list[str]:
    """Drop the empty lines at both ends."""
    return "\n".join(lines).strip("\n").split("\n")


def _contents(fence: Fence) -> Contents:
    return Contents(
        entries=tuple(line.strip() for line in fence.body if line.strip()),
        caption=fence.options.get("caption", ""),
        glob="glob" in fence.options,
        reversed="reversed" in fence.options,
    )


def _code(fence: Fence) -> list[str]:
    tags = fence.options.get("tags", "")
    if "remove-cell" in tags or "hide-cell" in tags:
        return []
    named = fence.name if fence.name in _DIAGRAMS else fence.argument.split(" ")[0]
    language = _TESTED.get(fence.name, named)
    caption = fence.options.get("caption")
    lead = [f"**{caption}**:", ""] if caption else []
    code = fenced("\n".join(_words(fence.body)), _LANGUAGES.get(language, language))
    return [*lead, *code.split("\n")]


def _picture(fence: Fence, inner: Inner) -> list[str]:
    alt = fence.options.get("alt", "")
    image = [f"![{alt}]({fence.argument.replace(' ', '%20')})", ""] if alt else []
    return [*image, *inner(fence.body)]


def _render_include(fence: Fence, inner: Inner, around: IncludeContext | None) -> list[str]:
    found = around.read(fence.argument) if around else None
    if found is None or around is None:
        return []
    path, text = found
    if fence.name == "literalinclude" or {"literal", "code"} & set(fence.options):
        # docutils, where it is needed
        from citewell.ingest.formats.sphinx.rst_directives import cut_lines

        lines = cut_lines(text, fence.options)
        language = fence.options.get("language") or path.suffix.lstrip(".")
        return fenced("\n".join(lines), language).split("\n")
    lines = text.split("\n")
    text = "\n".join(lines[_line(fence, "start-line") : _line(fence, "end-line")])
    for option, keep_after in (("start-after", True), ("end-before", False)):
        if (edge := fence.options.get(option)) and edge in text:
            before, _, after = text.partition(edge)
            text = after if keep_after else before
    return _rst(text.split("\n"), around) if path.suffix == ".rst" else inner(text.split("\n"))


def _line(fence: Fence, option: str) -> int | None:
    """Return the line that `start-line` or `end-line` means; negative counts from the end."""
    value = fence.options.get(option, "")
    return int(value) if re.fullmatch(r"-?\d{1,9}", value) else None


def _rst(lines: list[str], around: IncludeContext | None) -> list[str]:
    """Read the lines as reStructuredText, and give them as Markdown."""
    # which reads Markdown in turn
    from citewell.ingest.formats.sphinx.doctree import rst_to_markdown

    return rst_to_markdown("\n".join(lines), around) if around else lines
