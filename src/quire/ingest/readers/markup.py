"""What is not text in Markdown and MDX: front matter, comments, imports, tags."""

import re
from typing import Any

import yaml

from quire.errors import UnreadableFile

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_FENCED = r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?^[ \t]*(?P=fence)[`~]*[ \t]*$|.*\Z)"
_PROTECTED = re.compile(
    rf"(?P<code>{_FENCED}|(?P<tick>`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)(?P=tick)(?!`))"
    r"|(?P<math>\$\$.+?\$\$|(?<![\\$\w])\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d))"
    r"|(?P<comment><!--.*?-->|\{/\*.*?\*/\})"
    r"|(?P<open><!--|\{/\*)"
    r"|(?P<esm>^(?:import\s+(?:[\w{*][^\n]*?\sfrom\s+)?['\"][^\n]*"
    r"|export\s+(?:const|let|var|function|default|async)\b.*?(?=\n[ \t]*\n|\Z)))"
    r"|(?P<tag></?[A-Za-z][\w.:-]*(?:\s+(?:[^<>\"'{}]|\"[^\"]*\"|'[^']*'|\{(?:[^{}]|\{[^{}]*\})*\})*)?"
    r"\s*/?>|</?>)"
    r"|(?P<expression>\{(?!\#)(?:[^{}\n]|\{[^{}\n]*\})*\})",
    re.S | re.M,
)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Give the front matter and the body, the body with its line numbers kept.

    Raises:
        UnreadableFile: the front matter is not a YAML mapping.
    """
    found = _FRONT_MATTER.match(text)
    if not found:
        return {}, text
    try:
        data = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        raise UnreadableFile(f"front matter is not valid YAML (line {line})") from error
    if data is not None and not isinstance(data, dict):
        raise UnreadableFile("front matter is not a list of `name: value` lines")
    return data or {}, "\n" * found[0].count("\n") + text[found.end() :]


def strip_markup(text: str, *, mdx: bool) -> str:
    """Remove comments, imports and tags but keep the text inside them, and every line number.

    Raises:
        UnreadableFile: a comment is never closed, so what is text cannot be told.
    """

    def keep(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if match["code"] is not None or match["math"] is not None:
            return match[0]
        if match["open"] is not None:
            line = text.count("\n", 0, match.start()) + 1
            raise UnreadableFile(f"the comment opened in line {line} is never closed")
        if match["expression"] is not None and not mdx:
            return match[0]
        if match["tag"] is not None and re.match(r"<(?:br|hr)\b", match[0]):
            return " " + "\n" * match[0].count("\n")
        del kind
        return "\n" * match[0].count("\n")

    return _PROTECTED.sub(keep, text)
