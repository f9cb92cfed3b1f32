"""Sites on loopback: one that was built, or a book as plain pages with the chat on each."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from citewell.api.routes.pages import BookLinks, render_page
from citewell.api.routes.static import STATIC_DIR
from citewell.domain import Heading
from citewell.settings import Settings
from citewell.wiring import build_library

EMBEDDING = Path(__file__).parents[2] / "docs" / "embedding" / "README.md"


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


def plain_site(data: Path, folder: Path, server: str, key: str) -> None:
    """Write a book as a plain site at its published addresses, with the chat on every page."""
    library = build_library(Settings(data_dir=data))
    index = library.open(None)
    links = BookLinks(index.contents)
    files = {chunk.source_file: chunk for chunk in index.read(_passages(index.contents.headings))}
    for source_file in files:
        chunks = [*index.page(source_file)]
        address = chunks[0].url.partition("#")[0]
        head = (
            f'<meta http-equiv="Content-Security-Policy" content="{policy(server)}">'
            f'<link rel="canonical" href="{address}">'
            f'<script type="module" src="{server}/widget.js" data-key="{key}"></script></head>'
        )
        page = folder / f"{urlsplit(address).path.strip('/').partition('/')[2] or 'index'}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(render_page(chunks, links).replace("</head>", head, 1), "utf-8")
    shutil.copy(STATIC_DIR / "book.css", folder)
    library.close()


def policy(server: str) -> str:
    """Return the Content-Security-Policy that the documentation recommends, for one server."""
    said = re.search(
        r"```text\nContent-Security-Policy: (.+?)\n```", EMBEDDING.read_text("utf-8"), re.S
    )
    assert said
    return " ".join(said[1].split()).replace("https://citewell.example", server)


def _passages(headings: Sequence[Heading]) -> list[str]:
    below = [identity for one in headings for identity in _passages(one.children)]
    return [identity for one in headings for identity in one.chunks] + below
