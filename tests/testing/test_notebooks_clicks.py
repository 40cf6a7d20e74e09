"""Clicks as a front end sends them, on both kinds of front end, while cells await."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from books import panels

from workbench.errors import ClickRefused, NotShown
from workbench.testing import Notebook
from workbench.testing.kernel import FrontEnd, Kernel

ASK = "p = Panel()\ndisplay(p)\nawait p.decided.wait()\nprint('decided', p.state['status'])"
both = pytest.mark.parametrize("frontend", ["lab", "plain"])


@both
async def test_a_click_reaches_a_cell_that_awaits(tmp_path: Path, frontend: FrontEnd) -> None:
    notebook = panels(ask=ASK, threads="print(*{name.partition('-')[0] for name in p.threads[-1:]})")

    async with Notebook(notebook, cwd=tmp_path, frontend=frontend) as nb:
        assert await nb.run_until(tag="ask") == "waits"
        assert nb.widget("run")["status"] == "waiting"

        reply = await nb.click("Approve")

        assert reply == {"done": "approve", "id": "r1.1"}
        assert await nb.run_all() == "finished"
        assert nb.output(tag="ask") == "<panel r1 waiting>\ndecided approve"
        assert nb.output(tag="threads") == {"lab": "subshell", "plain": "MainThread"}[frontend]


@both
async def test_a_click_reaches_a_cell_that_has_ended(tmp_path: Path, frontend: FrontEnd) -> None:
    async with Notebook(panels(show="p = Panel()\np"), cwd=tmp_path, frontend=frontend) as nb:
        assert await nb.run_until(tag="show") == "finished"

        await nb.click("Reject", args={"reason": "too much"})

        await nb.until(lambda: nb.widget("r1")["status"] == "reject", "the rejection")
        assert nb.widget("r1")["rows"][0]["approval"]["actions"] == []


async def test_a_refused_click_raises_in_the_kernels_words(tmp_path: Path) -> None:
    async with Notebook(panels(show="p = Panel(refuse='already decided')\np"), cwd=tmp_path) as nb:
        await nb.run_all()

        with pytest.raises(ClickRefused, match="'Approve' in 'run r1' was refused: already decided") as caught:
            await nb.click("Approve")

        assert caught.value.error == "already decided"
        assert nb.widget("run")["status"] == "waiting"


async def test_a_missing_label_names_the_labels_on_offer(tmp_path: Path) -> None:
    async with Notebook(panels(show="p = Panel()\np"), cwd=tmp_path, patience=0.5) as nb:
        await nb.run_all()
        await nb.until(lambda: nb.views[0].offers(), "the hand-shake")

        with pytest.raises(NotShown, match=r"offers no 'Recover' within 0\.5 s") as caught:
            await nb.click("Recover")

        assert caught.value.found == ["Approve", "Reject…", "Kill"]


async def test_a_click_waits_until_its_button_is_enabled(tmp_path: Path) -> None:
    later = """
        import asyncio
        p = Panel(labels=())
        async def ask():
            await asyncio.sleep(0.2)
            p.patch([["set", "/rows/0/approval/actions", [_action("Approve", "r1.1")]]])
        task = asyncio.create_task(ask())
        p
    """

    async with Notebook(panels(show=later), cwd=tmp_path) as nb:
        await nb.run_all()

        assert await nb.click("Approve") == {"done": "approve", "id": "r1.1"}


async def test_a_place_narrows_which_button_is_pressed(tmp_path: Path) -> None:
    notebook = panels(left="a = Panel('left')\na", right="b = Panel('right')\nb", other="c = Panel('third')\nc")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_all()

        assert (await nb.click("Approve", in_="right"))["id"] == "right.1"
        assert (await nb.click("Approve", in_="third"))["id"] == "third.1"
        assert (await nb.click("Approve"))["id"] == "left.1"


async def test_only_what_the_outputs_show_can_be_clicked(tmp_path: Path) -> None:
    notebook = panels(hidden="a = Panel('hidden')\nNone", show="b = Panel('again')\nb")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_all()
        await nb.run("show")

        assert [view.name for view in nb.views] == ["run again"]
        with pytest.raises(NotShown, match="shows no view 'hidden'; it shows 'run again'"):
            nb.widget("hidden")


async def test_patches_are_folded_and_a_missed_one_asks_for_the_whole(tmp_path: Path) -> None:
    notebook = panels(
        show="p = Panel()\np",
        fold="p.patch([['set', '/status', 'one'], ['splice', '/rows', 1, 0, [{'kind': 'message'}]]])",
        lose="p.patch([['set', '/status', 'two']], lost=True)",
        more="p.patch([['set', '/status', 'three'], ['del', '/rows/0']])",
        heard="p.heard",
    )

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_until(tag="fold")
        await nb.until(lambda: nb.widget("run")["status"] == "one", "the patch")
        assert nb.widget("run")["rows"][1:] == [{"kind": "message"}]

        await nb.run_until(tag="more")
        await nb.until(lambda: nb.widget("run")["status"] == "three", "the whole")

        assert nb.widget("run")["rows"] == [{"kind": "message"}]
        assert nb.views[0].revision == 3
        await nb.run_all()
        assert nb.output(tag="heard") == "['hello', 'whole']"


async def test_a_cell_that_answers_an_earlier_question_is_not_taken_for_one_that_waits(tmp_path: Path) -> None:
    answer = "import asyncio\nawait asyncio.sleep(0.6)\np.decide('approve')\n'in code'"

    async with Notebook(panels(show="p = Panel()\np", answer=answer), cwd=tmp_path) as nb:
        await nb.run_until(tag="show")
        await nb.until(lambda: nb.views[0].offers(), "the hand-shake")

        assert await nb.run_all() == "finished"

        assert nb.output(tag="answer") == "'in code'"


async def test_a_busy_cell_is_not_taken_for_one_that_waits(tmp_path: Path) -> None:
    notebook = panels(show="p = Panel()\np", busy="import time\ntime.sleep(2.5)\nprint('worked')")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_until(tag="show")
        await nb.until(lambda: nb.views[0].offers(), "the hand-shake")

        assert await nb.run_until(tag="busy") == "finished"

        assert nb.output(tag="busy") == "worked"


async def test_a_cell_whose_reply_comes_after_a_view_answered_is_not_taken_for_one_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = panels(show="p = Panel()\np", busy="import time\ntime.sleep(2)\nprint('worked')")
    reply = Kernel.reply

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_until(tag="show")
        await nb.until(lambda: nb.views[0].offers(), "the hand-shake")
        answered = nb.views[0].answered

        async def late(kernel: Kernel, id: str) -> dict[str, Any] | None:
            content = await reply(kernel, id)
            await nb.until(lambda: nb.views[0].answered > answered, "the view to answer")
            return content

        monkeypatch.setattr(Kernel, "reply", late)

        assert await nb.run_until(tag="busy") == "finished"
