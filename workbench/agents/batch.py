"""Batches: several approvals decided at once, each by itself. One that cannot be decided keeps no other from it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from workbench.agents.approval import Approval

__all__ = ["Batch", "decide_each"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of deciding several: `decided` in the order of asking, `undecided` the error of each other, by id."""

    decided: list[Approval]
    undecided: dict[str, WorkbenchError]

    @property
    def table(self) -> Table:
        """A row for each, with why it was not decided."""
        done = [{"id": one.id, "tool": one.tool, "status": one.status, "why": ""} for one in self.decided]
        left = [{"id": id, "tool": "", "status": "not decided", "why": str(why)} for id, why in self.undecided.items()]
        return Table([*done, *left], columns=("id", "tool", "status", "why"))

    def __repr__(self) -> str:
        left = "".join(f"; {id}: {why}" for id, why in self.undecided.items())
        return f"<Batch: {len(self.decided)} decided, {len(self.undecided)} not{left}>"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


async def decide_each(ids: Iterable[str], decide: Callable[[str], Awaitable[Approval]]) -> Batch:
    """Decide each, all at once; what one raises is kept under its id."""

    async def one(id: str) -> Approval | WorkbenchError:
        try:
            return await decide(id)
        except WorkbenchError as error:
            return error

    asked = list(dict.fromkeys(ids))
    ends = dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))
    decided = [end for end in ends.values() if not isinstance(end, WorkbenchError)]
    return Batch(decided, {id: end for id, end in ends.items() if isinstance(end, WorkbenchError)})
