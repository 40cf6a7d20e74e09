"""A comparison in a cell: its window follows both runs, and its saved picture reads without a kernel."""

from __future__ import annotations

import re

from views import comparison

from workbench import Agent, Workbench, compare, models
from workbench.widgets import display, static_twin


def test_a_comparison_reads_as_figures_and_a_table_of_both() -> None:
    html, text = static_twin.html(comparison()), static_twin.text(comparison())

    plain = re.sub(r"<svg.*?</svg>|<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
    assert "A: run-1" in plain
    assert "B: run-2" in plain
    assert "<b>lost</b>" not in html  # what came from outside is text
    assert "1 row of 1 differ" in text.splitlines()[0]
    assert "model calls 1 | 1, 1 shared" in text
    assert 'result: "paid" → "<b>lost</b>"' in text
    assert "shared with the other run" in text


def test_equal_runs_say_so_in_one_line() -> None:
    assert static_twin.line(comparison(differ=0)) == "<run-1 and run-2: the same>"


async def test_the_window_of_a_comparison_follows_both_runs() -> None:
    agent = Agent("clerk", model=models.scripted("Good morning."))
    other = Agent("other", model=models.scripted("Good evening."))
    async with Workbench.open(":memory:", agent, other) as bench:
        a, b = bench.run(agent, "Hello", id="a"), bench.run(other, "Hello", id="b")
        window = display.window(compare(a, b))
        await a, await b

        state = window.get_state("state")["state"]

        assert (state["kind"], state["a"]["status"], state["b"]["status"]) == ("compare", "completed", "completed")
        assert [row["how"] for row in state["rows"]] == ["same", "changed"]
        assert [piece["text"] for piece in state["rows"][1]["pieces"]] == ["Good ", "morning", "evening", "."]
        window.close()
