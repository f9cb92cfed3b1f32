"""Options that several commands share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from citewell.domain import AllowedValues, Filters, Prefix
from citewell.errors import BadRequest, CitewellError, StoreUnavailable
from citewell.logging import configure_logging
from citewell.settings import Settings, read_settings

Command = Callable[..., Any]

data_option = click.option(
    "--data",
    "data_dir",
    type=click.Path(path_type=Path),
    help="Data folder (CITEWELL_DATA_DIR).",
)
shared_option = click.option(
    "--shared",
    envvar="CITEWELL_SHARED",
    type=click.Path(path_type=Path),
    default=Path("../shared"),
    show_default=True,
    help="Folder whose `data` holds labelled sets (CITEWELL_SHARED).",
)
filter_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="FIELD=VALUE",
    help=f"Search only where FIELD ({', '.join(Filters().by_field)}) is VALUE, or begins with it: "
    "FIELD^=VALUE. Repeated for one field, any may match.",
)
book_option = click.option("--book", help="Name of the book, where there are several.")


def parse_filters(said: Sequence[str], **more: Sequence[str]) -> Filters:
    """Read `chapter=…` and `url^=…`, with the values of `more` besides.

    Raises:
        BadRequest: one has another form, or names no field; the message says which there are.
    """
    wanted: dict[str, AllowedValues] = {
        name: tuple(more.get(name, ())) for name in Filters().by_field
    }
    for one in said:
        field, sign, value = one.partition("=")
        name = field.removesuffix("^").strip()
        if not sign or name not in wanted:
            known = ", ".join(wanted)
            raise BadRequest(
                f"{one!r} is no filter: FIELD=VALUE or FIELD^=VALUE, FIELD of {known}."
            )
        wanted[name] += (Prefix(value) if field.endswith("^") else value,)
    return Filters(**wanted)


def explain_error(error: Exception) -> tuple[str, str]:
    """Return what went wrong and what can be done, as operators are told; readers hear less."""
    if isinstance(error, PermissionError):
        return f"{error.filename} cannot be read or written: permission denied.", (
            "Run Citewell as the user whose folder it is, or point CITEWELL_DATA_DIR elsewhere."
        )
    if isinstance(error, StoreUnavailable) and error.__cause__ is not None:
        cause = getattr(error.__cause__, "orig", None) or error.__cause__
        return f"{error} The database says: {cause}.", (
            "Make its file writable, or start its server; if it is damaged, restore a backup."
        )
    return str(error), error.advice if isinstance(error, CitewellError) else ""


def settings_from(data_dir: Path | None, **overrides: object) -> Settings:
    """Read the settings with what the command line says on top, and set up logging."""
    given = {"data_dir": data_dir, **overrides}
    settings = read_settings(**{k: v for k, v in given.items() if v is not None})
    configure_logging(settings.log_level, settings.log.format)
    return settings
