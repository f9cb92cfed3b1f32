"""Nodes for what Sphinx adds to reStructuredText."""

from docutils import nodes


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
