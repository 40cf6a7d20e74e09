"""The command line: the same verbs as Python's, on a store that a bench has open."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

from workbench import Agent, Workbench, tool
from workbench.cli import main


@tool(approval=True)
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return f"{order_id} cancelled"


@pytest.fixture
def support():
    return Agent("support", tools=[cancel_order], model="offline")


async def command(*words):
    """Run a command in a process of its own; gives exit status, output, errors."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_an_approval_on_the_command_line_moves_a_run_in_another_process(tmp_path, support):
    store = tmp_path / "agents.db"
    async with Workbench.open(store, support) as bench:
        run = bench.run(support, "Cancel order A-1002")
        request = await run.approval()

        status, out, err = await command("approve", request.id, "--by", "ana", "--store", str(store))
        output = await asyncio.wait_for(run, 10)
        decided = await bench.approvals.get(request.id)

    assert (status, err) == (0, "")
    assert out == f"{request.id} approved: cancel_order of {run.id}\n"
    assert output == "A-1002 cancelled."
    assert (decided.decided_by, decided.via) == ("ana", "cli")


async def test_a_second_decision_is_refused_by_the_name_of_the_first(tmp_path, support):
    store = tmp_path / "agents.db"
    async with Workbench.open(store, support) as bench:
        run = bench.run(support, "Cancel order A-1002")
        request = await run.approval()
        await bench.approvals.reject(request.id, "not today", by="bo")

        status, out, err = await command("approve", request.id, "--store", str(store))

    assert (status, out) == (1, "")
    assert err == f"workbench: {request.id!r} is already rejected, by bo; the first decision stands\n"


async def test_runs_show_and_journal_print_what_the_store_has(tmp_path, support):
    store = tmp_path / "agents.db"
    async with Workbench.open(store, support) as bench:
        run = bench.run(support, "Cancel order A-1002", id="one")
        await bench.approvals.approve((await run.approval()).id)
        await run

    _, runs, _ = await command("runs", "--json", "--store", str(store))
    _, shown, _ = await command("show", "one", "--store", str(store))
    _, journal, _ = await command("journal", "one", "--json", "--store", str(store))

    assert [(row["id"], row["status"], row["output"]) for row in json.loads(runs)] == [
        ("one", "completed", "A-1002 cancelled.")
    ]
    assert "Cancel order A-1002" in shown
    assert [row["name"] for row in json.loads(journal) if row["kind"] == "step"] == [
        "turn",
        "@approval",
        "@intent",
        "@outcome",
        "turn",
    ]


def test_a_store_that_is_not_there_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["runs", "--store", "missing.db"]) == 1
    assert main(["runs"]) == 1

    first, second = capsys.readouterr().err.splitlines()
    assert first == "workbench: there is no store 'missing.db'; name the file that Workbench.open was given"
    assert second == "workbench: which store? --store names the file; here there are: none"


async def test_a_kill_on_the_command_line_ends_a_run_in_another_process(tmp_path, support):
    store = tmp_path / "agents.db"
    async with Workbench.open(store, support) as bench:
        run = bench.run(support, "Cancel order A-1002", id="r1")
        await run.approval()

        status, out, err = await command("kill", "r1", "--by", "ana", "--json", "--store", str(store))

        assert (status, json.loads(out), err) == (0, {"id": "r1", "killed": True, "by": "ana"}, "")
        assert (run.alive, len(bench.approvals.pending())) == (False, 1)
        status, out, err = await command("kill", "r1", "--store", str(store))
        assert (status, out) == (1, "")
        assert err == "workbench: 'run:r1' lives nowhere now; there is nothing to kill\n"


async def test_lab_becomes_jupyterlab_with_every_option_it_was_given(tmp_path, monkeypatch):
    stand_in = tmp_path / "jupyterlab" / "__main__.py"
    stand_in.parent.mkdir()
    (stand_in.parent / "__init__.py").touch()
    stand_in.write_text("import json, os, sys\nprint(json.dumps([os.getpid(), *sys.argv[1:]]))\nsys.exit(7)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    for options in (["--no-browser", "--port", "0"], ["-y"], ["extra", "--", "more"], []):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workbench", "lab", *options, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        where, line = out.decode().splitlines()
        pid, *given = json.loads(line)
        given = given[1:] if given[0] == "--allow-root" else given
        assert (pid, given[:-1], process.returncode) == (process.pid, options, 7)
        assert given[-1].endswith("notebooks")
        assert where == f"The lessons are in {given[-1]}"


async def test_demo_says_which_folder_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()

    code, out, err = await command("demo", "--into", str(tmp_path / "file" / "folder"))

    named = repr(str(tmp_path / "file" / "folder"))
    assert (code, out) == (1, "")
    assert err == f"workbench: the folder {named} cannot be made: Not a directory; name another with --into\n"
