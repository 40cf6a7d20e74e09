"""A durable process that does what a test hands it, once or over the death of its host."""

from __future__ import annotations

import asyncio
from typing import Any

from places import Place, settle, until

from workbench import Call, durable


def running(handler: Any) -> Any:
    """A definition that answers each call with what `handler(ctx, message)` gives or raises."""

    @durable(key="job:{id}", name="job")
    async def job(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            if type(message) is not Call:
                continue
            try:
                value = await handler(ctx, message.message)
            except Exception as error:
                value = f"{type(error).__name__}: {error}"
            message.reply(value)
            yield 1

    return job


async def ask(place: Place, handler: Any, message: Any = "go", id: str = "1") -> Any:
    """The answer of a fresh host's process to one call."""
    bench = await place.open(running(handler))
    try:
        return await bench.lookup("job", id="a").call(message, id=id)
    finally:
        await bench.close()
        place.benches.remove(bench)


async def replay(place: Place, handler: Any, ready: asyncio.Event) -> tuple[Any, Any]:
    """What `handler` gives when its host dies once `ready` is set, and what the bench of the second life is."""
    bench = await place.open(running(handler))
    lost = bench.lookup("job", id="a").call("go", id="1")
    await asyncio.wait_for(ready.wait(), 20)
    await settle()
    await until(lambda: bench.store._writer.idle if place.kind == "sqlite" else True)
    await place.crash(bench)
    lost.cancel()
    bench = await place.open(running(handler))
    return await bench.lookup("job", id="a").call("go", id="1"), bench
