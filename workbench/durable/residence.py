"""The residence of a key, as this kernel sees it: it lives here, or elsewhere and is followed, or nowhere.

- Every life says in the journal how it ended, once, so that a death is known by its silence.
- A life that is told to end gets its time for its finalizers; one that does not listen is given up on, and nothing
  that it does is written any more.
- A key that another host has is followed by what is committed, without a claim; once nobody has it, it begins here.

Source: DESIGN rules 4 and 5, PROCESSES 2.9, 2.10 and 2.12. Knows nothing of what a life does, or how it failed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from workbench.durable.failures import Failures
from workbench.durable.sending import Outbox, Sent, post
from workbench.durable.standing import Standing
from workbench.durable.threads import Threads
from workbench.errors import Fenced, OwnedElsewhere, ProcessEnded
from workbench.process.handle import ENDED
from workbench.process.spawn import GRACE, Ended

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.durable.context import DurableContext
    from workbench.durable.definition import DurableDefinition
    from workbench.durable.runtime import Runtime
    from workbench.store.claims import Host
    from workbench.store.glance import KeyInfo

__all__ = ["Residence"]

log = logging.getLogger("workbench")


class Residence(Standing):
    """A handle of a key, by where the key lives."""

    def __init__(self, runtime: Runtime, definition: DurableDefinition, key: str, args: dict[str, Any]) -> None:
        super().__init__(runtime, key, definition.shapes[1])
        self.definition = definition
        self.args = args
        self.context: DurableContext[Any, Any] | None = None
        self.elsewhere: Host | None = None
        self.held_by: str | None = None
        self.threads = Threads(runtime.home)
        self._outbox = Outbox()
        self.posting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._epoch: int | None = None  # of the life that has not said how it ended
        self._how = self._by = ""
        self._anew = self._take = False
        self._failures = Failures(key, definition, runtime.clock)

    def start(self, *, beside: bool = False) -> None:
        """Activate the key here, unless it lives here already; a host that is no worker only follows it."""
        raise NotImplementedError

    def dispose(self) -> Awaitable[None]:
        """End the activation here; unfinished work stays in the journal, and the next activation carries on."""
        self._runtime.home.must_be_here("a process is disposed")
        task = self._begin_end("disposed", "")  # at once: who looks it up from now on wants another life
        return Ended(self._runtime.home.start(self._over(task, "disposed", ""), name=f"dispose {self.key}"))

    async def kill(self, by: str = "you") -> None:
        """End the activation as a crash would: nothing more is written. This bench leaves the key alone until asked."""
        self._runtime.home.must_be_here("a process is killed")
        self._runtime.held.add(self.key)
        self.held_by = by
        await self.end("killed", by)

    def leave(self) -> None:
        """Leave memory: the journal has it all, and the next lookup, message or deadline brings it back."""
        if self.key in self._runtime.live and not self._how:
            task = self._begin_end("disposed", "eviction")
            if task is not None:
                self._runtime.home.start(self._over(task, "disposed", "eviction"), name=f"evict {self.key}")

    async def end(self, how: str, by: str) -> None:
        """End the activation and wait for its finalizers, for twice `GRACE` seconds if the body ignores the end."""
        await self._over(self._begin_end(how, by), how, by)

    def _begin_end(self, how: str, by: str) -> asyncio.Task[None] | None:
        """Tell the life to end; gives its task, or None when there is none."""
        task, activation = self._task, self.activation
        self._anew = False
        self._runtime.following.pop(self.key, None)
        if task is None or task.done():
            self.threads.pass_by()
            if self._status not in ENDED:
                self.elsewhere = None
                self._become("disposed")
            self._take = False
            self._end_senders()
            return None
        self._how, self._by = how, by
        self._become("restarting" if how == "replaced" else "disposed")
        if activation is not None:
            if self.context is not None:
                self.context.cancelled.set()
            parked = activation.parked_on_mailbox()
            activation.close()
            if not parked:
                task.cancel()
        elif self.threads.awaited or self._failures.pausing:
            task.cancel()
        return task

    def _interrupt(self) -> None:
        """Cancel what the body awaits, because its activation is over; a body on its mailbox ends by itself."""
        if self._task is not None and self._task is not asyncio.current_task():
            activation = self.activation
            if activation is None or not activation.parked_on_mailbox():
                self._task.cancel()

    async def _over(self, task: asyncio.Task[None] | None, how: str, by: str) -> None:
        """Return when the life that was told to end is over, or given up on; at once when there is none."""
        if task is None:
            return
        done, _ = await asyncio.wait([task], timeout=GRACE)
        if not done:
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=GRACE)
        if not done and self._task is task:
            log.error(
                "%s does not end: its body swallows the cancellation; nothing that it does is written any more",
                self.key,
            )
            self._task = None
            self.threads.add([task])
            await self._release(how, by)
            self._end_senders()
            if self._anew and how != "closed":
                self.start()

    def _end_senders(self) -> None:
        """Fail those who wait to hear of what they sent, unless another life takes it."""
        if self._status in ENDED and (not self._anew or self._how == "closed"):
            words = f"{self.key!r} is {self._status}; send it again, with the same id if it is a call"
            self._outbox.fail(words, self.error)
            self._runtime.elsewhere.fail(self.key, words, self.error)

    async def _release(self, how: str, by: str = "") -> None:
        """Say in the journal how the life ended, once."""
        self._runtime.live.pop(self.key, None)
        self._runtime.entries.forget(self)
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            await self._runtime.store.release(self.key, epoch, how, by)

    def _become(self, status: str) -> None:
        if not (self._anew and status in ENDED):
            super()._become(status)

    def _is_at_work(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def hears(self) -> bool:
        """Whether what is committed to the key is noticed here: it lives here, is about to, or is followed."""
        return self._is_at_work() or self._anew or self._runtime.following.get(self.key) is self

    def follow(self, owner: Host) -> None:
        """Follow a key that another host has, without asking for it. Does nothing while it lives here."""
        if not self._is_at_work():
            self.elsewhere = owner
            self._watch()

    def _watch(self) -> None:
        """Follow what is committed, without a claim."""
        if self.key not in self._runtime.following:
            self._runtime.following[self.key] = self
            self._runtime.home.start(self.refresh(), name=f"follow {self.key}")

    async def refresh(self) -> None:
        """Look at what the owner elsewhere has committed; a key that nobody owns any more comes to life here."""
        info = await self._runtime.store.key_info(self.key)
        if self._runtime.following.get(self.key) is not self:
            return  # it was disposed, or came to life here, meanwhile
        if info is not None and self.activation is None:
            if info.snapshot is not None:
                self.states.publish(info.snapshot)
                self._become("running")
            ours = info.owner is None or info.owner.id == self._runtime.store.host.id
            before, self.elsewhere = self.elsewhere, None if ours else info.owner
            if before is not None and info.owner is None and self.key not in self._runtime.held:
                self.start()
        self._runtime.elsewhere.look(self.key)
        self.states.tell()

    async def _follow(self, owner: Host) -> None:
        """Follow from the end of a life on, unless it was told to end meanwhile."""
        await self._release("crashed")
        if not self._how:
            self.elsewhere = owner
            self._runtime.following[self.key] = self
            await self.refresh()
        if self._how:
            return
        words = f"{self.key!r} lives on {owner.label} (pid {owner.pid}) now; call again with the same id"
        self._outbox.let_go(ProcessEnded(words, name=self.key, status="fenced"))
        self._outbox.post(self._post)
        if self._is_wanted():
            self._anew = True

    def _is_wanted(self) -> bool:
        """Whether it is to live here after all: it was asked for meanwhile, or its owner has left."""
        has_left = self.elsewhere is None and self.key not in self._runtime.held
        return not self._how and (self._take or has_left)

    def _post(self, sent: Sent) -> asyncio.Future[Any]:
        return post(sent, self, self._runtime)

    async def _follow_the_new_owner(self, error: Fenced) -> None:
        await self._release("fenced")
        info = await self._runtime.store.key_info(self.key)
        owner = info.owner if info is not None else None
        if owner is not None and owner.id != self._runtime.store.host.id:
            self.error = OwnedElsewhere(
                f"{self.key!r} now belongs to {owner.label} (pid {owner.pid}); nothing was written here",
                key=self.key,
                owner=owner,
            )
            await self._follow(owner)
        elif not self._how:
            self._anew = self._is_left(info)  # who took it has left already
            self._become("starting" if self._anew else "disposed")

    def _is_left(self, info: KeyInfo | None) -> bool:
        """Whether the key is there and nobody has it, nor wants it left alone."""
        return info is not None and info.owner is None and self.key not in self._runtime.held
