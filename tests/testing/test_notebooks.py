"""Running notebooks in real kernels: outputs, tags, errors, the copy that is saved."""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import pytest
from books import book

from workbench.errors import CellFailed, NotShown, TookTooLong
from workbench.testing import Notebook


async def test_a_run_stops_after_the_tagged_cell(tmp_path: Path) -> None:
    notebook = book(one="print('hello')\n6 * 7", two="raise SystemError('not reached')")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        outcome = await nb.run_until(tag="one")

        assert outcome == "finished"
        assert nb.output(tag="one") == "hello\n42"
        assert nb.output(tag="two") == ""
        assert nb.errors == []


async def test_the_next_run_carries_on_where_it_stands(tmp_path: Path) -> None:
    notebook = book(one="n = 1", two="n += 1", three="n += 1\nn")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_until(tag="two")
        await nb.run_all()
        await nb.run("three")

        assert nb.output(tag="three") == "4"
        assert [moment.subject for moment in nb.timeline if moment.what == "began"] == ["one", "two", "three", "three"]


async def test_a_cell_that_has_run_is_not_run_again_by_run_until(tmp_path: Path) -> None:
    async with Notebook(book(one="1", two="2"), cwd=tmp_path) as nb:
        await nb.run_until(tag="two")

        assert await nb.run_until(tag="two") == "finished"
        with pytest.raises(NotShown, match=r"cell 'one' of 'a notebook' has already run; nb\.run\('one'\)"):
            await nb.run_until(tag="one")


async def test_a_failing_cell_raises_with_its_traceback(tmp_path: Path) -> None:
    async with Notebook(book(fine="1", broken="{}['order']", after="2"), cwd=tmp_path) as nb:
        with pytest.raises(CellFailed, match="cell 'broken' of 'a notebook' raised KeyError: 'order'") as caught:
            await nb.run_all()

        assert (caught.value.cell, caught.value.ename) == ("broken", "KeyError")
        assert "{}['order']" in caught.value.__notes__[0]
        assert [(error.cell, error.ename, error.evalue) for error in nb.errors] == [("broken", "KeyError", "'order'")]
        assert nb.output(tag="broken") == "KeyError: 'order'"
        assert nb.output(tag="after") == ""


async def test_an_error_shown_on_purpose_is_no_error(tmp_path: Path) -> None:
    notebook = book(shown__raises_exception="1 / 0", after="'went on'")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"

        assert nb.errors == []
        assert nb.output(tag="shown") == "ZeroDivisionError: division by zero"
        assert nb.output(tag="after") == "'went on'"


async def test_with_allow_errors_the_run_goes_on(tmp_path: Path) -> None:
    async with Notebook(book(broken="1 / 0", after="2"), cwd=tmp_path, allow_errors=True) as nb:
        await nb.run_all()

        assert [error.cell for error in nb.errors] == ["broken"]
        assert nb.output(tag="after") == "2"


async def test_text_empty_and_skipped_cells_do_not_run(tmp_path: Path) -> None:
    notebook = book(empty=" ", skipped__skip_execution="1 / 0", last="'ran'")
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# A lesson"))

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_all()

        assert [moment.subject for moment in nb.timeline if moment.what == "began"] == ["last"]


async def test_an_unknown_tag_names_the_tags_there_are(tmp_path: Path) -> None:
    async with Notebook(book(one="1", two="2"), cwd=tmp_path) as nb:
        with pytest.raises(NotShown, match="'a notebook' has no cell tagged 'three'; its tags are 'one', 'two'"):
            await nb.run_until(tag="three")


async def test_what_a_task_prints_later_stays_with_its_cell(tmp_path: Path) -> None:
    start = """
        import asyncio
        go = asyncio.Event()
        async def work():
            await go.wait()
            print("said later")
        task = asyncio.create_task(work())
        print("started")
    """
    notebook = book(start=start, release="go.set()", other="1")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_until(tag="start")
        assert nb.output(tag="start") == "started"

        await nb.run_all()
        await nb.until(lambda: "later" in nb.output(tag="start"), "the task's output")

        assert nb.output(tag="start") == "started\nsaid later"
        assert nb.output(tag="other") == "1"


async def test_what_no_message_tells_is_waited_for_too(tmp_path: Path) -> None:
    start = """
        import pathlib, threading
        threading.Timer(0.5, lambda: pathlib.Path("done").touch()).start()
    """
    async with Notebook(book(start=start), cwd=tmp_path) as nb:
        await nb.run("start")
        began = time.monotonic()
        await nb.until((tmp_path / "done").exists, "the file", timeout=30)

        assert time.monotonic() - began < 15


async def test_what_an_earlier_run_of_a_cell_still_prints_is_not_shown(tmp_path: Path) -> None:
    start = """
        import asyncio
        go, number = asyncio.Event(), globals().get("number", 0) + 1
        async def work(go=go, number=number):
            await go.wait()
            print("from run", number)
        tasks = globals().get("tasks", []) + [(go, asyncio.create_task(work()))]
    """
    release = "for go, task in tasks:\n    go.set()\n    await task"

    async with Notebook(book(start=start, release=release), cwd=tmp_path) as nb:
        await nb.run_until(tag="start")
        await nb.run("start")
        await nb.run("release")
        await nb.until(lambda: "run 2" in nb.output(tag="start"), "the task's output")

        assert nb.output(tag="start") == "from run 2"
        assert nb.output(tag="release") == ""


async def test_a_display_is_updated_from_another_cell(tmp_path: Path) -> None:
    show = "from IPython.display import display\nhandle = display({'step': 1}, display_id=True)"
    notebook = book(show=show, update="handle.update({'step': 2})")

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_all()

        assert nb.output(tag="show") == "{'step': 2}"
        assert nb.output(tag="update") == ""


async def test_clearing_and_streams_show_as_in_a_front_end(tmp_path: Path) -> None:
    source = """
        import sys
        from IPython.display import clear_output
        print("gone"); sys.stdout.flush()
        clear_output(wait=True)
        print("one"); sys.stdout.flush()
        print("two"); sys.stdout.flush()
        print("aside", file=sys.stderr)
    """

    async with Notebook(book(cell=source), cwd=tmp_path) as nb:
        await nb.run_all()

        assert [(output.name, output.text) for output in nb.outputs(tag="cell")] == [
            ("stdout", "one\ntwo\n"),
            ("stderr", "aside\n"),
        ]


async def test_the_file_is_left_alone_and_the_copy_is_complete(tmp_path: Path) -> None:
    source, target = tmp_path / "lesson.ipynb", tmp_path / "artifacts" / "lesson.ipynb"
    nbformat.write(book(one="'done'"), source)
    before = source.read_bytes()

    async with Notebook(source) as nb:
        await nb.run_all()
        await nb.save(target)

    assert source.read_bytes() == before
    saved = nbformat.read(target, as_version=4)
    nbformat.validate(saved)
    assert saved.cells[0].outputs[0].data["text/plain"] == "'done'"
    assert "widgets" not in saved.metadata


async def test_the_kernel_runs_in_its_folder_with_its_environment(tmp_path: Path) -> None:
    source = "import os\nprint(os.getcwd(), os.environ['SHOP'])"

    async with Notebook(book(where=source), cwd=tmp_path, env={"SHOP": "open"}) as nb:
        await nb.run_all()

        assert nb.output(tag="where") == f"{tmp_path} open"


async def test_a_cell_without_end_says_what_was_seen_last(tmp_path: Path) -> None:
    notebook = book(stuck="import asyncio\nprint('half way', flush=True)\nawait asyncio.Event().wait()")

    async with Notebook(notebook, cwd=tmp_path, timeout=1.0) as nb:
        with pytest.raises(TookTooLong, match="waited 1 s for cell 'stuck' to finish in 'a notebook'") as caught:
            await nb.run_all()

        assert caught.value.__notes__[0] == "cell 'stuck' put out:\nhalf way"
        assert caught.value.__notes__[1] == "on offer: none"


async def test_a_failure_in_the_background_is_not_lost(tmp_path: Path) -> None:
    notebook = book(late="import asyncio\nawait asyncio.sleep(0)\nraise LookupError('late')")

    async def leave() -> None:
        async with Notebook(notebook, cwd=tmp_path) as nb:
            await nb.begin("late")
            await nb.until(lambda: nb.errors, "the error")

    with pytest.raises(CellFailed, match="raised LookupError: late"):
        await leave()
