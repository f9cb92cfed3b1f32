"""Files that pages of a Docusaurus site import and show, put where they are shown."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quire.ingest.readers.includes import Includes, in_fences
from quire.ingest.readers.markup import CODE, split_front_matter
from quire.prose.unseen import BRACES

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
    """Give a partial as blocks of its own, or inside the line that shows it."""
    before = tag.string[tag.string.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    after = tag.string[tag.end() :].split("\n", 1)[0]
    if before.strip() or after.strip():
        return text.strip()
    above = tag.string[: tag.start() - len(before)].rstrip().split("\n")[-1]
    if before and (_LISTED.match(above) or above.startswith(before)):
        return re.sub(r"\n(?!\n)", f"\n{before}", text)
    return f"\n\n{text}\n\n"
