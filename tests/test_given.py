"""Names have a bound, from wherever they come, and are refused in words that say which and how long."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import Agent, Workbench, durable
from workbench.errors import BadInput
from workbench.given import address, parsed_url
from workbench.models.script import scripted

LONG = "ä" * 513  # 1,026 bytes


@durable(key="order:{id}")
async def order(ctx: Any, id: str) -> Any:
    state = ctx.restored or 0
    yield state
    async for message in ctx:
        state = await ctx.step("s" * message, lambda key: 1)
        yield state


@pytest.fixture
def clerk() -> Agent:
    return Agent("clerk", model=scripted("Hello."))


async def test_a_name_that_is_too_long_is_refused_by_what_it_is_for(clerk: Agent) -> None:
    async with Workbench.open(":memory:", clerk, order) as bench:
        for make, what, most in (
            (lambda: bench.queue(LONG), "a queue", "1,024"),
            (lambda: bench.topic(LONG), "a topic", "1,024"),
            (lambda: bench.run(clerk, "Greet", id=LONG), "a run's id", "512"),
            (lambda: bench.run(clerk, "Greet", conversation=LONG), "a conversation", "1,024"),
            (lambda: bench.lookup(order, id="x" * 4091), "the key of order", "4,096"),
        ):
            with pytest.raises(BadInput, match=f"^{what} has at most {most} bytes, found [0-9,]+, beginning with '"):
                make()
        assert (len(bench.runs), list(bench.keys())) == (0, [])


async def test_a_name_as_long_as_may_be_works(clerk: Agent) -> None:
    async with Workbench.open(":memory:", clerk, order) as bench:
        assert await bench.run(clerk, "Greet", id="ä" * 256) == "Hello."
        process = bench.lookup(order, id="x" * 4090)
        await process.cast(1024)
        assert await process.until(lambda state: state == 1) == 1


async def test_a_step_whose_name_is_too_long_does_not_run() -> None:
    @durable(key="long:{id}", max_attempts=1)
    async def long(ctx: Any, id: str) -> Any:
        async for _ in ctx:
            with pytest.raises(BadInput, match=r"^a step's name has at most 1,024 characters, found 1,025, "):
                await ctx.step("s" * 1025, lambda key: 1)
            yield "refused"

    async with Workbench.open(":memory:", long) as bench:
        process = bench.lookup(long, id="a")
        await process.cast("go")
        assert await process.until(lambda state: state == "refused") == "refused"


def test_an_address_that_nobody_can_reach_is_none() -> None:
    for url in (5, "", "host", "ftp://host", "http://", "http://[::1", "http://host:x", "http://host:-1"):
        assert parsed_url(url) is None
    for url in ("http://host:0", "http://host:65536", "http://a b/", "http://a..b", f"http://{'x' * 64}", "http://h\n"):
        assert parsed_url(url) is None


def test_a_url_that_is_refused_is_shown_without_what_may_be_a_secret() -> None:
    for url, seen in (
        ("http://me:secret@host:x/mcp?key=secret#secret", "'http://…@host:x/mcp?…'"),
        ("http://me:sec/ret@host", "'http://…@host'"),
        ("http://me:sec?ret@host\n/", "'http://…@host\\n/'"),
        ("me:secret@host", "'…@host'"),
        ("http://host:x/mcp", "'http://host:x/mcp'"),
        (5, "5"),
    ):
        with pytest.raises(BadInput) as refused:
            address("the url of a house", url, ("http", "https", "ws"))
        assert str(refused.value) == (
            "the url of a house begins with http://, https:// or ws://, and has a host and port that can be, "
            f"found {seen}"
        )


def test_an_address_keeps_the_parts_that_it_has() -> None:
    for url, host, port in (
        ("http://127.0.0.1:8000/mcp", "127.0.0.1", 8000),
        ("https://[::1]:65535", "::1", 65535),
        ("https://büro.example/a?b#c", "büro.example", None),
        ("http://my_host", "my_host", None),
    ):
        parts = parsed_url(url)
        assert parts is not None
        assert (parts.hostname, parts.port, parts.geturl()) == (host, port, url)
