"""The inspector of a durable process: what a window shows of it, and its buttons."""

from __future__ import annotations

import pytest

from workbench import Workbench, durable
from workbench.errors import BadInput


@durable(key="count:{name}")
async def counter(ctx, name: str):
    state = ctx.restored or {"total": 0}
    yield state
    async for number in ctx:
        state = {"total": state["total"] + number}
        yield state


async def test_the_inspector_kills_and_recovers_by_its_buttons():
    async with Workbench.open(":memory:", counter) as bench:
        process = bench.lookup(counter, name="a")
        await process.cast(3)
        await process.until(lambda state: state["total"] == 3)
        source = process.source()

        alive = source.view()
        await source.command("kill", {})
        killed = source.view()
        await source.command("recover", {})
        await process.until(lambda state: state["total"] == 3)

    assert (alive["key"], alive["status"], alive["state"], alive["alive"]) == ("count:a", "running", {"total": 3}, True)
    assert [action["label"] for action in alive["actions"]] == ["Kill"]
    assert (killed["status"], killed["alive"], killed["lives"][-1]["how"]) == ("disposed", False, "killed")
    assert killed["now_line"]["action"] == "Recover"
    assert [(action["label"], action["enabled"]) for action in killed["actions"]] == [
        ("Kill", False),
        ("Recover", True),
    ]


async def test_a_command_that_there_is_not_is_refused_by_name():
    async with Workbench.open(":memory:", counter) as bench:
        process = bench.lookup(counter, name="a")

        with pytest.raises(
            BadInput, match="'count:a' has no command 'explode'; it has kill, recover, start_over, accept, set_aside"
        ):
            await process.source().command("explode", {})
