"""Runs the migrations over the connection that `quire.threads.migrate` gives."""

from alembic import context

from quire.threads.tables import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
