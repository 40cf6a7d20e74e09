"""The statements that a batch is made of: few, prepared once, each run with all of its rows.

Knows nothing of when they run (`workbench.store.sqlite.ledger`).
"""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "CALL",
    "COMMITTED",
    "DATA_VERSION",
    "DEAD",
    "FREE_STATE",
    "KEY",
    "KEY_AND_WAKE",
    "MAKE_KEY",
    "MAKE_STATE",
    "MESSAGE",
    "NEVER",
    "OPEN_CALL",
    "READ_KEY",
    "READ_OWN_STATE",
    "READ_STATE",
    "RECORD",
    "STATE",
]

DATA_VERSION = "PRAGMA data_version"
READ_KEY = """
    SELECT
        id, epoch, cursor, last_seq, last_message, last_work, last_life, wake_at, last_state,
        EXISTS (SELECT 1 FROM inbox WHERE key = keys.id)
    FROM keys WHERE key = ?
"""
MAKE_KEY = """
    INSERT INTO keys (id, key, created_at, epoch, cursor, last_seq)
    SELECT
        1 + max(coalesce((SELECT max(id) FROM keys), 0), coalesce((SELECT max(number) FROM deleted), 0)), ?1, ?2,
        coalesce(d.epoch, 0), coalesce(d.last_seq, 0), coalesce(d.last_seq, 0)
    FROM (SELECT 1) LEFT JOIN deleted d ON d.key = ?1
"""
MAKE_STATE = "INSERT INTO states (key) VALUES (?)"
# No parameter of these is ever None: binding one costs a search for an adapter, as much as the row itself.
MESSAGE = "INSERT INTO entries (id, prev, key, kind, seq, epoch, at, payload) VALUES (?, ?, ?, 'message', ?, ?, ?, ?)"
CALL = """
    INSERT INTO entries (id, prev, key, kind, seq, epoch, at, payload, call_id)
    VALUES (?, ?, ?, 'message', ?, ?, ?, ?, ?)
"""
RECORD = """
    INSERT INTO entries
        (id, prev, key, kind, seq, epoch, at, branch, name, occurrence, position, began_at, took, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
COMMITTED = """
    INSERT INTO entries (id, prev, key, kind, seq, epoch, at, occurrence, payload)
    VALUES (?, ?, ?, 'commit', ?, ?, ?, ?, ?)
"""
READ_STATE = "SELECT version, snapshot FROM states WHERE key = ?"
READ_OWN_STATE = "SELECT occurrence, payload FROM entries WHERE id = ?"
FREE_STATE = "UPDATE states SET snapshot = NULL WHERE key = ?"
STATE = "UPDATE states SET version = ?, snapshot = ? WHERE key = ?"
KEY = """
    UPDATE keys
    SET epoch = ?, cursor = ?, last_seq = ?, last_message = ?, last_work = ?, last_life = ?, last_state = ?
    WHERE id = ?
"""
NEVER = -1e300
"""The wake of a key that has none."""

KEY_AND_WAKE = f"""
    UPDATE keys
    SET
        epoch = ?, cursor = ?, last_seq = ?, last_message = ?, last_work = ?, last_life = ?, last_state = ?,
        wake_at = nullif(?, {NEVER})
    WHERE id = ?
"""
OPEN_CALL = """
    INSERT INTO answers (id, key, call_id, seq, message) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (key, call_id) DO UPDATE
    SET message = excluded.message
    WHERE given IS NULL
"""
ANSWER = """
    INSERT INTO answers (id, key, call_id, seq, given, epoch, at, payload)
    VALUES (?1, ?2, ?3, ?4, ?1, ?5, ?6, ?7)
    ON CONFLICT (key, call_id) DO UPDATE
    SET given = excluded.given, epoch = excluded.epoch, at = excluded.at, payload = excluded.payload
    WHERE given IS NULL
"""
DEAD = """
    INSERT INTO dead (id, key, seq, epoch, at, call_id, message, error, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
