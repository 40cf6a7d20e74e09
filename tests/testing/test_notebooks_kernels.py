"""Kernels that are killed, restarted and interrupted under a notebook."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from books import book, panels

from workbench.errors import KernelDied, NotShown
from workbench.testing import Notebook

NAP = "import time\nprint('asleep', flush=True)\ntime.sleep(60)"
WAIT = "import asyncio\nprint('waiting', flush=True)\nawait asyncio.Event().wait()"


@pytest.mark.parametrize("source", [NAP, WAIT])
async def test_a_killed_kernel_ends_the_running_cell_and_keeps_its_outputs(tmp_path: Path, source: str) -> None:
    async with Notebook(book(before="'kept'", nap=source), cwd=tmp_path) as nb:
        await nb.begin("nap")
        await nb.until(lambda: nb.output(tag="nap"), "the first words")
        pid = nb.pid

        await nb.kill()

        assert not nb.alive
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert (nb.output(tag="before"), nb.output(tag="nap")) == ("'kept'", source.split("'")[1])
        assert [moment.what for moment in nb.timeline[-2:]] == ["killed", "died"]


async def test_after_a_kill_a_run_says_that_there_is_no_kernel(tmp_path: Path) -> None:
    async with Notebook(book(nap=NAP, after="1"), cwd=tmp_path) as nb:
        await nb.begin("nap")
        await nb.kill()

        with pytest.raises(
            KernelDied, match=r"cell 'nap' ran, but the kernel of 'a notebook' is dead; await nb\.restart\(\)"
        ):
            await nb.run_all()
        with pytest.raises(KernelDied, match="there is no kernel to run cell 'after'"):
            await nb.run("after")


async def test_a_restart_runs_everything_again_in_another_kernel(tmp_path: Path) -> None:
    notebook = book(
        count="from pathlib import Path\nlog = Path('log')\nlog.open('a').write('x')\nlog.read_text()",
        nap="import time\nprint('asleep', flush=True)\nif log.read_text() == 'x': time.sleep(60)",
    )

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.begin("nap")
        await nb.until(lambda: nb.output(tag="nap"), "the nap")
        first = nb.pid
        await nb.kill()

        await nb.restart()
        assert await nb.run_all() == "finished"

        assert nb.pid != first
        assert nb.output(tag="count") == "'xx'"
        assert nb.errors == []


async def test_a_live_kernel_is_restarted_as_a_front_end_does(tmp_path: Path) -> None:
    source = "import atexit, pathlib\natexit.register(lambda: pathlib.Path('left').touch())"

    async with Notebook(book(one=source), cwd=tmp_path) as nb:
        await nb.run_all()
        await nb.restart()

        assert (tmp_path / "left").exists()
        assert await nb.run_all() == "finished"


async def test_a_kernel_that_ends_itself_is_reported_with_the_cell(tmp_path: Path) -> None:
    source = "import os, sys\nprint('last words', file=sys.__stderr__, flush=True)\nos._exit(3)"

    async with Notebook(book(fatal=source), cwd=tmp_path) as nb:
        with pytest.raises(KernelDied, match="cell 'fatal' ran, but the kernel") as caught:
            await nb.run_all()

        assert caught.value.cell == "fatal"
        assert "last words" in caught.value.__notes__[0]


async def test_views_of_a_dead_kernel_keep_their_picture_and_offer_nothing(tmp_path: Path) -> None:
    async with Notebook(panels(show="p = Panel()\np"), cwd=tmp_path, patience=0.5) as nb:
        await nb.run_all()
        await nb.until(lambda: nb.views[0].offers(), "the hand-shake")

        await nb.kill()
        assert nb.widget("run")["status"] == "waiting"
        with pytest.raises(KernelDied, match="'Approve' cannot be clicked, but the kernel"):
            await nb.click("Approve")

        await nb.restart()
        with pytest.raises(NotShown, match="offers no 'Approve'"):
            await nb.click("Approve")
        await nb.run_all()
        assert await nb.click("Approve") == {"done": "approve", "id": "r1.1"}


async def test_an_interrupt_ends_a_busy_cell(tmp_path: Path) -> None:
    async with Notebook(book(nap__raises_exception=NAP, after="'alive'"), cwd=tmp_path) as nb:
        await nb.begin("nap")
        await nb.until(lambda: nb.output(tag="nap"), "the nap")

        await nb.interrupt()
        await nb.run_all()

        assert nb.output(tag="nap").startswith("asleep\nKeyboardInterrupt")
        assert nb.output(tag="after") == "'alive'"
