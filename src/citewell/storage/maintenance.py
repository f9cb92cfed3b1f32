"""What time does to conversations: they rest, they end, they go; unfinished answers are marked."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, false, func, or_, select, update

from citewell.conversation import NATIVE_CONTRACT, RETENTION_POLICIES, RetentionPolicy
from citewell.storage.database import Database
from citewell.storage.lease import WorkerLease
from citewell.storage.tables import ANSWERS, THREADS

BATCH = 500
"""Threads deleted in one transaction, so that nobody waits long."""


RetentionPolicies = Mapping[str, RetentionPolicy]
"""The rules of each contract."""


def is_expired(now: datetime, rules: RetentionPolicies = RETENTION_POLICIES) -> ColumnElement[bool]:
    """Tell threads whose time is over by the rules of their contract, swept away or not."""
    limits = ((name, one.delete_after) for name, one in rules.items())
    return or_(
        false(),
        *(
            and_(THREADS.c.contract == name, THREADS.c.updated_at < now - limit)
            for name, limit in limits
            if limit
        ),
    )


async def deactivate_idle(
    database: Database, now: datetime, rules: RetentionPolicies = RETENTION_POLICIES
) -> int:
    """Let threads rest that nobody writes to, by the rules of their contracts; give how many."""
    deactivated = 0
    async with database.writing() as connection:
        for whose, one in _by_rules(rules):
            quiet = and_(
                THREADS.c.state == "active",
                THREADS.c.updated_at < now - one.idle_after,
                whose,
            )
            done = await connection.execute(
                update(THREADS).where(quiet).values(state=one.idle_state)
            )
            deactivated += done.rowcount
    return deactivated


async def purge(
    database: Database,
    now: datetime,
    after: timedelta | None = None,
    rules: RetentionPolicies = RETENTION_POLICIES,
) -> int:
    """Delete threads whose time is over, and those at rest for as long as `after`."""
    over = is_expired(now, rules)
    if after:
        resting = THREADS.c.state.in_(("archived", "ended"))
        over = or_(over, and_(resting, THREADS.c.updated_at < now - after))
    purged = 0
    while True:
        some = select(THREADS.c.id).where(over).limit(BATCH)
        async with database.writing() as connection:
            # Asked twice: one that was written to meanwhile stays.
            gone = delete(THREADS).where(THREADS.c.id.in_(some), over).returning(THREADS.c.id)
            ids = (await connection.execute(gone)).scalars().all()
            await connection.execute(delete(ANSWERS).where(ANSWERS.c.thread_id.in_(ids)))
        purged += len(ids)
        if len(ids) < BATCH:
            return purged


async def mark_unfinished(database: Database, alive: WorkerLease) -> int:
    """Mark the answers that processes were making when they died; give how many."""
    # An answer from before processes were told apart is of one that is long gone.
    worker = func.coalesce(ANSWERS.c.worker, "")
    begun = ANSWERS.c.state == "processing"
    async with database.reading() as connection:
        found = await connection.execute(select(worker).where(begun).distinct())
        names = set(found.scalars())
    dead = await alive.dead(names - {""})
    if not dead and "" not in names:
        return 0
    async with database.writing() as connection:
        marked = await connection.execute(
            update(ANSWERS).where(begun, worker.in_([*dead, ""])).values(state="unfinished")
        )
    for name in dead:
        alive.forget(name)
    return marked.rowcount


def _by_rules(rules: RetentionPolicies) -> Iterator[tuple[ColumnElement[bool], RetentionPolicy]]:
    own = {name: one for name, one in rules.items() if name != NATIVE_CONTRACT}
    for name, one in own.items():
        yield THREADS.c.contract == name, one
    yield THREADS.c.contract.not_in(own), rules[NATIVE_CONTRACT]
