"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from quire.log import configure_logging
from quire.settings import Settings, read_settings

Command = Callable[..., Any]

data_option = click.option(
    "--data",
    "data_dir",
    type=click.Path(path_type=Path),
    help="Data folder (QUIRE_DATA_DIR).",
)
book_option = click.option("--book", help="Name of the book, where there are several.")


def settings_from(data_dir: Path | None, **overrides: object) -> Settings:
    """Read the settings with what the command line says on top, and set up logging."""
    given = {"data_dir": data_dir, **overrides}
    settings = read_settings(**{k: v for k, v in given.items() if v is not None})
    configure_logging(settings.log_level)
    return settings
