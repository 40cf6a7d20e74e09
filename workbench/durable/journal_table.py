"""The journal as a table: every message, step, answer, commit and life of a key, in order of writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.durable.keys import escape
from workbench.errors import BadInput, NoCode
from workbench.plain import decode
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.store.journal import Entry, Store

__all__ = ["COLUMNS", "journal_table"]

COLUMNS = ("id", "at", "kind", "seq", "epoch", "branch", "name", "value")


def journal_table(store: Store, key: str) -> Table:
    """The rows of a key, or of the run with that id. Raises: NoCode when the store has neither."""
    for candidate in (f"run:{escape(key)}", key):
        entries = store.history_now(candidate)
        if entries:
            return Table([_row(entry) for entry in entries], columns=COLUMNS)
    raise NoCode(f"no key or run {key!r} in this store; bench.runs.find() lists the runs", name=key)


def _row(entry: Entry) -> dict[str, Any]:
    step = entry.step
    payload = step.payload if step is not None else entry.payload
    return {
        "id": entry.id,
        "at": entry.at,
        "kind": entry.kind,
        "seq": entry.seq,
        "epoch": entry.epoch,
        "branch": step.branch if step is not None else "",
        "name": step.name if step is not None else entry.call_id or entry.how or "",
        "value": _value(entry.kind, payload),
    }


def _value(kind: str, payload: str | None) -> Any:
    if payload is None:
        return None
    try:
        return payload if kind == "dead" else decode(payload)
    except BadInput:  # a row that was changed by hand is shown as it is
        return payload
