"""Options that several commands share."""

from collections.abc import Sequence
from pathlib import Path

import click

from citewell.domain import AllowedValues, Filters, Prefix
from citewell.errors import BadRequest, CitewellError, StoreUnavailable
from citewell.logging import configure_logging
from citewell.settings import Settings, read_settings

data_option = click.option(
    "--data", "data_dir", type=click.Path(path_type=Path), help="Data folder (CITEWELL_DATA_DIR)."
)
shared_option = click.option(
    "--shared",
    envvar="CITEWELL_SHARED",
    type=click.Path(path_type=Path),
    default=Path("../shared"),
    show_default=True,
    help="Folder whose `data` subfolder has the labelled sets (CITEWELL_SHARED).",
)
filter_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="FIELD=VALUE",
    help=f"Search only where FIELD ({', '.join(Filters().by_field)}) equals VALUE, or starts with "
    "it: FIELD^=VALUE. May be repeated; of several values for one field, any may match.",
)
book_option = click.option("--book", help="Name of the book, if there are several.")
verbose_option = click.option(
    "--verbose",
    is_flag=True,
    help="List every entry of the report, not only the first few of each category.",
)


def parse_filters(expressions: Sequence[str], **extra: Sequence[str]) -> Filters:
    """Parse `chapter=…` and `url^=…`; `extra` adds exact values by field.

    Raises:
        BadRequest: an expression is malformed or names an unknown field.
    """
    fields: dict[str, AllowedValues] = {
        name: tuple(extra.get(name, ())) for name in Filters().by_field
    }
    for expression in expressions:
        field, equals, value = expression.partition("=")
        name = field.removesuffix("^").strip()
        if not equals or name not in fields:
            raise BadRequest(
                f"{expression!r} is not a filter. Use FIELD=VALUE or FIELD^=VALUE with one of the "
                f"fields {', '.join(fields)}."
            )
        fields[name] += (Prefix(value) if field.endswith("^") else value,)
    return Filters(**fields)


def explain_error(error: Exception) -> tuple[str, str]:
    """Return an error's message and advice for operators, who get more detail than readers."""
    if isinstance(error, PermissionError):
        return f"{error.filename} cannot be read or written: permission denied.", (
            "Run Citewell as the folder's owner, or point CITEWELL_DATA_DIR elsewhere."
        )
    if isinstance(error, StoreUnavailable) and error.__cause__ is not None:
        cause = getattr(error.__cause__, "orig", None) or error.__cause__
        return f"{error} The database says: {cause}.", (
            "Make its file writable, or start its server; if it is damaged, restore a backup."
        )
    return str(error), error.advice if isinstance(error, CitewellError) else ""


def settings_from(data_dir: Path | None, **overrides: object) -> Settings:
    """Read the settings, override them with command-line options, and configure logging."""
    options = {"data_dir": data_dir, **overrides}
    settings = read_settings(**{k: v for k, v in options.items() if v is not None})
    configure_logging(settings.log_level, settings.log.format)
    return settings
