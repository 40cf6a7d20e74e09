"""The worker: a headless host that runs what is due, and ends cleanly when it is told to."""

# ruff: noqa: ASYNC240 - a test may wait for the disk and for its children

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench, durable
from workbench.errors import BadInput
from workbench.worker import work

APP = """
from workbench import Workbench, durable

@durable(key="note:{id}", name="note")
async def note(ctx, id: str):
    yield ctx.restored or []
    async for message in ctx:
        if message == "hang":
            await ctx.sleep("long", 3600)
        yield [*(ctx.restored or []), message]

bench = Workbench.open("agents.db", note)
front = Workbench.open("agents.db", note, worker=False)
answer = 42

def made():
    return Workbench.open("agents.db", note)

async def opened():
    return await Workbench.open("agents.db", note)
"""

Start = Callable[..., Awaitable[Process]]


@durable(key="note:{id}", name="note")
async def note(ctx, id: str):
    yield ctx.restored or []
    async for message in ctx:
        yield message


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    (tmp_path / "app.py").write_text(APP)
    async with AsyncExitStack() as children:

        async def begin(*words: str) -> Process:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "workbench", "worker", *words, stdout=PIPE, stderr=PIPE, cwd=tmp_path
            )
            children.push_async_callback(end, child)
            return child

        yield begin


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "app", raising=False)
    return tmp_path


async def end(child: Process) -> None:
    if child.returncode is None:
        child.kill()
    await child.communicate()


async def line(child: Process) -> str:
    assert child.stdout is not None
    async with asyncio.timeout(30):
        return (await child.stdout.readline()).decode().strip()


async def test_a_worker_runs_what_others_post(start: Start, tmp_path: Path) -> None:
    child = await start("app:bench")
    assert await line(child) == f"working on {tmp_path / 'agents.db'} as pid {child.pid}: note"

    async with Workbench.open(tmp_path / "agents.db", note, worker=False) as front:
        handle = front.lookup(note, id="a")
        await handle.cast("hello")
        assert await asyncio.wait_for(handle.until(lambda state: state == ["hello"]), 20) == ["hello"]


@pytest.mark.parametrize("attribute", ["bench", "made", "opened"])
async def test_a_bench_is_named_by_its_opening_or_by_what_gives_it(here: Path, attribute: str) -> None:
    events: list[dict[str, Any]] = []

    def tell(event: dict[str, Any]) -> None:
        events.append(event)
        if event["event"] == "working":
            os.kill(os.getpid(), signal.SIGTERM)

    await asyncio.wait_for(work(f"app:{attribute}", tell), 20)

    assert [event["event"] for event in events] == ["working", "stopping", "stopped"]
    assert events[0]["definitions"] == ["note"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_worker_cleanly_and_its_work_is_anyones(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    child = await start("app:bench", "--json")
    working = json.loads(await line(child))
    async with Workbench.open(tmp_path / "agents.db", note, worker=False) as front:
        handle = front.lookup(note, id="a")
        await handle.cast("hang")
        async with asyncio.timeout(20):
            while not any(entry.kind == "sleep" for entry in front.store.history_now("note:a")):
                await asyncio.sleep(0.01)

        os.kill(child.pid, number)
        said = [json.loads(await line(child)) for _ in range(2)]
        status = await asyncio.wait_for(child.wait(), 20)
        info = front.store.keys_now(key="note:a")[0]

    store = str(tmp_path / "agents.db")
    assert working == {"event": "working", "store": store, "pid": child.pid, "definitions": ["note"], "blocked": []}
    assert said == [{"event": "stopping", "signal": number.name}, {"event": "stopped", "store": store}]
    assert (status, info.owner, info.last_seq - info.cursor) == (0, None, 1)
    assert sorted(each.name for each in tmp_path.glob("agents*")) == ["agents.db", "agents.db-hosts"]


@pytest.mark.parametrize(
    ("application", "words"),
    [
        ("app", "a worker is told module:attribute, e.g. app:bench, found 'app'"),
        ("nowhere:bench", "there is no module 'nowhere' here; run this in the folder of nowhere.py"),
        ("app:nothing", "'app' has no 'nothing'; write e.g. bench = Workbench.open('agents.db', support) in it"),
        ("app:answer", "'app:answer' is no bench, found 42"),
        ("app:front", "'app:front' is opened with worker=False and would run nothing; leave that out"),
    ],
)
async def test_what_names_no_bench_is_refused(here: Path, application: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        await work(application, lambda event: None)

    assert str(caught.value).startswith(words)
