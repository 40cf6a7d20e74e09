"""Runs: begun once for an id, found from any bench, and told to who awaits them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, House, clerk, ears, until
from pydantic_ai.models.test import TestModel

from workbench import Agent
from workbench.errors import BadInput, CallConflict, NoCode, RunFailed, RunInterrupted, StoreError
from workbench.models.script import call
from workbench.plain import decode


async def test_a_run_is_in_the_journal_when_it_is_given(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."), worker=False)

    run = bench.run(agent, "Say hello", id="r1")

    (entry,) = bench.store.history_now("run:r1")
    assert (entry.kind, decode(entry.payload or "")["text"]) == ("message", "Say hello")
    assert (run.status, run.request, run.output) == ("queued", "Say hello", None)


async def test_a_run_of_a_bench_without_worker_is_run_by_one_that_works(house: House) -> None:
    front = await house.open(agent := clerk("Hello."), worker=False)
    run = front.run(agent, "Say hello", id="r1")

    await house.open(agent)

    assert await run == "Hello."
    assert len(ears(agent).requests) == 1


async def test_the_same_id_and_request_are_the_same_run(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))

    runs = [bench.run(agent, "Say hello", id="r1") for _ in range(3)]

    assert runs[0] is runs[1] is runs[2]
    assert [await run for run in runs] == ["Hello."] * 3
    assert len(ears(agent).requests) == 1
    assert len(bench.runs) == 1


async def test_the_same_id_after_a_restart_is_the_same_run(house: House) -> None:
    first = await house.open(agent := clerk("Hello."))
    await first.run(agent, "Say hello", id="r1")
    await first.close()

    again = await house.open(agent)

    assert await again.run(agent, "Say hello", id="r1") == "Hello."
    assert len(ears(agent).requests) == 1


async def test_an_id_used_for_something_else_is_a_conflict_that_names_both(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."), other := Agent("other", model="offline"))
    await bench.run(agent, "Say hello", id="r1")

    with pytest.raises(CallConflict, match="the run 'r1' is 'clerk' with 'Say hello'") as caught:
        bench.run(agent, "Say goodbye", id="r1")
    with pytest.raises(CallConflict, match="asked for as 'other' with 'Say hello'"):
        bench.run(other, "Say hello", id="r1")

    assert (caught.value.id, caught.value.first, caught.value.second) == ("r1", "Say hello", "Say goodbye")
    assert len(ears(agent).requests) == 1


async def test_a_conflict_is_noticed_from_another_bench(house: House) -> None:
    first = await house.open(agent := clerk("Hello."))
    first.run(agent, "Say hello", id="r1")
    second = await house.open(agent)

    with pytest.raises(CallConflict):
        second.run(agent, "Say goodbye", id="r1")


async def test_runs_without_an_id_are_different_runs(room: House) -> None:
    bench = await room.open(agent := clerk("Hello."))

    one, other = bench.run(agent, "Say hello"), bench.run(agent, "Say hello")

    assert one.id != other.id
    assert [await one, await other] == ["Hello.", "Hello."]


@pytest.mark.parametrize("id", ["r 1", "r/1#2:~%", "ä ✓", "a" * 300])
async def test_any_text_is_an_id(house: House, id: str) -> None:
    bench = await house.open(agent := clerk("Hello."))

    assert await bench.run(agent, "Say hello", id=id) == "Hello."
    assert bench.runs[id].id == id
    assert id in bench.runs
    assert len(bench.journal(id)) > 0


@pytest.mark.parametrize(("request_", "id"), [("", None), ("   ", None), (7, None), ("Hello", ""), ("Hello", 7)])
async def test_a_run_needs_words_and_an_id_that_is_a_text(room: House, request_: Any, id: Any) -> None:
    bench = await room.open(agent := clerk("Hello."))

    with pytest.raises(BadInput, match=r"a run needs a request in words|a run's id is a text"):
        bench.run(agent, request_, id=id)

    assert len(bench.runs) == 0


async def test_a_model_of_the_library_runs_an_agent_as_it_is(room: House) -> None:
    agent = Agent("clerk", model=TestModel(custom_output_text="Done."))
    bench = await room.open(agent)

    run = bench.run(agent, "Look")

    assert await run == "Done."
    assert (run.view()["model"], repr(agent)) == ("test:test", "<Agent clerk: test:test, tools none>")


async def test_an_agent_can_be_named(room: House) -> None:
    bench = await room.open(clerk("Hello."))

    assert await bench.run("clerk", "Say hello") == "Hello."
    with pytest.raises(BadInput, match="no agent 'nobody' here, there are \\['clerk'\\]"):
        bench.run("nobody", "Say hello")


async def test_who_awaits_a_failed_run_gets_its_error(house: House) -> None:
    bench = await house.open(agent := clerk(call("missing"), max_turns=1))
    run = bench.run(agent, "Fail", id="r1")

    with pytest.raises(RunFailed, match="run 'r1' failed with RunFailed: ") as caught:
        await run

    error = caught.value
    assert (error.run, error.type) == ("r1", "RunFailed")
    assert "used all of its 1 model turns" in str(error.message)
    assert "Traceback" in str(error.traceback)
    assert error.__notes__ == [error.traceback]
    assert run.status == "failed"


async def test_a_failed_run_is_failed_from_another_bench_too(house: House) -> None:
    first = await house.open(agent := clerk())
    with pytest.raises(RunFailed):
        await first.run(agent, "Fail", id="r1")
    await first.close()

    again = await house.open()

    with pytest.raises(RunFailed, match="run 'r1' failed with ModelFailed"):
        await again.runs["r1"]


async def test_interrupting_who_awaits_leaves_the_run_alive(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    cell = asyncio.ensure_future(run._outcome())
    await asyncio.sleep(0)

    cell.cancel()
    await asyncio.wait([cell])

    assert (cell.cancelled(), run.alive, run.status) == (True, True, "waiting")
    await bench.approvals.approve(request.id)
    assert await run == "All done."


async def test_any_number_may_await_one_run(room: House) -> None:
    bench = await room.open(agent := clerk("Hello."))
    run = bench.run(agent, "Say hello")

    async def wait() -> str:
        return await run

    assert await asyncio.gather(*(wait() for _ in range(10))) == ["Hello."] * 10


async def test_closing_the_bench_tells_who_awaits(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002", id="r1")
    await run.approval()
    waiting = asyncio.ensure_future(run._outcome())
    await asyncio.sleep(0)

    await bench.close()

    with pytest.raises((RunInterrupted, StoreError)) as caught:
        await waiting
    assert isinstance(caught.value, RunInterrupted)
    assert caught.value.run == "r1"


async def test_what_is_awaited_is_committed(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))

    await bench.run(agent, "Say hello", id="r1")

    (info,) = bench.store.keys_now(key="run:r1")
    assert decode(info.snapshot or "null")["status"] == "completed"
    assert (info.cursor, info.wake_at) == (1, None)


async def test_a_status_that_no_run_has_is_refused_when_runs_are_looked_for(house: House) -> None:
    bench = await house.open()

    words = "a run's status is one of queued, running, waiting, completed, failed, cancelled, found 'complete'"
    with pytest.raises(BadInput, match=f"^{words}$"):
        bench.runs.find(status="complete")


async def test_runs_are_found_by_status_agent_and_text(house: House) -> None:
    desk = Desk()
    bench = await house.open(asker := desk.agent(), other := Agent("other", model="offline"))
    await bench.run(other, "Hello there", id="r1")
    await bench.run(asker, "Cancel A-1002", id="r2").approval()
    await bench.run(other, "Bye A-1002", id="r3")

    found = {
        "all": [run.id for run in bench.runs.find()],
        "waiting": [run.id for run in bench.runs.find(status="waiting")],
        "other": [run.id for run in bench.runs.find(agent="other")],
        "text": [run.id for run in bench.runs.find(text="A-1002")],
        "output": [run.id for run in bench.runs.find(text="I pick tools")],
        "both": [run.id for run in bench.runs.find(status="waiting", agent="other")],
    }

    assert found["all"] == ["r3", "r2", "r1"]
    assert (found["waiting"], found["both"]) == (["r2"], [])
    assert found["other"] == ["r3", "r1"]
    assert found["text"] == ["r3", "r2"]
    assert set(found["output"]) <= {"r1", "r3"}


async def test_runs_and_journal_are_there_in_a_new_bench_without_their_code(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    await first.approvals.approve((await run.approval()).id)
    await run
    journal = [(row["kind"], row["name"]) for row in first.journal("r1") if row["kind"] != "activation"]
    await first.close()

    again = await house.open()

    assert [found.id for found in again.runs.find(status="completed", text="A-1002")] == ["r1"]
    assert await again.runs["r1"] == "All done."
    assert [(row["kind"], row["name"]) for row in again.journal("r1") if row["kind"] != "activation"] == journal
    assert [kind for kind, _ in journal if kind in ("message", "commit")] == ["message", "commit"]
    names = [name for kind, name in journal if kind == "step"]
    assert names == ["turn", "@approval", "@intent", "@outcome", "turn"]


@pytest.mark.parametrize("ask", ["runs", "journal"])
async def test_a_run_that_there_is_not_is_a_lookup_error(house: House, ask: str) -> None:
    bench = await house.open()

    with pytest.raises(LookupError) as caught:
        bench.runs["none"] if ask == "runs" else bench.journal("none")

    assert isinstance(caught.value, NoCode)
    assert caught.value.name == "none"
    assert "none" not in bench.runs


async def test_a_run_whose_agent_is_missing_is_blocked_and_says_why(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()

    again = await house.open()

    assert again.blocked == {"run:r1": "no code for 'agent:clerk'; add its definition to this bench"}
    assert (again.runs["r1"].alive, again.runs["r1"].status) == (False, "waiting")
    again.add(agent)
    assert again.blocked == {}


async def test_adding_the_missing_agent_lets_its_runs_go_on(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()
    again = await house.open()

    again.add(agent)
    await until(lambda: again.runs["r1"].alive)
    await again.approvals.approve((await again.runs["r1"].approval()).id)

    assert await again.runs["r1"] == "All done."


async def test_states_come_as_they_change_and_end_with_the_run(room: House) -> None:
    bench = await room.open(agent := clerk("Hello."))

    statuses = [state["status"] async for state in bench.run(agent, "Say hello")]

    assert statuses[-1] == "completed"
    assert statuses[:-1] == [status for status in statuses[:-1] if status in ("queued", "running")]
