"""One call, posted from elsewhere and made here at the same moment, is handled once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from workbench import Call, Workbench, durable


@durable(key="till:{id}")
async def till(ctx: Any, id: str) -> Any:
    """Counts what it is told."""
    state = ctx.restored or []
    yield state
    async for message in ctx:
        match message:
            case Call(what, reply):
                state = [*state, what]
                reply(len(state))
        yield state


@pytest.mark.parametrize("where", ["memory", "sqlite"])
@pytest.mark.parametrize("wakes", [0, 1, 2, 5, 9])
async def test_a_call_that_is_made_while_its_post_is_collected_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, wakes: int
) -> None:
    async with Workbench.open(":memory:" if where == "memory" else tmp_path / "a.db", till) as bench:
        handle, here = bench.lookup(till, id="a"), []
        await handle.until(lambda state: state == [])
        collects = bench.store.collect

        async def call_soon() -> Any:
            for _ in range(wakes):
                await asyncio.sleep(0)
            return await handle.call("charge", id="c-1")

        def collect(key: str, epoch: int) -> Any:
            moved = asyncio.ensure_future(collects(key, epoch))
            moved.add_done_callback(
                lambda done: here.append(asyncio.ensure_future(call_soon())) if done.result() else None
            )
            return moved

        monkeypatch.setattr(bench.store, "collect", collect)
        await bench.store.post("till:a", '"charge"', id="c-1", wake=bench.clock.now())
        await bench._runtime._collect_posts()
        async with asyncio.timeout(20):
            while not here:
                await asyncio.sleep(0.01)
            assert await here[0] == 1
        await handle.call("another", id="c-2")

        assert handle.state == ["charge", "another"]
        assert [row["status"] for row in bench.journal("till:a") if row["kind"] == "attempt"] == []
