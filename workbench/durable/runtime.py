"""The runtime: the durable processes of one bench on one store. It finds them, brings them to life, wakes what is due.

- `lookup` gives the one handle of a key here; the key is claimed behind it.
- Opening recovers what was interrupted: every key with work left that no live host owns, by ownership, never by time.
- After a jump of the clock nothing is claimed until every living host had the time to renew its lease.
- The scheduler holds no state: each pass asks the store what is due. Any number of them may share a store.

Source: PROCESSES 2.13, DESIGN rules 3, 5, 6; CASES 1, 3.
"""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from workbench.durable.blocked import Blocked
from workbench.durable.calls_elsewhere import CallsElsewhere
from workbench.durable.drifts import Drifts
from workbench.durable.killing import Ask, Kills
from workbench.durable.process import DurableProcess
from workbench.durable.requests import Requests
from workbench.durable.schedules import Schedules
from workbench.errors import BadInput, Fenced, NoCode, ProcessEnded
from workbench.events import Changes
from workbench.plain import decode, digest, encode
from workbench.process.code import same_code
from workbench.process.entries import Entries
from workbench.store.fencing import fenced
from workbench.store.upkeep import READER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from workbench.clock import Clock
    from workbench.durable.activation import Activation
    from workbench.durable.definition import DurableDefinition
    from workbench.durable.residence import Residence
    from workbench.loop import Home
    from workbench.store.claims import Begun
    from workbench.store.glance import KeyInfo
    from workbench.store.store import Store

__all__ = ["INTERVAL", "Runtime"]

INTERVAL = 0.5
"""Seconds between two passes of the scheduler: a pass that finds nothing is one read of a few rows."""
BATCH = 100
THREADS = 32

log = logging.getLogger("workbench")


class Runtime:
    """Durable processes on one store. `redeliver` is how long an unacknowledged key stays undisturbed, in seconds."""

    def __init__(
        self,
        store: Store,
        home: Home,
        clock: Clock,
        *,
        worker: bool = True,
        redeliver: float = 30.0,
        entries: Entries | None = None,
    ) -> None:
        self.store = store
        self.home = home
        self.clock = clock
        self.worker = worker
        self.redeliver = redeliver
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="workbench-step")
        self.requests = Requests(store, clock)
        self.schedules = Schedules(store, clock)
        self.kills = Kills(store, clock)
        self.elsewhere = CallsElsewhere(store, clock)
        self.definitions: dict[str, DurableDefinition] = {}
        self.live: dict[str, DurableProcess] = {}
        self.following: MutableMapping[str, Residence] = WeakValueDictionary()
        self.entries = Entries(home, clock) if entries is None else entries
        self.held: set[str] = set()
        self.blocked = Blocked()
        self.drifts = Drifts(store, clock)
        self.changes = Changes()
        self.looks: list[Callable[[], Awaitable[None]]] = []
        """What looks at the store as well once another host wrote."""
        self.decide: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] = _undecided
        self._handles: MutableMapping[str, DurableProcess] = WeakValueDictionary()
        self.closed = False
        self._seen_skew = self._skew()
        self._settling: asyncio.Task[None] | None = None
        self._scheduler: asyncio.Task[None] | None = None
        self._unwatch: Callable[[], None] | None = None

    def add(self, definition: DurableDefinition) -> None:
        """Know a definition by its name, or replace it; what lives goes on under the new code from its last commit."""
        self.definitions[definition.name] = definition
        for process in list(self.live.values()):
            if process.definition.name == definition.name and process.definition is not definition:
                if same_code(process.definition.body, definition.body):
                    process.use(definition)
                else:
                    process.replace(definition)
        freed = self.blocked.free(definition.name)
        if freed:
            self.home.start(self._free(freed), name=f"wake what waited for {definition.name}")

    def block(self, key: str, definition: str, reason: str) -> None:
        """Leave a key alone until its code comes, or somebody asks for it."""
        self.blocked.add(key, definition, reason)
        self.changes.tell()

    async def choose(self, key: str, what: str, *, by: str) -> None:
        """Decide about the drift of a key, and see to it here. Raises: as `Drifts.choose`."""
        await self.drifts.choose(key, what, by=by)
        self.blocked.forget(key)
        self.changes.tell()
        handle = self._handles.get(key)
        if handle is not None and self.worker:
            handle.start()
        else:
            self.attend(key)

    def lookup(self, definition: DurableDefinition, args: dict[str, Any], *, take: bool = False) -> DurableProcess:
        """The handle for these arguments; the process comes to life behind it, and with `take` it does so here.

        Raises: BadInput when the arguments do not fit, or when a bench that runs nothing is to take a key.
        """
        bound = definition.bind(args)
        handle = self.handle(definition, definition.key_of(bound), bound)
        if take:
            handle.take()
        else:
            handle.start()
        if handle.key in self.live:
            self.entries.looked_up(handle, idle=definition.evict, leave=handle.leave)
        return handle

    def find(self, definition: DurableDefinition, args: dict[str, Any] | None = None) -> list[DurableProcess]:
        """The processes of a definition that live here: all of them, or the one of these arguments."""
        if args is not None:
            live = self.live.get(definition.key_of(definition.bind(args)))
            return [] if live is None else [live]
        return [process for process in self.live.values() if process.definition.name == definition.name]

    def handle(self, definition: DurableDefinition, key: str, args: dict[str, Any]) -> DurableProcess:
        """The one handle of a key in this bench, without bringing it to life.

        It is the same one for as long as anybody has it, or it lives; then nothing of the key is kept here.
        Raises: BadInput when what lives under the key is another definition, or has other arguments.
        """
        handle = self._handles.get(key)
        if handle is not None and self._is_another(handle, definition, args):
            if handle.working or handle.lives or handle.elsewhere is not None:
                raise mistaken(key, handle.definition.name, handle.args, definition.name, args)
            handle = None  # nothing lives under it: the store says whose the key is
        if handle is None:
            handle = self._handles[key] = DurableProcess(self, definition, key, args)
        elif handle.definition is not definition and key not in self.live:
            handle.use(definition)
        return handle

    @staticmethod
    def _is_another(handle: DurableProcess, definition: DurableDefinition, args: dict[str, Any]) -> bool:
        return handle.definition.name != definition.name or digest(handle.args) != digest(args)

    async def begin(
        self, key: str, definition: DurableDefinition, args: dict[str, Any], *, force: bool = False
    ) -> Begun:
        """Make the key this host's and begin a life of it, unless another live host has it; `force` takes it.

        Raises: BadInput when the key is something else.
        """
        text = encode(args, f"the arguments of {definition.name}")
        await self._settled()
        begun = await self.store.begin(key, definition.name, text, force=force, code=definition.code)
        if (begun.definition, begun.args) == (definition.name, text):
            return begun
        if begun.definition == definition.name and digest(decode(begun.args)) == digest(args):  # in another order
            return await self.store.begin(key, begun.definition, begun.args, force=force, code=definition.code)
        raise mistaken(key, begun.definition, decode(begun.args), definition.name, args)

    async def open(self) -> None:
        """Begin to watch and to wake, and recover what was interrupted."""
        self._unwatch = self.store.watch(self._changed)
        await self.drifts.refresh()
        if self.worker:
            await self.recover()
            self._scheduler = self.home.start(self._schedule(), name="workbench scheduler")

    async def recover(self) -> None:
        """Bring every key to life that has work left and no live owner, the longest due first."""
        left = [info for info in await self.store.keys() if info.last_seq > info.cursor or info.wake_at is not None]
        for info in sorted(left, key=lambda info: math.inf if info.wake_at is None else info.wake_at):
            self._wake(info)

    def attend(self, key: str) -> None:
        """See to a key that something was posted to: by the life here, or by one that begins here."""
        self.home.start(self._attend(key), name=f"attend to {key}")

    async def _attend(self, key: str) -> None:
        while (process := self.live.get(key)) is not None and process.lives:
            if process.activation is not None:
                await self._collect(process.activation)
                return
            await process.states.change()
        if self.worker:
            await self._free([key])

    async def _free(self, keys: list[str]) -> None:
        """Bring keys to life whose definition came."""
        for key in keys:
            await self.wake(key)

    async def wake(self, key: str) -> None:
        """Bring a key to life that has work left."""
        info = await self.store.key_info(key)
        if info is not None and not self.closed:
            self._wake(info)

    def forget(self, key: str) -> None:
        """Know nothing more of a key that was deleted."""
        self._handles.pop(key, None)
        self.following.pop(key, None)
        self.held.discard(key)
        self.blocked.forget(key)
        self.requests.forget(key)
        self.changes.tell()

    async def close(self) -> None:
        """End what lives here; the journal keeps what is unfinished."""
        self.closed = self.schedules.closed = True
        self.elsewhere.close()
        self.entries.close()
        if self._unwatch is not None:
            self._unwatch()
        if self._scheduler is not None:
            self._scheduler.cancel()
            await asyncio.wait([self._scheduler])
        heard = [process for process in self._handles.values() if process.hears or process.threads.awaited]
        here = dict.fromkeys([*self.live.values(), *heard])
        ends = await asyncio.gather(*(process.end("closed", "") for process in here), return_exceptions=True)
        for process, end in zip(here, ends, strict=True):
            if isinstance(end, BaseException):
                log.error("%s did not end well: %r", process.key, end, exc_info=end)
        self.pool.shutdown(wait=False, cancel_futures=True)

    async def tick(self) -> int:
        """One pass of the scheduler: wake what is due, what a dead host had too; gives how many keys were woken.

        What others posted is collected, should its notice have come too early; requests whose time is over expire.
        """
        for process in list(self.following.values()):
            await process.refresh()
        await self.schedules.fire()
        await self.requests.expire()
        await self._collect_posts()  # also what came while its process was between beginning and life
        woken = 0
        while True:
            now = self.clock.now()
            keys = await self.store.due(now, now + self.redeliver, BATCH)
            for key in keys:
                info = await self.store.key_info(key)
                if info is not None and self._wake(info):
                    woken += 1
            if len(keys) < BATCH:
                return woken

    def _wake(self, info: KeyInfo) -> bool:
        if info.key in self.live or info.key in self.held:
            return False
        if info.owner is not None and info.owner.id != self.store.host.id:
            return False
        if info.damage is not None:
            self.block(info.key, info.definition, info.damage)
            return False
        definition = self.definitions.get(info.definition)
        if definition is None:
            self.block(info.key, info.definition, f"no code for {info.definition!r}; add its definition to this bench")
            return False
        if info.key in self.blocked:
            return False
        try:
            args = decode(info.args)
        except BadInput as error:
            args, found = None, str(error)
        else:
            found = f"found {args!r:.60}"
        if type(args) is not dict:
            self.block(info.key, info.definition, f"its stored arguments are no arguments: {found}")
            return False
        self.handle(definition, info.key, args).start()
        return True

    async def _schedule(self) -> None:
        while True:
            try:
                await self._settled()
                await self.tick()
            except Exception:
                log.exception("a pass of the scheduler failed; the next one follows")
            await self.clock.pause(INTERVAL)

    def _skew(self) -> float:
        """How far the wall clock is ahead of the one that never jumps, in seconds from some instant."""
        return self.clock.now() - self.clock.monotonic()

    async def _settled(self) -> None:
        """Return once leases mean something: not right after a jump of the clock, as of a laptop that slept.

        Then every lease of this machine has run out at once. Who lives renews it within two passes; whoever claimed
        sooner would take a living host's keys.
        """
        before, self._seen_skew = self._seen_skew, self._skew()
        if self._seen_skew - before > self.redeliver / 3:
            self._settling = self.home.start(self._let_others_wake(), name="workbench waits after a jump of the clock")
        if self._settling is not None and not self._settling.done():
            await asyncio.wait([self._settling])

    async def _let_others_wake(self) -> None:
        await self.store.renew(self.clock.now() + self.redeliver)
        await self.clock.pause(2 * INTERVAL)

    def _changed(self) -> None:
        """Another host wrote: see what was posted, decided and committed."""
        self.home.start(self._look(), name="workbench look at the store")

    async def _look(self) -> None:
        for key in await self.store.taken():
            process = self.live.get(key)
            if process is not None and process.activation is not None:
                await self._notice_loss(process.activation)
        await self._collect_posts()
        for ask in await self.kills.waiting():
            self.home.start(self._carry_out(ask), name=f"kill {ask.key}")
        await self.requests.refresh()
        await self._see_choices()
        for look in self.looks:
            await look()
        for followed in list(self.following.values()):
            await followed.refresh()
        self.changes.tell()

    async def kill(self, key: str, by: str) -> None:
        """End the life of a key wherever it is; this bench leaves it alone until asked.

        Raises: NoCode for an unknown key, ProcessEnded when it lives nowhere, StoreError when its host does not answer.
        """
        if (process := self.live.get(key)) is not None:
            return await process.kill(by)
        info = await self.store.key_info(key)
        if info is None:
            raise NoCode(f"no key {key!r} in this store; bench.runs.find() lists the runs", name=key)
        if info.owner is None:
            raise ProcessEnded(f"{key!r} lives nowhere now; there is nothing to kill", name=key, status="disposed")
        if info.owner == READER:
            raise ProcessEnded(
                f"{key!r} is a read-only copy, in which nothing runs; there is nothing to kill here: kill it where it "
                "came from, or delete the copy",
                name=key,
                status="disposed",
            )
        self.held.add(key)
        try:
            await self.kills.ask(key, info.owner, by)
        except BaseException:
            self.held.discard(key)
            raise

    async def _carry_out(self, ask: Ask) -> None:
        """Kill what another host asks to have killed; what does not live here any more is dead already."""
        if (process := self.live.get(ask.key)) is not None:
            await process.kill(ask.by)
        await self.kills.done(ask)

    async def _notice_loss(self, activation: Activation) -> None:
        """End a life here that another host's has followed, also one that only waits for a message."""
        info = await self.store.key_info(activation.key)
        if info is not None and info.epoch > activation.epoch:
            activation.stop(fenced(activation.key, activation.epoch, info.epoch))

    async def _see_choices(self) -> None:
        """Bring in the drifts that others met and decided about."""
        for key in await self.drifts.refresh():
            self.blocked.forget(key)
            self.attend(key)

    async def _collect_posts(self) -> None:
        """Deliver what was posted to the lives here."""
        for key in await self.store.posted():
            process = self.live.get(key)
            if process is not None and process.activation is not None:
                await self._collect(process.activation)

    async def _collect(self, activation: Activation) -> None:
        """Deliver what was posted to a life here; one whose log cannot be written is over, and looks no further."""
        try:
            for logged in await self.store.collect(activation.key, activation.epoch):
                activation.replay(logged)
        except (Exception, Fenced) as error:
            activation.write_failed(error)


async def _undecided(name: str, args: dict[str, Any]) -> dict[str, Any]:
    raise BadInput(f"this bench has no inbox to {name} {args!r} in")


def mistaken(key: str, owner: str, theirs: Any, asked: str, args: Any) -> BadInput:
    """The refusal of a key that is another process, which is named beside the one that is asked for."""
    return BadInput(
        f"the key {key!r} belongs to {owner}({theirs!r}) and is asked for as {asked}({args!r}); "
        "make the key from all arguments that tell them apart"
    )
