"""How text is laid out on a terminal."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text


def print_indented(console: Console, text: str, *, indent: int, style: str = "") -> None:
    """Print text with every line indented, broken between words; in a pipe, on one line."""
    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent + text, style=style), soft_wrap=True)
