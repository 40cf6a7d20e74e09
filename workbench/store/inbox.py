"""The inbox: what a store promises of messages for keys that their sender may not own.

- Posting is not fenced: whoever knows the key may post, and its owner moves what was posted into the log, so that the
  log has one writer.
- One id is one message, however often and from whichever host it is posted.

Instants are UTC seconds. Source: DESIGN rule 5, PROCESSES B.4. Knows nothing of what a message says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.store.journal import Logged

__all__ = ["Inbox"]


class Inbox(Protocol):
    """Posting to a key that this host may not own."""

    def post(
        self,
        key: str,
        message: str,
        *,
        id: str | None = None,
        wake: float | None = None,
        definition: str | None = None,
        args: str | None = None,
        most: int | None = None,
    ) -> Awaitable[int]:
        """Add a message without an epoch.

        A key that no live host owns gets it in its log at once; else its owner moves it there.

        Wakes the key at `wake` if it has no wake. With `id` a second post of the same id adds nothing. Gives a number
        above 0; 0 when `most` messages are not acknowledged already, and then nothing was added.
        """
        ...

    def post_now(
        self,
        key: str,
        message: str,
        *,
        id: str | None = None,
        wake: float | None = None,
        definition: str | None = None,
        args: str | None = None,
    ) -> int:
        """`post`, committed when it returns; blocks for one commit."""
        ...

    def collect(self, key: str, epoch: int) -> Awaitable[list[Logged]]:
        """Move what was posted to the key into its log, in order; gives what was moved. Fenced."""
        ...

    def posted(self) -> Awaitable[list[str]]:
        """The keys that this host owns and that have posts waiting.

        A read of what is committed; it waits for nothing.
        """
        ...
