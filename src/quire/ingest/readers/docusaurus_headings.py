"""What Docusaurus makes the ids of headings from: not quite the words that readers see."""

import re
from functools import partial

from markdown_it.token import Token

from quire.ingest.readers.headings import GithubSlugger
from quire.ingest.readers.inlinetext import inline_text
from quire.ingest.readers.markdown import Dialect
from quire.prose.unseen import BRACES, TAG

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
    """Give what Docusaurus does with the headings of a page."""
    return Dialect(
        slugger=lambda _: GithubSlugger(keep_case=keep_case),
        slug_text=partial(heading_text, mdx=mdx),
        titles_have_ids=False,
    )


def heading_text(source: str, *, mdx: bool) -> str:
    """Give the text that a heading's id is made of: no tags, but expressions as written."""
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
