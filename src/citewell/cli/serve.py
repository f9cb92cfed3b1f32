"""`citewell serve [PATH]`."""

import asyncio
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from rich.console import Console

from citewell.cli.db import upgrade_all
from citewell.cli.ingest import IngestArguments, run_ingest
from citewell.cli.options import book_option, data_option, settings_from
from citewell.errors import BadSettings, DataFolderBusy, UnknownBook
from citewell.options import is_loopback
from citewell.private_files import make_private
from citewell.settings import Settings
from citewell.wiring import build_keys

if TYPE_CHECKING:
    import uvicorn


BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75
"""Longer than nginx keeps a connection (60): a question that arrives while the service closes the
connection is lost."""
WORKER_TIMEOUT_SECONDS = 60
"""How long a worker may fail health checks before it is replaced. On a busy machine, loading the
models takes longer than uvicorn's default of five seconds."""
SHUTDOWN_MARGIN_SECONDS = 5
"""Added to the time for draining streams before uvicorn stops a server by force."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--host", help="Address to listen on (CITEWELL_SERVE__HOST).")
@click.option("--port", type=int, help="Port; 0 chooses a free one (CITEWELL_SERVE__PORT).")
@click.option(
    "--open", "open_access", is_flag=True, help="Let anyone ask (CITEWELL_ACCESS__MODE=open)."
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Worker processes (CITEWELL_SERVE__WORKERS)."
)
@click.option("--show-settings", is_flag=True, help="Print the effective settings and exit.")
@book_option
@data_option
def command(
    *,
    path: Path | None,
    open_access: bool,
    show_settings: bool,
    book: str | None,
    data_dir: Path | None,
    **serve_options: object,
) -> None:
    """Serve the books over HTTP; with PATH, ingest that book first."""
    console = Console(stderr=True)
    settings = settings_from(data_dir, book=book)
    overrides = {name: value for name, value in serve_options.items() if value is not None}
    serve = settings.serve.model_copy(update=overrides)
    settings = settings.model_copy(update={"serve": serve})
    if open_access:
        access = settings.access.model_copy(update={"mode": "open"})
        settings = settings.model_copy(update={"access": access})
    if show_settings:
        click.echo(settings.model_dump_json(indent=2))
        return
    _require_key_if_reachable(settings)
    if path is not None:
        run_ingest(
            IngestArguments(path=path, book=book, format_name=None, settings=settings), console
        )
    _serve(settings, console)


def _require_key_if_reachable(settings: Settings) -> None:
    """Prevent exposing a service without authentication by accident.

    Raises:
        BadSettings: Others can reach the service and there is no valid key.
    """
    host = settings.serve.host
    if is_loopback(host) or settings.access.mode == "open":
        return
    keys = asyncio.run(build_keys(settings).all())
    if not any(key.is_valid(datetime.now(UTC)) for key in keys):
        raise BadSettings(
            f"Citewell does not listen on {host} without a key: create one with `citewell keys "
            "create NAME`, or let anyone ask with `citewell serve --open` "
            "(CITEWELL_ACCESS__MODE=open)."
        )


def _serve(settings: Settings, console: Console) -> None:
    # Imported here: the agent stack takes seconds to load, and bad input should fail at once.
    import uvicorn

    from citewell.api.app import create_worker_app
    from citewell.wiring import build_library

    # Before the workers start, so that a database error is reported once.
    asyncio.run(upgrade_all(settings))
    # Books on an index server may be ingested later, from another host.
    if not settings.index_url and not build_library(settings).books():
        raise UnknownBook(f"There is no book in {settings.data_dir} to serve.")
    with lock_data_dir(settings.data_dir), _shared_metrics_dir(settings) as metrics_dir:
        multiple = settings.serve.workers > 1
        # Each worker builds its own app: the engine does not survive a fork.
        app = (
            partial(create_worker_app, settings, metrics_dir)
            if multiple
            else create_worker_app(settings)
        )
        listener = _listen(settings)
        config = uvicorn.Config(
            app,
            factory=multiple,
            lifespan="on",
            log_level="warning",
            log_config=None,
            workers=settings.serve.workers,
            # `CITEWELL_ACCESS__TRUSTED_PROXIES` says which proxies to trust.
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            # Streams end before that by themselves; this is for everything else.
            timeout_graceful_shutdown=int(settings.stream.drain_seconds) + SHUTDOWN_MARGIN_SECONDS,
            timeout_worker_healthcheck=WORKER_TIMEOUT_SECONDS,
        )
        host, port = listener.getsockname()[:2]
        url_host = f"[{host}]" if ":" in host else host
        console.print(f"Ask the book at [bold]http://{url_host}:{port}[/bold] (Ctrl-C to stop)")
        _run(config, listener, settings, console)


def _run(
    config: "uvicorn.Config", listener: socket.socket, settings: Settings, console: Console
) -> None:
    from uvicorn.server import Server
    from uvicorn.supervisors import Multiprocess

    from citewell.wiring import build_embedder

    if config.workers == 1:
        Server(config).run(sockets=[listener])
        return
    # Prepare the model here once, before several workers would do it at the same time.
    build_embedder(settings, console.print).embed_query("ready")
    Multiprocess(config, [listener]).run()


@contextmanager
def _shared_metrics_dir(settings: Settings) -> Iterator[str | None]:
    """Yield a folder in which several workers share metrics; `None` for a single worker."""
    if settings.serve.workers == 1:
        yield None
        return
    with TemporaryDirectory(prefix="citewell-metrics-") as folder:
        # The Prometheus client reads it in each process.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # noqa: TID251 - there is no other way
        yield folder


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.serve.host, settings.serve.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From here on, connections wait until the service is up instead of being refused.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise BadSettings(
            f"Cannot listen on {host}:{port}: {error.strerror or error} (CITEWELL_SERVE__PORT)."
        ) from error
    return listener


@contextmanager
def lock_data_dir(data_dir: Path) -> Iterator[None]:
    """Prevent a second service on the same data folder; other commands may run beside it.

    Raises:
        DataFolderBusy: Another process serves the folder.
    """
    # The folder may not exist yet if the books are on an index server.
    make_private(data_dir.expanduser())
    with (data_dir.expanduser() / "serve.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise DataFolderBusy(
                f"Another process ({lock.read().strip()}) already serves {data_dir}."
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
