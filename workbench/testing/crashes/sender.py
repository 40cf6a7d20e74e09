"""The sender: who uses the processes of a round, and goes on asking until everything was accepted and answered.

- It knows only the book: what was accepted is not sent again, what was not is sent under a new token; a call is made
  again under the same id.
- A person decides each request; every life tries, and the first decision stands.
- At the end every call is made once more: an answer is an answer for ever.

It dies with its host, and the next life has another.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.errors import AlreadyDecided, CallRefused
from workbench.testing.crashes.workload import COOLINGS, LINES, ORDERS, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.bench import Workbench
    from workbench.process.handle import Handle
    from workbench.testing.crashes.book import Book

__all__ = ["CALLS", "send_all"]

CALLS = ("checkout", "wait", "refund", "weight", "nonsense", "again", "end")
"""The ids of the calls of each order. "again" is a second checkout."""
KIND = {"again": "checkout"}


async def send_all(workload: Workload, bench: Workbench, book: Book) -> None:
    """Send everything of a round, and return when it is accepted and answered."""
    accepted = {note.about: note.value for note in book.notes("accepted")}
    lives = len({note.life for note in book.notes("life")})
    async with asyncio.TaskGroup() as orders:
        for order in ORDERS:
            sender = _Sender(workload, bench, order, accepted, lives)
            orders.create_task(sender.send())


class _Sender:
    def __init__(self, workload: Workload, bench: Workbench, order: str, accepted: dict[str, Any], life: int) -> None:
        self._workload = workload
        self._approvals = bench.approvals
        self._order = order
        self._key = workload.keys[order]
        self._accepted = accepted
        self._life = life

    async def send(self) -> None:
        handle = self._workload.order(self._order)
        lines = [{"type": "add", "line": str(line), "price": price} for line, price in enumerate(LINES)]
        await self._cast(handle, [(f"line {line['line']}", line) for line in lines])
        await self._call(handle, "checkout")
        waits = asyncio.ensure_future(self._call(handle, "wait"))
        try:
            await self._cast(handle, [("release", {"type": "release", "verdict": "fine"})])
            await waits
        finally:
            waits.cancel()
        await self._refund(handle)
        for id in ("weight", "nonsense", "again"):
            await self._call(handle, id)
        await handle.until(lambda state: state["cooled"] == COOLINGS)
        for id in ("end", *CALLS):
            await self._call(handle, id)

    async def _cast(self, handle: Handle, messages: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Cast what was not accepted yet, at once, under tokens of this life."""
        receipts = [
            (f"{self._order}/{name}/{self._life}", handle.cast({**message, "token": f"{name}/{self._life}"}))
            for name, message in messages
            if not any(about.startswith(f"{self._order}/{name}/") for about in self._accepted)
        ]
        for token, receipt in receipts:
            await receipt
            self._workload.note("accepted", token)

    async def _call(self, handle: Handle, id: str) -> None:
        try:
            answer = await handle.call({"type": KIND.get(id, id)}, id=id)
        except CallRefused as refused:
            answer = str(refused).split(";")[0]
        self._workload.note("heard", f"{self._order}/{id}", answer)

    async def _refund(self, handle: Handle) -> None:
        decides = asyncio.ensure_future(self._decide())
        try:
            await self._call(handle, "refund")
        finally:
            decides.cancel()
            await asyncio.wait([decides])
        if not decides.cancelled():
            decides.result()

    async def _decide(self) -> None:
        """Approve the request of the order when it is there."""
        async for waiting in self._approvals:
            for approval in waiting:
                if approval["key"] == self._key:
                    await self._approve(approval["id"])
                    return

    async def _approve(self, id: str) -> None:
        self._workload.note("deciding", f"{self._order}/{id}", self._workload.life)
        try:
            await self._approvals.approve(id, by=self._workload.life)
        except AlreadyDecided:
            return
        self._workload.note("decided", f"{self._order}/{id}", self._workload.life)
