"""What an approval says of its arguments: as every view writes values, and not as Python does."""

from __future__ import annotations

from typing import Any

from workbench import Agent, Workbench, models, tool
from workbench.widgets import static_twin


@tool(approval=True)
def send(to: list[str], options: dict[str, Any], urgent: bool, reply: str | None = None) -> str:
    """Send the letter."""
    return "sent"


async def test_lists_flags_and_what_is_missing_are_written_as_json() -> None:
    args = {"to": ["ana", "bjørn"], "options": {"copies": 2, "seal": None}, "urgent": True, "reply": None}
    clerk = Agent("clerk", tools=[send], model=models.scripted([models.call("send", **args)], "Done."))
    async with Workbench.open(":memory:", clerk) as bench:
        approval = await bench.run(clerk, "Send it").approval()
        twin = static_twin.text(bench.approvals.source().view())

    assert approval.sentence == (
        'Send the letter, with to ["ana", "bjørn"], options {"copies": 2, "seal": null}, urgent true and reply null.'
    )
    assert 'send(to=["ana", "bjørn"], options={"copies": 2, "seal": null}, urgent=true, reply=null)' in twin
