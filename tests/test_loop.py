"""The home loop: tasks that are kept, failures that are seen, one door for threads."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading

import pytest

from workbench.loop import Home, _homes


async def test_one_loop_has_one_home() -> None:
    assert Home.of_running() is Home.of_running()


def test_every_loop_has_its_own_home_and_closed_ones_are_forgotten() -> None:
    async def home() -> Home:
        return Home.of_running()

    first = asyncio.run(home())
    second = asyncio.run(home())

    assert first is not second
    assert first.loop not in _homes


def test_without_a_loop_there_is_no_home() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        Home.of_running()


async def test_a_task_lives_until_it_ends() -> None:
    done = asyncio.Event()

    async def work() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            gc.collect()
        done.set()

    Home.of_running().start(work(), name="work")

    await asyncio.wait_for(done.wait(), 5)


async def test_a_failure_is_logged_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError("broken on purpose")

    with caplog.at_level(logging.ERROR, "workbench"):
        task = Home.of_running().start(work(), name="the work")
        await asyncio.wait([task])
        await asyncio.sleep(0)

    (record,) = caplog.records
    assert record.getMessage() == "task 'the work' failed"
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "broken on purpose"


async def test_a_cancelled_task_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    task = Home.of_running().start(asyncio.sleep(3600), name="the work")
    task.cancel()
    await asyncio.wait([task])

    assert caplog.records == []


async def test_a_thread_hops_to_the_loop() -> None:
    home, heard = Home.of_running(), asyncio.Event()
    where = []

    def hear() -> None:
        where.append((threading.get_ident(), home.here))
        heard.set()

    def elsewhere() -> None:
        where.append(home.here)
        home.hop(hear)

    await asyncio.to_thread(elsewhere)
    await asyncio.wait_for(heard.wait(), 5)

    assert where == [False, (home.thread, True)]


def test_a_hop_to_a_closed_loop_does_nothing() -> None:
    async def home() -> Home:
        return Home.of_running()

    asyncio.run(home()).hop(pytest.fail)
