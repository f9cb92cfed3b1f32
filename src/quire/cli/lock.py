"""One service a data folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quire.errors import DataFolderBusy
from quire.folders import make_private


@contextmanager
def serving_alone(data_dir: Path) -> Iterator[None]:
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
