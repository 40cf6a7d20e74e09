"""Stages of a process: a graph that is data, kept to, journaled once, and drawn with the way that was taken."""

from __future__ import annotations

from typing import Any

import pytest
from places import Place

from workbench import Call, durable
from workbench.durable.stages import Stages
from workbench.errors import BadInput, DeadLettered

STAGES = {"idle": ["researching"], "researching": ["writing"], "writing": ["reviewing", "researching"]}


def desk(*ways: list[str], stages: Any = STAGES) -> Any:
    """A process that goes one way through its stages for each call."""

    @durable(key="desk", stages=stages)
    async def desk(ctx: Any) -> Any:
        state = ctx.restored or {"stage": "idle"}
        yield state
        async for message in ctx:
            match message:
                case Call({"way": number}, reply):
                    for stage in ways[number]:
                        await ctx.step(f"work on {stage}", lambda: None)
                        state = state | {"stage": stage}
                        yield state
                    reply(state["stage"])
            yield state

    return desk


def taken(graph: dict[str, Any]) -> dict[tuple[str, str], int]:
    """How often each declared transition was taken."""
    return {(edge["source"], edge["target"]): edge["taken"] for edge in graph["edges"] if edge["declared"]}


def marks(bench: Any) -> list[tuple[Any, Any]]:
    """The transitions in the journal, in order."""
    rows = [row["value"] for row in bench.journal("desk") if row["kind"] == "stage"]
    return [(move["from"], move["to"]) for move in rows]


async def test_a_declared_way_is_journaled_and_drawn(place: Place) -> None:
    definition = desk(["researching", "writing", "researching"])
    bench = await place.open(definition)
    process = bench.lookup(definition)

    assert await process.call({"way": 0}, id="c1") == "researching"

    graph = process.source().view()["stages"]
    assert graph["stages"] == ["idle", "researching", "writing", "reviewing"]
    assert graph["path"] == ["idle", "researching", "writing", "researching"]
    assert graph["current"] == "researching"
    assert taken(graph) == {
        ("idle", "researching"): 1,
        ("researching", "writing"): 1,
        ("writing", "reviewing"): 0,
        ("writing", "researching"): 1,
    }
    assert marks(bench) == [("idle", "researching"), ("researching", "writing"), ("writing", "researching")]


async def test_an_undeclared_transition_names_both_and_what_is_declared(place: Place) -> None:
    definition = desk(["researching"], ["reviewing"])
    bench = await place.open(definition)
    process = bench.lookup(definition)
    await process.call({"way": 0}, id="c1")

    with pytest.raises(
        DeadLettered,
        match="BadInput: 'desk' goes from 'researching' to 'reviewing', which is not declared; "
        "after 'researching' comes 'writing'",
    ):
        await process.call({"way": 1}, id="c2")

    assert (process.state, marks(bench)) == ({"stage": "researching"}, [("idle", "researching")])


async def test_a_transition_that_is_made_again_by_a_replay_is_journaled_once(place: Place) -> None:
    definition = desk(["researching", "writing", "reviewing"])
    bench = await place.open(definition)
    process = bench.lookup(definition)
    calling = process.call({"way": 0}, id="c1")
    await process.until(lambda state: state["stage"] == "writing")
    await place.crash(bench)
    calling.cancel()

    again = await place.open(definition)

    assert await again.lookup(definition).call({"way": 0}, id="c1") == "reviewing"
    assert marks(again) == [("idle", "researching"), ("researching", "writing"), ("writing", "reviewing")]


async def test_a_process_begins_at_its_first_stage_and_always_says_one(place: Place) -> None:
    definition = desk(["nowhere"])
    begins = desk(stages={"writing": ["idle"]})

    bench = await place.open(definition)
    process = bench.lookup(definition)
    with pytest.raises(DeadLettered, match="'desk' has the stage 'nowhere', which is not declared; the stages of desk"):
        await process.call({"way": 0}, id="c1")
    other = begins
    other.name = "other"
    other.key_of = lambda args: "other"
    bench.add(other)
    late = bench.lookup(other)
    await place.clock.advance(1)
    assert late.status == "crashed"
    assert "'other' begins at 'idle', which is not declared; desk begins at 'writing'" in str(late.error)


async def test_one_without_stages_is_drawn_without(place: Place) -> None:
    definition = desk(stages=None)
    bench = await place.open(definition)
    process = bench.lookup(definition)
    await process.until(lambda state: True)

    assert process.source().view()["stages"] is None


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ({}, "the stages of a desk are a dict of stages"),
        (["idle"], "the stages of a desk are a dict of stages"),
        ({"idle": "writing"}, "what may follow stage 'idle' of a desk is a list of stages, found 'writing'"),
        ({"idle": [3]}, "a stage of a desk is named by a text, found 3"),
        ({"": ["idle"]}, "a stage of a desk is named by a text, found ''"),
    ],
)
def test_what_is_no_graph_of_names_is_refused(stages: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Stages(stages, "a desk")


def test_a_way_of_older_code_is_drawn_as_undeclared() -> None:
    graph = Stages({"idle": ["writing"]}, "a desk").graph(["idle", "sketching", "writing"])

    assert graph["stages"] == ["idle", "writing", "sketching"]
    assert [(edge["target"], edge["declared"], edge["taken"]) for edge in graph["edges"]] == [
        ("writing", True, 0),
        ("sketching", False, 1),
        ("writing", False, 1),
    ]
