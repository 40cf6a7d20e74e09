"""The port of a store: what a keeper's author imports."""

from __future__ import annotations

from workbench import store
from workbench.store.memory import MemoryStore
from workbench.store.sqlite.keeper import SQLiteStore


def test_the_whole_port_of_a_store_is_one_import() -> None:
    promises = [store.Journal, store.Claims, store.Inbox, store.Records]

    verbs = {verb for promise in promises for verb in vars(promise) if not verb.startswith("_")}

    assert [promise for promise in promises if promise not in store.Store.__mro__] == []
    assert len([verb for verb in vars(store.Journal) if not verb.startswith("_")]) == 8
    assert {
        (keeper, verb) for keeper in (MemoryStore, SQLiteStore) for verb in verbs if not hasattr(keeper, verb)
    } == set()
