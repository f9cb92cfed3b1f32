"""Who may call the service, and how often."""

from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

RATE = r"^([1-9]\d*/(second|minute|hour|day))?$"


class AccessOptions(BaseModel):
    """Who may call the service."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    mode: Literal["auto", "keys", "open"] = "auto"
    """Who needs a key: `auto` everyone, except where there never was a key and the service listens
    on loopback only; `keys` everyone; `open` nobody who only asks."""
    refresh_seconds: float = Field(5.0, ge=0, le=3600)
    """After how long a key that was revoked is noticed."""
    allowed_hosts: tuple[str, ...] = ()
    """Names by which the service may be called besides `localhost`, such as `["book.example"]`; by
    default any, but `localhost` alone where nobody needs a key since it listens on loopback."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks of proxies whose `X-Forwarded-For` is believed, such as `["10.0.0.0/8"]`."""


class LimitOptions(BaseModel):
    """How often callers may call; an empty text sets no limit."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    per_key: str = Field("100/minute", pattern=RATE)
    """Requests with one secret key."""
    per_session: str = Field("10/minute", pattern=RATE)
    """Requests that name one conversation."""
    per_ip: str = Field("100/hour", pattern=RATE)
    """Requests without a secret key from one address (for IPv6, from one /64 network)."""
    wrong_keys: str = Field("100/hour", pattern=RATE)
    """Requests with a key that opens nothing, from one address; one that does is let in."""
    answers_at_once: int = Field(64, ge=0, le=10_000)
    """Questions that one process answers at the same time; 0 sets no limit."""
    local: bool = False
    """Whether callers of a service that is open on loopback are limited, too."""
    without_redis: Literal["memory", "refuse"] = "memory"
    """While Redis is down: `memory` lets each process count for itself, `refuse` answers 503."""
    redis_timeout_seconds: float = Field(0.5, gt=0, le=30)
    """How long one call to Redis may take."""


def is_loopback(host: str) -> bool:
    """Tell whether an address to listen on can be reached from the same machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
