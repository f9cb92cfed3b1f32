"""The logging configuration of the command line and the service."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the current request, which every log record includes."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class LogOptions(BaseModel):
    """Options of logging."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    format: Literal["text", "json"] = "text"
    """The format of log lines: `text`, or `json` for one JSON object per line."""
    questions: bool = False
    """Whether the text of questions and answers may be logged."""


class JsonFormatter(logging.Formatter):
    """One JSON object per line, with the request id and any extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra_fields(record),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """One line of text per record, followed by any extra fields."""

    def __init__(self) -> None:
        """Set the format."""
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Format a record."""
        extra = "".join(f" {name}={value}" for name, value in _extra_fields(record).items())
        return super().formatMessage(record) + extra


def configure_logging(level: str, format: str = "text") -> None:
    """Log to standard error, at `level` for Citewell and warnings for other libraries."""
    output = logging.StreamHandler()
    output.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[output])
    logging.getLogger("citewell").setLevel(level.upper())


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    request = {"request_id": REQUEST_ID.get()} if REQUEST_ID.get() else {}
    return request | {k: v for k, v in vars(record).items() if k not in _STANDARD}
