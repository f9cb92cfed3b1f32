"""`citewell toc`."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from citewell.cli.options import book_option, data_option, settings_from
from citewell.domain import Heading
from citewell.wiring import build_library


@click.command()
@click.option(
    "--depth",
    default=1,
    show_default=True,
    type=click.IntRange(0, 20),
    help="How many levels of sections to show below each chapter.",
)
@click.option("--urls", is_flag=True, help="Show each heading's URL on the published site.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored contents as JSON.")
@book_option
@data_option
def command(depth: int, urls: bool, as_json: bool, book: str | None, data_dir: Path | None) -> None:
    """Show the table of contents: parts, chapters and sections."""
    library = build_library(settings_from(data_dir))
    try:
        index = library.open(book)
        contents, title = index.contents, index.title
    finally:
        library.close()
    if as_json:
        click.echo(json.dumps(asdict(contents), ensure_ascii=False, indent=1))
        return
    tree = Tree(f"[bold]{escape(title)}[/bold]", highlight=False)
    for heading in contents.headings:
        _add_branch(tree, heading, depth + (heading.kind == "part"), urls=urls)
    console = Console()
    console.print(tree, soft_wrap=True)
    if contents.figures or contents.definitions:
        console.print(
            f"[dim]{len(contents.figures)} figures, {len(contents.definitions)} definitions[/dim]"
        )


def _add_branch(tree: Tree, heading: Heading, depth: int, *, urls: bool) -> None:
    number = f"{heading.number}. " if heading.number else ""
    style = "bold" if heading.kind == "part" else ""
    url = f"  [dim]{escape(heading.url)}[/dim]" if urls else ""
    branch = tree.add(f"{number}{escape(heading.title)}{url}", style=style)
    if depth:
        for child in heading.children:
            _add_branch(branch, child, depth - 1, urls=urls)
