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
KEEP_ALIVE = 75
"""Seconds a connection may rest; longer than nginx keeps it (60), or both may meet in the middle: a
question that is sent while the service closes the connection is lost."""
SILENT = 60
"""Seconds after which a worker that says nothing is taken for hung: on a busy machine one that
loads its models says nothing for longer than the usual five."""
SPARE = 5
"""Seconds that a service which was told to stop has beyond the draining of streams."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--host", help="Address to listen on (CITEWELL_SERVE__HOST).")
@click.option("--port", type=int, help="Port; 0 takes a free one (CITEWELL_SERVE__PORT).")
@click.option("--open", "opened", is_flag=True, help="Let anyone ask (CITEWELL_ACCESS__MODE=open).")
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Processes that serve (CITEWELL_SERVE__WORKERS)."
)
@click.option("--show-settings", is_flag=True, help="Print the settings in force and stop.")
@book_option
@data_option
def command(
    *,
    path: Path | None,
    opened: bool,
    show_settings: bool,
    book: str | None,
    data_dir: Path | None,
    **given: object,
) -> None:
    """Serve the books over HTTP; with PATH, ingest that book first."""
    console = Console(stderr=True)
    settings = _with_options(settings_from(data_dir, book=book), given)
    if opened:
        access = settings.access.model_copy(update={"mode": "open"})
        settings = settings.model_copy(update={"access": access})
    if show_settings:
        click.echo(settings.model_dump_json(indent=2))
        return
    _check_keys(settings)
    if path is not None:
        run_ingest(IngestArguments(path=path, book=book, kind=None, settings=settings), console)
    _serve(settings, console)


def _with_options(settings: Settings, given: dict[str, object]) -> Settings:
    changes = {name: value for name, value in given.items() if value is not None}
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
    if not any(key.is_valid(datetime.now(UTC)) for key in keys):
        raise BadSettings(
            f"Citewell does not listen on {host} without a key: make one with `citewell keys "
            f"create "
            "NAME`, or let anyone ask with `citewell serve --open` (CITEWELL_ACCESS__MODE=open)."
        )


def _serve(settings: Settings, console: Console) -> None:
    # Imported here: the agent stack takes seconds, and bad input should be told at once.
    import uvicorn

    from citewell.api.app import create_worker_app
    from citewell.wiring import build_library

    # What is wrong with a database is told once and in one sentence, before anything is served.
    asyncio.run(upgrade_all(settings))
    # On a server they may come later, from another host.
    if not settings.index_url and not build_library(settings).books():
        raise UnknownBook(f"There is no book in {settings.data_dir} to serve.")
    with lock_data_dir(settings.data_dir), _shared_metrics_dir(settings) as metrics_dir:
        several = settings.serve.workers > 1
        # Each worker builds its own: the engine does not survive a copy of its process.
        app = (
            partial(create_worker_app, settings, metrics_dir)
            if several
            else create_worker_app(settings)
        )
        listening = _listen(settings)
        config = uvicorn.Config(
            app,
            factory=several,
            lifespan="on",
            log_level="warning",
            log_config=None,
            workers=settings.serve.workers,
            # Which proxies to believe is for `CITEWELL_ACCESS__TRUSTED_PROXIES` to say.
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE,
            # The streams end by themselves before that; this is for what does not.
            timeout_graceful_shutdown=int(settings.stream.drain_seconds) + SPARE,
            timeout_worker_healthcheck=SILENT,
        )
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        console.print(f"Ask the book at [bold]http://{shown}:{port}[/bold] (Ctrl-C to stop)")
        _run(config, listening, settings, console)


def _run(
    config: "uvicorn.Config", listening: socket.socket, settings: Settings, console: Console
) -> None:
    from uvicorn.server import Server
    from uvicorn.supervisors import Multiprocess

    from citewell.wiring import build_embedder

    if config.workers == 1:
        Server(config).run(sockets=[listening])
        return
    # What is made once is made before there are several who would make it at the same time.
    build_embedder(settings, console.print).embed_query("ready")
    Multiprocess(config, [listening]).run()


@contextmanager
def _shared_metrics_dir(settings: Settings) -> Iterator[str | None]:
    """Yield several workers a folder for their figures; of one, the figures stay in memory."""
    if settings.serve.workers == 1:
        yield None
        return
    with TemporaryDirectory(prefix="citewell-metrics-") as folder:
        # How the library is told, in every process that it is loaded into.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # noqa: TID251 - it has no other way
        yield folder


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
            f"Cannot listen on {host}:{port}: {error.strerror or error} (CITEWELL_SERVE__PORT)."
        ) from error
    return listening


@contextmanager
def lock_data_dir(data_dir: Path) -> Iterator[None]:
    """Keep a second service from the same data folder; asking and ingesting beside it is fine.

    Raises:
        DataFolderBusy: another process serves it.
    """
    # A host that serves what others ingested may begin with nothing.
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
