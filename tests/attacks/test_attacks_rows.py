"""Rows changed by hand: nothing of them runs, and no other key of the store suffers."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from workbench import Agent, Workbench, models, tool
from workbench.errors import RunFailed
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.clock import ManualClock

BAD = "SELECT id FROM keys WHERE key = 'run:bad'"
ROWS = {
    "arguments": "UPDATE keys SET args = ? WHERE key = 'run:bad'",
    "state": f"UPDATE states SET snapshot = ? WHERE key = ({BAD})",
    "state in its commit": f"UPDATE entries SET payload = ? WHERE kind = 'commit' AND key = ({BAD})",
    "message": f"UPDATE entries SET payload = ? WHERE kind = 'message' AND key = ({BAD})",
    "step": f"UPDATE entries SET payload = ? WHERE kind = 'step' AND key = ({BAD})",
    "request": "UPDATE records SET body = ? WHERE key = 'run:bad'",
    "decision": "UPDATE records SET status = 'approved', decision = ? WHERE key = 'run:bad'",
}
DAMAGE = {
    "no JSON": "{oops",
    "nothing": "",
    "deep": "[" * 100_000 + "]" * 100_000,
    "a tag of a stranger": '{"$":"os.system","v":"true"}',
    "a tag of another shape": '{"$":"datetime","v":{"a":1}}',
    "another type": "5",
    "a list": "[1]",
    "a lost payload": b"\xff\xfe\x00",
}


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def payer() -> Agent:
    """An agent that pays once."""
    return Agent("payer", tools=[pay], model=models.scripted([models.call("pay", amount=1)], "Paid."))


async def opened(file: Path) -> Workbench:
    """A bench on the file, with a clock that nothing moves."""
    return await Workbench.open("unused", payer(), store=SQLiteStore(file), clock=ManualClock())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which two runs wait for a person."""
    file = tmp_path_factory.mktemp("whole") / "agents.db"

    async def fill() -> None:
        bench = await opened(file)
        for id in ("bad", "good"):
            await bench.run("payer", "Pay 1", id=id).approval()
        await bench.close()

    asyncio.run(fill())
    return file


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_a_damaged_row_harms_only_its_own_run(row: str, damage: object, tmp_path: Path, whole: Path) -> None:
    file = tmp_path / "agents.db"
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(row, (damage,))

    bench = await opened(file)
    bad, good = bench.runs["bad"], bench.runs["good"]
    request = await good.approval()
    await bench.approvals.approve(request.id)

    assert await good == "Paid."
    assert "good" in repr(bench.runs.find()) + bench._repr_html_() + bench.approvals.pending()._repr_html_()
    assert bench.approvals.view()["kind"] == "approvals"
    assert bad.status in ("queued", "running", "waiting", "failed")
    assert len(bench.journal("bad")) > 0
    await bench.close()


async def test_a_run_with_a_damaged_state_says_so(tmp_path: Path, whole: Path) -> None:
    file = tmp_path / "agents.db"
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(ROWS["state"], ("{oops",))

    bench = await opened(file)

    with pytest.raises(RunFailed, match="changed by hand"):
        await bench.runs["bad"]
    await bench.close()


async def test_a_run_with_a_damaged_decision_fails_with_the_reason(tmp_path: Path, whole: Path) -> None:
    file = tmp_path / "agents.db"
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(ROWS["decision"], ("5",))

    bench = await opened(file)

    with pytest.raises(RunFailed, match=r"BadInput: the request .* changed by hand"):
        await bench.runs["bad"]
    await bench.close()


async def test_a_key_with_damaged_arguments_is_blocked_with_the_reason(tmp_path: Path, whole: Path) -> None:
    file = tmp_path / "agents.db"
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(ROWS["arguments"], ("[1]",))

    bench = await opened(file)

    assert "no arguments" in bench.blocked["run:bad"]
    assert "bad" not in [run.id for run in bench.runs]
    await bench.close()
