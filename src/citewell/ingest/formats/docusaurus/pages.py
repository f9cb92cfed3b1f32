"""Partials: files that pages of a Docusaurus site import and render."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from markdown_it.token import Token

from citewell.ingest.formats.headings import GithubSlugger, text_of_inline
from citewell.ingest.formats.includes import Includes, lines_with_fence_info
from citewell.ingest.formats.markdown import Dialect
from citewell.ingest.formats.mdx import CODE, split_front_matter
from citewell.text.sanitize import BRACES, TAG

_IMPORT = re.compile(
    r"import\s+([A-Za-z_$][\w$]*)(?:\s*,\s*\{[^}]*\})?\s+from\s+(['\"])([^'\"]+\.mdx?)\2"
)
_PROP = re.compile(r"\{\s*props\.(\w+)\s*\}")
_ATTRIBUTE = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|'([^']*)'|\{\s*(['\"`])(.*?)\4\s*\})", re.S)
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
Prepare = Callable[[str, Path], str]
"""Prepares the text of a partial for insertion, given its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partials:
    """Expands the partials of one page."""

    site: Path
    includes: Includes
    prepare: Prepare

    def expand(self, text: str, file: Path, stack: tuple[Path, ...] = ()) -> str:
        """Insert the imported partials where the page renders them."""
        files = {
            statement[1]: self._resolve(statement[3], file)
            for line, info in lines_with_fence_info(text.split("\n"))
            if info is None and (statement := _IMPORT.match(line))
        }
        if not files:
            return text
        stack = (*stack, file.resolve())
        components = re.compile(
            rf"(?P<code>{CODE})|<(?P<name>{'|'.join(map(re.escape, files))})"
            rf"(?P<attributes>(?:\s(?:[^<>\"'{{}}]|\"[^\"]*\"|'[^']*'|{BRACES})*)?)"
            # Bounded, so that many unclosed tags do not take quadratic time.
            r"(?:/>|>(?P<children>.{0,5000}?)</(?P=name)\s*>)",
            re.S | re.M,
        )

        def replace(tag: re.Match[str]) -> str:
            if tag["code"] is not None:
                return tag[0]
            attributes = _ATTRIBUTE.finditer(tag["attributes"])
            props = {m[1]: m[2] or m[3] or m[5] or "" for m in attributes}
            props["children"] = tag["children"] or ""
            path = files[tag["name"]]

            def render(content: str) -> str:
                return self._render(content, path, props, stack)

            return _as_block_or_inline(self.includes.read(path, stack, render), tag)

        return components.sub(replace, text)

    def _resolve(self, name: str, file: Path) -> Path:
        if name.startswith("@site/"):
            return self.site / name.removeprefix("@site/")
        return file.parent / name

    def _render(
        self, content: str, path: Path, props: dict[str, str], stack: tuple[Path, ...]
    ) -> str:
        _, body = split_front_matter(re.sub(r"\r\n?", "\n", content))
        body = _PROP.sub(lambda prop: props.get(prop[1], prop[0]), body)
        # Expand its own imports here: the page may import other files under the same names.
        return self.prepare(self.expand(body, path, stack), path).strip("\n")


def _as_block_or_inline(text: str, tag: re.Match[str]) -> str:
    """Return a partial as separate blocks, or inline if its tag shares a line."""
    text_before = tag.string[tag.string.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    text_after = tag.string[tag.end() :].split("\n", 1)[0]
    if text_before.strip() or text_after.strip():
        return text.strip()
    line_above = tag.string[: tag.start() - len(text_before)].rstrip().split("\n")[-1]
    if text_before and (_LIST_ITEM.match(line_above) or line_above.startswith(text_before)):
        return re.sub(r"\n(?!\n)", f"\n{text_before}", text)
    return f"\n\n{text}\n\n"


_CODE = r"(?<!`)(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`)"
# `a:b` is a text directive; Docusaurus restores its text only after it has made ids.
_NAME = (
    r"(?<![:\\]):[a-zA-Z](?:[a-zA-Z0-9_-]*[a-zA-Z0-9])?(?![a-zA-Z0-9_:-])"
    r"(?:\[(?P<label>[^\[\]]*)\])?"
)
_DIRECTIVE = re.compile(rf"{_NAME}(?:\{{[^{{}}]*\}})?")
_MDX = re.compile(
    rf"(?P<code>{_CODE})|<!--.*?-->|(?P<tag>{TAG})|{_NAME}\{{[^{{}}]*\}}"
    rf"|(?<!\\)(?P<value>{BRACES})",
    re.S,
)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")


def dialect(*, mdx: bool, keep_case: bool = False) -> Dialect:
    """Return the dialect of Docusaurus."""
    return Dialect(
        slugger=lambda _: GithubSlugger(keep_case=keep_case),
        slug_text=partial(heading_text, mdx=mdx),
        titles_have_ids=False,
    )


def heading_text(source: str, *, mdx: bool) -> str:
    """Return the text for a heading's id: without tags, with expressions as written."""
    text = _MDX.sub(_markup_text, source) if mdx else source
    return text_of_inline(_FOOTNOTE.sub("", text), _token_text)


def _markup_text(match: re.Match[str]) -> str:
    if match["value"]:
        return re.sub(r"([\\`*_\[\]<>~])", r"\\\1", match["value"][1:-1])
    return match["code"] or match["label"] or ""


def _token_text(token: Token) -> str:
    match token.type:
        case "text":
            return _DIRECTIVE.sub(lambda directive: directive["label"] or "", token.content)
        case "code_inline" | "text_special":
            return token.content
        case "image":
            return "".join(child.content for child in token.children or ())
        case "softbreak":
            return "\n"
        case "html_inline":
            # Docusaurus drops only top-level tags, not those inside emphasis or links.
            return token.content if token.level else ""
    return ""
