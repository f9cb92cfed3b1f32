"""Stand-ins for the directives of Sphinx and its extensions: none is run, all keep their text."""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, DirectiveError, directives
from docutils.parsers.rst.directives.misc import Include
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.statemachine import StringList

from citewell.ingest.formats.sphinx.include_context import IncludeContext


class Labelled(nodes.General, nodes.Element):
    """Content under a short name: a tab, a card, a captioned listing, a described function."""


class Aside(nodes.Admonition, nodes.Element):
    """A box beside the text that docutils has no node for: `seealso`, `versionadded`."""


class TocTree(nodes.Invisible, nodes.Element):
    """A table of contents: its lines as written, and its options."""


class Highlight(nodes.Invisible, nodes.Element):
    """From here on, literal blocks are in another language."""


class Markdown(nodes.General, nodes.Element):
    """Markdown taken into a reStructuredText page."""


class AnyOption(dict[str, Any]):
    """An option table that knows some options and takes every other one as written."""

    def __missing__(self, key: str) -> Any:
        """Take the value as it is."""
        return directives.unchanged

    def __bool__(self) -> bool:
        """Return that there are options, so that docutils looks for them."""
        return True


def surroundings(directive: Directive) -> IncludeContext:
    """Return what the page that holds the directive stands in."""
    found = directive.state.document.settings.surroundings
    assert isinstance(found, IncludeContext)
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
        """Return the code block."""
        language = self.arguments[0].split()[0] if self.arguments else ""
        caption = str(self.options.get("caption", ""))
        return listing("\n".join(self.content), language, caption)


class Diagram(CodeBlock):
    """A drawing in words, as `graphviz` has it: kept as code in that language."""

    def run(self) -> list[nodes.Node]:
        """Return the drawing's source."""
        return listing("\n".join(self.content), self.name) if self.content else []


class Doctest(CodeBlock):
    """Code that is tested; its arguments are groups of tests."""

    languages: ClassVar[dict[str, str]] = {"testoutput": "text"}

    def run(self) -> list[nodes.Node]:
        """Return the code block, unless readers are not shown it."""
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
        """Return the code block; what cannot be read is noted."""
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
    """Return the lines of a file that the options of `literalinclude` ask for."""
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
        """Return the included file's name below the book's folder."""
        return path.removeprefix(f"{surroundings(self).root.resolve()}/")

    def as_code_block(self, text: str) -> list[nodes.literal_block]:
        """Return the file as code, without colours."""
        block = nodes.literal_block(text, text, language=self.options.get("code") or "")
        return [block]


class CsvTableInside(CSVTable):
    """`csv-table`, with its rows from the content or from a file of the book."""

    option_spec = AnyOption({k: v for k, v in (CSVTable.option_spec or {}).items() if k != "url"})

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        """Return the table."""
        if name := self.options.pop("file", None):
            found = surroundings(self).read(str(name), self.state.document.current_source)
            if found is None:
                return []
            self.content = StringList(found[1].splitlines(), source=str(found[0]))
        return super().run()


_MIN_WORDS = 3
"""An argument of this many words is a sentence, not a file or a number."""


class _Standin(Directive):
    """A directive that takes everything as content."""

    has_content = True
    option_spec = AnyOption()

    def title(self) -> str:
        """Return what stands on the directive's own line."""
        found = re.search(r"::[ \t]+(\S.*)$", self.block_text.split("\n", 1)[0])
        return found[1].strip() if found else ""

    def parse_into(self, node: nodes.Element, skip: int = 0) -> nodes.Element:
        """Parse the content, without its first `skip` lines, below `node`."""
        self.state.nested_parse(self.content[skip:], self.content_offset + skip, node)
        return node


class _Dropped(_Standin):
    """What readers of the built page do not see."""

    def run(self) -> list[nodes.Node]:
        """Return nothing."""
        return []


class _Transparent(_Standin):
    """A frame around its content; its argument is about looks."""

    def run(self) -> list[nodes.Node]:
        """Return the content alone."""
        node = nodes.container()
        return [self.parse_into(node, 1 if self.title() else 0)]


class _Titled(_Standin):
    """Content with a name on the directive's line: a tab, a card, a fold."""

    def run(self) -> list[nodes.Node]:
        """Return the content under its name."""
        title = self.title()
        return [self.parse_into(Labelled(label=title), 1 if title else 0)]


class _Unknown(_Titled):
    """A directive nobody here knows: its content is taken for text."""

    def run(self) -> list[nodes.Node]:
        """Return the content under the argument; an argument alone only where it is a sentence."""
        if len(self.content) > 1 or len(self.title().split()) >= _MIN_WORDS or not self.title():
            return super().run()
        return []


class _CodeTab(_Standin):
    """`code-tab`: a language, perhaps a name, and code."""

    def run(self) -> list[nodes.Node]:
        """Return the code under its name."""
        language, _, name = self.title().partition(" ")
        code = "\n".join(self.content[1:]).strip("\n")
        block = nodes.literal_block(code, code, language=language)
        node = Labelled(label=name.strip() or language)
        node += block
        return [node]


class _Aside(_Standin):
    """A box that Sphinx has and docutils has not."""

    def run(self) -> list[nodes.Node]:
        """Return the box."""
        return [self.parse_into(Aside(name=self.name.split(":")[-1].lower()))]


class _Theorem(_Standin):
    """A titled box: `prf:theorem`, `exercise`."""

    def run(self) -> list[nodes.Node]:
        """Return the box with its title."""
        title = self.title()
        node = Aside(name=self.name.split(":")[-1].lower(), title=title)
        return [self.parse_into(node, 1 if title else 0)]


_VERSION_WORDS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version",
    "versionremoved": "Removed in version",
}


class _Version(Directive):
    """`versionadded` and its kin."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Return a box that says since when."""
        lead = f"{_VERSION_WORDS[self.name.lower()]} {self.arguments[0]}"
        text = self.arguments[1] if len(self.arguments) > 1 else ""
        inline, _ = self.state.inline_text(text, self.lineno)
        node = Aside(name=self.name.lower())
        paragraph = nodes.paragraph("", "", nodes.Text(f"{lead}: " if text else lead), *inline)
        node += paragraph
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


class _TocTree(_Standin):
    """`toctree`: the order of the book."""

    def run(self) -> list[nodes.Node]:
        """Return the entries as written."""
        node = TocTree(caption=str(self.options.get("caption") or ""))
        node["entries"] = [line.strip() for line in self.content if line.strip()]
        node["glob"], node["reversed"] = "glob" in self.options, "reversed" in self.options
        return [node]


class _Only(_Standin):
    """`only` and `ifconfig`: which builds have it is not known, so it is kept."""

    def run(self) -> list[nodes.Node]:
        """Put the content in place as if there were no directive, headings too."""
        lines = list(self.content[1 if self.title() else 0 :])
        self.state_machine.insert_input(
            StringList([*lines, ""], source=self.state.document.current_source or ""),
            self.state.document.current_source or "",
        )
        return []


class _Index(_Dropped):
    """`index`: not seen, but its target is an id of the section that follows."""

    def run(self) -> list[nodes.Node]:
        """Return the target."""
        document = self.state.document
        number = sum(1 for name in document.ids if name.startswith("index-"))
        target = nodes.target("", "", ids=[f"index-{number}"])
        document.note_explicit_target(target)
        return [target]


class _Glossary(_Standin):
    """`glossary`: terms and what they mean."""

    def run(self) -> list[nodes.Node]:
        """Return a definition list; several terms of one meaning share its line."""
        lines: list[str] = []
        for line in self.content:
            if line.startswith(".. "):
                continue
            term = line[:1].strip()
            if term and lines and lines[-1][:1].strip():
                lines[-1] = f"{lines[-1]}, {line}"
            else:
                lines.append(line)
        node = nodes.container()
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, node)
        return [node]


class _Signature(_Standin):
    """A described function, class or option: its signature, then the words about it."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the content under the signatures."""
        names = [line.strip().rstrip("\\") for line in "".join(self.arguments).split("\n")]
        return [self.parse_into(Labelled(signatures=[name for name in names if name]))]


def _named(standin: type[Directive], names: str) -> dict[str, type[Directive]]:
    return dict.fromkeys(names.split(), standin)


_STANDINS: dict[str, type[Directive]] = {
    **_named(CodeBlock, "code code-block sourcecode prompt parsed-code ipython productionlist"),
    **_named(Diagram, "graphviz digraph graph mermaid uml plantuml blockdiag seqdiag tikz"),
    **_named(Doctest, "doctest testcode testoutput"),
    **_named(SetHighlight, "highlight highlightlang"),
    **_named(LiteralInclude, "literalinclude"),
    **_named(IncludeInside, "include"),
    **_named(CsvTableInside, "csv-table"),
    **_named(_TocTree, "toctree"),
    **_named(_Only, "only ifconfig if-builder cond"),
    **_named(_Glossary, "glossary"),
    **_named(_Index, "index"),
    **_named(_Version, " ".join(_VERSION_WORDS)),
    **_named(_Aside, "seealso"),
    **_named(_Theorem, "exercise solution"),
    **_named(_CodeTab, "code-tab"),
    **_named(
        _Titled,
        "tab group-tab tab-item md-tab-item dropdown card grid-item-card details collapse toggle"
        " centered",
    ),
    **_named(
        _Transparent,
        "tabs tab-set tab-set-code md-tab-set grid grid-item card-carousel hlist acks panels div"
        " button-ref button-link container table-wrapper",
    ),
    **_named(
        _Dropped,
        "raw meta tabularcolumns sectionauthor codeauthor moduleauthor default-domain todo"
        " todolist bibliography currentmodule module py:module py:currentmodule js:module"
        " autosummary automodule redirect-from redirect testsetup testcleanup program"
        " inheritance-diagram cpp:namespace cpp:namespace-push cpp:namespace-pop c:namespace",
    ),
    **_named(
        _Signature,
        "function class method attribute data exception decorator property staticmethod"
        " classmethod option envvar cmdoption describe object confval autofunction autoclass"
        " automethod autoattribute autodata autoexception autoproperty autodecorator"
        " doxygenfunction doxygenclass doxygenstruct doxygenenum",
    ),
}


def find_directive(name: str, look_up: Callable[[str], type[Directive] | None]) -> type[Directive]:
    """Choose the directive of that name: a stand-in, docutils' own, or one that keeps the text."""
    lower = name.lower()
    if lower in _STANDINS:
        return _STANDINS[lower]
    domain, _, kind = lower.partition(":")
    if kind:
        return _Theorem if domain in ("prf", "proof") else _Signature
    own = look_up("class" if lower in ("rst-class", "cssclass") else lower)
    return _lenient(own) if own else _Unknown


def _lenient(own: type[Directive]) -> type[Directive]:
    """Let a directive of docutils pass options it does not know, as Sphinx adds some."""
    spec: Any = own.option_spec
    # The ones of the parser itself, as `role`, look at the table in ways of their own.
    if not spec or own.__name__ in ("Role", "Replace", "Unicode", "Date", "DefaultRole"):
        return own
    return type(own.__name__, (own,), {"option_spec": AnyOption(spec)})
