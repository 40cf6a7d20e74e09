"""A durable process that counts, hangs on request, and tells what it handled."""

from __future__ import annotations

import asyncio
from typing import Any

from workbench import Call, durable


def counter(handled: list[Any] | None = None, **options: Any) -> Any:
    heard = handled if handled is not None else []

    @durable(key="counter:{id}", name="counter", **options)
    async def body(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            plain = message.message if type(message) is Call else message
            heard.append(plain)
            if plain == "hang":
                await asyncio.Event().wait()
            elif type(plain) is int:
                total += plain
            if type(message) is Call and plain != "unknown":
                message.reply(total)
            yield total

    return body
