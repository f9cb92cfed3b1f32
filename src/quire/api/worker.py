"""The application as each process of the service makes it for itself."""

from fastapi import FastAPI

from quire.api.app import create_app
from quire.compose import build
from quire.log import configure_logging
from quire.settings import Settings


def make_app(settings: Settings, counted_in: str | None = None) -> FastAPI:
    """Build everything anew, in the process that uses it."""
    configure_logging(settings.log_level, settings.log.format)
    return create_app(build(settings, cached=True), counted_in)
