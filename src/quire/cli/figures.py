"""Figures of several sets in the terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

WIDE = 160
"""Columns that a table of figures needs; in fewer it cannot be read."""


def print_figures(console: Console, rows: Sequence[tuple[str, Mapping[str, str]]]) -> None:
    """Print a row a set in a wide terminal, and `name: value` lines anywhere else."""
    if rows and console.is_terminal and console.width >= WIDE:
        table = Table("set", *rows[0][1])
        for name, figures in rows:
            table.add_row(name, *figures.values())
        console.print(table)
        return
    for name, figures in rows:
        console.print(f"\n{name}", markup=False, highlight=False, soft_wrap=True)
        for figure, value in figures.items():
            if value:
                line = f"  {figure}: {value}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)
