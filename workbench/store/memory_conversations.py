"""The conversations of the memory keepers of one place: the rules that the SQLite keeper has in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.store.conversation_room import Talk, Talks
from workbench.store.conversations import ConversationInfo, Exchange
from workbench.store.memory_part import MemoryPart
from workbench.store.room import text

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from workbench.store.schedules import Firing

__all__ = ["MemoryConversations"]


class MemoryConversations(MemoryPart[Talks]):
    """Implements `workbench.store.conversations.ConversationStore` for one host of a room.

    `post` is `Inbox.post_now`.
    """

    def __init__(self, *shared: Any, post: Callable[..., int]) -> None:
        super().__init__(*shared)
        self._post = post

    def enter_now(self, owner: str, name: str, post: Firing, *, wake: float) -> int:
        """Give a run its place."""
        text(post.message)
        self._post(post.key, post.message, id=post.id, wake=wake, definition=post.definition, args=post.args)
        known = self.exchange_now(post.key)
        if known is not None:
            return known.number
        talk = self._room.by_name.setdefault((owner, name), Talk())
        talk.last += 1
        talk.exchanges[talk.last] = Exchange(owner, name, talk.last, post.key, self._now())
        return talk.last

    def keep(
        self, key: str, content: str, *, digest: str | None = None, through: int | None = None
    ) -> asyncio.Future[bool]:
        """Keep what an exchange left behind."""

        def keep() -> bool:
            known = self._place(key)
            if known is None or known.content is not None:
                return False
            talk = self._room.by_name[known.owner, known.name]
            told = None if digest is None else text(digest)
            kept = replace(known, content=text(content), digest=told, through=through)
            talk.exchanges[known.number] = kept
            return True

        return self._write(keep)

    def exchange_now(self, key: str) -> Exchange | None:
        """The place of a run."""
        known = self._place(key)
        return None if known is None else replace(known, content=None, digest=None, through=None)

    def _place(self, key: str) -> Exchange | None:
        each = (each for talk in self._room.by_name.values() for each in talk.exchanges.values() if each.key == key)
        return next(each, None)

    def exchanges_now(self, owner: str, name: str, *, first: int = 1, before: int | None = None) -> list[Exchange]:
        """The exchanges in order."""
        talk = self._room.by_name.get((owner, name), Talk())
        end = talk.last + 1 if before is None else before
        return [each for number, each in talk.exchanges.items() if first <= number < end]

    def digest_now(self, owner: str, name: str, *, before: int) -> Exchange | None:
        """The newest that has a digest."""
        found = self.exchanges_now(owner, name, before=before)
        newest = next((each for each in reversed(found) if each.digest is not None), None)
        return None if newest is None else replace(newest, content=None)

    def ahead_now(self, owner: str, name: str, before: int) -> list[str]:
        """The keys that are not over."""
        talk = self._room.by_name.get((owner, name), Talk())
        keys = [each.key for number, each in talk.exchanges.items() if number < before]
        return [key for key in keys if self._room.has_work(key)]

    def conversations_now(self, owner: str | None = None) -> list[ConversationInfo]:
        """Every conversation."""
        found = []
        for (whose, name), talk in self._room.by_name.items():
            each = list(talk.exchanges.values())
            if each and owner in (None, whose):
                found.append(ConversationInfo(whose, name, len(each), each[0].at, each[-1].at, each[-1].key))
        return found

    def forget(self, owner: str, name: str) -> asyncio.Future[bool]:
        """Forget a conversation."""
        return self._write(lambda: self._room.by_name.pop((owner, name), None) is not None)
