"""Remove front matter, comments, imports and tags from Markdown and MDX."""

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import yaml

from citewell.errors import UnreadableFile
from citewell.ingest.formats.headings import split_explicit_id
from citewell.ingest.formats.yaml_data import TooManyValues, load_small_yaml
from citewell.text.sanitize import BRACES, RAW_TEXT_TAGS, TAG, hidden_element_ends

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_FENCED = r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?^[ \t]*(?P=fence)[`~]*[ \t]*$|.*\Z)"
# Bounded, so that many unclosed backticks do not take quadratic time.
CODE = (
    rf"{_FENCED}"
    r"|(?<!`)(?P<tick>`+)(?!`)(?:(?!\n[ \t]*\n).){1,5000}?(?<!`)(?P=tick)(?!`)"
)
_MARKUP = (
    rf"(?P<code>{CODE})"
    r"|(?P<math>\$\$.+?\$\$|(?<![\\$\w])\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d))"
    r"|(?P<comment><!--.*?-->|\{/\*.*?\*/\})"
    r"|(?P<open><!--|\{/\*)"
    r"|(?P<esm>^(?:import\s+(?:[\w{*](?:(?!\n[ \t]*\n)[^;'\"]){0,1000}?\sfrom\s+)?['\"][^\n]*"
    r"|export\s+(?:(?:const|let|var|function|class|default|async)\b|[{*])"
    r".*?(?=\n[ \t]*\n(?![ \t)\]}])|\Z)))"
    rf"|(?P<tag>{TAG})"
)
_ATTRIBUTES = rf"(?:\s(?:[^<>\"'{{}}]|\"[^\"]*+\"|'[^']*+'|{BRACES})*+)?(?<!/)>"
_RAW = rf"<(?P<rawname>{'|'.join(RAW_TEXT_TAGS)})\b{_ATTRIBUTES}.*?(?:</(?P=rawname)\s*>|\Z)"
# Captions are visible text, although they are attributes.
_CAPTION_ATTRIBUTE = re.compile(r"\scaption=([\"'])(.+?)\1", re.S)
_SEPARATING_TAG = re.compile(
    r"</?(?:br|hr|p|div|t[dhr]|li|[uo]l|d[ltd]|h[1-6]|pre|table|summary|details|figcaption"
    r"|option|section|TabItem)\b",
    re.I,
)
_MD = re.compile(rf"(?P<raw>(?i:{_RAW}))|{_MARKUP}", re.S | re.M)
_MDX = re.compile(
    rf"(?P<raw>{_RAW})|{_MARKUP}|(?P<expression>(?<!\\)(?!\{{\#){BRACES})", re.S | re.M
)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter and the body; the body keeps its line numbers.

    Raises:
        UnreadableFile: the front matter is not a YAML mapping.
    """
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    try:
        data = load_small_yaml(match[1])
    except TooManyValues as error:
        raise UnreadableFile(f"front matter cannot be read: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        raise UnreadableFile(f"front matter is not valid YAML (line {line})") from error
    if data is not None and not isinstance(data, dict):
        raise UnreadableFile("front matter is not a list of `name: value` lines")
    return data or {}, "\n" * match[0].count("\n") + text[match.end() :]


def strip_markup(text: str, *, mdx: bool, code: Sequence[tuple[int, int]] = ()) -> str:
    """Remove comments, imports and tags; replacement the text inside tags, and all line numbers.

    Hidden and struck-out elements are removed with their text. `code` holds the (start, end)
    offsets of indented code, which is not changed.

    Raises:
        UnreadableFile: a comment is not closed.
    """

    def replacement(match: re.Match[str]) -> str:
        if match["open"] is not None:
            line = text.count("\n", 0, match.start()) + 1
            raise UnreadableFile(f"the comment opened in line {line} is never closed")
        if match["esm"] is not None and _inside_paragraph(text, match.start()):
            return match[0]
        if match["comment"] is not None and _is_heading_id(text, match):
            return match[0]
        text_shown = _tag_text(text, match) if match["tag"] is not None else ""
        return text_shown + "\n" * (match[0].count("\n") - text_shown.count("\n"))

    markup = [
        match
        for match in (_MDX if mdx else _MD).finditer(text)
        if match["code"] is None and match["math"] is None and not _in_code(match.start(), code)
    ]
    hidden_ends = hidden_element_ends(
        text, [match for match in markup if match["tag"] is not None], jsx=mdx
    )
    pieces: list[str] = []
    done = 0
    for match in markup:
        if match.start() < done:
            continue  # inside a hidden element
        end = hidden_ends.get(match.start())
        pieces.append(text[done : match.start()])
        pieces.append(
            replacement(match) if end is None else "\n" * text.count("\n", match.start(), end)
        )
        done = max(match.end(), end or 0)
    return "".join((*pieces, text[done:]))


def _in_code(offset: int, code: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(code, (offset, sys.maxsize))
    return bool(before) and offset < code[before - 1][1]


def _tag_text(text: str, tag: re.Match[str]) -> str:
    """Return the text that a tag contributes: a caption, or a space between cells."""
    if caption := _CAPTION_ATTRIBUTE.search(tag[0]):
        return caption[2]
    before = text[tag.start() - 1 : tag.start()]
    separates = _SEPARATING_TAG.match(tag[0]) and not before.isspace() and before not in ("", ">")
    return " " if separates else ""


def _inside_paragraph(text: str, offset: int) -> bool:
    """Return whether the line at `offset` continues a paragraph, where `export` is only a word."""
    blank = text.rfind("\n\n", 0, offset)
    before = text[blank + 2 if blank >= 0 else 0 : offset].strip("\n")
    if before.startswith(("import ", "export ")):
        return False
    return bool(re.match(r"[\w*_\[(\"'“‘]", before[before.rfind("\n") + 1 :]))


def _is_heading_id(text: str, comment: re.Match[str]) -> bool:
    """Return whether a comment is an explicit heading id: `## Title {/* #id */}`."""
    line = text[text.rfind("\n", 0, comment.start()) + 1 : comment.start()]
    return line.startswith("#") and split_explicit_id(comment[0])[1] is not None
