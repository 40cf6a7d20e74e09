"""The caretaker: what a bench lets be done with its store, and what it tells of it.

Reading, carrying elsewhere, forgetting, mending; queues and topics, which live in it too. Each checks first that the
bench is open.

Source: DESIGN 2, PROCESSES B. Knows nothing of opening or closing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.durable.dead_letters import DeadLetters
from workbench.durable.doctor import Report, examine
from workbench.durable.journal_table import Journal, journal_of
from workbench.errors import StoreError
from workbench.given import named

if TYPE_CHECKING:
    from datetime import datetime

    from workbench.agents.approvals import Approvals
    from workbench.durable.runtime import Runtime
    from workbench.durable.upkeep import Upkeep
    from workbench.messaging.queue import Queue
    from workbench.messaging.room import PostRoom
    from workbench.messaging.topic import Topic
    from workbench.store.claims import Host
    from workbench.store.store import Store
    from workbench.table import Table

__all__ = ["Caretaker"]


class Caretaker:
    """The part of a bench that looks after its store."""

    place: str
    store: Store
    closed: bool
    approvals: Approvals
    _runtime: Runtime
    _upkeep: Upkeep
    _post: PostRoom

    def queue(self, name: str) -> Queue:
        """The queue of that name: leased work, in any number of kernels on this store. Raises: BadInput."""
        self._check_open()
        return self._post.queue(name)

    @property
    def queues(self) -> Table:
        """Every queue of the store with its counts, as a table."""
        self._check_open()
        return self._post.queues()

    @property
    def topics(self) -> Table:
        """Every topic of the store with its counts, as a table."""
        self._check_open()
        return self._post.topics()

    def topic(self, name: str, *, keep: int | None = None, keep_for: float | None = None) -> Topic:
        """The topic of that name: events in order, for everyone who listens, in any number of kernels on this store.

        `keep` events or those of the last `keep_for` seconds are kept, if told; else those of the store's retention.
        Raises: BadInput.
        """
        self._check_open()
        topic = self._post.topic(name)
        if keep is not None or keep_for is not None:
            topic.retain(keep=keep, keep_for=keep_for)
        return topic

    def journal(self, key: str) -> Journal:
        """Every message, step and state of a key or run, in order of writing, as a table.

        `.at(seq)` gives the state as it was once message `seq` was handled. Raises: NoCode when it is unknown.
        """
        self._check_open()
        return journal_of(self.store, key)

    def keys(self) -> Table:
        """Every key of the store with what is known of it, oldest first."""
        self._check_open()
        return self._upkeep.keys()

    async def export(self, key: str, path: str | os.PathLike[str]) -> int:
        """Write a key or run, approvals included, to a new file that `import_` brings into any store.

        Gives how many rows it has. Raises: NoCode for an unknown key, BadInput for a file that is there.
        """
        self._check_open()
        return await self._upkeep.export(key, path)

    async def import_(self, path: str | os.PathLike[str], *, read_only: bool = True) -> str:
        """Bring in an exported key or run, whole or not at all; gives its key.

        A read-only copy can be seen and does nothing; `lookup(…, take=True)` makes it live. With `read_only=False` it
        goes on where it stood, under the idempotency keys that it had. Raises: BadInput for a file that was changed or
        cut off, and for a key that is here.
        """
        self._check_open()
        key = await self._upkeep.bring_in(path, read_only=read_only)
        self.approvals._publish()
        return key

    async def prune(self, before: float | datetime | None = None) -> int:
        """Forget what was over before an instant, or for longer than the retention; gives how many rows went.

        Raises: BadInput.
        """
        self._check_open()
        return await self._upkeep.prune(before)

    async def delete(self, key: str, *, unfinished: bool = False) -> None:
        """Forget a key or run and everything of it, for good.

        One with work left is deleted only with `unfinished`. Raises: NoCode, BadInput while it is alive or has work
        left, OwnedElsewhere while another live host has it.
        """
        self._check_open()
        await self._upkeep.delete(key, unfinished=unfinished)
        self.approvals._publish()

    async def doctor(self) -> Report:
        """What is true of the store, its hosts and this kernel, and what to do about what is not well."""
        self._check_open()
        return await examine(self._runtime, self._upkeep, self.place, self.blocked)

    @property
    def elsewhere(self) -> dict[str, Host]:
        """The keys that other live hosts own, and who they are."""
        self._check_open()
        mine = self.store.host.id
        return {
            info.key: info.owner for info in self.store.keys_now() if info.owner is not None and info.owner.id != mine
        }

    @property
    def dead_letters(self) -> DeadLetters:
        """The messages that were set aside and wait to be decided, as a table: `.requeue(id)`, `.discard(id)`."""
        self._check_open()
        return DeadLetters(self._runtime)

    @property
    def blocked(self) -> dict[str, str]:
        """The keys with work left that this bench cannot run, and why."""
        runtime = self._runtime
        drifts = {key: drifted.error for key, drifted in runtime.drifts.known.items() if key not in runtime.live}
        return drifts | runtime.blocked.reasons()

    async def resolve(self, key: str, choice: str, *, by: str = "you") -> None:
        """Decide about a message of a key whose code asks for other steps than its journal has.

        `choice` is "started over", "accepted", "added" or "set aside", as `start_over`, `accept`, `accept(added=True)`
        and `set_aside` of its handle. Raises: NoCode when there is no such message, AlreadyDecided, BadInput.
        """
        self._check_open()
        await self._runtime.choose(named("a key", key), choice, by=by)

    def _check_open(self) -> None:
        if self.closed:
            raise StoreError(
                f"the bench on {self.place!r} is closed; open it again with await Workbench.open({self.place!r})"
            )
