"""The bench: what it knows, what it refuses, and what it says of itself."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from workbench import Agent, Call, Workbench, durable, process
from workbench.errors import BadInput, NoCode, StoreError
from workbench.store.memory import MemoryStore, Room


@durable(key="count:{name}")
async def count(ctx: Any, name: str) -> Any:
    state = ctx.restored or 0
    yield state
    async for message in ctx:
        match message:
            case Call(by, reply):
                state += by
                reply(state)
        yield state


greeter = Agent("greeter", model="offline")


@pytest.fixture(params=["memory", "sqlite"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """How to open one more bench of a place."""
    room = Room()

    def open(*what: Any, **options: Any) -> Any:
        if request.param == "memory":
            return Workbench.open(*(), store=MemoryStore(room), **options)
        return Workbench.open(tmp_path / "agents.db", *what, **options)

    return open


@pytest.mark.parametrize(
    "lines",
    [
        "from workbench import Call, durable, process",
        "from workbench import Agent, Workbench, durable, process",
        "import workbench.durable.runtime, workbench.process.spawn\nfrom workbench import durable, process",
    ],
)
def test_durable_and_process_are_decorators_however_they_are_imported(lines: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{lines}\nprint(callable(durable), callable(process))"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "True True\n"


async def test_a_definition_is_known_by_its_name_once_it_was_looked_up() -> None:
    async with Workbench.open() as bench:
        with pytest.raises(NoCode, match=r"no definition 'count' here, there are \[\]") as caught:
            bench.lookup("count", name="a")
        assert caught.value.name == "count"

        assert await bench.lookup(count, name="a").call(2, id="c1") == 2
        assert bench.lookup("count", name="a") is bench.lookup(count, name="a")


async def test_arguments_that_do_not_fit_a_definition_are_refused() -> None:
    async with Workbench.open(":memory:", count) as bench:
        with pytest.raises(BadInput, match="count"):
            bench.lookup(count, nme="a")
        with pytest.raises(BadInput, match="count"):
            bench.lookup(count)


@pytest.mark.parametrize("thing", [print, "greeter", None, lambda: None])
async def test_a_bench_takes_agents_and_durable_definitions_only(thing: Any) -> None:
    with pytest.raises(BadInput, match="a bench takes agents and definitions of processes, found"):
        Workbench.open(":memory:", thing)
    async with Workbench.open() as bench:
        with pytest.raises(BadInput):
            bench.add(count, thing)
        with pytest.raises(NoCode):
            bench.lookup("count", name="a")


async def test_what_is_no_agent_cannot_be_run() -> None:
    async with Workbench.open(":memory:", greeter) as bench:
        with pytest.raises(NoCode, match=r"no agent 'nobody' here, there are \['greeter'\]") as caught:
            bench.run("nobody", "Hello")
        with pytest.raises(BadInput, match="needs an agent or the name of one, found 7"):
            bench.run(7, "Hello")  # type: ignore[arg-type]

        assert caught.value.name == "nobody"


@pytest.mark.parametrize("lease", [0, -1, "30", True, None, float("nan"), float("inf")])
async def test_a_lease_is_a_number_of_seconds(lease: Any) -> None:
    with pytest.raises(BadInput, match=r"lease is a number of seconds, at least 0.001"):
        Workbench.open(lease=lease)


async def test_a_closed_bench_says_how_to_open_it_again(tmp_path: Path) -> None:
    bench = await Workbench.open(tmp_path / "agents.db", greeter, count)
    await bench.close()
    await bench.close()

    for use in (lambda: bench.run(greeter, "Hello"), lambda: bench.lookup(count, name="a")):
        with pytest.raises(StoreError, match="is closed; open it again with await"):
            use()
    assert repr(bench) == f"<Workbench {tmp_path / 'agents.db'}: closed>"


async def test_benches_in_memory_are_different_benches() -> None:
    one, other = await Workbench.open(":memory:", count), await Workbench.open(":memory:", count)

    await one.lookup(count, name="a").call(5, id="c1")

    assert one is not other
    assert await other.lookup(count, name="a").call(1, id="c1") == 1
    await one.close()
    await other.close()


async def test_every_way_to_write_a_path_is_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bench = await Workbench.open("agents.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "agents.db")

    others = [
        await Workbench.open(path)
        for path in ("./agents.db", tmp_path / "agents.db", str(tmp_path / "x" / ".." / "agents.db"), "link.db")
    ]

    assert all(other is bench for other in others)
    await bench.close()


async def test_a_bench_of_another_running_loop_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "agents.db"
    bench = await Workbench.open(file)
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            asyncio.run(Workbench.open(file).__aenter__())
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.001)

    assert isinstance(caught[0], StoreError)
    assert "is open in another running event loop of this process" in str(caught[0])
    await bench.close()


def test_a_bench_whose_loop_is_closed_makes_room_for_another(tmp_path: Path) -> None:
    async def first() -> None:
        bench = await Workbench.open(tmp_path / "agents.db", count)
        await bench.lookup(count, name="a").call(1, id="c1")

    async def second() -> int:
        async with Workbench.open(tmp_path / "agents.db", count) as bench:
            answer: int = await bench.lookup(count, name="a").call(1, id="c2")
            return answer

    loop = asyncio.new_event_loop()
    loop.run_until_complete(first())
    loop.close()

    assert asyncio.run(second()) == 2
    gc.collect()  # what the closed loop left behind ends without a word


async def test_what_another_bench_owns_is_listed_with_its_owner(places: Any) -> None:
    first = await places()
    await first.lookup(count, name="a").call(1, id="c1")
    second = await Workbench.open(*(), store=_beside(first))
    second.add(count)

    mine = second.lookup(count, name="b")
    await mine.call(1, id="c1")

    assert {key: owner.id for key, owner in second.elsewhere.items()} == {"count:a": first.store.host.id}
    assert {key: owner.id for key, owner in first.elsewhere.items()} == {"count:b": second.store.host.id}
    assert repr(second).endswith("0 runs, 0 approvals pending, 1 owned elsewhere>")
    await second.close()
    assert first.elsewhere == {}
    await first.close()


def _beside(bench: Workbench) -> Any:
    """A store on the same place as that of a bench."""
    from workbench.store.sqlite.keeper import SQLiteStore

    store: Any = bench.store
    return SQLiteStore(store.path) if isinstance(store, SQLiteStore) else MemoryStore(store._room)


async def test_a_call_reaches_a_process_that_lives_in_another_bench(places: Any) -> None:
    first = await places()
    assert await first.lookup(count, name="a").call(1, id="c1") == 1
    second = await Workbench.open(*(), store=_beside(first))

    from_afar = second.lookup(count, name="a")

    assert await from_afar.call(5, id="c2") == 6
    assert await from_afar.call(1, id="c1") == 1
    await from_afar.until(lambda state: state == 6)
    await second.close()
    await first.close()


async def test_a_process_in_memory_can_be_spawned_from_a_bench() -> None:
    @process
    async def echo(ctx: Any) -> Any:
        yield None
        async for message in ctx:
            yield message

    async with Workbench.open() as bench:
        handle = bench.spawn(echo)
        handle.cast("hello")

        assert await handle.until(lambda state: state == "hello") == "hello"
        await handle.dispose()


async def test_a_wait_that_was_given_up_leaves_nothing_behind() -> None:
    async with Workbench.open(":memory:", count) as bench:
        handle = bench.lookup(count, name="a")
        await handle.until(lambda state: state == 0)

        waits = [asyncio.ensure_future(handle.until(lambda state: state == 1)) for _ in range(100)]
        while len(handle.states._waiters) < 100:
            await asyncio.sleep(0)
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)

        assert handle.states._waiters == []
