"""Children: processes that an instance of another one owns."""

from __future__ import annotations

import asyncio

import pytest

from workbench import process, spawn
from workbench.errors import ProcessEnded


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_disposal_runs_the_parents_finally_before_the_childs() -> None:
    order = []

    @process
    async def child(ctx):
        try:
            yield 0
            async for _ in ctx:
                yield 1
            order.append("child's loop ends")
        finally:
            order.append("child's finally")

    @process
    async def parent(ctx):
        ctx.spawn(child)
        try:
            yield 0
            async for _ in ctx:
                yield 1
            order.append("parent's loop ends")
        finally:
            await asyncio.sleep(0.01)
            order.append("parent's finally, after an await")

    handle = spawn(parent)
    await handle.until(lambda state: True)
    await settle()
    await handle.dispose()

    assert order == [
        "parent's loop ends",
        "parent's finally, after an await",
        "child's loop ends",
        "child's finally",
    ]


async def test_children_spawned_after_an_await_are_owned() -> None:
    children = []

    @process
    async def child(ctx):
        yield 0
        async for _ in ctx:
            yield 1

    @process
    async def parent(ctx):
        await asyncio.sleep(0)
        children.append(spawn(child))
        children.append(ctx.spawn(child))
        yield 0

    handle = spawn(parent)
    with pytest.raises(ProcessEnded):
        await handle.until(lambda state: False)
    await settle()

    assert [one.status for one in children] == ["disposed", "disposed"]


async def test_a_crashed_child_leaves_its_parent_alone() -> None:
    @process
    async def child(ctx):
        raise ValueError("broken on purpose")
        yield

    @process
    async def parent(ctx):
        ctx.spawn(child)
        yield 0
        async for message in ctx:
            yield message

    handle = spawn(parent)
    await handle.until(lambda state: True)
    await settle()
    handle.cast(1)

    assert await handle.until(lambda state: state == 1) == 1
    await handle.dispose()


async def test_a_crash_ends_the_children_and_the_next_life_has_its_own() -> None:
    children = []

    @process
    async def child(ctx):
        yield 0
        async for _ in ctx:
            yield 1

    @process(restart="on-crash")
    async def parent(ctx):
        children.append(ctx.spawn(child))
        yield len(children)
        async for _ in ctx:
            raise ValueError("broken on purpose")

    handle = spawn(parent)
    await handle.until(lambda state: state == 1)
    handle.cast("break")
    await handle.until(lambda state: state == 2)
    await settle()

    assert [one.status for one in children] == ["disposed", "running"]
    await handle.dispose()
    assert children[1].status == "disposed"


async def test_a_child_of_an_ended_instance_is_disposed_at_once() -> None:
    contexts = []

    @process
    async def child(ctx):
        yield 0
        async for _ in ctx:
            yield 1

    @process
    async def parent(ctx):
        contexts.append(ctx)
        yield 0

    handle = spawn(parent)
    await handle._task
    stray = contexts[0].spawn(child)

    assert stray.status == "disposed"


async def test_a_finally_may_spawn_what_it_needs() -> None:
    children = []

    @process
    async def child(ctx):
        yield "cleaning"

    @process
    async def parent(ctx):
        try:
            yield 0
            async for _ in ctx:
                yield 1
        finally:
            children.append(ctx.spawn(child))
            await children[0].until(lambda state: state == "cleaning")

    handle = spawn(parent)
    await handle.until(lambda state: True)
    await handle.dispose()

    assert children[0].state == "cleaning"
