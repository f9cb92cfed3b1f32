"""The store of access keys, in the database of the conversations."""

import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from sqlalchemy import Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from citewell.errors import BadRequest, StoreUnavailable, UnknownKey
from citewell.private_files import touch_private
from citewell.storage.database import Database
from citewell.storage.migrate import upgrade
from citewell.storage.tables import KEY_BOOKS, KEYS

Scope = Literal["ask", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
NAME_LENGTH = 64
PREFIX = "cw_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An access key as it is stored: the digest of its secret, not the secret."""

    id: str
    name: str
    digest: str
    scopes: frozenset[Scope]
    origins: tuple[str, ...] = ()
    """Origins of the web pages that may use it; a key with origins is publishable, not secret."""
    books: tuple[str, ...] = ()
    """The books it gives access to; empty for all."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def publishable(self) -> bool:
        """Whether it may be embedded in a web page."""
        return bool(self.origins)

    def is_valid(self, now: datetime) -> bool:
        """Return whether it has been neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def mint_secret(*, publishable: bool) -> str:
    """Return a new secret: 256 random bits after a prefix that secret scanners can detect."""
    return f"{PREFIX}{'pub_' if publishable else ''}{secrets.token_urlsafe(32)}"


def hash_secret(secret: str) -> str:
    """Return the digest of a secret.

    A plain SHA-256 is enough: slow, salted hashes protect guessable passwords, not 256 random bits,
    and every request looks up a key by its digest. The timing of that lookup reveals nothing useful
    about the secret.
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
    """Return a new key and its secret, which is not stored.

    Raises:
        BadRequest: the name is invalid, or a key that is publishable or restricted to some books
            has another scope than `ask`.
    """
    if not name.isprintable() or not 0 < len(name.strip()) <= NAME_LENGTH:
        raise BadRequest(f"A key's name has 1 to {NAME_LENGTH} characters.")
    if origins and scopes != {"ask"}:
        raise BadRequest(
            "A publishable key is visible in a web page, so its only scope may be ask."
        )
    if books and scopes != {"ask"}:
        raise BadRequest(
            "A key for some books may only have the scope ask: the others apply to all books."
        )
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
    """Normalize an origin to the form that browsers send: scheme, host and any non-default port.

    Raises:
        BadRequest: the address is not an origin.
    """
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https") or parts.path not in ("", "/"):
        raise BadRequest(f"{address!r} is not an origin, such as https://book.example.")
    netloc = f"[{host}]" if ":" in host else host
    default_port = port in (None, {"http": 80, "https": 443}[parts.scheme])
    return f"{parts.scheme}://{netloc}" + ("" if default_port else f":{port}")


UNAVAILABLE = "Keys cannot be read or stored right now."


class SqlKeyStore:
    """One row per key."""

    def __init__(self, url: str, marker: Path) -> None:
        """Configure the store for the database at `url` without connecting.

        The empty file `marker` says that there were keys, also if the database is lost.
        """
        self._marker = marker
        # Keys are cached and rarely read, so a connection pool is not worthwhile.
        self._database = Database(url, pool_size=0, unavailable=UNAVAILABLE)
        self._upgraded = False

    async def all(self) -> Sequence[Key]:
        """Return every key, including expired and revoked ones, oldest first."""
        async with self._connection() as connection:
            query = select(KEYS).order_by(KEYS.c.created_at, KEYS.c.id)
            rows = (await connection.execute(query)).all()
            books = await _books(connection)
        if rows:
            touch_private(self._marker)
        return [_key(row, books.get(row.id, ())) for row in rows]

    def ever_had_keys(self) -> bool:
        """Return whether a key was ever stored, as far as `all` and `add` know."""
        return self._marker.exists()

    async def add(self, key: Key) -> None:
        """Store a new key.

        Raises:
            BadRequest: a key with that name exists and has not been revoked.
        """
        async with self._connection() as connection:
            duplicate = select(KEYS.c.id).where(
                KEYS.c.name == key.name, KEYS.c.revoked_at.is_(None)
            )
            if (await connection.execute(duplicate)).first():
                raise BadRequest(f"There is already a key {key.name!r}.")
            await connection.execute(insert(KEYS).values(**_row(key)))
            if key.books:
                rows = [{"key_id": key.id, "book": book} for book in key.books]
                await connection.execute(insert(KEY_BOOKS), rows)
        touch_private(self._marker)

    async def revoke(self, id_or_name: str, at: datetime) -> Key:
        """Revoke a key, given by its id or name; its row is kept.

        Raises:
            UnknownKey: there is no such key, or it is already revoked.
        """
        query = select(KEYS).where((KEYS.c.id == id_or_name) | (KEYS.c.name == id_or_name))
        async with self._connection() as connection:
            row = (await connection.execute(query.where(KEYS.c.revoked_at.is_(None)))).first()
            if row is None:
                raise UnknownKey(f"There is no key {id_or_name!r} to revoke.")
            key = _key(row, (await _books(connection)).get(row.id, ()))
            revocation = update(KEYS).where(KEYS.c.id == key.id).values(revoked_at=at)
            await connection.execute(revocation)
        return key

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            if not self._upgraded:
                await upgrade(self._database)
                self._upgraded = True
            async with self._database.write_transaction(durable=True) as connection:
                yield connection
        except StoreUnavailable:
            self._upgraded = False  # the database may be another one when it returns
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
    """Return the books of each restricted key."""
    books: dict[str, list[str]] = {}
    for key, book in await connection.execute(select(KEY_BOOKS).order_by(KEY_BOOKS.c.book)):
        books.setdefault(key, []).append(book)
    return books
