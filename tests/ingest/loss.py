"""How many words of a source does a reader lose? Counted without the reader's own parser."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from quire.domain import Page

_FENCE = re.compile(r"[ \t>]*(?:[-*+]|\d+\.)?[ \t]*(`{3,}|~{3,})")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_INLINE = re.compile(r"</?(?:a|b|code|del|em|i|kbd|s|small|span|strong|su[bp])\b[^<>{}]*>")
_MARKUP = re.compile(
    rf"<!--.*?-->|\{{/\*.*?\*/\}}|</?[A-Za-z](?:[^<>{{}}]|{_BRACES})*>"
    r"|^[ \t]*\[(?!\^)[^\]\n]+\]:[ \t].*$",
    re.S | re.M,
)
_DIRECTIVE = re.compile(r"\{\{#.*?\}\}|\[\[(?:autodoc|open-in-colab)\]\].*(?:\n[ \t]+- .*)*")
_MODULE = re.compile(r"^(?:import|export) .*?(?=\n\s*\n|\Z)", re.S | re.M)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t].*$", re.M)
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Loss:
    """How many words there were, and which are missing."""

    words: int
    missing: Counter[str]

    @property
    def share(self) -> float:
        """Give the share of words that are missing, 0 to 1."""
        return self.missing.total() / max(self.words, 1)


def _prose_words(text: str, *, mdx: bool) -> list[str]:
    kept: list[str] = []

    def hold(found: re.Match[str]) -> str:
        kept.extend(_WORD.findall(found[2]))
        return " "

    text = _HEADING.sub(" ", re.sub(r"<!--.*?-->|<img\b[^<>]*>", " ", text, flags=re.S))
    text = _DIRECTIVE.sub(" ", _CODE_SPAN.sub(hold, text))
    text = _MODULE.sub(" ", text) if mdx else text
    text = _MARKUP.sub(" ", _INLINE.sub("", text))
    if mdx:
        text = re.sub(r"\{(?!#)[^{}]*\}", " ", text)
    return kept + _WORD.findall(text)


def source_words(text: str, *, mdx: bool) -> Counter[str]:
    """Count the words a reader of the page should find in its sections, headings left aside."""
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    words: Counter[str] = Counter()
    prose: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and line.strip(" \t>`~") == "":
                fence = ""
            else:
                words.update(_WORD.findall(re.sub(r"\{\{#.*?\}\}", " ", line)))
        elif found and "`" not in line[found.end() :]:
            fence = found[1]
            words.update(_prose_words("\n".join(prose), mdx=mdx))
            prose = []
        else:
            prose.append(line)
    words.update(_prose_words("\n".join(prose), mdx=mdx))
    return words


def measure_loss(sources: Iterable[tuple[str, bool]], pages: Iterable[Page]) -> Loss:
    """Compare the words of the sources (text, whether it is MDX) with those of the pages."""
    wanted: Counter[str] = Counter()
    for text, mdx in sources:
        wanted.update(source_words(text, mdx=mdx))
    got = Counter(
        word
        for page in pages
        for section in page.sections
        for block in section.blocks
        for word in _WORD.findall(block.text)
    )
    return Loss(wanted.total(), wanted - got)
