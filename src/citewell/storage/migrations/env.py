"""Runs the migrations over the connection passed by `citewell.storage.migrate`."""

from alembic import context

from citewell.storage.tables import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
