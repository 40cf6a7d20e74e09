"""Forks: what they share, what they do again, and what they owe to the run that they came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from houses import Desk, House, calls, clerk, ears

from workbench import Agent, ToolContext, models, tool
from workbench.agents.context import Principal
from workbench.agents.instructions import RunInfo
from workbench.errors import BadInput, CallConflict, NoCode, RunFailed
from workbench.models.script import call


class Shop:
    """Tools that count what they do, and an agent whose second turn depends on what the first call gave."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def agent(self, name: str = "clerk", *turns: Any, **options: Any) -> Agent:
        @tool(read_only=True)
        def look_up(order_id: str) -> str:
            """Look an order up."""
            self.done.append(f"look up {order_id}")
            return f"{order_id} is paid"

        @tool
        async def refund(order_id: str, ctx: ToolContext) -> str:
            """Refund an order."""
            await ctx.step("charge", lambda key: self.done.append(f"charge {order_id}"))
            await ctx.step("mail", lambda key: self.done.append(f"mail {order_id}"))
            return f"{order_id} refunded"

        turns = turns or (
            [call("look_up", order_id="A-1"), call("look_up", order_id="A-2")],
            call("refund", order_id="A-1"),
            "Refunded.",
        )
        return clerk(*turns, tools=[look_up, refund], **options).but(name)


async def finished(house: House, shop: Shop, *more: Agent) -> tuple[Any, Agent, Any]:
    """A bench, an agent, and a run that has ended; nothing of it is on the shop's list any more."""
    bench = await house.open(agent := shop.agent(), *more)
    run = bench.run(agent, "Refund A-1", id="r1")
    assert await run == "Refunded."
    shop.done.clear()
    ears(agent).requests.clear()
    return bench, agent, run


async def test_a_fork_before_a_turn_asks_and_does_nothing_before_it_again(house: House) -> None:
    shop = Shop()
    _, agent, run = await finished(house, shop)

    fork = await run.fork(before=2)

    assert await fork == "Refunded."
    assert fork.id != run.id
    assert len(ears(agent).requests) == 2  # the second turn and the third
    assert shop.done == ["charge A-1", "mail A-1"]
    assert [row["result"] for row in calls(fork)] == ["A-1 is paid", "A-2 is paid", "A-1 refunded"]
    assert [row["replayed"] for row in calls(fork)] == [True, True, False]


async def test_a_fork_before_a_call_makes_that_call_again_and_none_beside_it(house: House) -> None:
    shop = Shop()
    _, agent, run = await finished(house, shop)

    fork = await run.fork(before="t1.0")

    assert await fork == "Refunded."
    assert shop.done == ["look up A-1", "charge A-1", "mail A-1"]
    assert len(ears(agent).requests) == 2


async def test_a_fork_before_a_step_keeps_what_its_call_had_done(house: House) -> None:
    shop = Shop()
    bench, _, run = await finished(house, shop)

    fork = await run.fork(before="t2.0/mail")

    assert await fork == "Refunded."
    assert shop.done == ["mail A-1"]
    key = next(row["key"] for row in calls(run)[2]["steps"] if row["name"] == "charge")
    assert await (await run.fork(before=key)) == "Refunded."
    assert shop.done == ["mail A-1", "charge A-1", "mail A-1"]
    assert len(bench.runs) == 3


async def test_a_fork_says_what_it_came_from_and_what_was_saved(house: House) -> None:
    shop = Shop()
    _, _, run = await finished(house, shop)
    usage = run.view()["rows"]

    fork = await run.fork(before=3, id="f1")
    await fork

    turns = [row["tokens"] for row in usage if row["kind"] == "message" and row["turn"] in (1, 2)]
    origin = fork.forked_from
    assert origin is not None
    assert (origin["of"], origin["before"], origin["edited"]) == ("r1", "t3", [])
    saved = origin["saved"]
    assert (saved["turns"], saved["calls"], saved["cost_microdollars"]) == (2, 3, None)
    assert saved["input_tokens"] + saved["output_tokens"] == sum(turns)
    assert repr(fork) == (
        f"<Run f1 of clerk: completed, forked from r1 before t3, saved 2 turns, 3 calls, {sum(turns)} tokens>"
    )
    assert run.forked_from is None


async def test_what_was_shared_keeps_its_length_and_ends_when_the_fork_begins(house: House) -> None:
    shop = Shop()
    _, _, run = await finished(house, shop)
    await house.clock.advance(3600)

    fork = await run.fork(before=2)

    shared = [row for row in fork.view()["rows"] if row["id"] in ("turn-1", "t1.0")]
    original = [row for row in run.view()["rows"] if row["id"] in ("turn-1", "t1.0")]
    assert [row["took"] for row in shared] == [row["took"] for row in original]
    assert max(span["ended_at"] or 0.0 for row in shared for span in row["spans"][:1]) == house.clock.now()
    assert fork.view()["began_at"] == run.view()["began_at"] + 3600


async def test_an_edited_result_is_what_the_model_is_told(house: House) -> None:
    shop = Shop()
    _, agent, run = await finished(house, shop)

    fork = await run.fork(edit={"t1.1": {"status": "lost"}, "t1.0": ValueError("no such order")})

    assert await fork == "Refunded."
    told = ears(agent).requests[0].history[-1]["json"]["parts"]
    assert [(part["content"], part["outcome"]) for part in told] == [
        ("ValueError: no such order", "failed"),
        ({"status": "lost"}, "success"),
    ]
    assert [row["note"] for row in calls(fork)[:2]] == ["edited", "edited"]
    assert shop.done == ["charge A-1", "mail A-1"]


async def test_an_edited_turn_is_said_instead_and_its_calls_are_made(house: House) -> None:
    shop = Shop()
    _, agent, run = await finished(house, shop)

    fork = await run.fork(edit={"t1": ["Let me see.", call("look_up", order_id="B-7")]})

    assert await fork == "Refunded."
    assert shop.done == ["look up B-7", "charge A-1", "mail A-1"]
    assert len(ears(agent).requests) == 2
    assert [row["text"] for row in fork.view()["rows"] if row["kind"] == "message"][1] == "Let me see."
    assert fork.forked_from is not None
    assert fork.forked_from["before"] == "t1.0"


async def test_edited_words_are_what_the_fork_is_asked(house: House) -> None:
    shop = Shop()
    _, agent, run = await finished(house, shop)

    fork = await run.fork(edit={"request": "Refund A-9", "instructions": "Be brief."})

    assert await fork == "Refunded."
    asked = ears(agent).requests[0]
    assert (fork.request, run.request) == ("Refund A-9", "Refund A-1")
    assert (asked.instructions, agent.instructions) == ("Be brief.", None)
    assert asked.history[0]["json"]["parts"][0]["content"] == "Refund A-9"


async def test_another_agent_carries_on_from_the_step(house: House) -> None:
    shop = Shop()
    bench, agent, run = await finished(house, shop)
    other = shop.agent("terse", "never asked", "Done.")

    fork = await run.fork(before=2, edit={"agent": other})

    assert await fork == "Done."
    assert (fork.agent, run.agent) == ("terse", "clerk")
    assert (len(ears(agent).requests), len(ears(other).requests)) == (0, 1)
    assert await (await run.fork(before=2, edit={"agent": "terse"})) == "Done."
    with pytest.raises(NoCode, match="no agent 'nobody' here, there are clerk, terse"):
        await run.fork(before=2, edit={"agent": "nobody"})
    assert len(bench.runs) == 3


async def test_another_model_by_name_is_part_of_the_fork(house: House) -> None:
    shop = Shop()
    _, agent, run = await finished(house, shop)

    fork = await run.fork(before=2, edit={"model": "offline"})

    await fork
    assert ears(agent).requests == []
    assert fork.view()["model"] == "offline"
    again = await fork.fork(before=2, edit={"request": "Look A-3 up"})
    await again
    assert ears(agent).requests == []
    with pytest.raises(BadInput, match=r"make an agent of it: edit=\{'agent': agent.but"):
        await run.fork(before=2, edit={"model": models.scripted("Hi.")})


async def test_a_decision_before_the_fork_is_not_asked_for_again(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(call("cancel_order", order_id="A-1003")))
    run = bench.run(agent, "Cancel both")
    await bench.approvals.approve((await run.approval()).id)
    second = await run.approval()

    fork = await run.fork(before="t2.0")
    asked = await fork.approval()

    assert asked.id != second.id
    assert (asked.run, asked.args) == (fork.id, {"order_id": "A-1003"})
    assert [row["approval"]["status"] for row in calls(fork)] == ["approved", "pending"]
    assert {request.id for request in await bench.approvals.pending()} == {second.id, asked.id}
    await bench.approvals.reject(asked.id, reason="not this one")
    assert await fork == "All done."
    assert (run.status, [row["status"] for row in calls(fork)]) == ("waiting", ["success", "denied"])
    assert desk.ran == [("A-1002", "")]


async def test_a_fork_needs_nothing_of_the_run_it_came_from(house: House, tmp_path: Path) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(call("cancel_order", order_id="A-1003")))
    run = bench.run(agent, "Cancel both", id="r1")
    await bench.approvals.approve((await run.approval()).id)
    await run.approval()
    fork = await run.fork(before="t2.0", id="f1")
    await fork.approval()
    await run.cancel()
    await run.process.dispose()
    await bench.delete("r1")

    await fork.kill()
    await fork.recover()
    rows = await bench.export("f1", tmp_path / "fork.jsonl")
    again = await fork.fork(before="t2.0", id="f2")

    assert rows > 5
    assert "r1" not in bench.runs
    assert [row["approval"]["status"] for row in calls(fork)] == ["approved", "pending"]
    await bench.approvals.approve((await again.approval()).id)
    assert await again == "All done."
    assert again.forked_from is not None
    assert again.forked_from["of"] == "f1"
    assert desk.ran == [("A-1002", ""), ("A-1003", "")]
    (tmp_path / "other").mkdir()
    other = await House("sqlite", tmp_path / "other").open(agent)
    assert await other.import_(tmp_path / "fork.jsonl", read_only=False) == "run:f1"
    await other.approvals.approve((await other.runs["f1"].approval()).id)
    assert await other.runs["f1"] == "All done."
    await other.close()


async def test_a_fork_of_one_id_is_made_once(house: House) -> None:
    shop = Shop()
    bench, agent, run = await finished(house, shop)

    first = await run.fork(before=2, id="f1")
    await first
    await house.clock.advance(60)

    assert await run.fork(before=2, id="f1") is first
    assert len(ears(agent).requests) == 2
    with pytest.raises(CallConflict, match="the run 'f1' is there already and is not this fork"):
        await run.fork(before=3, id="f1")
    with pytest.raises(CallConflict):
        await run.fork(before=2, edit={"request": "Other words"}, id="f1")
    with pytest.raises(CallConflict):
        await run.fork(before=2, id="r1")
    assert len(bench.runs) == 2


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"before": 9}, r"run 'r1' has no step 9 to fork before; it has t1, t1\.0, t1\.1, t2, t2\.0, "
                        r"t2\.0/charge, t2\.0/mail, t3$"),
        ({"before": "t1.7"}, "no step 't1.7'"),
        ({"before": True}, "no step True"),
        ({"before": None}, "is forked before a step of it, such as before='t2', or with an edit; it has t1, "),
        ({"edit": {"t9": "Hi."}}, "has no 't9' to edit; it has request, instructions, model, agent, t1, "),
        ({"edit": {"t2.0/mail": 1}}, "has no 't2.0/mail' to edit"),
        ({"edit": {"request": " "}}, "the edit 'request' is a text"),
        ({"edit": {"agent": 7}}, "the edit 'agent' is an agent or the name of one, found 7"),
        ({"edit": {"t1": 7}}, "turn 1 of the script has 7"),
        ({"edit": ["t1"]}, r"an edit is a dict such as \{'t1\.0': …\}"),
        ({"before": 1, "edit": {"t2.0": "x"}}, r"a fork of run 'r1' before t1 cannot edit t2\.0"),
        ({"before": 3, "edit": {"t1": "Hi."}}, "a fork of run 'r1' before t3 cannot edit t1: it does not go on from"),
        ({"edit": {"t1.0": object()}}, "the edited result of t1.0"),
    ],
)  # fmt: skip
async def test_a_fork_that_cannot_be_is_refused_by_name(room: House, terms: dict[str, Any], words: str) -> None:
    bench, _, run = await finished(room, Shop())

    with pytest.raises(BadInput, match=words):
        await run.fork(**terms)

    assert len(bench.runs) == 1


async def test_a_bench_without_a_worker_forks_and_runs_nothing(house: House) -> None:
    shop = Shop()
    _, agent, _ = await finished(house, shop)
    reception = await house.open(agent, worker=False)

    fork = await reception.runs["r1"].fork(before=2)

    assert (fork.status, shop.done) == ("queued", [])


async def test_a_run_may_be_forked_while_it_works(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    first = await run.approval()

    forks = [await run.fork(before="t1.0") for _ in range(3)]

    asked = [await fork.approval() for fork in forks]
    assert len({first.id, *(request.id for request in asked)}) == 4
    assert len(ears(agent).requests) == 1


async def test_a_run_whose_model_failed_goes_on_in_a_fork(house: House) -> None:
    shop = Shop()
    bench = await house.open(short := shop.agent("clerk", call("look_up", order_id="A-1")), shop.agent("other"))
    run = bench.run(short, "Refund A-1")
    with pytest.raises(RunFailed, match="the scripted model is asked for turn 2"):
        await run

    fork = await run.fork(before=2, edit={"agent": "other"})

    assert await fork == "Refunded."
    assert shop.done == ["look up A-1", "charge A-1", "mail A-1"]


async def test_a_budget_is_not_spent_again_for_what_is_shared(house: House) -> None:
    shop = Shop()
    bench = await house.open(agent := shop.agent())
    run = bench.run(agent, "Refund A-1", id="r1", budget={"requests": 3, "tool_calls": 3, "tokens": 10_000})
    assert await run == "Refunded."

    fork = await run.fork(before=3, id="f1")

    assert await fork == "Refunded."
    assert run.budget.spent["requests"] == 3
    assert (fork.budget.spent["requests"], fork.budget.spent.get("tool_calls", 0)) == (1, 0)
    own = next(row["tokens"] for row in fork.view()["rows"] if row["id"] == "turn-3")
    assert fork.budget.spent["tokens"] == own < run.budget.spent["tokens"]
    assert fork.budget.limits == run.budget.limits
    twice = await fork.fork(before=2, id="f2")
    assert await twice == "Refunded."
    assert (twice.budget.spent["requests"], twice.budget.spent["tool_calls"]) == (2, 1)


async def test_instructions_made_by_a_function_are_shared_unless_edited(house: House) -> None:
    shop, made = Shop(), list[str]()

    def instructions(info: RunInfo) -> str:
        made.append(info.agent)
        return f"Be nice to {info.request}."

    bench = await house.open(agent := shop.agent(instructions=instructions))
    run = bench.run(agent, "Refund A-1")
    await run
    ears(agent).requests.clear()

    await (await run.fork(before=2))
    assert (made, ears(agent).requests[0].instructions) == (["clerk"], "Be nice to Refund A-1.")
    await (await run.fork(before=2, edit={"instructions": "Be brief."}))
    assert (made, ears(agent).requests[-1].instructions) == (["clerk"], "Be brief.")
    await (await run.fork(before=2, edit={"agent": shop.agent("other")}))
    assert made == ["clerk"]


async def test_the_id_of_another_principals_run_tells_nothing_of_it(room: House) -> None:
    shop = Shop()
    bench, agent, run = await finished(room, shop)
    await bench.run(agent, "What only Bo may know", id="of-bo", principal=Principal("bo", "a2a"))

    with pytest.raises(CallConflict, match="the run 'of-bo' is there already and is not this fork") as caught:
        await run.fork(before=2, id="of-bo")

    assert "only Bo" not in repr((str(caught.value), vars(caught.value)))


async def test_what_was_pruned_cannot_be_shared(house: House) -> None:
    bench, _, run = await finished(house, Shop())
    await house.clock.advance(10)
    await bench.prune(house.clock.now())

    with pytest.raises(BadInput, match="the journal of run 'r1' was pruned; what a fork would share is not there"):
        await run.fork(before=2)

    assert len(bench.runs) == 1
