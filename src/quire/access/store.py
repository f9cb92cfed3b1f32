"""Keys in the database that holds the conversations."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from quire.access.keys import Key
from quire.access.tables import KEY_BOOKS, KEYS
from quire.errors import BadRequest, StoreUnavailable, UnknownKey
from quire.threads.database import Database
from quire.threads.migrate import upgrade

UNAVAILABLE = "Keys cannot be read or stored right now."


class SqlKeyStore:
    """A row a key."""

    def __init__(self, url: str) -> None:
        """Use the database at `url`; a connection is made for each call and kept by none."""
        # Keys are read once in a while, by a service that remembers them: no pool is worth it.
        self._database = Database(url, pool_size=0, down=UNAVAILABLE)
        self._upgraded = False

    async def all(self) -> Sequence[Key]:
        """Give every key, also those that no longer hold, the oldest first."""
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
    """Give the books of each key that is for some only."""
    found: dict[str, list[str]] = {}
    for key, book in await connection.execute(select(KEY_BOOKS).order_by(KEY_BOOKS.c.book)):
        found.setdefault(key, []).append(book)
    return found
