"""Isolation: what is of one principal is to another as if it were not there; the owner of the bench sees all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from houses import House, clerk, ears

from workbench import Workbench
from workbench.agents.context import Principal
from workbench.errors import CallConflict, NoCode

ANA, BO, OWNER = Principal("ana", "mcp"), Principal("bo", "mcp"), Principal("you", "cli")


def test_the_owner_sees_all_and_others_what_is_theirs() -> None:
    assert [OWNER.may_see(who) for who in (OWNER, ANA, BO, Principal())] == [True] * 4
    assert [ANA.may_see(who) for who in (ANA, BO, OWNER, Principal())] == [True, False, False, False]
    assert not ANA.may_see(Principal("ana", "a2a"))
    assert not Principal("you", "mcp").is_owner


@pytest.fixture
async def bench(house: House) -> Workbench:
    """A bench on which Ana has a run in the conversation `c`, and its owner has one."""
    bench = await house.open(agent := clerk("The code is 1234.", "Again.", "And again."))
    await bench.run(agent, "My code is 1234", id="of-ana", conversation="c", principal=ANA)
    await bench.run(agent, "Mine", id="of-owner")
    return bench


REACHES: dict[str, Callable[[Workbench, str], Any]] = {
    "run": lambda bench, id: bench.runs.get(id, principal=BO),
    "compare a": lambda bench, id: bench.compare(id, "of-bo", principal=BO),
    "compare b": lambda bench, id: bench.compare("of-bo", id, principal=BO),
    "conversation": lambda bench, id: bench.conversation({"of-ana": "c", "of-owner": "d"}.get(id, id), principal=BO),
}


@pytest.mark.parametrize("reach", REACHES.values(), ids=REACHES.keys())
@pytest.mark.parametrize("theirs", ["of-ana", "of-owner"])
async def test_anothers_id_is_as_an_unknown_one(bench: Workbench, reach: Callable[..., Any], theirs: str) -> None:
    bench.run(bench.agents["clerk"], "Hello", id="of-bo", principal=BO)

    with pytest.raises(NoCode) as foreign:
        reach(bench, theirs)
    with pytest.raises(NoCode) as unknown:
        reach(bench, "no-such")

    name = foreign.value.name
    assert str(foreign.value).replace(repr(name), "X") == str(unknown.value).replace("'no-such'", "X")


async def test_lists_and_their_lengths_have_only_ones_own(bench: Workbench) -> None:
    agent = bench.agents["clerk"]
    await bench.run(agent, "Hello 1234", id="of-bo", principal=BO, conversation="c")

    assert [run.id for run in bench.runs.find(principal=BO)] == ["of-bo"]
    assert [run.id for run in bench.runs.find(text="1234", principal=BO)] == ["of-bo"]
    assert [run.id for run in bench.runs.find(conversation="c", principal=BO)] == ["of-bo"]
    assert [(row["principal"], row["runs"]) for row in bench.conversations(principal=BO)] == [("mcp:bo", 1)]
    assert bench.conversation("c", principal=BO).messages[0]["text"] == "Hello 1234"
    assert len(bench.runs.find(principal=OWNER)) == len(bench.runs.find()) == 3
    assert len(bench.conversations(principal=OWNER)) == len(bench.conversations) == 2


async def test_a_model_is_told_nothing_of_anothers_conversation(bench: Workbench) -> None:
    agent = bench.agents["clerk"]

    await bench.run(agent, "What is my code?", conversation="c", principal=BO)

    assert len(ears(agent).requests[-1].history) == 1


async def test_an_id_that_another_has_is_refused_without_saying_what_it_is(bench: Workbench) -> None:
    agent = bench.agents["clerk"]

    for theirs in ("of-ana", "of-owner"):
        with pytest.raises(CallConflict) as caught:
            bench.run(agent, "My code is 1234", id=theirs, conversation="c", principal=BO)
        assert str(caught.value) == f"the id {theirs!r} cannot be used; choose another one for a new run"
        assert caught.value.first is None


async def test_the_owner_is_told_whose_an_id_is(bench: Workbench) -> None:
    with pytest.raises(CallConflict, match=r"of mcp:ana .* of cli:you"):
        bench.run(bench.agents["clerk"], "My code is 1234", id="of-ana", conversation="c", principal=OWNER)


async def test_a_run_whose_first_message_was_pruned_is_the_owners(bench: Workbench, house: House) -> None:
    await bench.prune(house.clock.now() + 1)

    with pytest.raises(NoCode):
        bench.runs.get("of-ana", principal=ANA)

    assert bench.runs.get("of-ana", principal=OWNER).id == "of-ana"
