"""A built site on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


class _Pages(SimpleHTTPRequestHandler):
    """Serves files below a base path, and pages without their `.html`, as static hosts do."""

    def __init__(self, *args: object, base: str, **more: object) -> None:
        self._base = base
        super().__init__(*args, **more)  # type: ignore[arg-type]

    def translate_path(self, path: str) -> str:
        inside = "/" + path.removeprefix(self._base)
        file = super().translate_path(inside)
        return file if Path(file).is_file() else f"{file}.html"

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path, base: str) -> Iterator[str]:
    """Serve a folder below the path `base`, and give the origin."""
    handler = partial(_Pages, base=base, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
