"""The directives of MyST, each as the Markdown a reader of the page would see."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from quire.ingest.readers.fences import fenced
from quire.ingest.readers.surroundings import Surroundings
from quire.ingest.readers.toctree import Contents

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
    fence: Fence, inner: Inner, trees: list[Contents], around: Surroundings | None
) -> list[str]:
    """Give the lines of Markdown that a directive stands for; `inner` converts what it holds."""
    name = fence.name
    if name == "toctree":
        trees.append(_contents(fence))
    if name == "toctree" or name in _DROPPED:
        return []
    if name in _CODE or name in _DIAGRAMS or name in _TESTED:
        return _code(fence)
    if name in ("include", "literalinclude"):
        return _taken_in(fence, inner, around)
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


def _taken_in(fence: Fence, inner: Inner, around: Surroundings | None) -> list[str]:
    found = around.read(fence.argument) if around else None
    if found is None or around is None:
        return []
    path, text = found
    if fence.name == "literalinclude" or {"literal", "code"} & set(fence.options):
        from quire.ingest.readers.rst_listings import cut_lines  # docutils, where it is needed

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
    """Give the place that `start-line` or `end-line` counts to; the latter from the end below 0."""
    value = fence.options.get(option, "")
    return int(value) if re.fullmatch(r"-?\d{1,9}", value) else None


def _rst(lines: list[str], around: Surroundings | None) -> list[str]:
    """Read the lines as reStructuredText, and give them as Markdown."""
    from quire.ingest.readers.rst_fragment import rst_to_markdown  # which reads Markdown in turn

    return rst_to_markdown("\n".join(lines), around) if around else lines
