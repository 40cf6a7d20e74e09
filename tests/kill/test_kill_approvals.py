"""Approvals across real processes: SIGKILL while a question waits, and two programs that decide at once."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench

ASKER = Path(__file__).with_name("asker.py")
Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts programs on the file in the test's folder; those still there at the end are killed."""
    children: list[Process] = []

    async def begin(*words: str) -> Process:
        child = await asyncio.create_subprocess_exec(
            sys.executable, str(ASKER), str(tmp_path), *words, stdin=PIPE, stdout=PIPE
        )
        children.append(child)
        return child

    yield begin
    for child in children:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def heard(child: Process) -> Any:
    """The next thing that a program says."""
    assert child.stdout is not None
    return json.loads(await asyncio.wait_for(child.stdout.readline(), 60))


def effects(folder: Path) -> list[str]:
    file = folder / "effects"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


async def test_case_13_u24_questions_outlive_sigkill_and_are_decided_anywhere(tmp_path: Path, start: Start) -> None:
    first = await start("ask", "3", "3")
    ids = await heard(first)
    first.kill()
    await first.wait()

    async with Workbench.open(tmp_path / "agents.db", worker=False) as reader:
        assert sorted(one.id for one in reader.approvals.pending()) == ids
        batch = await reader.approvals.approve_all(ids[:2], via="cli")
        await reader.approvals.reject(ids[2], "not this one")
        assert (len(batch.decided), effects(tmp_path)) == (2, [])
        kept = {one.args["order_id"] for one in batch.decided}
    second = await start("ask", "3", "0")

    assert await heard(second) == []
    assert await heard(second) == "Done."
    assert sorted(effects(tmp_path)) == sorted(kept)


async def test_case_15_20_u37_two_programs_decide_at_once_and_one_stands(tmp_path: Path, start: Start) -> None:
    worker = await start("ask", "1", "1")
    await heard(worker)
    ana, bo = [await start("decide", by) for by in ("ana", "bo")]
    assert [await heard(ana), await heard(bo)] == ["ready", "ready"]

    for child in (ana, bo):
        assert child.stdin is not None
        child.stdin.write(b"now\n")
    ends = await heard(ana) + await heard(bo)
    decided_at = time.time()
    assert await heard(worker) == "Done."

    assert time.time() - decided_at < 5  # a second on a quiet machine
    (winner,) = [end for end in ends if isinstance(end, str)]
    lost = [end for end in ends if not isinstance(end, str)]
    assert len(lost) == 19
    assert {(status, by) for status, by, _ in lost} == {("approved", winner)}
    assert len({at for _, _, at in lost}) == 1
    assert effects(tmp_path) == ["A-0"]
