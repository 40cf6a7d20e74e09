"""The cellar: what a store promises, each promise a protocol in a file of its own, and the keepers that keep them.

Who writes a keeper finds the whole port here; the house itself imports from the module that defines the name.
"""

from __future__ import annotations

from workbench.store.claims import Claims
from workbench.store.inbox import Inbox
from workbench.store.journal import Journal
from workbench.store.records import Records
from workbench.store.store import Store

__all__ = ["Claims", "Inbox", "Journal", "Records", "Store"]
