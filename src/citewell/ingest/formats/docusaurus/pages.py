"""Files that pages of a Docusaurus site import and show, put where they are shown."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from markdown_it.token import Token

from citewell.ingest.formats.headings import GithubSlugger, inline_text
from citewell.ingest.formats.includes import Includes, in_fences
from citewell.ingest.formats.markdown import Dialect
from citewell.ingest.formats.mdx import CODE, split_front_matter
from citewell.text.sanitize import BRACES, TAG

_IMPORT = re.compile(
    r"import\s+([A-Za-z_$][\w$]*)(?:\s*,\s*\{[^}]*\})?\s+from\s+(['\"])([^'\"]+\.mdx?)\2"
)
_PROP = re.compile(r"\{\s*props\.(\w+)\s*\}")
_GIVEN = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|'([^']*)'|\{\s*(['\"`])(.*?)\4\s*\})", re.S)
_LISTED = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
Prepare = Callable[[str, Path], str]
"""Makes the text of a partial ready for its page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partials:
    """How the partials of one page are found and read."""

    site: Path
    includes: Includes
    prepare: Prepare

    def expand(self, text: str, file: Path, stack: tuple[Path, ...] = ()) -> str:
        """Put the partials that a page imports where it shows them."""
        names = {
            found[1]: self._path(found[3], file)
            for line, info in in_fences(text.split("\n"))
            if info is None and (found := _IMPORT.match(line))
        }
        if not names:
            return text
        stack = (*stack, file.resolve())
        shown = re.compile(
            rf"(?P<code>{CODE})|<(?P<name>{'|'.join(map(re.escape, names))})"
            rf"(?P<given>(?:\s(?:[^<>\"'{{}}]|\"[^\"]*\"|'[^']*'|{BRACES})*)?)"
            # Bounded: what opens a thousand times and never closes is searched for each time.
            r"(?:/>|>(?P<children>.{0,5000}?)</(?P=name)\s*>)",
            re.S | re.M,
        )

        def replace(found: re.Match[str]) -> str:
            if found["code"] is not None:
                return found[0]
            props = {m[1]: m[2] or m[3] or m[5] or "" for m in _GIVEN.finditer(found["given"])}
            props["children"] = found["children"] or ""

            def use(content: str) -> str:
                return self._shown(content, names[found["name"]], props, stack)

            return _placed(self.includes.read(names[found["name"]], stack, use), found)

        return shown.sub(replace, text)

    def _path(self, name: str, file: Path) -> Path:
        if name.startswith("@site/"):
            return self.site / name.removeprefix("@site/")
        return file.parent / name

    def _shown(
        self, content: str, path: Path, props: dict[str, str], stack: tuple[Path, ...]
    ) -> str:
        _, body = split_front_matter(re.sub(r"\r\n?", "\n", content))
        body = _PROP.sub(lambda found: props.get(found[1], found[0]), body)
        # Its imports are for the partial alone; its page may use the same names for others.
        return self.prepare(self.expand(body, path, stack), path).strip("\n")


def _placed(text: str, tag: re.Match[str]) -> str:
    """Return a partial as blocks of its own, or inside the line that shows it."""
    before = tag.string[tag.string.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    after = tag.string[tag.end() :].split("\n", 1)[0]
    if before.strip() or after.strip():
        return text.strip()
    above = tag.string[: tag.start() - len(before)].rstrip().split("\n")[-1]
    if before and (_LISTED.match(above) or above.startswith(before)):
        return re.sub(r"\n(?!\n)", f"\n{before}", text)
    return f"\n\n{text}\n\n"


_CODE = r"(?<!`)(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`)"
# `a:b` is a directive to Docusaurus; it is shown, but only after ids have been made.
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
    """Return what Docusaurus does with the headings of a page."""
    return Dialect(
        slugger=lambda _: GithubSlugger(keep_case=keep_case),
        slug_text=partial(heading_text, mdx=mdx),
        titles_have_ids=False,
    )


def heading_text(source: str, *, mdx: bool) -> str:
    """Return the text that a heading's id is made of: no tags, but expressions as written."""
    text = _MDX.sub(_kept, source) if mdx else source
    return inline_text(_FOOTNOTE.sub("", text), _words)


def _kept(found: re.Match[str]) -> str:
    if found["value"]:
        return re.sub(r"([\\`*_\[\]<>~])", r"\\\1", found["value"][1:-1])
    return found["code"] or found["label"] or ""


def _words(token: Token) -> str:
    match token.type:
        case "text":
            return _DIRECTIVE.sub(lambda found: found["label"] or "", token.content)
        case "code_inline" | "text_special":
            return token.content
        case "image":
            return "".join(child.content for child in token.children or ())
        case "softbreak":
            return "\n"
        case "html_inline":
            # Only a tag of the heading itself is left out, not one inside emphasis or a link.
            return token.content if token.level else ""
    return ""
