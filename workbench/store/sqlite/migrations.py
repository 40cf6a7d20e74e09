"""The migrations: how a store file comes to have the tables that this code reads. The embassy of sqlite-utils.

- A migration is applied inside the transaction that the caller opened, so four processes that open a new file see it
  made once.
- Third-party plugins of sqlite-utils never run on a store.
- A migration is never edited once released; the next one changes what it made.

Imported only when a file lacks one of `NAMES`, because sqlite-utils takes a quarter of a second to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils import Database, Migrations

from workbench.store.sqlite.conversations import CONVERSATIONS
from workbench.store.sqlite.notes import NOTES
from workbench.store.sqlite.schedules import SCHEDULES
from workbench.store.sqlite.schema import APPLICATION_ID, DEAD_LETTERS, DELETED, SET, TABLES, WAKE_POSTED
from workbench.store.sqlite.schema_messages import QUEUES, TOPICS

if TYPE_CHECKING:
    import sqlite3

__all__ = ["migrate"]

migrations = Migrations(SET)


@migrations(name="0001_tables")
def tables(db: Database) -> None:
    """Every table of the first version."""
    for statement in TABLES:
        db.conn.execute(statement)
    db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@migrations(name="0002_queues")
def queues(db: Database) -> None:
    """Jobs, leased to whoever works on them."""
    for statement in QUEUES:
        db.conn.execute(statement)


@migrations(name="0003_dead_letters")
def dead_letters(db: Database) -> None:
    """Dead letters are decided: requeued or discarded, once."""
    for statement in DEAD_LETTERS:
        db.conn.execute(statement)


@migrations(name="0004_last_state")
def last_state(db: Database) -> None:
    """A key knows the commit in which its state lies."""
    db.conn.execute("ALTER TABLE keys ADD COLUMN last_state INTEGER NOT NULL DEFAULT 0")


@migrations(name="0005_topics")
def topics(db: Database) -> None:
    """Events, and how far their subscribers have got."""
    for statement in TOPICS:
        db.conn.execute(statement)


@migrations(name="0006_schedules")
def schedules(db: Database) -> None:
    """Work that comes again."""
    for statement in SCHEDULES:
        db.conn.execute(statement)


@migrations(name="0007_deleted")
def deleted(db: Database) -> None:
    """Keys can be deleted."""
    for statement in DELETED:
        db.conn.execute(statement)


@migrations(name="0008_code")
def code(db: Database) -> None:
    """A life knows the code that it ran."""
    db.conn.execute("ALTER TABLE activations ADD COLUMN code TEXT")


@migrations(name="0009_conversations")
def conversations(db: Database) -> None:
    """Runs that continue one another."""
    for statement in CONVERSATIONS:
        db.conn.execute(statement)


@migrations(name="0010_notes")
def notes(db: Database) -> None:
    """Texts that are kept for someone, and found by their words."""
    for statement in NOTES:
        db.conn.execute(statement)


@migrations(name="0011_posts_wake")
def posts_wake(db: Database) -> None:
    """What was posted is never left behind by an owner that died before it collected it."""
    db.conn.execute(WAKE_POSTED)


def migrate(connection: sqlite3.Connection) -> None:
    """Apply what is missing, inside the transaction that is open on `connection`."""
    migrations.apply(Database(connection, execute_plugins=False))
