"""The team that is killed: a boss who asks a writer, who looks something up, asks a person, and publishes.

Told as a program in the folder of the store, as `story.py` is: every effect is a line in `effects`, with its key, and
every turn that a model was asked for is one in `boss-turns` or `writer-turns`.
"""

from __future__ import annotations

from typing import Any

from story import do_without, effect, note, stop, tell

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.errors import RunError
from workbench.store.sqlite.keeper import SQLiteStore


class Store(SQLiteStore):
    """The keeper of the file, which can be stopped at the door of what the boss hears and concludes."""

    def post_now(self, key: str, *args: Any, **options: Any) -> Any:
        if key == "run:r1%2Ft1.0":
            stop("unasked")
        return super().post_now(key, *args, **options)

    def put_step(self, key: str, epoch: int, seq: int, record: Any, wake_at: float | None = None) -> Any:
        if (key, record.name, record.kind) == ("run:r1", "@run", "step"):
            stop("ended")
        if (key, record.name) == ("run:r1", "@outcome"):
            stop("heard")
        return super().put_step(key, epoch, seq, record, wake_at)


@tool(idempotent=True)
async def look_up(topic: str, ctx: ToolContext) -> str:
    """Look a topic up."""
    found = await ctx.step("look", lambda key: effect("look", key))
    stop("saved")
    return f"{found} for {topic}"


@tool(approval=True, idempotent=True)
async def publish(text: str, ctx: ToolContext) -> str:
    """Publish a text."""
    return str(await ctx.step("publish", lambda key: effect("publish", key)))


def boss() -> Agent:
    """The boss with its team."""
    turns = models.call("look_up", topic="packs"), models.call("publish", text="A post."), "Published."
    writer = Agent("writer", tools=[look_up, publish], model=models.scripted(*turns, log="writer-turns"))
    asks = models.call("ask_writer", message="Write about packs.")
    return Agent("boss", tools=[writer], model=models.scripted(asks, "All done.", log="boss-turns"))


async def life() -> None:
    """Ask the boss, approve what the writer asks, await. The same lines in every life."""
    do_without()
    async with Workbench.open("agents.db", boss(), store=Store("agents.db")) as bench:
        run = bench.run("boss", "A post about packs", id="r1")
        try:
            request = await run.approval()
        except RunError:
            request = None  # it has ended, or nobody woke it
        if request is not None:
            note("requests", " ".join([request.id, *request.chain]))
            stop("asked")
            await bench.approvals.approve(request.id)
            stop("decided")
        output = await run
        tell(state=output, runs={each.id: [each.status, each.parent, each.output] for each in bench.runs})
