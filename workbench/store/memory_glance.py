"""What a store in memory shows of its keys: rows as they are now, copied, for whoever draws or lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.glance import Activation, Entry, KeyInfo, KeyName
from workbench.store.memory_host import MemoryHost
from workbench.store.past import Past

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.store.journal import DeadLetter
    from workbench.store.room import Line

__all__ = ["MemoryGlance"]


class MemoryGlance(MemoryHost):
    """Implements `workbench.store.glance.Glance`, and what `Store` lists of keys."""

    async def keys(self, *, definition: str | None = None) -> list[KeyInfo]:
        """Every key, oldest first."""
        return self.keys_now(definition=definition)

    def keys_now(self, *, definition: str | None = None, key: str | None = None) -> list[KeyInfo]:
        """Keys, oldest first."""
        infos = [self._info(line) for line in self._room.lines.values() if key in (None, line.key)]
        return [info for info in infos if definition in (None, info.definition)]

    def names_now(self, prefix: str = "") -> list[KeyName]:
        """What the keys are that begin with a text."""
        lines = (line for line in self._room.lines.values() if line.key.startswith(prefix))
        return [KeyName(line.key, *(line.what or ("", ""))) for line in lines]

    async def key_info(self, key: str) -> KeyInfo | None:
        """One key."""
        line = self._room.lines.get(key)
        return None if line is None else self._info(line)

    def result_now(self, key: str, call_id: str) -> str | None:
        """The recorded answer of a call."""
        call = self._look(key).calls.get(call_id)
        return None if call is None else call.answer

    def results_now(self, key: str, call_ids: Sequence[str]) -> dict[str, str]:
        """The answers of those calls that have one."""
        found = {id: self.result_now(key, id) for id in call_ids}
        return {id: answer for id, answer in found.items() if answer is not None}

    def message_now(self, key: str, call_id: str) -> str | None:
        """The message of a call."""
        line = self._look(key)
        call = line.calls.get(call_id)
        if call is not None and call.message is not None:
            return call.message.message
        return next((post.payload for post in line.inbox if post.call_id == call_id), None)

    async def history(self, key: str) -> list[Entry]:
        """Everything that was written for the key."""
        return self.history_now(key)

    def history_now(self, key: str) -> list[Entry]:
        """Everything that was written for the key."""
        line = self._look(key)
        lives = [
            Entry(id, "activation", life.began_at, 0, life.epoch, ended_at=life.ended_at, how=life.how, by=life.by)
            for id, life in line.lives
        ]
        answers = [call.given for call in line.calls.values() if call.given is not None]
        return sorted([*line.entries, *line.inbox, *lives, *answers], key=lambda entry: entry.id)

    def past_now(self, key: str) -> Past:
        """The states of the key."""
        line = self._look(key)
        return Past(key, line.snapshot, line.commits[::-1])

    async def activations(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return self.activations_now(key)

    def activations_now(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return [life for _, life in self._look(key).lives]

    async def dead(self, key: str) -> list[DeadLetter]:
        """What was set aside."""
        return [letter.letter for letter in self._look(key).dead]

    def _info(self, line: Line) -> KeyInfo:
        definition, args = line.what or ("", "")
        return KeyInfo(
            line.key,
            definition,
            args,
            line.version,
            line.cursor,
            line.epoch,
            line.last_seq,
            line.wake_at,
            self._owner(line),
            line.snapshot,
            line.created_at,
        )
