"""`citewell keys create`, `list` and `revoke`."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from citewell.cli.options import data_option, settings_from
from citewell.errors import BadRequest
from citewell.settings import Settings
from citewell.storage.keys import SCOPES, Key, Scope, make_key
from citewell.wiring import books_folder, build_keys


@click.group()
def command() -> None:
    """Make, list and revoke the keys that callers of the service show."""


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="What it may do; repeated for several. By default: ask.",
)
@click.option("--publishable", is_flag=True, help="May stand in a web page: asks only, per origin.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="https://…",
    help="A site whose pages may use a publishable key; repeated for several.",
)
@click.option(
    "--book",
    "books",
    multiple=True,
    help="A book it is for, and no other; repeated for several. By default: all.",
)
@click.option("--days", type=click.IntRange(1, 36_500), help="Expires after so many days.")
@data_option
def create(  # noqa: PLR0913 - one for each option
    name: str,
    *,
    scopes: tuple[Scope, ...],
    publishable: bool,
    origins: tuple[str, ...],
    books: tuple[str, ...],
    days: int | None,
    data_dir: Path | None,
) -> None:
    """Make a key and print its secret, which is never shown again."""
    if publishable != bool(origins):
        raise BadRequest("A publishable key names its sites: --publishable --origin https://….")
    now = datetime.now(UTC)
    key, secret = make_key(
        name,
        scopes=frozenset(scopes or ("ask",)),
        origins=origins,
        books=books,
        created_at=now,
        expires_at=now + timedelta(days=days) if days else None,
    )
    settings = settings_from(data_dir)
    asyncio.run(build_keys(settings).add(key))
    _warn_of_unknown(books, settings)
    # The secret alone goes to standard output, so that it can be piped into a vault.
    click.echo(f"{key.id} {key.name}: {_rights(key)}. It is shown this once:", err=True)
    click.echo(secret)


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that were revoked.")
@data_option
def list_(everything: bool, data_dir: Path | None) -> None:
    """List the keys, without their secrets."""
    keys = asyncio.run(build_keys(settings_from(data_dir)).all())
    shown = [key for key in keys if everything or key.revoked_at is None]
    console = Console()
    for key in shown:
        console.print(
            f"[bold]{escape(key.name)}[/bold]  {key.id}  {_rights(key)}, {_state(key)}",
            highlight=False,
            soft_wrap=True,
        )
    if not shown:
        click.echo("There are none.", err=True)


@command.command()
@click.argument("key")
@data_option
def revoke(key: str, data_dir: Path | None) -> None:
    """Revoke a KEY by its id or name; running services notice within seconds."""
    store = build_keys(settings_from(data_dir))
    gone = asyncio.run(store.revoke(key, datetime.now(UTC)))
    click.echo(f"{gone.id} {gone.name} opens nothing any more.")


def _warn_of_unknown(books: tuple[str, ...], settings: Settings) -> None:
    """Name the books that are not there, which may yet be ingested, or be a slip of the pen."""
    if not books or settings.index_url:
        return
    known = {folder.name for folder in books_folder(settings).glob("*") if folder.is_dir()}
    for book in books:
        if book not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "there are none yet"
            click.echo(f"citewell: no book is called {book!r}; {there}.", err=True)


def _rights(key: Key) -> str:
    scopes = ", ".join(scope for scope in SCOPES if scope in key.scopes)
    where = f" on {', '.join(key.origins)}" if key.origins else ""
    return scopes + where + (f" about {', '.join(key.books)}" if key.books else "")


def _state(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "never expires"
    return (
        f"{'expires' if key.is_valid(datetime.now(UTC)) else 'expired'} {key.expires_at:%Y-%m-%d}"
    )
