"""What a key is: a random secret of which only a hash is kept."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from urllib.parse import urlsplit

from quire.errors import BadRequest

Scope = Literal["ask", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
NAME_LENGTH = 64
PREFIX = "qk_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as it is kept; the secret itself is not."""

    id: str
    name: str
    digest: str
    scopes: frozenset[Scope]
    origins: tuple[str, ...] = ()
    """The sites whose pages may use it; a key that names any is publishable, no secret."""
    books: tuple[str, ...] = ()
    """The books it opens; all, if it names none."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def publishable(self) -> bool:
        """Whether it may stand in a web page."""
        return bool(self.origins)

    def holds(self, now: datetime) -> bool:
        """Tell whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def mint_secret(*, publishable: bool) -> str:
    """Make a new secret: 256 random bits behind a prefix that leak scanners can look for."""
    return f"{PREFIX}{'pub_' if publishable else ''}{secrets.token_urlsafe(32)}"


def digest_of(secret: str) -> str:
    """Give what is kept of a secret.

    One SHA-256, and no slow or salted hash as for passwords: those make guessing expensive, and
    nobody guesses 256 random bits. A key is looked up by this digest on every request, so a slow
    hash would only cost the service; and how long a look-up by digest takes tells nothing of use
    about a secret that cannot be worked back from it.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def make_key(
    name: str,
    *,
    scopes: frozenset[Scope],
    origins: tuple[str, ...] = (),
    books: tuple[str, ...] = (),
    created_at: datetime,
    expires_at: datetime | None = None,
) -> tuple[Key, str]:
    """Make a key and its secret, which is shown once and then forgotten.

    Raises:
        BadRequest: the name cannot be used, or the key is publishable or for some books only and
            may do more than ask.
    """
    if not name.isprintable() or not 0 < len(name.strip()) <= NAME_LENGTH:
        raise BadRequest(f"A key's name has 1 to {NAME_LENGTH} characters.")
    if origins and scopes != {"ask"}:
        raise BadRequest("A publishable key stands in a web page, so it may ask and nothing else.")
    if books and scopes != {"ask"}:
        raise BadRequest("A key for some books may ask and nothing else: the rest is about all.")
    secret = mint_secret(publishable=bool(origins))
    key = Key(
        id=f"key_{secrets.token_hex(6)}",
        name=name.strip(),
        digest=digest_of(secret),
        scopes=scopes,
        origins=tuple(dict.fromkeys(map(origin_of, origins))),
        books=tuple(dict.fromkeys(books)),
        created_at=created_at,
        expires_at=expires_at,
    )
    return key, secret


def origin_of(address: str) -> str:
    """Give an origin as browsers send it: scheme, host, and a port that is not the usual one.

    Raises:
        BadRequest: the address is none, or has more than that.
    """
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https") or parts.path not in ("", "/"):
        raise BadRequest(f"{address!r} is no origin; one looks like https://book.example.")
    shown = f"[{host}]" if ":" in host else host
    usual = port in (None, {"http": 80, "https": 443}[parts.scheme])
    return f"{parts.scheme}://{shown}" + ("" if usual else f":{port}")
