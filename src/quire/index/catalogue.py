"""What a server holds of books beside their passages, and which revision of each readers use.

    quire                              the catalogue: a point a piece of what a revision records
    quire~BOOK~REVISION~NONCE          a collection with the passages of one revision
    quire~BOOK                         an alias: the revision that readers use

A revision is complete before its alias names it, and never changes afterwards.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4, uuid5

from quire.errors import IndexUnavailable, RevisionGone
from quire.index.revision import Manifest, parse_manifest
from quire.index.server import Server

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

SEPARATOR = "~"
"""Stands in no name of a book, and needs no escape in an address."""
PIECE = 200_000
"""Characters of one point: requests have a limit, and a long book's words are megabytes."""
PAGE = 64
ABANDONED = timedelta(days=1)
"""A revision that was begun so long ago and never finished was given up."""
SEAL = "seal"
BEGUN = "begun"
USED = "used"
_NAMESPACE = UUID("1f0a5a52-5b1f-5f0e-8a58-6c1c0c6f7d3e")


@dataclass(frozen=True, slots=True)
class Kept:
    """A revision on the server."""

    book: str
    revision: str
    collection: str


class Catalogue:
    """Revisions of books on one server."""

    def __init__(self, server: Server) -> None:
        """Look at `server`; nothing is sent yet."""
        self._server = server
        self._name = server.options.prefix

    def alias(self, book: str) -> str:
        """Name what always stands for the book's current revision."""
        return f"{self._name}{SEPARATOR}{book}"

    def current(self) -> dict[str, Kept]:
        """Give the revision that readers use of each book."""
        found = self._server.read("listing", lambda client: client.get_aliases().aliases)
        return {
            kept.book: kept
            for one in found
            if (kept := self._parse(one.collection_name))
            and one.alias_name == self.alias(kept.book)
        }

    def manifests(self, kept: Iterable[Kept]) -> list[Manifest]:
        """Give what is recorded of revisions; those of another version are left out."""
        wanted = {one.collection for one in kept}
        # Of one it is asked for alone; of more, all are read and the others left.
        only = {"collection": next(iter(wanted))} if len(wanted) == 1 else {}
        pieces = self._scroll(_where(part="manifest", **only)) if wanted else ()
        texts = (piece["text"] for piece in pieces if piece["collection"] in wanted)
        found = (parse_manifest(text) for text in texts)
        return sorted((one for one in found if one), key=lambda manifest: manifest.book)

    def parts(self, kept: Kept) -> dict[str, str]:
        """Give all that a revision recorded beside its passages, each part checked.

        Raises:
            IndexUnavailable: something is missing or damaged.
        """
        gathered: dict[str, list[tuple[int, str]]] = {}
        for piece in self._scroll(_where(collection=kept.collection)):
            gathered.setdefault(piece["part"], []).append((piece["number"], piece["text"]))
        parts = {name: "".join(t for _, t in sorted(found)) for name, found in gathered.items()}
        try:
            sums = json.loads(parts[SEAL])
            whole = all(_sum(parts[name]) == sums["parts"][name] for name in sums["parts"])
        except (KeyError, ValueError, TypeError):
            whole = False
        if not whole:
            raise IndexUnavailable(
                f"The index of {kept.book!r} is incomplete or damaged; ingest the book again."
            )
        return parts

    def begin(self, book: str, revision: str) -> Kept:
        """Name a new revision that nobody sees yet, and note when it was begun."""
        self._create()
        nonce = uuid4().hex[:8]
        kept = Kept(book, revision, SEPARATOR.join((self._name, book, revision, nonce)))
        self._put(kept, {BEGUN: datetime.now(UTC).isoformat()})
        return kept

    def seal(self, kept: Kept, parts: Mapping[str, str], checksum: str) -> None:
        """Record what belongs to a revision whose passages are written."""
        sums = {name: _sum(text) for name, text in parts.items()}
        self._put(kept, parts)
        self._put(kept, {SEAL: json.dumps({"parts": sums, "passages": checksum})})

    def point_to(self, kept: Kept) -> Kept | None:
        """Make a sealed revision the one that readers use, in one step; give the one before.

        Only what is noted here to have been used is ever swept before it is a day old: another host
        may have sealed a revision, and be about to send readers there.
        """
        from qdrant_client import models

        before = self.current().get(kept.book)
        alias = self.alias(kept.book)
        new = models.CreateAlias(collection_name=kept.collection, alias_name=alias)
        steps: list[Any] = [models.CreateAliasOperation(create_alias=new)]
        if before:
            old = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            steps.insert(0, old)
        self._server.write("publishing", lambda client: client.update_collection_aliases(steps))
        self._put(kept, {USED: datetime.now(UTC).isoformat()})
        return before

    def hide(self, book: str) -> None:
        """Let readers know of a book no longer."""
        from qdrant_client import models

        gone = models.DeleteAlias(alias_name=self.alias(book))
        step = models.DeleteAliasOperation(delete_alias=gone)
        self._server.write("removing", lambda client: client.update_collection_aliases([step]))

    def sweep(self, book: str, keep: Sequence[Kept]) -> int:
        """Delete every revision that was used but those, and what was given up; give how many."""
        current = self.current().get(book)
        kept = {one.collection for one in (*keep, *([current] if current else ()))}
        swept = 0
        for one in self.all(book):
            if one.collection not in kept and self._is_over(one):
                self.drop(one)
                swept += 1
        return swept

    def drop(self, kept: Kept) -> None:
        """Delete a revision, its passages first."""
        name = kept.collection
        self._server.write("removing", lambda client: client.delete_collection(name))
        self._server.write(
            "removing", lambda client: client.delete(self._name, _where(collection=name))
        )

    def all(self, book: str) -> list[Kept]:
        """Give every revision of a book, also those that are being written."""
        begun = self._scroll(_where(book=book, part=BEGUN))
        names = sorted({piece["collection"] for piece in begun})
        return [one for one in map(self._parse, names) if one]

    def _is_over(self, kept: Kept) -> bool:
        """Tell a revision that nobody is writing or about to send readers to."""
        if any(self._scroll(_where(collection=kept.collection, part=USED))):
            return True
        begun = self._scroll(_where(collection=kept.collection, part=BEGUN))
        now = datetime.now(UTC)
        return all(now - datetime.fromisoformat(piece["text"]) > ABANDONED for piece in begun)

    def _parse(self, name: str) -> Kept | None:
        prefix, *rest = name.split(SEPARATOR)
        if prefix != self._name or len(rest) != 3:  # noqa: PLR2004 - book, revision, nonce
            return None
        return Kept(rest[0], rest[1], name)

    def _create(self) -> None:
        def create(client: "QdrantClient") -> None:
            from qdrant_client import models

            if not client.collection_exists(self._name):
                client.create_collection(
                    self._name,
                    vectors_config={},
                    shard_number=1,
                    replication_factor=copies(client, self._server),
                )
            for field in ("book", "collection", "part"):
                client.create_payload_index(self._name, field, models.PayloadSchemaType.KEYWORD)

        self._server.write("writing", create)

    def _put(self, kept: Kept, parts: Mapping[str, str]) -> None:
        from qdrant_client import models

        for name, text in parts.items():
            for number, start in enumerate(range(0, max(1, len(text)), PIECE)):
                payload = {
                    "book": kept.book,
                    "collection": kept.collection,
                    "part": name,
                    "number": number,
                    "text": text[start : start + PIECE],
                }
                identity = str(uuid5(_NAMESPACE, f"{kept.collection}\n{name}\n{number}"))
                point = models.PointStruct(id=identity, vector={}, payload=payload)
                self._server.write("writing", _upsert(self._name, [point]))

    def _scroll(self, where: Any) -> Iterator[dict[str, Any]]:
        offset: Any = None
        while True:
            try:
                records, offset = self._server.read(
                    "reading", _page_of(self._name, where=where, offset=offset)
                )
            except RevisionGone:
                return  # nothing was ever put on this server
            yield from (record.payload or {} for record in records)
            if offset is None:
                return


def copies(client: "QdrantClient", server: Server) -> int:
    """Tell how many nodes get a copy: as many as the settings say, or all there are."""
    if server.options.replication_factor:
        return server.options.replication_factor
    status = client.cluster_status()
    return max(1, len(getattr(status, "peers", None) or ()))


def _upsert(name: str, points: list[Any]) -> Any:
    return lambda client: client.upsert(name, points, wait=True)


def _page_of(name: str, *, where: Any, offset: Any) -> Any:
    return lambda client: client.scroll(
        name, scroll_filter=where, limit=PAGE, offset=offset, with_payload=True
    )


def _where(**wanted: str) -> Any:
    from qdrant_client import models

    return models.Filter(
        must=[
            models.FieldCondition(key=name, match=models.MatchValue(value=value))
            for name, value in wanted.items()
        ]
    )


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
