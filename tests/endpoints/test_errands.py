"""What callers have done, without a protocol in between."""

from __future__ import annotations

import asyncio

from workbench import Agent, Workbench, models
from workbench.endpoints.callers import Caller
from workbench.endpoints.errands import AT_ONCE, Errands


async def test_who_lists_many_runs_leaves_others_their_turn() -> None:
    clerk = Agent("clerk", model=models.scripted("Done."))
    async with Workbench.open(":memory:", clerk) as bench:
        errands, ann = Errands(bench, declines=False), Caller("ann", "mcp")
        ids = [await errands.ask(ann, "clerk", "Work", once=str(number)) for number in range(3 * AT_ONCE)]
        await asyncio.gather(*(errands.wait(ann, id, 20, lambda line: None) for id in ids))
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        listed = await errands.runs(ann)
        counting.cancel()

        assert [standing.run for standing in listed] == ids[::-1]
        assert {standing.status for standing in listed} == {"completed"}
        assert turns == 3
        assert await errands.runs(Caller("bob", "mcp")) == []
