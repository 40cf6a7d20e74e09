"""A file changed by a stranger: any value in any column harms at most its own key, and nothing of it runs."""

from __future__ import annotations

import asyncio
import builtins
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from workbench import Agent, Workbench, durable, models, tool
from workbench.errors import WorkbenchError
from workbench.process.calls import Call
from workbench.store.sqlite.migrations import migrate
from workbench.testing.clock import ManualClock

LONGEST = 10.0


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def payer() -> Agent:
    """An agent that pays once."""
    return Agent("payer", tools=[pay], model=models.scripted([models.call("pay", amount=1)], "Paid."))


@durable(key="till:{name}", max_attempts=1)
async def till(ctx: Any, name: str) -> Any:
    """Steps, answers, a letter, a parked call, a deadline."""
    state = ctx.restored or {"sum": 0, "lines": []}
    yield state
    async for message in ctx:
        match message:
            case Call({"add": price}, reply):
                await ctx.step("note", lambda key: price)
                state = {"sum": state["sum"] + price, "lines": [*state["lines"], "line " * 50]}
                reply(state["sum"])
            case Call("park", reply):
                state = state | {"parked": reply.id}
            case "poison":
                raise ValueError("poison")
            case "sleep":
                await ctx.step("before", lambda key: 1)
                await ctx.sleep("sleep", 3600)
        yield state


async def fill(file: Path) -> None:
    """A good key and a run that works, and a bad of each, with rows in every table that a key has."""
    async with Workbench.open(file, till, payer(), clock=ManualClock()) as bench:
        for name in ("good", "bad"):
            process = bench.lookup(till, name=name)
            for number in range(3):
                await process.call({"add": 1}, id=f"add {number}")
            await process.cast("poison")
            parked = process.call("park", id="park")
            await process.until(lambda state: "parked" in state)
            del parked
            await bench.run("payer", "Pay 1", id=name).approval()
        process = bench.lookup(till, name="bad")
        await process.cast("sleep")
        await process.cast("x" * 100_000)
        while bench.journal("till:bad")[-1]["kind"] != "sleep":
            await asyncio.sleep(0.01)
        await process.dispose()
        await bench.store.post("till:bad", '"posted"', id="posted")
        with closing(sqlite3.connect(file)) as connection, connection:  # as one that another host left for its owner
            [key] = connection.execute("SELECT id FROM keys WHERE key = 'till:bad'").fetchone()
            connection.execute("INSERT INTO inbox (id, key, at, message) VALUES (9000, ?, 0, '1')", (key,))
        await bench.store.queues.put("mail", [])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("whole") / "agents.db"
    asyncio.run(fill(file))
    return file


BAD = "SELECT id FROM keys WHERE key IN ('till:bad', 'run:bad')"
OF_BAD = {
    "keys": f"id IN ({BAD})",
    "states": f"key IN ({BAD})",
    "entries": f"key IN ({BAD})",
    "answers": f"key IN ({BAD})",
    "dead": f"key IN ({BAD})",
    "inbox": f"key IN ({BAD})",
    "activations": f"key IN ({BAD})",
    "records": "key IN ('till:bad', 'run:bad')",
    "blobs": "TRUE",
}
POINTS_ELSEWHERE = {("keys", "id"), ("keys", "key"), ("records", "key"), ("records", "kind"), ("blobs", "digest")} | {
    (table, "key") for table in OF_BAD
}


def columns() -> list[tuple[str, str]]:
    """Every column of the tables that hold what is of a key."""
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate(connection)
        return [
            (table, column)
            for table in OF_BAD
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        ]


CANARY = '{"$":"os.system","v":"touch canary"}'
scalars = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.binary(max_size=40)
    | st.text(max_size=40)
)
json_texts = st.recursive(
    st.sampled_from(["1", "null", "true", '"x"', "-0", "1e999", "NaN", '""', "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.tuples(st.sampled_from(["$", "v", "type", "sum", "status"]), inner).map(lambda p: f'{{"{p[0]}":{p[1]}}}')
        | inner.map(lambda text: f'{{"$":"dict","v":{text}}}')
    ),
    max_leaves=6,
)
wild = (
    scalars | json_texts | st.sampled_from([CANARY, "[" * 5000, '{"$":"typed","v":[]}', "9" * 5000, "+", "=", "0,0,9|"])
)


class Watch:
    """What stored data must never do: import, evaluate, or run."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.system", "subprocess.Popen", "os.exec", "pickle.find_class") or (
            event == "import" and args and str(args[0]).startswith("canary")
        ):
            self.seen.append(f"{event} {args!r}")


watch = Watch()
sys.addaudithook(watch)


@pytest.fixture(autouse=True)
def nothing_runs() -> Iterator[None]:
    watch.seen.clear()
    evaluated = (builtins.eval, builtins.exec)
    yield
    assert watch.seen == []
    assert evaluated == (builtins.eval, builtins.exec)


async def use(file: Path) -> None:
    """Open the bench, use the good key and the good run, and look at everything."""
    async with asyncio.timeout(LONGEST), Workbench.open(file, till, payer(), clock=ManualClock()) as bench:
        good = bench.lookup(till, name="good")
        assert await good.call({"add": 1}, id="add 0") == 1
        assert await good.call({"add": 1}, id="new") == 4
        [request] = [each for each in bench.approvals.pending() if each.run == "good"]
        await bench.approvals.approve(request.id)
        assert await bench.runs["good"] == "Paid."
        assert bench.journal("till:good").at(1) == {"sum": 1, "lines": ["line " * 50]}
        await look(bench)


async def look(bench: Workbench) -> None:
    """Look at everything that shows stored data; it may be refused in our words and in no others."""
    repr(bench) + bench._repr_html_()
    repr(bench.keys()) + bench.runs.find()._repr_html_() + bench.approvals.pending()._repr_html_()
    repr(bench.dead_letters)
    bench.approvals.view()
    await bench.doctor()
    for name in ("till:bad", "bad"):
        try:
            journal = bench.journal(name)
            repr(journal), [dict(row) for row in journal]
            list(journal.states())
        except WorkbenchError:
            pass
    try:
        await bench.prune(before=1e12)
    except WorkbenchError:
        pass


def change(file: Path, table: str, column: str, value: object, row: int) -> None:
    """Put a value into one row of the bad ones."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        rows = connection.execute(f"SELECT rowid FROM {table} WHERE {OF_BAD[table]} ORDER BY rowid").fetchall()
        if not rows:
            return
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, *rows[row % len(rows)]))
        except sqlite3.Error:
            return  # SQLite itself refuses it there


EXAMPLES = int(os.environ.get("WORKBENCH_EXAMPLES", "150"))
"""How many values are tried at each call; more where there is time."""


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.sampled_from(columns()), value=wild, row=st.integers(0, 30))
@example(place=("keys", "args"), value=CANARY, row=0)
@example(place=("keys", "wake_at"), value=b"", row=0)
def test_a_value_of_a_stranger_harms_at_most_its_own_key(
    place: tuple[str, str], value: object, row: int, whole: Path
) -> None:
    if place in POINTS_ELSEWHERE:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agents.db"
        shutil.copy(whole, file)
        change(file, *place, value, row)
        asyncio.run(use(file))


SHARED = ("hosts", "_sqlite_migrations", "deleted", "queues", "jobs", "topics", "events", "subscribers", "schedules")


def shared_columns() -> list[tuple[str, str]]:
    """Every column of the tables that belong to no key."""
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate(connection)
        return [
            (table, column)
            for table in SHARED
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        ]


async def use_shared(file: Path) -> None:
    """Fill the tables that belong to no key."""
    async with Workbench.open(file, till, clock=ManualClock()) as bench:
        await bench.queue("mail").put({"to": "ada"})
        await bench.topic("news").publish("hello")
        gone = bench.lookup(till, name="gone")
        await gone.call({"add": 1}, id="one")
        await gone.dispose()
        await bench.delete("till:gone")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO hosts VALUES (900, 'ghost', 'pid 1', 1, 'another boot', 0, 0.0)")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(shared_columns()), value=wild)
def test_a_value_of_a_stranger_outside_of_keys_is_harmless_or_refused_in_our_words(
    place: tuple[str, str], value: object, shared: Path
) -> None:
    table, column = place
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agents.db"
        shutil.copy(shared, file)
        with closing(sqlite3.connect(file)) as connection, connection, suppress(sqlite3.Error):
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT max(rowid) FROM {table})", (value,)
            )
        with suppress(WorkbenchError):
            asyncio.run(use(file))


@pytest.fixture(scope="module")
def shared(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shared") / "agents.db"
    shutil.copy(whole, file)
    asyncio.run(use_shared(file))
    return file


@pytest.mark.parametrize("column", ["epoch", "cursor", "last_seq"])
async def test_a_key_whose_row_is_damaged_is_named(column: str, whole: Path, tmp_path: Path) -> None:
    shutil.copy(whole, tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute(f"UPDATE keys SET {column} = 'x' WHERE key = 'till:bad'")

    async with Workbench.open(tmp_path / "a.db", till, payer(), clock=ManualClock()) as bench:
        assert "the rows of 'till:bad' cannot be read" in bench.blocked["till:bad"]
        bad = bench.lookup(till, name="bad")
        with pytest.raises(WorkbenchError):
            await bad.call({"add": 1}, id="new")
        assert "the rows of 'till:bad' cannot be read" in str(bad.error)
        assert await bench.lookup(till, name="good").call({"add": 1}, id="new") == 4


@pytest.mark.parametrize("leads_to", [10**9, "its own row"])
async def test_a_line_that_leads_forward_or_nowhere_is_named_and_not_walked_for_ever(
    leads_to: object, whole: Path, tmp_path: Path
) -> None:
    shutil.copy(whole, tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        to = "id" if leads_to == "its own row" else str(leads_to)
        connection.execute(f"UPDATE entries SET prev = {to} WHERE key = (SELECT id FROM keys WHERE key = 'till:bad')")

    async with asyncio.timeout(LONGEST), Workbench.open(tmp_path / "a.db", till, clock=ManualClock()) as bench:
        bad = bench.lookup(till, name="bad")
        with pytest.raises(WorkbenchError):
            await bad.call({"add": 1}, id="new")
        assert "the rows of 'till:bad' cannot be read: row" in str(bad.error)
        assert len(bench.journal("till:bad")) > 0
        assert await bench.lookup(till, name="good").call({"add": 1}, id="new") == 4
