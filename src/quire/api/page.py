"""The chat page: a few files, each at its own address."""

from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

STATIC = Path(str(resources.files("quire.api") / "static"))
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
}


def page_paths() -> dict[str, Path]:
    """Give the page's files by their addresses."""
    files = sorted(file for file in STATIC.iterdir() if file.is_file())
    return {"/" if file.name == "index.html" else f"/{file.name}": file for file in files}


def page_router() -> APIRouter:
    """Serve the page at `/` and its files beside it; a mount would swallow other routes' errors."""
    router = APIRouter(include_in_schema=False)
    for address, file in page_paths().items():
        router.add_api_route(
            address, _served(file), methods=["GET", "HEAD"], response_class=FileResponse
        )
    return router


def _served(file: Path) -> Callable[[], Awaitable[FileResponse]]:
    async def serve() -> FileResponse:
        return FileResponse(file, headers=HEADERS)

    return serve
