"""Keys in the database that holds the conversations."""

import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from sqlalchemy import Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from citewell.errors import BadRequest, StoreUnavailable, UnknownKey
from citewell.storage.database import Database
from citewell.storage.migrate import upgrade
from citewell.storage.tables import KEY_BOOKS, KEYS

Scope = Literal["ask", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
NAME_LENGTH = 64
PREFIX = "cw_"


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

    def is_valid(self, now: datetime) -> bool:
        """Return whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def mint_secret(*, publishable: bool) -> str:
    """Make a new secret: 256 random bits behind a prefix that leak scanners can look for."""
    return f"{PREFIX}{'pub_' if publishable else ''}{secrets.token_urlsafe(32)}"


def hash_secret(secret: str) -> str:
    """Return what is kept of a secret.

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
        digest=hash_secret(secret),
        scopes=scopes,
        origins=tuple(dict.fromkeys(map(origin_of, origins))),
        books=tuple(dict.fromkeys(books)),
        created_at=created_at,
        expires_at=expires_at,
    )
    return key, secret


def origin_of(address: str) -> str:
    """Return an origin as browsers send it: scheme, host, and a port that is not the usual one.

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


UNAVAILABLE = "Keys cannot be read or stored right now."


class SqlKeyStore:
    """A row a key."""

    def __init__(self, url: str) -> None:
        """Use the database at `url`; a connection is made for each call and kept by none."""
        # Keys are read once in a while, by a service that remembers them: no pool is worth it.
        self._database = Database(url, pool_size=0, down=UNAVAILABLE)
        self._upgraded = False

    async def all(self) -> Sequence[Key]:
        """Return every key, also those that no longer hold, the oldest first."""
        async with self._connection() as connection:
            oldest = select(KEYS).order_by(KEYS.c.created_at, KEYS.c.id)
            rows = (await connection.execute(oldest)).all()
            books = await _books(connection)
            return [_key(row, books.get(row.id, ())) for row in rows]

    async def add(self, key: Key) -> None:
        """Keep a new key.

        Raises:
            BadRequest: another key that was not revoked has its name.
        """
        async with self._connection() as connection:
            same = select(KEYS.c.id).where(KEYS.c.name == key.name, KEYS.c.revoked_at.is_(None))
            if (await connection.execute(same)).first():
                raise BadRequest(f"There is a key {key.name!r} already.")
            await connection.execute(insert(KEYS).values(**_row(key)))
            if key.books:
                rows = [{"key_id": key.id, "book": book} for book in key.books]
                await connection.execute(insert(KEY_BOOKS), rows)

    async def revoke(self, named: str, at: datetime) -> Key:
        """Let a key, by its id or its name, open nothing any more; its row stays.

        Raises:
            UnknownKey: there is none, or it was revoked before.
        """
        wanted = ((KEYS.c.id == named) | (KEYS.c.name == named)) & KEYS.c.revoked_at.is_(None)
        async with self._connection() as connection:
            row = (await connection.execute(select(KEYS).where(wanted))).first()
            if row is None:
                raise UnknownKey(f"There is no key {named!r} to revoke.")
            key = _key(row, (await _books(connection)).get(row.id, ()))
            ended = update(KEYS).where(KEYS.c.id == key.id).values(revoked_at=at)
            await connection.execute(ended)
        return key

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            if not self._upgraded:
                await upgrade(self._database)
                self._upgraded = True
            async with self._database.writing(durable=True) as connection:
                yield connection
        except StoreUnavailable:
            self._upgraded = False  # another database may stand there when it is back
            raise


def _row(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "digest": key.digest,
        "scopes": sorted(key.scopes),
        "origins": list(key.origins),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }


def _key(row: Row[Any], books: Sequence[str]) -> Key:
    fields = dict(row._mapping)
    scopes, origins = frozenset(fields.pop("scopes")), tuple(fields.pop("origins"))
    return Key(scopes=scopes, origins=origins, books=tuple(books), **fields)


async def _books(connection: AsyncConnection) -> dict[str, list[str]]:
    """Return the books of each key that is for some only."""
    found: dict[str, list[str]] = {}
    for key, book in await connection.execute(select(KEY_BOOKS).order_by(KEY_BOOKS.c.book)):
        found.setdefault(key, []).append(book)
    return found
