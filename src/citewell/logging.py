"""One logging set-up for the command line and the service."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The request that is being worked on; every line says it."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class LogOptions(BaseModel):
    """What is logged, and how."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    format: Literal["text", "json"] = "text"
    """How a line looks: for people, or one JSON object for machines."""
    questions: bool = False
    """Whether the words of questions and answers may be logged."""


class JsonFormatter(logging.Formatter):
    """One JSON object a line, with the request's id and whatever the caller adds."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line."""
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra_fields(record),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """A line for people; what the caller adds stands behind it."""

    def __init__(self) -> None:
        """Begin with the time."""
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Write one line."""
        added = "".join(f" {name}={value}" for name, value in _extra_fields(record).items())
        return super().formatMessage(record) + added


def configure_logging(level: str, format: str = "text") -> None:
    """Send Citewell's records to standard error; leave other libraries at warnings."""
    output = logging.StreamHandler()
    output.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[output])
    logging.getLogger("citewell").setLevel(level.upper())


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    request = {"request_id": REQUEST_ID.get()} if REQUEST_ID.get() else {}
    return request | {k: v for k, v in vars(record).items() if k not in _STANDARD}
