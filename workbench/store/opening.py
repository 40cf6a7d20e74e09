"""Opening: which keeper serves the place that a user named.

The one place that knows all keepers; a place that none serves is refused by name. Opens nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from workbench.errors import BadInput
from workbench.store.memory import MemoryStore
from workbench.store.sqlite.keeper import SQLiteStore

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["store_for"]


def store_for(where: str | os.PathLike[str], *, durability: Literal["full", "process"] = "full") -> Store:
    """The keeper for a place, not yet open: `":memory:"`, or the path of a file.

    Raises: BadInput for an address that no keeper serves.
    """
    place = os.fspath(where)
    if place == ":memory:":
        return MemoryStore()
    if place.startswith(("postgresql://", "postgres://")):
        raise BadInput(
            "the PostgreSQL keeper is not in this version; name a file, such as 'agents.db', or pass store=…",
            found="postgresql",
        )
    if not place:
        raise BadInput("an empty path names no store; name a file, such as 'agents.db', or ':memory:'", found=place)
    return SQLiteStore(os.path.expanduser(place), durability=durability)
