"""Opening and closing: one bench per place and kernel, however it is asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from workbench import Workbench, durable
from workbench.errors import StoreError


@durable(key="note:{id}")
async def note(ctx, id):
    state = ctx.restored or []
    yield state
    async for message in ctx:
        state = [*state, message]
        yield state


async def test_two_openings_at_once_give_one_bench(tmp_path: Path) -> None:
    file = tmp_path / "agents.db"

    one, other = await asyncio.gather(Workbench.open(file), Workbench.open(file, note))

    assert one is other
    assert one.lookup("note", id="a").key == "note:a"
    await one.close()


async def test_leaving_a_block_keeps_a_bench_that_was_awaited(tmp_path: Path) -> None:
    file = tmp_path / "agents.db"
    bench = await Workbench.open(file, note)

    async with Workbench.open(file) as same:
        assert same is bench

    assert not bench.closed
    assert await bench.lookup(note, id="a").cast(1) == 1
    await bench.close()


async def test_the_last_of_nested_blocks_closes_the_bench(tmp_path: Path) -> None:
    file = tmp_path / "agents.db"

    async with Workbench.open(file) as bench:
        async with Workbench.open(file):
            pass
        assert not bench.closed

    assert bench.closed


async def test_an_opening_waits_for_the_bench_that_closes(tmp_path: Path) -> None:
    file = tmp_path / "agents.db"
    first = await Workbench.open(file, note)
    await first.lookup(note, id="a").cast("kept")
    closing = asyncio.ensure_future(first.close())
    await asyncio.sleep(0)

    second = await Workbench.open(file, note)

    assert closing.done()
    assert second is not first
    assert await second.lookup(note, id="a").until(lambda state: state == ["kept"]) == ["kept"]
    await second.close()


async def test_a_process_that_ends_badly_does_not_keep_the_store_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await Workbench.open(tmp_path / "agents.db", note)
    handle = bench.lookup(note, id="a")
    await handle.until(lambda state: True)
    end = handle.end

    async def fails(how: str, by: str) -> None:
        await end(how, by)
        raise StoreError("the end was not written")

    monkeypatch.setattr(handle, "end", fails)

    await bench.close()

    assert "note:a did not end well" in caplog.text
    again = await Workbench.open(tmp_path / "agents.db", note)
    assert again is not bench
    await again.close()


async def test_a_bench_is_closed_also_when_who_closes_it_is_cancelled(tmp_path: Path) -> None:
    @durable(key="stubborn:{id}")
    async def stubborn(ctx, id: str):
        try:
            yield "up"
            async for _ in ctx:
                pass
        finally:
            await ended.wait()

    ended = asyncio.Event()
    before = asyncio.all_tasks()
    bench = await Workbench.open(tmp_path / "agents.db", stubborn)
    await bench.lookup(stubborn, id="a").until(lambda state: state == "up")
    closing = asyncio.ensure_future(bench.close())
    while not bench.closed:
        await asyncio.sleep(0)

    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    ended.set()
    await bench.close()

    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    async with Workbench.open(tmp_path / "agents.db", stubborn) as again:
        assert again is not bench
        assert list(again.elsewhere) == []
