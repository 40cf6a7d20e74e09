"""What people see and do of conversations: what was said, what waits, what a new message closes."""

from __future__ import annotations

import pytest
from houses import Desk, House, clerk, ears, until

from workbench.agents.context import Principal
from workbench.errors import AlreadyDecided, BadInput, NoCode
from workbench.models.messages import results_of


async def test_a_conversation_shows_what_was_said_and_its_runs(house: House) -> None:
    bench = await house.open(agent := clerk("Hello Ana.", "You are Ana."))
    runs = [bench.run(agent, text, conversation="c") for text in ("I am Ana", "Who am I?")]
    for run in runs:
        await run

    conversation = bench.conversation("c")

    assert [(said["who"], said["text"]) for said in conversation.messages] == [
        ("you", "I am Ana"),
        ("agent", "Hello Ana."),
        ("you", "Who am I?"),
        ("agent", "You are Ana."),
    ]
    assert [run.id for run in conversation.runs] == [run.id for run in runs]
    assert [(row["conversation"], row["runs"], row["status"]) for row in bench.conversations()] == [
        ("c", 2, "completed")
    ]
    assert repr(conversation) == "<Conversation c of notebook:you: 2 runs>"


async def test_what_is_asked_and_waits_is_shown_at_once(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("One."))
    first, second = (bench.run(agent, text, conversation="c") for text in ("Cancel A-1002", "And then?"))
    await first.approval()
    await until(lambda: second.process.activation is not None)

    assert second.view()["now_line"]["text"] == "It waits for the runs before it in conversation 'c'."
    said = [(said["run"], said["text"]) for said in bench.conversation("c").messages]

    assert said == [(first.id, "Cancel A-1002"), (second.id, "And then?")]
    with pytest.raises(BadInput, match="runs that are not over"):
        await bench.conversation("c").forget()


async def test_a_conversation_goes_on_from_its_view(house: House) -> None:
    bench = await house.open(agent := clerk("One.", "Two."))
    await bench.run(agent, "A", conversation="c")

    assert await bench.conversation("c").run(agent, "B") == "Two."


async def test_a_forgotten_conversation_is_told_to_nobody(house: House) -> None:
    bench = await house.open(agent := clerk("One.", "Two."))
    run = bench.run(agent, "A", conversation="c")
    await run

    assert await bench.conversation("c").forget()
    await bench.run(agent, "B", conversation="c")

    assert len(ears(agent).requests[-1].history) == 1
    assert bench.runs[run.id].output == "One."


async def test_a_conversation_without_runs_is_not_there(room: House) -> None:
    bench = await room.open()

    with pytest.raises(NoCode, match="no conversation 'c' in this store"):
        bench.conversation("c")


async def test_a_dismissed_approval_lets_the_next_message_through(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("I left it."))
    run = bench.run(agent, "Cancel A-1002", conversation="c")
    request = await run.approval()

    await bench.approvals.dismiss(request.id)
    following = bench.run(agent, "Something else", conversation="c")

    assert [await run, await following] == ["I left it.", "All done."]
    assert desk.ran == []


async def test_a_new_message_supersedes_what_waits_when_it_is_told_to(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("I left it."))
    run = bench.run(agent, "Cancel A-1002", conversation="c")
    request = await run.approval()

    following = bench.conversation("c").run(agent, "Never mind", supersede=True)

    assert [await run, await following] == ["I left it.", "All done."]
    assert (await bench.approvals.get(request.id)).status == "superseded"
    with pytest.raises(AlreadyDecided):
        await bench.approvals.approve(request.id)
    assert desk.ran == []
    told = [result for message in ears(agent).requests[-1].history for result in results_of(message)]
    assert [result.outcome for result in told] == ["denied"]


async def test_what_supersedes_does_so_also_after_a_restart(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent("I left it."))
    run = first.run(agent, "Cancel A-1002", conversation="c")
    await run.approval()
    await first.close()
    front = await house.open(agent, worker=False)
    following = front.run(agent, "Never mind", conversation="c", supersede=True)
    await front.close()

    bench = await house.open(agent)

    assert [await bench.runs[run.id], await bench.runs[following.id]] == ["I left it.", "All done."]


async def test_another_conversation_supersedes_nothing(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("One."))
    run = bench.run(agent, "Cancel A-1002", conversation="c", principal=Principal("ana", "mcp"))
    request = await run.approval()
    other = bench.run(agent, "Cancel A-1002", conversation="c", supersede=True)

    await other.approval()

    assert (await bench.approvals.get(request.id)).status == "pending"


async def test_a_fork_of_a_run_is_told_what_the_run_was_told(house: House) -> None:
    bench = await house.open(agent := clerk("One.", "Two.", "Three."))
    await bench.run(agent, "A", conversation="c")
    run = bench.run(agent, "B", conversation="c")
    await run
    await bench.run(agent, "C", conversation="c")

    fork = await run.fork(before="t1")

    assert await fork == "Two."
    assert len(ears(agent).requests[-1].history) == 3
    assert [run.id for run in bench.conversation("c").runs].count(fork.id) == 0


async def test_a_conversation_of_many_runs_stays_linear_in_bytes(house: House) -> None:
    words = "w" * 1000
    agent = clerk(*[words] * 60)
    bench = await house.open(agent)

    async def bytes_after(runs: int) -> int:
        for _ in range(runs):
            await bench.run(agent, words, conversation="c")
        kinds = (await bench.store.upkeep.measure()).kinds
        return sum(kind.bytes for kind in kinds.values())

    first, second = await bytes_after(15), await bytes_after(15)

    assert second < 2.1 * first
    assert second < 5 * 30 * 2 * len(words)
