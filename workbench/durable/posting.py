"""Posting: a message on its way to a key that lives elsewhere, which may have no room for it.

A key with a bound has one post of this bench on its way at a time, so that those who wait keep their order. Whoever
waits for room looks again when the store changed, and not before. Source: PROCESSES B.2 (10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import CallRefused, ProcessEnded
from workbench.plain import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.clock import Clock
    from workbench.durable.residence import Residence
    from workbench.store.store import Store

__all__ = ["no_room", "post_to"]


def post_to(process: Residence, store: Store, clock: Clock, text: str, id: str | None = None) -> Awaitable[int]:
    """Post a message, when there is room; gives its number.

    Raises: CallRefused when the key refuses, ProcessEnded when nobody here will hear of room.
    """
    bound = process.definition.mailbox
    return _post(process, store, clock, text, id, None) if bound is None else _in_turn(process, store, clock, text, id)


def _post(
    process: Residence, store: Store, clock: Clock, text: str, id: str | None, most: int | None
) -> Awaitable[int]:
    return store.post(
        process.key,
        text,
        id=id,
        wake=clock.now(),
        definition=process.definition.name,
        args=encode(process.args, f"the arguments of {process.definition.name}"),
        most=most,
    )


async def _in_turn(process: Residence, store: Store, clock: Clock, text: str, id: str | None) -> int:
    async with process.posting:
        while not (number := await _post(process, store, clock, text, id, process.definition.mailbox)):
            if process.definition.full == "refuse":
                raise no_room(process)
            if not process.hears:
                raise ProcessEnded(
                    f"{process.key!r} is {process.status} here, and had no room; nothing was sent, send it again",
                    name=process.key,
                    status=process.status,
                )
            await process.states.change()
        return number


def no_room(process: Residence) -> CallRefused:
    """The refusal of a message for which there is no room."""
    return CallRefused(
        f"{process.key!r} has {process.definition.mailbox} messages that wait, as many as it may; nothing was sent, "
        "send it again later",
        key=process.key,
    )
