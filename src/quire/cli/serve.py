"""`quire serve [PATH]`."""

import asyncio
import socket
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from quire.access.options import is_loopback
from quire.cli.ingest import Job, run_ingest
from quire.cli.options import book_option, data_option, settings_from
from quire.compose import build_keys, build_threads
from quire.errors import BadSettings, UnknownBook
from quire.settings import Settings

BACKLOG = 2048


@click.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--host", help="Address to listen on (QUIRE_SERVE__HOST).")
@click.option("--port", type=int, help="Port; 0 takes a free one (QUIRE_SERVE__PORT).")
@click.option("--open", "opened", is_flag=True, help="Let anyone ask (QUIRE_ACCESS__MODE=open).")
@click.option("--show-settings", is_flag=True, help="Print the settings in force and stop.")
@book_option
@data_option
def command(  # noqa: PLR0913 - one for each option
    *,
    path: Path | None,
    host: str | None,
    port: int | None,
    opened: bool,
    show_settings: bool,
    book: str | None,
    data_dir: Path | None,
) -> None:
    """Serve the books over HTTP; with PATH, ingest that book first."""
    console = Console(stderr=True)
    settings = _with_address(settings_from(data_dir, book=book), host, port)
    if opened:
        access = settings.access.model_copy(update={"mode": "open"})
        settings = settings.model_copy(update={"access": access})
    if show_settings:
        click.echo(settings.model_dump_json(indent=2))
        return
    _check_keys(settings)
    if path is not None:
        run_ingest(Job(path=path, book=book, kind=None, settings=settings), console)
    _serve(settings, console)


def _with_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    changes = {k: v for k, v in (("host", host), ("port", port)) if v is not None}
    return settings.model_copy(update={"serve": settings.serve.model_copy(update=changes)})


def _check_keys(settings: Settings) -> None:
    """See that a service which others can reach does not stand open by accident.

    Raises:
        BadSettings: it would.
    """
    host = settings.serve.host
    if is_loopback(host) or settings.access.mode == "open":
        return
    keys = asyncio.run(build_keys(settings).all())
    if not any(key.holds(datetime.now(UTC)) for key in keys):
        raise BadSettings(
            f"Quire does not listen on {host} without a key: make one with `quire keys create "
            "NAME`, or let anyone ask with `quire serve --open` (QUIRE_ACCESS__MODE=open)."
        )


def _serve(settings: Settings, console: Console) -> None:
    # Imported here: the agent stack takes seconds, and bad input should be told at once.
    import uvicorn

    from quire.api.app import create_app
    from quire.compose import build

    asyncio.run(_migrate(settings))
    services = build(settings, say=console.print)
    if not services.library.books():
        raise UnknownBook(f"There is no book in {settings.data_dir} to serve.")
    app = create_app(services)
    listening = _listen(settings)
    host, port = listening.getsockname()[:2]
    # Which proxies to believe is for `QUIRE_ACCESS__TRUSTED_PROXIES` to say.
    config = uvicorn.Config(app, log_level="warning", lifespan="on", proxy_headers=False)
    server = uvicorn.Server(config)
    shown = f"[{host}]" if ":" in host else host
    console.print(f"Ask the book at [bold]http://{shown}:{port}[/bold] (Ctrl-C to stop)")
    server.run(sockets=[listening])


async def _migrate(settings: Settings) -> None:
    """Open the conversations once, so that what is wrong is told in one sentence."""
    threads = build_threads(settings)
    try:
        await threads.open()
    finally:
        await threads.close()


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.serve.host, settings.serve.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # From here on connections wait until the service is up, instead of being refused.
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise BadSettings(
            f"Cannot listen on {host}:{port}: {error.strerror or error} (QUIRE_SERVE__PORT)."
        ) from error
    return listening
