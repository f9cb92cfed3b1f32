"""Retention: archive, end and delete idle threads, and mark unfinished answers."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, false, func, or_, select, update

from citewell.conversation import NATIVE_CONTRACT, RETENTION_POLICIES, RetentionPolicy
from citewell.storage.database import Database
from citewell.storage.lease import WorkerLease
from citewell.storage.tables import ANSWERS, THREADS

BATCH_SIZE = 500
"""Threads deleted in one transaction; small, because writers wait for it."""
RetentionPolicies = Mapping[str, RetentionPolicy]
"""Retention policies by contract."""


def is_expired(
    now: datetime, policies: RetentionPolicies = RETENTION_POLICIES
) -> ColumnElement[bool]:
    """Build the condition for threads older than their contract allows, deleted or not."""
    limits = ((name, policy.delete_after) for name, policy in policies.items())
    return or_(
        false(),
        *(
            and_(THREADS.c.contract == name, THREADS.c.updated_at < now - limit)
            for name, limit in limits
            if limit
        ),
    )


async def deactivate_idle(
    database: Database, now: datetime, policies: RetentionPolicies = RETENTION_POLICIES
) -> int:
    """Set idle threads to the idle state of their contract; return how many changed."""
    deactivated = 0
    async with database.write_transaction() as connection:
        for has_policy, policy in _by_policy(policies):
            idle = and_(
                THREADS.c.state == "active",
                THREADS.c.updated_at < now - policy.idle_after,
                has_policy,
            )
            query = update(THREADS).where(idle).values(state=policy.idle_state)
            deactivated += (await connection.execute(query)).rowcount
    return deactivated


async def purge(
    database: Database,
    now: datetime,
    after: timedelta | None = None,
    policies: RetentionPolicies = RETENTION_POLICIES,
) -> int:
    """Delete expired threads, and inactive ones last updated more than `after` ago."""
    expired = is_expired(now, policies)
    if after:
        inactive = THREADS.c.state.in_(("archived", "ended"))
        expired = or_(expired, and_(inactive, THREADS.c.updated_at < now - after))
    purged = 0
    while True:
        batch = select(THREADS.c.id).where(expired).limit(BATCH_SIZE)
        async with database.write_transaction() as connection:
            # The condition is repeated so that a thread updated in the meantime is kept.
            query = delete(THREADS).where(THREADS.c.id.in_(batch), expired)
            ids = (await connection.execute(query.returning(THREADS.c.id))).scalars().all()
            await connection.execute(delete(ANSWERS).where(ANSWERS.c.thread_id.in_(ids)))
        purged += len(ids)
        if len(ids) < BATCH_SIZE:
            return purged


async def mark_unfinished(database: Database, lease: WorkerLease) -> int:
    """Mark the answers that dead processes left in progress; return how many."""
    # Rows from before the column existed have no worker; their processes are dead.
    worker = func.coalesce(ANSWERS.c.worker, "")
    in_progress = ANSWERS.c.state == "processing"
    async with database.read_transaction() as connection:
        rows = await connection.execute(select(worker).where(in_progress).distinct())
        names = set(rows.scalars())
    dead = await lease.dead_workers(names - {""})
    if not dead and "" not in names:
        return 0
    async with database.write_transaction() as connection:
        query = update(ANSWERS).where(in_progress, worker.in_([*dead, ""]))
        result = await connection.execute(query.values(state="unfinished"))
    for name in dead:
        lease.remove_lock_file(name)
    return result.rowcount


def _by_policy(
    policies: RetentionPolicies,
) -> Iterator[tuple[ColumnElement[bool], RetentionPolicy]]:
    with_own_routes = {name: policy for name, policy in policies.items() if name != NATIVE_CONTRACT}
    for name, policy in with_own_routes.items():
        yield THREADS.c.contract == name, policy
    yield THREADS.c.contract.not_in(with_own_routes), policies[NATIVE_CONTRACT]
