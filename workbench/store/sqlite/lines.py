"""The lines of a key, as the beginning of a statement: the numbers of all its entries, or of all its lives.

A line is walked back by `prev` and only ever back, so that rows which a stranger made to lead forward end it. The
statement goes on from the table `line (id)`; its first parameter is the key's number.
"""

from __future__ import annotations

__all__ = ["ENTRIES_OF", "LIVES_OF"]

ENTRIES_OF = """
    WITH RECURSIVE line (id) AS (
        SELECT last_message FROM keys WHERE id = ?1
        UNION
        SELECT last_work FROM keys WHERE id = ?1
        UNION
        SELECT message FROM answers WHERE key = ?1 AND message IS NOT NULL
        UNION
        SELECT e.prev FROM line JOIN entries e ON e.id = line.id WHERE e.prev > 0 AND e.prev < e.id
    )
"""
LIVES_OF = """
    WITH RECURSIVE line (id) AS (
        SELECT last_life FROM keys WHERE id = ?1
        UNION
        SELECT a.prev FROM line JOIN activations a ON a.id = line.id WHERE a.prev < a.id
    )
"""
