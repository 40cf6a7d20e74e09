"""The team of a run: who asked whom, each in a fixed place, and the same as a table."""

from __future__ import annotations

import asyncio
from typing import Any

from houses import Ears, House, Worker, until

from workbench import Agent, ToolContext, tool
from workbench.models.script import call

STAGES = {"researching": ["writing"], "writing": ["reviewing"], "reviewing": []}


@tool(read_only=True)
def search_notes(topic: str) -> str:
    """Search the notes."""
    return f"notes on {topic}"


@tool(approval=True)
def publish_post(text: str) -> str:
    """Publish a post."""
    return "published"


def newsroom() -> Agent:
    """A supervisor with three stages, of which the last is nobody's yet."""
    searches = call("search_notes", topic="packs"), call("search_notes", topic="straps")
    researcher = Agent("researcher", tools=[search_notes], model=Ears(*searches, "Notes."))
    writer = Agent("writer", tools=[publish_post], model=Ears(call("publish_post", text="A post."), "Published."))
    reviewer = Agent("reviewer", model=Ears("Reviewed."))
    team = [
        researcher.as_tool(stage="researching"),
        writer.as_tool(stage="writing"),
        reviewer.as_tool(stage="reviewing"),
    ]
    turns = [call(f"ask_{name}", message="Do it.") for name in ("researcher", "writer", "reviewer")]
    return Agent("team", tools=team, stages=STAGES, model=Ears(*turns, "All done."))


def nodes(view: dict[str, Any]) -> dict[str, tuple[str, int, float]]:
    """Each place: its status and where it stands."""
    return {node["id"]: (node["status"], node["column"], node["slot"]) for node in view["nodes"]}


async def test_a_team_that_waits_shows_who_and_for_what(house: House) -> None:
    agent = newsroom()
    bench = await house.open(agent)
    run = bench.run(agent, "A post on packs", id="r1")
    request = await run.approval()
    await until(lambda: run.status == "waiting")

    view: Any = run.team.view()

    assert nodes(view) == {
        "team": ("waiting", 0, 1.0),
        "team/researcher": ("completed", 1, 0.0),
        "team/researcher#search_notes": ("success", 2, 0.0),
        "team/writer": ("waiting", 1, 1.0),
        "team/writer#publish_post": ("pending", 2, 1.0),
        "team/reviewer": ("not started", 1, 2.0),
    }
    assert [(edge["target"], edge["label"], edge["how"]) for edge in view["edges"]] == [
        ("team/researcher#search_notes", "calls tool", "done"),
        ("team/researcher", "researching", "done"),
        ("team/writer#publish_post", "calls tool", "active"),
        ("team/writer", "writing", "active"),
        ("team/reviewer", "reviewing", "open"),
    ]
    assert [node["id"] for node in view["nodes"] if node["active"]] == ["team/writer"]
    assert [(row["id"], row["called_by"], row["part"], row["status"]) for row in view["rows"]] == [
        ("r1", "", "supervisor", "waiting"),
        ("r1/t1.0", "team", "stage researching", "completed"),
        ("r1/t2.0", "team", "stage writing", "waiting"),
        ("team/reviewer", "team", "stage reviewing", "not started"),
    ]
    assert (view["agents"], view["active"], view["usage"]["model_calls"]) == (4, 2, 6)
    assert (view["now_line"]["strong"], view["now_line"]["text"]) == (
        "writer waits for you:",
        "publish_post. team goes on when it is decided.",
    )
    assert [one["id"] for one in view["pending"]] == [request.id]
    await run.team.command("approve", {"id": request.id})
    assert await run == "All done."
    assert {status for status, _, _ in nodes(run.team.view()).values()} == {"completed", "success"}  # type: ignore[arg-type]


async def test_no_place_moves_while_the_team_works(house: House) -> None:
    agent = newsroom()
    bench = await house.open(agent)
    run = bench.run(agent, "A post on packs", id="r1")
    before = nodes(run.team.view())  # type: ignore[arg-type]

    await bench.approvals.approve((await run.approval()).id)
    await run

    after = nodes(run.team.view())  # type: ignore[arg-type]
    assert {id: where[1:] for id, where in before.items()}.items() <= {
        id: where[1:] for id, where in after.items()
    }.items()
    assert set(before) == {"team", "team/researcher", "team/writer", "team/reviewer"}


async def test_many_runs_of_one_agent_are_one_place_and_a_row_each(room: House) -> None:
    @tool
    async def survey(ctx: ToolContext) -> list[str]:
        """Ask three."""
        return await ctx.ask_all("worker", ["a", "b", "c"])

    worker = Agent("worker", model=Ears("Done."))
    agent = Agent("boss", tools=[survey, worker], model=Ears(call("survey"), "All done."))
    bench = await room.open(agent)
    run = bench.run(agent, "Survey", id="r1")
    await run

    view: Any = run.team.view()

    (place,) = [node for node in view["nodes"] if node["id"] == "boss/worker"]
    assert (place["runs"], place["status"]) == ([f"r1/t1.0/ask{number}" for number in range(3)], "completed")
    assert [row["id"] for row in view["rows"]] == ["r1", *place["runs"]]


async def test_who_takes_a_run_over_has_a_place_of_its_own(room: House) -> None:
    last = Agent("reviewer", model=Ears("Reviewed."))
    agent = Agent("writer", handoffs=[last], model=Ears(call("hand_off_to_reviewer", message="Review.")))
    bench = await room.open(agent)
    run = bench.run(agent, "Write", id="r1")
    await run

    view: Any = run.team.view()

    assert nodes(view) == {"writer": ("completed", 0, 0.0), "writer/reviewer": ("completed", 1, 0.0)}
    assert [(row["agent"], row["part"], row["usage"]["model_calls"]) for row in view["rows"]] == [
        ("writer", "supervisor", 2),
        ("reviewer", "takes over", 1),
    ]


async def test_a_killed_team_says_so_and_a_team_without_code_is_drawn_all_the_same(house: House) -> None:
    agent = newsroom()
    bench = await house.open(agent)
    run = bench.run(agent, "A post on packs", id="r1")
    await run.approval()
    await run.kill("ana")

    view: Any = run.team.view()
    assert (view["alive"], view["killed_by"], nodes(view)["team/writer"][0]) == (False, "ana", "killed")
    await bench.close()

    other = await house.open(worker=False)
    seen: Any = other.runs["r1"].team.view()
    assert set(nodes(seen)) == {
        "team",
        "team/researcher",
        "team/researcher#search_notes",
        "team/writer",
        "team/writer#publish_post",
    }


async def test_what_happens_far_below_reaches_who_looks_at_the_top(room: House) -> None:
    slow = Worker(idempotent=True)
    deep = Agent("deep", tools=[slow.tool], model=Ears(call("work"), "Done."))
    middle = Agent("middle", tools=[deep], model=Ears(call("ask_deep", message="Go."), "Done."))
    agent = Agent("top", tools=[middle], model=Ears(call("ask_middle", message="Go."), "Done."))
    bench = await room.open(agent)
    run = bench.run(agent, "Go", id="r1")
    await until(lambda: slow.log)
    heard: list[int] = []
    stop = run.team.subscribe(lambda: heard.append(1))
    await asyncio.sleep(0.05)
    heard.clear()

    bench.runs["r1/t1.0/t1.0"].live.changes.tell()  # as a word of its streamed answer does
    await until(lambda: heard)

    assert [node["id"] for node in run.team.view()["nodes"] if node["active"]] == ["top/middle/deep"]
    stop()
    slow.go.set()
    assert await run == "Done."
