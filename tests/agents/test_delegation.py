"""An agent asked by another: one run per call, whatever happens in between; one chain for who decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, Ears, House, Worker, calls, ears, until

from workbench import Agent, ToolContext, tool
from workbench.agents.context import Principal
from workbench.agents.delegation import DEEPEST
from workbench.errors import BadInput, RunCancelled
from workbench.models.script import call


def asks(name: str, *messages: str, tools: Any = (), **options: Any) -> Agent:
    """An agent that asks another for each message, one turn each, and then says so."""
    turns = [call(name, message=message) for message in messages]
    return Agent("boss", tools=tools, model=Ears(*turns, "All done."), **options)


def writer(*turns: Any, **options: Any) -> Agent:
    return Agent("writer", model=Ears(*(turns or ("A draft.",))), **options)


def messages(run: Any) -> list[Any]:
    """What the journal has that began the run."""
    return [entry for entry in run._runtime.store.history_now(run.key) if entry.kind == "message"]


async def test_an_agent_asks_another_and_hears_its_answer(house: House) -> None:
    boss = asks("ask_writer", "Write it.", tools=[writer()])
    bench = await house.open(boss)

    assert await bench.run(boss, "A post, please.", id="r1") == "All done."

    assert [(result.tool, result.content, result.outcome) for result in ears(boss).told] == [
        ("ask_writer", "A draft.", "success")
    ]
    child = bench.runs["r1/t1.0"]
    assert (child.agent, child.request, child.output, child.parent) == ("writer", "Write it.", "A draft.", "r1")
    assert [(run.id, run.parent) for run in bench.runs.find(parent="r1")] == [("r1/t1.0", "r1")]
    assert bench.runs.find().columns == ("id", "parent", "agent", "status", "alive", "request", "output")
    (row,) = calls(bench.runs["r1"])
    assert (row["steps"], row["children"]) == ([], [{"id": "r1/t1.0", "agent": "writer", "status": "completed"}])


async def test_the_child_is_of_its_parents_principal_and_conversation(room: House) -> None:
    heard: list[Any] = []

    @tool
    def who(ctx: ToolContext) -> str:
        """Say who asks."""
        heard.append((str(ctx.principal), ctx.conversation))
        return "noted"

    boss = asks("ask_writer", "Write it.", tools=[writer(call("who"), "A draft.", tools=[who])])
    bench = await room.open(boss)

    await bench.run(boss, "A post.", conversation="posts", principal=Principal("ana", "mcp"))

    assert heard == [("mcp:ana", "posts")]


async def test_a_request_says_who_asked_where_it_was_not_you(room: House) -> None:
    boss = asks("ask_writer", "Write it.", tools=[writer()])
    bench = await room.open(boss)
    whose = {"r1": Principal(), "r2": Principal("desktop", "mcp"), "r3": Principal("ana", "cli")}

    for id, principal in whose.items():
        await bench.run(boss, "A post.", id=id, principal=principal)

    first = {id: bench.runs[id].view()["rows"][0] for id in (*whose, "r2/t1.0")}
    assert {row["who"] for row in first.values()} == {"you"}
    assert {id: row.get("asker") for id, row in first.items()} == {
        "r1": None,
        "r2": "mcp:desktop",
        "r3": "ana",
        "r2/t1.0": "boss",
    }


async def test_an_approval_below_names_the_whole_chain_and_is_decided_at_the_top(house: House) -> None:
    desk = Desk()
    editor = Agent("editor", tools=[desk.agent()], model=Ears(call("ask_clerk", message="Cancel it."), "Edited."))
    boss = asks("ask_editor", "Have it cancelled.", tools=[editor])
    bench = await house.open(boss)
    run = bench.run(boss, "Cancel A-1002", id="r1")

    asked = await run.approval()
    await until(lambda: run.status == "waiting")

    assert asked.chain == ["boss", "editor", "clerk", "cancel_order"]
    assert (asked.run, asked.agent, asked.tool) == ("r1/t1.0/t1.0", "clerk", "cancel_order")
    (row,) = calls(run)
    assert (row["status"], row["approval"]["id"]) == ("waiting", asked.id)
    line = run.view()["now_line"]
    assert (line["strong"], line["text"]) == ("1 approval waits for you:", "editor → clerk → cancel_order.")
    await run.command("approve", {"id": asked.id})
    assert await run == "All done."
    assert desk.ran == [("A-1002", "")]


async def test_a_failure_of_the_child_is_heard_by_the_parents_model(house: House) -> None:
    boss = asks("ask_writer", "Write it.", tools=[writer(call("nothing"), call("nothing"), max_turns=1)])
    bench = await house.open(boss)

    assert await bench.run(boss, "A post.", id="r1") == "All done."

    (told,) = ears(boss).told
    assert told.outcome == "failed"
    assert told.content.startswith("RunFailed: 'writer' failed with RunFailed: run 'r1/t1.0' used all of its 1 model")
    assert bench.runs["r1/t1.0"].status == "failed"


async def test_a_child_that_a_person_cancels_is_heard_of_as_cancelled(house: House) -> None:
    worker = Worker()
    boss = asks("ask_writer", "Work.", tools=[worker.agent()])
    bench = await house.open(boss)
    run = bench.run(boss, "Work.", id="r1")
    await until(lambda: worker.log)

    await bench.runs["r1/t1.0"].cancel("ana")

    assert await run == "All done."
    (told,) = ears(boss).told
    assert (told.outcome, told.content) == (
        "failed",
        "RunCancelled: 'writer' gave no answer: its run was cancelled by ana",
    )


async def test_a_cancel_reaches_every_child_before_it_returns(house: House) -> None:
    workers = Worker(), Worker()
    editor = Agent("editor", tools=[workers[0].agent()], model=Ears(call("ask_writer", message="Work."), "Edited."))
    turn = [call("ask_editor", message="Edit."), call("ask_helper", message="Help.")]
    boss = Agent("boss", tools=[editor, workers[1].agent("helper")], model=Ears(turn, "All done."))
    bench = await house.open(boss)
    run = bench.run(boss, "Work.", id="r1")
    await until(lambda: all(worker.log for worker in workers))

    assert await run.cancel("ana") == "cancelled"

    assert [worker.log for worker in workers] == [["began", "cancelled"], ["began", "cancelled"]]
    assert {each.id: (each.status, each.state["cancelled_by"]) for each in bench.runs} == {
        "r1": ("cancelled", "ana"),
        "r1/t1.0": ("cancelled", "ana"),
        "r1/t1.1": ("cancelled", "ana"),
        "r1/t1.0/t1.0": ("cancelled", "ana"),
    }
    for worker in workers:
        worker.go.set()
    await house.clock.advance(100)
    assert [worker.log for worker in workers] == [["began", "cancelled"], ["began", "cancelled"]]


async def test_a_cancel_closes_what_the_children_ask(house: House) -> None:
    desk = Desk()
    boss = asks("ask_clerk", "Cancel it.", tools=[desk.agent()])
    bench = await house.open(boss)
    run = bench.run(boss, "Cancel A-1002", id="r1")
    asked = await run.approval()

    assert await run.cancel("ana") == "cancelled"

    assert (await bench.approvals.get(asked.id)).status == "superseded"
    assert (len(bench.approvals.pending()), desk.ran) == (0, [])


async def test_a_cancelled_run_that_was_killed_cancels_its_children_too(house: House) -> None:
    worker = Worker(idempotent=True)
    boss = asks("ask_writer", "Work.", tools=[worker.agent()])
    bench = await house.open(boss)
    run = bench.run(boss, "Work.", id="r1")
    await until(lambda: worker.log)
    await run.kill()

    assert await run.cancel("ana") == "cancelled"

    assert (bench.runs["r1/t1.0"].status, worker.log) == ("cancelled", ["began", "cancelled"])


async def test_a_kill_takes_the_children_along_and_recover_brings_them_back(house: House) -> None:
    worker = Worker(idempotent=True)
    child = worker.agent()
    boss = asks("ask_writer", "Work.", tools=[child])
    bench = await house.open(boss)
    run = bench.run(boss, "Work.", id="r1")
    await until(lambda: worker.log)

    await run.kill("ana")
    nested = bench.runs["r1/t1.0"]
    worker.go.set()
    await house.clock.advance(100)
    assert (run.alive, nested.alive, nested.view()["killed_by"]) == (False, False, "ana")
    assert worker.log == ["began", "cancelled"]

    await run.recover()
    assert await run == "All done."
    assert (nested.output, worker.log) == ("Worked.", ["began", "cancelled", "began", "done"])
    assert (len(ears(boss).requests), len(ears(child).requests)) == (2, 2)


async def test_a_child_that_is_killed_alone_is_waited_for_until_it_is_recovered(house: House) -> None:
    worker = Worker(idempotent=True)
    boss = asks("ask_writer", "Work.", tools=[worker.agent()])
    bench = await house.open(boss)
    run = bench.run(boss, "Work.", id="r1")
    await until(lambda: worker.log)
    nested = bench.runs["r1/t1.0"]

    await nested.kill()
    worker.go.set()
    await house.clock.advance(100)
    assert (run.alive, run.status, nested.alive, worker.log) == (True, "running", False, ["began", "cancelled"])

    await nested.recover()
    assert await run == "All done."
    assert [life["how"] for life in run.view()["lives"]] == [None]


async def test_a_child_that_ended_is_used_and_not_asked_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    child = writer()
    boss = asks("ask_writer", "Write it.", tools=[child])
    bench = await house.open(boss)
    put, ended = bench.store.put_step, asyncio.Event()

    async def puts(key: str, epoch: int, seq: int, record: Any, wake_at: Any = None) -> None:
        if record.name == "@run" and record.kind == "step":  # between the end of the child and what the parent keeps
            ended.set()
            await asyncio.Event().wait()
        await put(key, epoch, seq, record, wake_at)

    monkeypatch.setattr(bench.store, "put_step", puts)
    run = bench.run(boss, "A post.", id="r1")
    await ended.wait()
    await run.kill()
    monkeypatch.undo()

    await run.recover()

    assert await run == "All done."
    assert (len(ears(boss).requests), len(ears(child).requests)) == (2, 1)
    assert (len(bench.runs), len(messages(bench.runs["r1/t1.0"]))) == (2, 1)


async def test_a_tool_that_gives_up_waiting_ends_the_child(house: House) -> None:
    worker = Worker()

    @tool(timeout=1)
    async def hurry(ctx: ToolContext) -> str:
        """Ask, and do not wait for long."""
        return str(await ctx.ask("writer", "Work."))

    @tool
    async def look() -> str:
        """Look how the child stands, in the next turn."""
        return bench.runs["r1/t1.0"].status

    boss = Agent("boss", tools=[hurry, look, worker.agent()], model=Ears(call("hurry"), call("look"), "All done."))
    bench = await house.open(boss)
    run = bench.run(boss, "Work.", id="r1")

    assert await run == "All done."

    assert [row["error"] and row["error"]["type"] for row in calls(run)] == ["TimeoutError", None]
    assert ears(boss).told[0].content == "cancelled"
    assert worker.log in ([], ["began", "cancelled"])  # a slow disk may be slower than the tool's patience
    assert bench.runs["r1/t1.0"].state["cancelled_by"] == "boss"


async def test_many_are_asked_at_once_and_answer_in_the_order_of_asking(house: House) -> None:
    busy, most = [0], [0]

    class Echo:
        name = "echo"

        async def ask(self, request: Any, on_text: Any) -> Any:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
            await asyncio.sleep(0.01)
            busy[0] -= 1
            return await Ears(f"{request.history[0]['json']['parts'][0]['content']}!").ask(request, on_text)

    @tool
    async def survey(ctx: ToolContext) -> list[str]:
        """Ask five at once, two at a time."""
        return await ctx.ask_all("writer", [f"n{number}" for number in range(5)], at_once=2)

    boss = Agent("boss", tools=[survey, Agent("writer", model=Echo())], model=Ears(call("survey"), "All done."))
    bench = await house.open(boss)

    assert await bench.run(boss, "Survey.", id="r1") == "All done."

    assert ears(boss).told[0].content == [f"n{number}!" for number in range(5)]
    assert (most[0], [child.id for child in bench.runs["r1"].children]) == (
        2,
        [f"r1/t1.0/ask{number}" for number in range(5)],
    )


async def test_agents_that_ask_one_another_in_a_circle_are_stopped(room: House) -> None:
    @tool
    async def think(ctx: ToolContext) -> str:
        """Have it thought over."""
        return str(await ctx.ask("thinker", "Think."))

    thinker = Agent("thinker", tools=[think], model=Ears(call("think"), "Thought over."))
    bench = await room.open(thinker)

    assert await bench.run(thinker, "Think.", id="r1") == "Thought over."

    assert len(bench.runs) == DEEPEST
    deepest = max(bench.runs, key=lambda run: len(run.id))
    (row,) = calls(deepest)
    assert row["error"]["message"] == (
        "agent 'thinker' is not asked: 32 runs ask one another already, in the end thinker → thinker → thinker; "
        "answer with what there is"
    )


async def test_an_ask_in_a_plain_tool_says_how_to_write_it(room: House) -> None:
    @tool
    def plain(ctx: ToolContext) -> str:
        """Ask from a thread."""
        asyncio.run(ctx.ask("writer", "Write."))
        return "never"

    boss = Agent("boss", tools=[plain, writer()], model=Ears(call("plain"), "All done."))
    bench = await room.open(boss)

    await bench.run(boss, "Go.")

    assert "write the tool as async def" in ears(boss).told[0].content


def test_two_agents_of_one_name_are_no_team() -> None:
    with pytest.raises(BadInput, match="two agents are called 'writer' in the team of 'boss'"):
        asks("ask_writer", tools=[writer(), writer().as_tool(name="other")])
    with pytest.raises(BadInput, match="two agents are called 'boss'"):
        Agent("boss", tools=[Agent("boss")])


async def test_a_cancelled_parent_is_awaited_as_cancelled(room: House) -> None:
    worker = Worker()
    boss = asks("ask_writer", "Work.", tools=[worker.agent()])
    bench = await room.open(boss)
    run = bench.run(boss, "Work.")
    await until(lambda: worker.log)
    await run.cancel("ana")

    with pytest.raises(RunCancelled, match="ana"):
        await run


async def test_a_child_that_another_host_takes_is_waited_for_all_the_same(house: House) -> None:
    desk = Desk()
    boss = asks("ask_clerk", "Cancel it.", tools=[desk.agent()])
    here = await house.open(boss)
    run = here.run(boss, "Cancel A-1002", id="r1")
    asked = await run.approval()
    there = await house.open(boss)
    moved = there.runs["r1/t1.0"]

    moved.process.take()
    await until(lambda: moved.process.activation is not None and here.runs["r1/t1.0"].owner is not None)
    await there.approvals.approve(asked.id)

    assert await run == "All done."
    await until(lambda: [life["how"] for life in moved.view()["lives"]] == ["fenced", None])
    assert desk.ran == [("A-1002", "")]
    assert ([life["how"] for life in run.view()["lives"]], len(ears(boss).requests)) == ([None], 2)


async def test_a_cancel_reaches_a_child_on_another_host(house: House) -> None:
    desk = Desk()
    boss = asks("ask_clerk", "Cancel it.", tools=[desk.agent()])
    here = await house.open(boss)
    run = here.run(boss, "Cancel A-1002", id="r1")
    await run.approval()
    there = await house.open(boss)
    moved = there.runs["r1/t1.0"]
    moved.process.take()
    await until(lambda: moved.process.activation is not None and here.runs["r1/t1.0"].owner is not None)

    assert await run.cancel("ana") == "cancelled"

    assert (moved.status, moved.state["cancelled_by"], desk.ran) == ("cancelled", "ana", [])


async def test_a_call_waits_only_once_all_that_it_has_out_do(room: House) -> None:
    desk, worker = Desk(), Worker()

    @tool
    async def both(ctx: ToolContext) -> str:
        """Ask two at once."""
        async with asyncio.TaskGroup() as group:
            group.create_task(ask("clerk", ctx))
            group.create_task(ask("writer", ctx))
        return "both"

    async def ask(agent: str, ctx: ToolContext) -> None:
        async with ctx._context.branch(agent):
            await ctx.ask(agent, "Do it.")

    boss = Agent("boss", tools=[both, desk.agent(), worker.agent()], model=Ears(call("both"), "All done."))
    bench = await room.open(boss)
    run = bench.run(boss, "Both.", id="r1")
    asked = await run.approval()
    await until(lambda: worker.log and bench.runs["r1/t1.0/clerk"].status == "waiting")
    await asyncio.sleep(0.02)
    assert run.status == "running"

    worker.go.set()
    await until(lambda: run.status == "waiting")

    await bench.approvals.approve(asked.id)
    assert await run == "All done."


async def test_a_kill_from_another_host_takes_the_children_along(house: House) -> None:
    worker = Worker(idempotent=True)
    boss = asks("ask_writer", "Work.", tools=[worker.agent()])
    here = await house.open(boss)
    run = here.run(boss, "Work.", id="r1")
    await until(lambda: worker.log)
    there = await house.open(boss)

    await there.kill("r1", by="ana")

    await until(lambda: not here.runs["r1/t1.0"].alive)
    assert (run.alive, here.runs["r1/t1.0"].view()["killed_by"], worker.log) == (False, "ana", ["began", "cancelled"])
    worker.go.set()
    await run.recover()
    assert await run == "All done."
