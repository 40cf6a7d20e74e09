"""Histories: whatever a model sends and wherever a run dies, the next request is one that a provider takes."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from houses import House, clerk, ears, until
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import tool
from workbench.errors import AlreadyDecided
from workbench.models.library import messages_of
from workbench.models.script import call, raw_call

TOOLS = ("add", "boom", "ask", "missing")
ARGS = json.dumps({"a": 1, "b": 2, "note": "a “quoted” \\ line\n", "deep": [[{"x": None}], True]}, ensure_ascii=False)
raw_text = st.one_of(
    st.integers(0, len(ARGS)).map(lambda cut: ARGS[:cut]),
    st.text(max_size=20),
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3), st.lists, max_leaves=5).map(json.dumps),
)
raw_turn = st.lists(st.tuples(st.sampled_from(TOOLS), raw_text), min_size=1, max_size=3)


def add(a: int, b: int, note: str = "", deep: Any = None) -> int:
    """Add."""
    return a + b


def boom(note: str = "") -> None:
    """Fail."""
    raise OSError(note)


@tool(approval=True)
def ask(note: str = "") -> str:
    """Ask a person first."""
    return "done"


def assert_valid(history: list[dict[str, Any]]) -> None:
    """Every call has one result, at once, in order; the last message is not the model's; the library reads it all."""
    waiting: list[str] = []
    for message in history:
        parts = message["json"]["parts"]
        results = [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-return"]
        assert results == waiting
        waiting = [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"]
        assert len(set(waiting)) == len(waiting)
        json.dumps(parts, allow_nan=False).encode()
    assert history[-1]["json"]["kind"] == "request"
    assert len(messages_of(history)) == len(history)


def on_a_bench(story: Any) -> None:
    async def told() -> None:
        with tempfile.TemporaryDirectory() as folder:
            house = House("memory", Path(folder))
            try:
                async with asyncio.timeout(30):
                    await story(house)
            finally:
                await house.close()

    asyncio.run(told())


@settings(max_examples=40, deadline=None)
@given(st.lists(raw_turn, min_size=1, max_size=3), st.booleans())
def test_any_text_as_arguments_leaves_a_history_that_can_be_sent(
    turns: list[list[tuple[str, str]]], approves: bool
) -> None:
    script = [[raw_call(name, text) for name, text in turn] for turn in turns]

    async def story(house: House) -> None:
        bench = await house.open(agent := clerk(*script, "Done.", tools=[add, boom, ask], retries=9))
        run = bench.run(agent, "Go")
        while run.status not in ("completed", "failed"):
            await until(lambda: run.status in ("completed", "failed") or bench.approvals.pending())
            for request in bench.approvals.pending():
                await (bench.approvals.approve if approves else bench.approvals.reject)(request.id)

        assert await run == "Done."
        for request in ears(agent).requests:
            assert_valid(request.history)

    on_a_bench(story)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 14), max_size=3),
    st.lists(st.sampled_from(["approve", "reject", "edit", "dismiss"]), min_size=4, max_size=4),
    st.booleans(),
)
def test_any_crash_decision_or_cancel_leaves_a_history_that_can_be_sent(
    crashes: list[int], decisions: list[str], cancels: bool
) -> None:
    script = [
        [call("add", a=1, b=2), call("ask", note="first"), raw_call("add", '{"a": 1, ')],
        [call("ask", note="second"), call("boom", note="x"), call("missing")],
    ]

    async def story(house: House) -> None:
        bench = await house.open(agent := clerk(*script, "Done.", tools=[add, boom, ask]))
        run = bench.run(agent, "Go", id="r1")
        deaths, left = sorted(crashes), list(decisions)

        def over() -> bool:
            return run.status in ("completed", "failed", "cancelled")

        while not over():
            await until(
                lambda: over() or bench.approvals.pending() or (deaths and len(bench.journal("r1")) >= deaths[0])
            )
            if deaths and len(bench.journal("r1")) >= deaths[0] and not over():
                del deaths[0]
                await run.kill()
                await run.recover()
                continue
            for request in bench.approvals.pending():
                await decide(bench, request, left.pop())
                if cancels and not left:
                    await run.cancel()

        assert run.status == "completed" or (cancels and run.status == "cancelled")
        for request in ears(agent).requests:
            assert_valid(request.history)

    on_a_bench(story)


async def decide(bench: Any, request: Any, how: str) -> None:
    try:
        match how:
            case "approve" | "reject" | "dismiss":
                await getattr(bench.approvals, how)(request.id)
            case "edit":
                await bench.approvals.approve(request.id, args={"note": "changed"})
    except AlreadyDecided:
        pass
