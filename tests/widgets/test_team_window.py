"""A team in a cell: its window follows all of it and decides for it, and its saved picture reads without a kernel."""

from __future__ import annotations

import asyncio

from workbench import Agent, Workbench, models, tool
from workbench.widgets import display, static_twin


@tool(approval=True)
def publish_post(text: str) -> str:
    """Publish a post."""
    return "published"


def newsroom() -> Agent:
    """A team whose writer asks a person."""
    turns = models.call("publish_post", text="A post."), "Published."
    writer = Agent("writer", tools=[publish_post], model=models.scripted(*turns))
    reviewer = Agent("reviewer", model=models.scripted("Reviewed."))
    return Agent(
        "team",
        tools=[writer.as_tool(stage="writing"), reviewer.as_tool(stage="reviewing")],
        stages={"writing": ["reviewing"]},
        model=models.scripted(models.call("ask_writer", message="Write."), "All done."),
    )


async def test_the_window_of_a_team_shows_and_decides_what_waits_below() -> None:
    async with Workbench.open(":memory:", newsroom()) as bench:
        run = bench.run("team", "A post", id="r1")
        window = display.window(run.team)
        request = await run.approval()
        while run.status != "waiting":
            await asyncio.sleep(0)
        state = window.get_state("state")["state"]
        text = static_twin.text(run.team.view())

        assert (state["kind"], state["now_line"]["strong"]) == ("team", "writer waits for you:")
        assert [node["id"] for node in state["nodes"]] == [
            "team",
            "team/writer",
            "team/writer#publish_post",
            "team/reviewer",
        ]
        assert text.splitlines()[:2] == [
            "Team of team, r1: waiting",
            "writer waits for you: publish_post. team goes on when it is decided.",
        ]
        assert "stages writing" in text
        assert f"To decide: workbench approve {request.id}" in text
        assert "not started  reviewer  team  stage reviewing  0" in text

        await window._source.command("approve", {"id": request.id})

        assert await run == "All done."
        assert window.get_state("state")["state"]["status"] == "completed"
        window.close()


async def test_the_picture_of_the_run_names_whom_it_asked_and_who_has_it() -> None:
    last = Agent("reviewer", model=models.scripted("Reviewed."))
    turns = models.call("ask_writer", message="Write."), models.call("hand_off_to_reviewer", message="Review.")
    writer = Agent("writer", model=models.scripted("A draft."))
    agent = Agent("boss", tools=[writer], handoffs=[last], model=models.scripted(*turns))
    async with Workbench.open(":memory:", agent) as bench:
        run = bench.run(agent, "A post", id="r1")
        await run

        text = static_twin.text(run.view())

    assert "now with reviewer" in text
    assert "asked writer, r1/t1.0: completed" in text
    assert "reviewer  Reviewed." in text


async def test_the_inbox_says_who_asked_whom() -> None:
    async with Workbench.open(":memory:", newsroom()) as bench:
        run = bench.run("team", "A post", id="r1")
        await run.approval()

        assert "team → writer, r1/t1.0" in static_twin.text(bench.approvals.view())
