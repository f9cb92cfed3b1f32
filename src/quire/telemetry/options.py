"""Where traces go."""

from pydantic import BaseModel, ConfigDict


class TracingOptions(BaseModel):
    """Where traces go."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    endpoint: str | None = None
    """Address of an OpenTelemetry collector, such as `http://127.0.0.1:4318/v1/traces`; none by
    default. Needs `pip install 'quire[otel]'`."""
