"""Blobs: large payloads out of line, by the digest of their content.

- A payload above `INLINE` bytes is stored once however often it is written; the row that has it holds the digest.
- A digest is kept as BLOB where a payload is TEXT, so the two cannot be mistaken for each other.

Invisible above the keeper. States are not in here: they are replaced in place, in a table of their own.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from workbench.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["INLINE", "fold", "sweep", "unfold"]

INLINE = 64 * 1024

PUT = "INSERT INTO blobs (digest, body) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
GET = "SELECT body FROM blobs WHERE digest = ?"
SWEEP = """
    DELETE FROM blobs WHERE digest NOT IN (
        SELECT payload FROM entries WHERE typeof(payload) = 'blob'
        UNION SELECT payload FROM answers WHERE typeof(payload) = 'blob'
        UNION SELECT message FROM dead WHERE typeof(message) = 'blob'
        UNION SELECT message FROM inbox WHERE typeof(message) = 'blob'
        UNION SELECT body FROM records WHERE typeof(body) = 'blob'
        UNION SELECT decision FROM records WHERE typeof(decision) = 'blob'
        UNION SELECT body FROM jobs WHERE typeof(body) = 'blob'
        UNION SELECT body FROM events WHERE typeof(body) = 'blob'
        UNION SELECT content FROM exchanges WHERE typeof(content) = 'blob'
    )
"""


def fold(connection: sqlite3.Connection, payload: str) -> str | bytes:
    """What the column holds for `payload`: the text itself, or the digest of a blob that is now stored."""
    if len(payload) <= INLINE:
        return payload
    digest = blake2b(payload.encode(), digest_size=24).digest()
    connection.execute(PUT, (digest, payload))
    return digest


def unfold(connection: sqlite3.Connection, column: str | bytes) -> str:
    """The payload of a column. Raises: StoreError when its blob is not in the file."""
    if isinstance(column, str):
        return column
    if not isinstance(column, bytes):
        raise StoreError(f"the payload {column!r} is no text; the file was changed by hand, restore it from a copy")
    found = connection.execute(GET, (column,)).fetchone()
    if found is None:
        raise StoreError(
            f"the payload {column.hex()!r} is not in the store; the file lost rows, restore it from a copy"
        )
    body = found[0]
    if not isinstance(body, str):
        raise StoreError(f"the payload {column.hex()!r} is no text; the file was changed by hand, restore a copy")
    return body


def sweep(connection: sqlite3.Connection) -> None:
    """Forget the blobs that no row holds any more."""
    connection.execute(SWEEP)
