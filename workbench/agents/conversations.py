"""Conversations: runs that continue one another, one at a time, in the order in which they were begun.

- A conversation belongs to a principal; the agents of its runs may differ. Two principals' conversations of one name
  are two.
- A run has its place from the moment it is posted. It begins once every run before it is over, however that ended and
  wherever it ran; until then it is queued, and at rest.
- What it is told of the runs before it is read when it begins, from what they left in the store, and its journal keeps
  which of it: a replay is told the same. Each run leaves its own messages behind, once; nothing is copied from run to
  run.

Source: DESIGN 2 and rule 6, CASES 34, u33. Knows nothing of how a conversation is shown.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.asking import Asking
from workbench.agents.history import SUMMARISE, Earlier, Message, closed, packed, summary_request, unpacked
from workbench.durable.keys import escape
from workbench.durable.requests import PENDING
from workbench.errors import AlreadyDecided, BadInput
from workbench.models.model import Request, Turn
from workbench.models.providers import resolve
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from workbench.agents.context import Principal
    from workbench.agents.studio import Assignment
    from workbench.durable.context import DurableContext
    from workbench.durable.runtime import Runtime
    from workbench.models.messages import ToolResult
    from workbench.store.conversations import Exchange
    from workbench.store.schedules import Firing

__all__ = ["HISTORY", "SUPERSEDES", "Conversations", "Part", "Place"]

HISTORY = "@history"
SUPERSEDES = "supersedes"  # the field of a first message that closes what earlier runs ask


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run stands: behind the exchanges below `number` of a conversation. One `aside` takes no turn in it."""

    owner: str
    name: str
    number: int
    aside: bool = False


class Conversations:
    """The conversations of one bench."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._store = runtime.store.conversations

    def enter(self, principal: Principal, name: str, post: Firing, *, at: float) -> int:
        """Begin a run in a conversation of `principal`, behind those that are in it; committed when this returns."""
        return self._store.enter_now(principal.account, name, post, wake=at)

    def part(self, context: DurableContext[Any, Any], assignment: Assignment) -> Part | None:
        """The part of a run in its conversation; None for a run that is in none."""
        place = self._place(context.ledger.key, assignment)
        return None if place is None else Part(self, context, assignment, place)

    def _place(self, key: str, assignment: Assignment) -> Place | None:
        behind = assignment.message.get("history")
        if behind is not None:
            return Place(behind["owner"], behind["name"], behind["before"], aside=True)
        if assignment.message.get("conversation") is None:
            return None
        found = self._store.exchange_now(key)
        return None if found is None else Place(found.owner, found.name, found.number)

    def ahead(self, place: Place) -> list[str]:
        """The keys of the runs before a place that are not over, oldest first."""
        return [] if place.aside else self._store.ahead_now(place.owner, place.name, place.number)

    def before(self, place: Place, first: int) -> list[Exchange]:
        """The exchanges before a place, from the number `first` on."""
        return self._store.exchanges_now(place.owner, place.name, first=first, before=place.number)

    def digest(self, place: Place) -> Exchange | None:
        """The exchange before a place that has the newest digest."""
        return self._store.digest_now(place.owner, place.name, before=place.number)

    def keep(self, key: str, messages: Sequence[Message], earlier: Earlier) -> Awaitable[bool]:
        """Leave behind what was said in a run."""
        content = {"turns": earlier.turns_after(messages), "messages": packed(messages)}
        digest, through = (earlier.digest, earlier.through) if earlier.made else (None, None)
        return self._store.keep(key, encode(content, "the messages of the run"), digest=digest, through=through)

    async def supersede(self, keys: Sequence[str]) -> None:
        """Close what these runs ask of people, and what those that they asked do: a newer message came."""
        for request in await self._runtime.requests.find(status=PENDING):
            if any(request.key == key or request.key.startswith(key + escape("/")) for key in keys):
                with suppress(AlreadyDecided):  # a person was quicker
                    told = {"by": "the conversation", "reason": "a newer message came"}
                    await self._runtime.requests.decide(request.id, "superseded", told)

    async def change(self, keys: Sequence[str]) -> None:
        """Return once something of these runs may have changed, here or elsewhere."""
        changed = asyncio.Event()
        held = [process for key in keys if (process := self._handle(key)) is not None]  # nobody else may hold them
        sources = [self._runtime.changes, *(process.states.changes for process in held)]
        stops = [source.subscribe(changed.set) for source in sources]
        try:
            await changed.wait()
        finally:
            for stop in stops:
                stop()

    def _handle(self, key: str) -> Any:
        """The handle of a run, whether it lives here or not; None while there is no code for it here."""
        info = next(iter(self._runtime.store.keys_now(key=key)), None)
        definition = None if info is None else self._runtime.definitions.get(info.definition)
        if info is None or definition is None or info.damage is not None:
            return None
        try:
            process = self._runtime.handle(definition, key, decode(info.args))
        except BadInput:  # its row was changed by hand: nothing of it comes to life here
            return None
        if info.owner is not None and info.owner.id != self._runtime.store.host.id:
            process.follow(info.owner)
        return process


class Part:
    """One run's part in its conversation: it joins behind those before it, and leaves its messages behind."""

    def __init__(
        self, conversations: Conversations, context: DurableContext[Any, Any], assignment: Assignment, place: Place
    ) -> None:
        self.place = place
        self.earlier = Earlier()
        self._conversations = conversations
        self._context = context
        self._agent = assignment.agent
        self._supersedes = bool(assignment.message.get(SUPERSEDES))
        policy = self._agent.history
        self._asking = Asking(context, self._agent, None if policy.model is None else resolve(policy.model))

    @property
    def waits(self) -> bool:
        """Whether runs before it are not over."""
        return bool(self._conversations.ahead(self.place))

    async def join(self, queued: Callable[[str], None]) -> Turn | None:
        """Wait until every run before is over, and read what they said; `queued(key)` hears of each that is waited for.

        Gives the turn in which a model summed the conversation up, if there was one.
        """
        if self.place.number == 1:
            return None

        async def settle(_: str, rest: Callable[[], Awaitable[None]]) -> dict[str, Any]:
            await self._until_first(rest, queued)
            return await self._settle()

        settled = await self._context.wait(
            HISTORY, settle, retry=self._asking.retry if self._agent.history.summarise else None
        )
        turn = Turn.from_plain(settled["turn"]) if "turn" in settled else None
        self.earlier = self._read(settled["first"], turn)
        if turn is None and "digest" in settled:
            self._behind(self._conversations.digest(self.place))
        return turn

    async def _until_first(self, rest: Callable[[], Awaitable[None]], queued: Callable[[str], None]) -> None:
        ahead = self._conversations.ahead(self.place)
        if ahead:
            await rest()
        while ahead:
            queued(ahead[0])
            if self._supersedes:
                await self._conversations.supersede(ahead)
            await self._conversations.change(ahead)
            ahead = self._conversations.ahead(self.place)

    async def _settle(self) -> dict[str, Any]:
        """Decide what the run is told: everything from the exchange `first` on, behind a digest of those before it."""
        policy, number = self._agent.history, self.place.number
        if not policy.summarise:
            return {"first": 1 if policy.runs is None else max(1, number - policy.runs)}
        digest = self._conversations.digest(self.place)
        first = 1 if digest is None else (digest.through or 0) + 1
        earlier = self._read(first, None)
        self._behind(digest)
        count = policy.to_sum_up(earlier.exchanges, earlier.digest)
        if not count:
            return {"first": first} if digest is None else {"first": first, "digest": digest.number}
        turn = await self._sum_up(earlier.exchanges[:count])
        return {"first": earlier.numbers[count - 1] + 1, "turn": turn.to_plain()}

    async def _sum_up(self, exchanges: Sequence[Sequence[Message]]) -> Turn:
        policy = self._agent.history
        asked = summary_request(exchanges, self.earlier.digest)
        instructions = policy.summarise if isinstance(policy.summarise, str) else SUMMARISE
        return await self._asking.ask(Request(instructions, asked), lambda _: None)

    def _read(self, first: int, turn: Turn | None) -> Earlier:
        """What came before, from the exchange `first` on; `turn` is the summary of the rest that this run made."""
        earlier = self.earlier = Earlier()
        for each in self._conversations.before(self.place, first - 1):
            if each.content is None:
                continue
            content = decode(each.content)
            if each.number < first:
                earlier.turns = content["turns"]
            else:
                earlier.exchanges.append(unpacked(content["messages"]))
                earlier.numbers.append(each.number)
        if turn is not None:
            earlier.digest, earlier.through, earlier.made = turn.text, first - 1, True
        return earlier

    def _behind(self, digest: Exchange | None) -> None:
        """What was read stands behind a digest that an earlier run made."""
        if digest is not None:
            self.earlier.digest, self.earlier.through = digest.digest, digest.through or 0

    async def leave(self, own: Sequence[Message], done: Callable[[int, int], ToolResult | None]) -> None:
        """Leave the run's messages behind for those that come, whole and valid, however it ended."""
        if not self.place.aside:
            await self._conversations.keep(self._context.ledger.key, closed(own, done), self.earlier)
