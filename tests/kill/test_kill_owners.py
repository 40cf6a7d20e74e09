"""Two kernels on one file: each runs what it owns, either decides for both, and a dead one's work is taken over."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from lives import STORY, Life, lines

OPEN = f"""{STORY}
bench = await Workbench.open("agents.db", support())
async def ask(id):
    run = bench.run("support", "Charge and cancel A-1001", id=id)
    return run, await run.approval()
"""


async def test_two_kernels_share_a_file_and_each_runs_what_it_owns(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(f"{OPEN}\nrun, request = await ask('r1')")

        seen = await second.run(
            f"{OPEN}\nprint({{k: h.pid for k, h in bench.elsewhere.items()}}, bench.runs['r1'].alive)"
        )
        mine = await second.run(
            "run, request = await ask('r2')\nawait bench.approvals.approve(request.id)\nprint(await run)"
        )

        assert seen == f"{{'run:r1': {first.kernel.pid}}} True"
        assert mine == "All done."
        assert Counter(line.split()[0] for line in lines(tmp_path / "effects")) == {"charge": 2, "mail": 2, "cancel": 1}


async def test_a_decision_in_one_kernel_wakes_the_run_in_the_other(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(f"{OPEN}\nrun, request = await ask('r1')\nprint(request.id)")
        awaiting = first.begin("import time\nprint(await run, time.time())")
        decided = await second.run(
            f"{OPEN}\nimport time\n(request,) = bench.approvals.pending()\n"
            "await bench.approvals.approve(request.id)\nprint(time.time())"
        )
        output, at = (await first.end_of(awaiting)).rsplit(" ", 1)
        followed = await second.run("print(await bench.runs['r1'], bench.runs['r1'].view()['elsewhere'])")

    assert output == "All done."
    assert float(at) - float(decided) < 5.0
    assert followed.startswith("All done.")
    assert lines(tmp_path / "effects")[-1] == "cancel run:r1#1#t2.0"


async def test_after_the_death_of_its_owner_a_run_is_taken_over_by_opening_again(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        asked = await first.run(f"{OPEN}\nrun, request = await ask('r1')\nprint(request.id)")
        await second.run(
            f"{OPEN}\nrun = bench.runs['r1']\nassert run.view()['elsewhere'] and not run.process.activation"
        )

        await first.kill()
        again = await second.run(
            "same = await Workbench.open('agents.db', support())\n"
            "request = await run.approval()\n"
            "print(same is bench, bench.elsewhere, request.id, run.view()['elsewhere'])"
        )
        output = await second.run("await bench.approvals.approve(request.id)\nprint(await run, run.view()['alive'])")

    assert again == f"True {{}} {asked} None"
    assert output == "All done. True"
    assert set(Counter(lines(tmp_path / "effects")).values()) == {1}
    assert [json.loads(line)["turn"] for line in lines(tmp_path / "turns")] == [0, 1, 2]


async def test_a_run_of_a_dead_owner_is_taken_over_without_anyone_asking(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(f"{OPEN}\nrun, request = await ask('r1')")
        await second.run(f"{OPEN}\nrun = bench.runs['r1']\nassert not run.process.activation")

        await first.kill()
        output = await second.run(
            "await run.until(lambda state: run.process.activation is not None)\n"
            "await bench.approvals.approve((await run.approval()).id)\nprint(await run)"
        )

    assert output == "All done."


async def test_opening_again_in_one_kernel_is_the_same_bench_with_new_definitions(tmp_path: Path) -> None:
    async with Life(tmp_path) as life:
        await life.run(f"{OPEN}\nrun, request = await ask('r1')")

        same = await life.run(
            "turns = [models.call(name, order_id='A-1001') for name in ('charge', 'cancel_order')]\n"
            "new = Agent('support', tools=[charge, cancel_order], model=models.scripted(*turns, 'New words.'))\n"
            "again = await Workbench.open('./agents.db', new)\n"
            "print(again is bench, bench.agents['support'] is new, len(bench.store.activations_now('run:r1')))"
        )
        await life.run("await run.kill()\nawait run.recover()")
        output = await life.run("await bench.approvals.approve(request.id)\nprint(await run)")

    assert same == "True True 1"
    assert output == "New words."


HOLD = f"""{STORY}
import asyncio
do_without()
bench = await Workbench.open("agents.db", order)
a1 = bench.lookup(order, id="A-1001")
await a1.cast({{"add": 30}})
answer = asyncio.ensure_future(a1.call({{"charge": "A-1001"}}, id="charge-A-1001"))
"""
TAKE = f"""{STORY}
bench = await Workbench.open("agents.db", order)
await bench.store.claim("order:A-1001", force=True)
a1 = bench.lookup(order, id="A-1001")
print(await a1.call({{"charge": "A-1001"}}, id="charge-A-1001"), a1.state)
"""
SETTLE = """
async with asyncio.timeout(30):
    await asyncio.wait([answer])
error = answer.exception()
print(type(error).__name__, type(a1.error).__name__, a1.error)
"""


def check_one_line_of_work(folder: Path) -> None:
    """The cut charge is there twice under one key, everything after it once."""
    assert lines(folder / "effects") == [
        "charge order:A-1001#2##charge#0",
        "charge order:A-1001#2##charge#0",
        "mail order:A-1001#2##mail#0",
    ]


async def taken_over(folder: Path, without: str) -> tuple[str, str]:
    """Take an order from a kernel that is inside a step, and let that go on; gives what either said."""
    async with Life(folder, STOP_AT="inside-charge", WITHOUT=without) as first, Life(folder) as second:
        await first.run(HOLD)
        await first.reached("inside-charge")
        taken = await second.run(TAKE)

        (folder / "go").touch()
        return taken, await first.run(SETTLE)


async def test_a_fenced_kernel_writes_nothing_and_says_who_took_over(tmp_path: Path) -> None:
    taken, fenced = await taken_over(tmp_path, without="")

    check_one_line_of_work(tmp_path)
    assert taken == "30 {'total': 30, 'receipts': ['charge done for A-1001']}"
    assert fenced.startswith("ProcessEnded OwnedElsewhere 'order:A-1001' now belongs to pid ")


async def test_without_fencing_the_work_after_the_step_is_done_twice(tmp_path: Path) -> None:
    await taken_over(tmp_path, without="fencing")

    with pytest.raises(AssertionError):
        check_one_line_of_work(tmp_path)


async def test_a_dead_kernel_is_known_dead_before_anyone_has_reaped_it(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(f"{OPEN}\nrun, request = await ask('r1')")
        os.kill(first.kernel.pid, 9)

        seen = await second.run(f"{OPEN}\nprint(bench.elsewhere, bench.runs['r1'].alive)")

    assert seen == "{} True"
