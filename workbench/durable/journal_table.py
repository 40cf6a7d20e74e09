"""The journal as a table: every message, step, answer, state and life of a key, in order of writing.

A commit's row has the state that it committed, made when it is looked at: a long history is listed without decoding a
thousand states. `at` is time travel: the state as it was once a message was handled.

Source: DESIGN 2 and rule 10. Knows nothing of windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.durable.keys import escape
from workbench.errors import BadInput, NoCode
from workbench.given import MOST
from workbench.plain import decode
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.store.glance import Entry
    from workbench.store.past import Past
    from workbench.store.store import Store

__all__ = ["COLUMNS", "Journal", "Row", "journal_of", "key_of"]

COLUMNS = ("id", "at", "kind", "seq", "epoch", "branch", "name", "value")


class Journal(Table):
    """The rows of a key, oldest first, and its states at any message."""

    def __init__(self, key: str, entries: list[Entry], past: Past) -> None:
        super().__init__([Row(entry, past) for entry in entries], columns=COLUMNS)
        self.key = key
        self._past = past

    def at(self, seq: int) -> Any:
        """The state as it was once message `seq` was handled; None if the process had published none.

        Raises: BadInput for what was before the first commit or is older than what is kept.
        """
        if type(seq) is not int or not 0 <= seq <= MOST:
            raise BadInput(f"a message has a whole number, not {seq!r}; see the column seq")
        text = self._past.text(self._past.find(seq))
        return None if text is None else decode(text)

    def states(self) -> Iterator[tuple[int, Any]]:
        """Each commit's message and the state after it, newest first, made one by one. Raises: BadInput, as `at`."""
        for index, commit in enumerate(self._past.commits):
            text = self._past.text(index)
            yield commit.seq, None if text is None else decode(text)


class Row(Mapping[str, Any]):
    """One row, by column."""

    __slots__ = ("_entry", "_past")

    def __init__(self, entry: Entry, past: Past) -> None:
        self._entry = entry
        self._past = past

    def __getitem__(self, column: str) -> Any:
        entry, step = self._entry, self._entry.step
        match column:
            case "id" | "at" | "kind" | "seq" | "epoch":
                return getattr(entry, column)
            case "branch":
                return step.branch if step is not None else ""
            case "name":
                return step.name if step is not None else entry.call_id or entry.how or ""
            case "value":
                return self._value()
        raise KeyError(column)

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)

    def __repr__(self) -> str:
        return repr(dict(self))

    def _value(self) -> Any:
        """What the row holds; what was changed by hand is shown as it is, and a state that cannot be had as None."""
        entry = self._entry
        payload = entry.step.payload if entry.step is not None else entry.payload
        if entry.kind == "commit":
            index = self._past.index_of(entry.id)
            try:
                payload = None if index is None else self._past.text(index)
            except BadInput:
                return None
        if payload is None:
            return None
        try:
            return payload if entry.kind == "dead" else decode(payload)
        except BadInput:
            return payload


def key_of(store: Store, name: str) -> str:
    """The key of that name, or that of the run with that id. Raises: NoCode when the store has neither."""
    if isinstance(name, str):
        for candidate in (f"run:{escape(name)}", name):
            if store.keys_now(key=candidate):
                return candidate
    raise NoCode(
        f"no key or run {name!r} in this store; bench.keys() lists the keys, bench.runs.find() the runs", name=str(name)
    )


def journal_of(store: Store, name: str) -> Journal:
    """The journal of a key, or of the run with that id. Raises: NoCode when the store has neither."""
    key = key_of(store, name)
    return Journal(key, store.history_now(key), store.past_now(key))
