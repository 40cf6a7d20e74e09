"""A durable process that many tests use: it adds numbers up."""

from __future__ import annotations

from typing import Any

from workbench import Call, durable


def tally(seen: list[Any] | None = None, **options: Any) -> Any:
    """A definition that adds numbers up; `seen` hears of each one it handles."""
    heard = seen if seen is not None else []

    @durable(key="tally:{id}", name="tally", **options)
    async def body(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            match message:
                case int():
                    heard.append(message)
                    total += message
                case Call({"type": "total"}, reply):
                    reply(total)
                case {"type": "again", "left": left}:
                    heard.append(left)
                    total += 1
                    if left:
                        ctx.cast({"type": "again", "left": left - 1})
            yield total

    return body
