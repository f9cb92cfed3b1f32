"""Directives that show code, or take in other files."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, DirectiveError, directives
from docutils.parsers.rst.directives.misc import Include
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.statemachine import StringList

from quire.ingest.readers.rst_nodes import Highlight, Labelled, Markdown
from quire.ingest.readers.surroundings import Surroundings


class AnyOption(dict[str, Any]):
    """An option table that knows some options and takes every other one as written."""

    def __missing__(self, key: str) -> Any:
        """Take the value as it is."""
        return directives.unchanged

    def __bool__(self) -> bool:
        """Say that there are options, so that docutils looks for them."""
        return True


def surroundings(directive: Directive) -> Surroundings:
    """Give what the page that holds the directive stands in."""
    found = directive.state.document.settings.surroundings
    assert isinstance(found, Surroundings)
    return found


def listing(text: str, language: str = "", caption: str = "") -> list[nodes.Node]:
    """Make a code block, under its caption if it has one."""
    block = nodes.literal_block(text, text)
    if language:
        block["language"] = language
    if not caption:
        return [block]
    labelled = Labelled(label=caption)
    labelled += block
    return [labelled]


class CodeBlock(Directive):
    """`code-block` and its kin: the content is code."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Give the code block."""
        language = self.arguments[0].split()[0] if self.arguments else ""
        caption = str(self.options.get("caption", ""))
        return listing("\n".join(self.content), language, caption)


class Diagram(CodeBlock):
    """A drawing in words, as `graphviz` has it: kept as code in that language."""

    def run(self) -> list[nodes.Node]:
        """Give the drawing's source."""
        return listing("\n".join(self.content), self.name) if self.content else []


class Doctest(CodeBlock):
    """Code that is tested; its arguments are groups of tests."""

    languages: ClassVar[dict[str, str]] = {"testoutput": "text"}

    def run(self) -> list[nodes.Node]:
        """Give the code block, unless readers are not shown it."""
        if "hide" in self.options:
            return []
        return listing("\n".join(self.content), self.languages.get(self.name, "python"))


class SetHighlight(Directive):
    """`highlight`: the language of the literal blocks that follow."""

    required_arguments = 1
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Mark the place."""
        return [Highlight(language=self.arguments[0])]


class LiteralInclude(Directive):
    """`literalinclude`: a file, or some of its lines, as code."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Give the code block; what cannot be read is noted."""
        around = surroundings(self)
        found = around.read(self.arguments[0])
        if found is None:
            return []
        path, text = found
        language = self.options.get("language") or path.suffix.lstrip(".")
        caption = self.options.get("caption", "")
        if "caption" in self.options and not caption:
            caption = self.arguments[0]
        return listing("\n".join(cut_lines(text, self.options)), language, caption)


def cut_lines(text: str, options: dict[str, Any]) -> list[str]:
    """Give the lines of a file that the options of `literalinclude` ask for."""
    lines = text.splitlines()
    if spec := options.get("lines"):
        lines = [lines[n] for n in _numbers(str(spec), len(lines))]
    for name, after in (("start-after", 1), ("start-at", 0)):
        if mark := options.get(name):
            place = next((n for n, line in enumerate(lines) if mark in line), -after)
            lines = lines[place + after :]
    for name, after in (("end-before", 0), ("end-at", 1)):
        if mark := options.get(name):
            place = next((n for n, line in enumerate(lines) if mark in line), len(lines))
            lines = lines[: place + after]
    if str(options.get("dedent", "")).isdecimal():
        lines = [line[int(options["dedent"]) :] for line in lines]
    elif "dedent" in options:
        indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
        lines = [line[min(indents, default=0) :] for line in lines]
    return lines


def _numbers(spec: str, total: int) -> list[int]:
    """Read `1,3-5,7-` as places counted from 0."""
    found: list[int] = []
    for part in spec.split(","):
        match = re.fullmatch(r"\s*(\d*)\s*(-?)\s*(\d*)\s*", part)
        if not match or not (match[1] or match[3]):
            continue
        first = int(match[1] or 1)
        last = int(match[3] or total) if match[2] else first
        found += range(max(first, 1) - 1, min(last, total))
    return found


class IncludeInside(Include):
    """`include`, for files of the book only."""

    option_spec = AnyOption({**(Include.option_spec or {}), "parser": directives.unchanged})

    def run(self) -> list[nodes.Node]:
        """Put the file's lines in place; what cannot be read is noted."""
        around = surroundings(self)
        source = self.state.document.current_source
        found = around.read(self.arguments[0], source)
        if found is None:
            return []
        path, text = found
        if "parser" in self.options or path.suffix == ".md":
            return [Markdown(text=text, source=str(path))]
        settings = self.state.document.settings
        self.arguments[0] = str(path)
        # Only here, where the path was checked: everything else stays shut.
        settings.file_insertion_enabled = True
        try:
            return list(super().run())
        except DirectiveError as error:
            circular = "circular" in str(error.msg)
            reason = "it includes itself" if circular else str(error.msg).split("\n")[-1]
            around.report(self.name_of(str(path)), reason)
            return []
        finally:
            settings.file_insertion_enabled = False

    def name_of(self, path: str) -> str:
        """Give the included file's name below the book's folder."""
        return path.removeprefix(f"{surroundings(self).root.resolve()}/")

    def as_code_block(self, text: str) -> list[nodes.literal_block]:
        """Give the file as code, without colours."""
        block = nodes.literal_block(text, text, language=self.options.get("code") or "")
        return [block]


class CsvTableInside(CSVTable):
    """`csv-table`, with its rows from the content or from a file of the book."""

    option_spec = AnyOption({k: v for k, v in (CSVTable.option_spec or {}).items() if k != "url"})

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        """Give the table."""
        if name := self.options.pop("file", None):
            found = surroundings(self).read(str(name), self.state.document.current_source)
            if found is None:
                return []
            self.content = StringList(found[1].splitlines(), source=str(found[0]))
        return super().run()
