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
    """Create, list and revoke API keys."""


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="A permission of the key; may be repeated. By default: ask.",
)
@click.option("--publishable", is_flag=True, help="Safe in a web page: only asks, per origin.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="https://…",
    help="A site whose pages may use a publishable key; may be repeated.",
)
@click.option(
    "--book",
    "books",
    multiple=True,
    help="Restrict the key to this book; may be repeated. By default: all books.",
)
@click.option("--days", type=click.IntRange(1, 36_500), help="Expire after this many days.")
@data_option
def create(  # noqa: PLR0913 - one parameter per option
    name: str,
    *,
    scopes: tuple[Scope, ...],
    publishable: bool,
    origins: tuple[str, ...],
    books: tuple[str, ...],
    days: int | None,
    data_dir: Path | None,
) -> None:
    """Create a key and print its secret, which is never shown again."""
    if publishable != bool(origins):
        raise BadRequest("A publishable key needs its sites: --publishable --origin https://….")
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
    _warn_about_unknown_books(books, settings)
    permissions = _describe_permissions(key)
    click.echo(f"{key.id} {key.name}: {permissions}. Its secret is shown only once:", err=True)
    # Only the secret goes to standard output, for piping into a vault.
    click.echo(secret)


@command.command("list")
@click.option("--all", "include_revoked", is_flag=True, help="Include revoked keys.")
@data_option
def list_(include_revoked: bool, data_dir: Path | None) -> None:
    """List the keys, without their secrets."""
    keys = asyncio.run(build_keys(settings_from(data_dir)).all())
    keys = [key for key in keys if include_revoked or key.revoked_at is None]
    console = Console()
    for key in keys:
        details = f"{_describe_permissions(key)}, {_describe_expiry(key)}"
        console.print(
            f"[bold]{escape(key.name)}[/bold]  {key.id}  {details}", highlight=False, soft_wrap=True
        )
    if not keys:
        click.echo("There are none.", err=True)


@command.command()
@click.argument("key")
@data_option
def revoke(key: str, data_dir: Path | None) -> None:
    """Revoke the KEY with this id or name; running services reject it within seconds."""
    store = build_keys(settings_from(data_dir))
    revoked = asyncio.run(store.revoke(key, datetime.now(UTC)))
    click.echo(f"Revoked {revoked.id} {revoked.name}.")


def _warn_about_unknown_books(books: tuple[str, ...], settings: Settings) -> None:
    """Warn about books that do not exist: a typo, or ingested later."""
    if not books or settings.index_url:
        return
    known = {folder.name for folder in books_folder(settings).glob("*") if folder.is_dir()}
    for book in books:
        if book not in known:
            names = f"there are {', '.join(sorted(known))}" if known else "there are none yet"
            click.echo(f"citewell: no book is called {book!r}; {names}.", err=True)


def _describe_permissions(key: Key) -> str:
    scopes = ", ".join(scope for scope in SCOPES if scope in key.scopes)
    origins = f" on {', '.join(key.origins)}" if key.origins else ""
    return scopes + origins + (f" about {', '.join(key.books)}" if key.books else "")


def _describe_expiry(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "never expires"
    verb = "expires" if key.is_valid(datetime.now(UTC)) else "expired"
    return f"{verb} {key.expires_at:%Y-%m-%d}"
