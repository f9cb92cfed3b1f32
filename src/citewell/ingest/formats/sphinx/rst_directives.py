"""Replacements for directives of Sphinx and its extensions that keep their text."""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, DirectiveError, directives
from docutils.parsers.rst.directives.misc import Include
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.statemachine import StringList

from citewell.ingest.formats.sphinx.include_context import IncludeContext


class LabelledContent(nodes.General, nodes.Element):
    """Content with a label: a tab, a card, a captioned listing, a described function."""


class AsideNode(nodes.Admonition, nodes.Element):
    """An admonition that docutils has no node for: `seealso`, `versionadded`."""


class ToctreeNode(nodes.Invisible, nodes.Element):
    """A `toctree`: its entries as written, and its options."""


class Highlight(nodes.Invisible, nodes.Element):
    """Sets the language of the literal blocks that follow."""


class Markdown(nodes.General, nodes.Element):
    """Markdown included in a reStructuredText page."""


class AnyOption(dict[str, Any]):
    """An option spec that accepts unknown options unchanged."""

    def __missing__(self, key: str) -> Any:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True  # docutils ignores an empty spec


def include_context_of(directive: Directive) -> IncludeContext:
    """Return the include context of the directive's page."""
    context = directive.state.document.settings.include_context
    assert isinstance(context, IncludeContext)
    return context


def code_block_nodes(text: str, language: str = "", caption: str = "") -> list[nodes.Node]:
    """Return a code block, with its caption if it has one."""
    block = nodes.literal_block(text, text)
    if language:
        block["language"] = language
    if not caption:
        return [block]
    labelled = LabelledContent(label=caption)
    labelled += block
    return [labelled]


class CodeBlock(Directive):
    """`code-block` and similar directives with code as content."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Return the code block."""
        language = self.arguments[0].split()[0] if self.arguments else ""
        caption = str(self.options.get("caption", ""))
        return code_block_nodes("\n".join(self.content), language, caption)


class Diagram(CodeBlock):
    """A diagram as text, such as `graphviz`, kept as code."""

    def run(self) -> list[nodes.Node]:
        """Return the source of the diagram."""
        return code_block_nodes("\n".join(self.content), self.name) if self.content else []


class Doctest(CodeBlock):
    """Tested code; its arguments are groups of tests."""

    languages: ClassVar[dict[str, str]] = {"testoutput": "text"}

    def run(self) -> list[nodes.Node]:
        """Return the code block unless it is hidden."""
        if "hide" in self.options:
            return []
        return code_block_nodes("\n".join(self.content), self.languages.get(self.name, "python"))


class SetHighlight(Directive):
    """`highlight`: sets the language of the literal blocks that follow."""

    required_arguments = 1
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Return the marker node."""
        return [Highlight(language=self.arguments[0])]


class LiteralInclude(Directive):
    """`literalinclude`: lines of a file as code."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Return the code block; record an error if the file cannot be read."""
        included = include_context_of(self).read(self.arguments[0])
        if included is None:
            return []
        path, text = included
        language = self.options.get("language") or path.suffix.lstrip(".")
        caption = self.options.get("caption", "")
        if "caption" in self.options and not caption:
            caption = self.arguments[0]
        return code_block_nodes(
            "\n".join(select_literalinclude_lines(text, self.options)), language, caption
        )


def select_literalinclude_lines(text: str, options: dict[str, Any]) -> list[str]:
    """Return the lines of a file that are selected by the options of `literalinclude`."""
    lines = text.splitlines()
    if spec := options.get("lines"):
        lines = [lines[n] for n in _parse_line_spec(str(spec), len(lines))]
    for name, offset in (("start-after", 1), ("start-at", 0)):
        if marker := options.get(name):
            index = next((n for n, line in enumerate(lines) if marker in line), -offset)
            lines = lines[index + offset :]
    for name, offset in (("end-before", 0), ("end-at", 1)):
        if marker := options.get(name):
            index = next((n for n, line in enumerate(lines) if marker in line), len(lines))
            lines = lines[: index + offset]
    if str(options.get("dedent", "")).isdecimal():
        lines = [line[int(options["dedent"]) :] for line in lines]
    elif "dedent" in options:
        indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
        lines = [line[min(indents, default=0) :] for line in lines]
    return lines


def _parse_line_spec(spec: str, total: int) -> list[int]:
    """Parse `1,3-5,7-` to zero-based line indexes."""
    indexes: list[int] = []
    for part in spec.split(","):
        match = re.fullmatch(r"\s*(\d*)\s*(-?)\s*(\d*)\s*", part)
        if not match or not (match[1] or match[3]):
            continue
        first_line = int(match[1] or 1)
        last_line = int(match[3] or total) if match[2] else first_line
        indexes += range(max(first_line, 1) - 1, min(last_line, total))
    return indexes


class SafeInclude(Include):
    """`include`, restricted to files of the book."""

    option_spec = AnyOption({**(Include.option_spec or {}), "parser": directives.unchanged})

    def run(self) -> list[nodes.Node]:
        """Insert the file; record an error if it cannot be read."""
        context = include_context_of(self)
        included = context.read(self.arguments[0], self.state.document.current_source)
        if included is None:
            return []
        path, text = included
        if "parser" in self.options or path.suffix == ".md":
            return [Markdown(text=text, source=str(path))]
        settings = self.state.document.settings
        self.arguments[0] = str(path)
        # Enabled only for this file, whose path was checked.
        settings.file_insertion_enabled = True
        try:
            return list(super().run())
        except DirectiveError as error:
            circular = "circular" in str(error.msg)
            reason = "it includes itself" if circular else str(error.msg).split("\n")[-1]
            context.report(str(path).removeprefix(f"{context.root.resolve()}/"), reason)
            return []
        finally:
            settings.file_insertion_enabled = False

    def as_code_block(self, text: str) -> list[nodes.literal_block]:
        """Return the file as code without syntax highlighting."""
        block = nodes.literal_block(text, text, language=self.options.get("code") or "")
        return [block]


class SafeCsvTable(CSVTable):
    """`csv-table`, with rows from its content or from a file of the book."""

    option_spec = AnyOption({k: v for k, v in (CSVTable.option_spec or {}).items() if k != "url"})

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        """Return the table."""
        if name := self.options.pop("file", None):
            source = self.state.document.current_source
            included = include_context_of(self).read(str(name), source)
            if included is None:
                return []
            path, text = included
            self.content = StringList(text.splitlines(), source=str(path))
        return super().run()


_MIN_TITLE_WORDS = 3
"""An argument of this many words is text, not a file name or a number."""


class _StubDirective(Directive):
    """A directive that treats its argument as part of its content."""

    has_content = True
    option_spec = AnyOption()

    def title(self) -> str:
        match = re.search(r"::[ \t]+(\S.*)$", self.block_text.split("\n", 1)[0])
        return match[1].strip() if match else ""

    def parse_into(self, node: nodes.Element, skip: int = 0) -> nodes.Element:
        """Parse the content after its first `skip` lines into `node`."""
        self.state.nested_parse(self.content[skip:], self.content_offset + skip, node)
        return node


class _Dropped(_StubDirective):
    def run(self) -> list[nodes.Node]:
        return []


class _Transparent(_StubDirective):
    """A layout container; its argument is dropped."""

    def run(self) -> list[nodes.Node]:
        node = nodes.container()
        return [self.parse_into(node, 1 if self.title() else 0)]


class _Titled(_StubDirective):
    """Content with a title: a tab, a card, a dropdown."""

    def run(self) -> list[nodes.Node]:
        title = self.title()
        return [self.parse_into(LabelledContent(label=title), 1 if title else 0)]


class _Unknown(_Titled):
    """An unknown directive: its content is text; an argument alone only if it is a sentence."""

    def run(self) -> list[nodes.Node]:
        if (
            len(self.content) > 1
            or len(self.title().split()) >= _MIN_TITLE_WORDS
            or not self.title()
        ):
            return super().run()
        return []


class _CodeTab(_StubDirective):
    """`code-tab`: code with a language and an optional title."""

    def run(self) -> list[nodes.Node]:
        language, _, name = self.title().partition(" ")
        code = "\n".join(self.content[1:]).strip("\n")
        block = nodes.literal_block(code, code, language=language)
        node = LabelledContent(label=name.strip() or language)
        node += block
        return [node]


class _Aside(_StubDirective):
    def run(self) -> list[nodes.Node]:
        return [self.parse_into(AsideNode(name=self.name.split(":")[-1].lower()))]


class _Theorem(_StubDirective):
    """A titled admonition: `prf:theorem`, `exercise`."""

    def run(self) -> list[nodes.Node]:
        title = self.title()
        node = AsideNode(name=self.name.split(":")[-1].lower(), title=title)
        return [self.parse_into(node, 1 if title else 0)]


_VERSION_LABELS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version",
    "versionremoved": "Removed in version",
}


class _Version(Directive):
    """`versionadded` and similar directives."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption()

    def run(self) -> list[nodes.Node]:
        label = f"{_VERSION_LABELS[self.name.lower()]} {self.arguments[0]}"
        text = self.arguments[1] if len(self.arguments) > 1 else ""
        inline, _ = self.state.inline_text(text, self.lineno)
        node = AsideNode(name=self.name.lower())
        paragraph = nodes.paragraph("", "", nodes.Text(f"{label}: " if text else label), *inline)
        node += paragraph
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


class _Toctree(_StubDirective):
    def run(self) -> list[nodes.Node]:
        node = ToctreeNode(caption=str(self.options.get("caption") or ""))
        node["entries"] = [line.strip() for line in self.content if line.strip()]
        node["glob"], node["reversed"] = "glob" in self.options, "reversed" in self.options
        return [node]


class _Only(_StubDirective):
    """`only` and `ifconfig`: always kept, as the conditions are unknown."""

    def run(self) -> list[nodes.Node]:
        # Inserted as source, because the content may contain headings.
        lines = list(self.content[1 if self.title() else 0 :])
        self.state_machine.insert_input(
            StringList([*lines, ""], source=self.state.document.current_source or ""),
            self.state.document.current_source or "",
        )
        return []


class _Index(_Dropped):
    """`index`: invisible, but its target is an id of the next section."""

    def run(self) -> list[nodes.Node]:
        document = self.state.document
        number = sum(1 for name in document.ids if name.startswith("index-"))
        target = nodes.target("", "", ids=[f"index-{number}"])
        document.note_explicit_target(target)
        return [target]


class _Glossary(_StubDirective):
    """`glossary`: a definition list; terms with the same definition share a line."""

    def run(self) -> list[nodes.Node]:
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


class _Signature(_StubDirective):
    """The description of a function, class or option: signatures and content."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        names = [line.strip().rstrip("\\") for line in "".join(self.arguments).split("\n")]
        return [self.parse_into(LabelledContent(signatures=[name for name in names if name]))]


def _for_names(directive: type[Directive], names: str) -> dict[str, type[Directive]]:
    return dict.fromkeys(names.split(), directive)


_DIRECTIVES: dict[str, type[Directive]] = {
    **_for_names(CodeBlock, "code code-block sourcecode prompt parsed-code ipython productionlist"),
    **_for_names(Diagram, "graphviz digraph graph mermaid uml plantuml blockdiag seqdiag tikz"),
    **_for_names(Doctest, "doctest testcode testoutput"),
    **_for_names(SetHighlight, "highlight highlightlang"),
    **_for_names(LiteralInclude, "literalinclude"),
    **_for_names(SafeInclude, "include"),
    **_for_names(SafeCsvTable, "csv-table"),
    **_for_names(_Toctree, "toctree"),
    **_for_names(_Only, "only ifconfig if-builder cond"),
    **_for_names(_Glossary, "glossary"),
    **_for_names(_Index, "index"),
    **_for_names(_Version, " ".join(_VERSION_LABELS)),
    **_for_names(_Aside, "seealso"),
    **_for_names(_Theorem, "exercise solution"),
    **_for_names(_CodeTab, "code-tab"),
    **_for_names(
        _Titled,
        "tab group-tab tab-item md-tab-item dropdown card grid-item-card details collapse toggle"
        " centered",
    ),
    **_for_names(
        _Transparent,
        "tabs tab-set tab-set-code md-tab-set grid grid-item card-carousel hlist acks panels div"
        " button-ref button-link container table-wrapper",
    ),
    **_for_names(
        _Dropped,
        "raw meta tabularcolumns sectionauthor codeauthor moduleauthor default-domain todo"
        " todolist bibliography currentmodule module py:module py:currentmodule js:module"
        " autosummary automodule redirect-from redirect testsetup testcleanup program"
        " inheritance-diagram cpp:namespace cpp:namespace-push cpp:namespace-pop c:namespace",
    ),
    **_for_names(
        _Signature,
        "function class method attribute data exception decorator property staticmethod"
        " classmethod option envvar cmdoption describe object confval autofunction autoclass"
        " automethod autoattribute autodata autoexception autoproperty autodecorator"
        " doxygenfunction doxygenclass doxygenstruct doxygenenum",
    ),
}


def find_directive(name: str, look_up: Callable[[str], type[Directive] | None]) -> type[Directive]:
    """Return a replacement directive, docutils' own, or one that keeps the text."""
    lower = name.lower()
    if lower in _DIRECTIVES:
        return _DIRECTIVES[lower]
    domain, _, object_type = lower.partition(":")
    if object_type:
        return _Theorem if domain in ("prf", "proof") else _Signature
    original = look_up("class" if lower in ("rst-class", "cssclass") else lower)
    return _accept_any_option(original) if original else _Unknown


def _accept_any_option(directive: type[Directive]) -> type[Directive]:
    """Make a docutils directive accept unknown options, as Sphinx adds some."""
    spec: Any = directive.option_spec
    # Some directives, such as `role`, process the spec themselves.
    if not spec or directive.__name__ in ("Role", "Replace", "Unicode", "Date", "DefaultRole"):
        return directive
    return type(directive.__name__, (directive,), {"option_spec": AnyOption(spec)})
