"""Forks of runs in a conversation: they are told what the run was told, and take no turn of their own."""

from __future__ import annotations

from typing import Any

from houses import House, clerk, ears

from workbench import tool
from workbench.models.messages import user_text
from workbench.models.script import call


@tool(read_only=True)
def look_up(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id} is paid"


async def talk(house: House) -> tuple[Any, Any, Any]:
    """A bench, an agent, and the second run of a conversation; its model has heard nothing since."""
    bench = await house.open(
        agent := clerk("Hello.", call("look_up", order_id="A-1"), "Paid.", "Bye.", tools=[look_up])
    )
    await bench.run(agent, "Good morning", conversation="desk", id="r1")
    run = bench.run(agent, "Is A-1 paid?", conversation="desk", id="r2")
    assert await run == "Paid."
    ears(agent).requests.clear()
    return bench, agent, run


def heard(agent: Any) -> list[str]:
    """What people had said when the model was asked last."""
    said = [user_text(message) for message in ears(agent).requests[-1].history]
    return [text for text in said if text is not None]


async def test_a_fork_hears_what_was_said_before_its_run(house: House) -> None:
    _, agent, run = await talk(house)

    assert await (await run.fork(before=2)) == "Paid."
    assert (len(ears(agent).requests), heard(agent)) == (1, ["Good morning", "Is A-1 paid?"])

    assert await (await run.fork(edit={"request": "Is A-2 paid?"})) == "Paid."
    assert (len(ears(agent).requests), heard(agent)) == (3, ["Good morning", "Is A-2 paid?"])


async def test_the_conversation_goes_on_without_its_forks(house: House) -> None:
    bench, agent, run = await talk(house)
    await (await run.fork(edit={"request": "Is A-2 paid?"}))

    await bench.run(agent, "Thank you", conversation="desk")

    assert heard(agent) == ["Good morning", "Is A-1 paid?", "Thank you"]


async def test_a_fork_of_a_fork_hears_it_too(house: House) -> None:
    _, agent, run = await talk(house)
    fork = await run.fork(before=1)
    await fork

    await (await fork.fork(edit={"request": "Is A-3 paid?"}))

    assert heard(agent) == ["Good morning", "Is A-3 paid?"]
