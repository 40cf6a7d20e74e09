"""Tests that runs write of themselves: green as they are written, red when a tool behaves in another way."""

from __future__ import annotations

import datetime
import importlib
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from unittest.mock import ANY
from uuid import UUID

import pytest
from houses import House

from workbench import Agent, Workbench, models
from workbench.agents.as_source import imports_of, source
from workbench.agents.run import Run
from workbench.errors import BadInput, RunFailed
from workbench.models.script import call, raw_call
from workbench.testing import decided, scripted_team

SHOP = '''
from typing import Annotated, Any

from pydantic import BaseModel, Field, SecretStr

from workbench import Agent, ToolContext, models, tool

Pin = Annotated[str, Field(json_schema_extra={"format": "password"})]


@tool(read_only=True)
def look_up(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    if order_id == "A-9":
        raise LookupError("no order A-9")
    return {"id": order_id, "total": 40}


@tool(approval=True)
def refund(order_id: str, amount: int, pin: Pin = "") -> str:
    """Refund an order."""
    return f"{order_id}: {amount} refunded with {pin or 'no pin'}"


class Login(BaseModel):
    user: str
    pin: SecretStr


@tool
def log_in(logins: list[Login], again: Login | None = None) -> int:
    """Log in."""
    return len(logins)


@tool
async def ask_pin(ctx: ToolContext) -> int:
    """Ask for the pin."""
    return len((await ctx.ask_user(SecretStr, "Which pin?")).get_secret_value())


helper = Agent("helper", tools=[look_up], model="offline")
failing = helper.but("failing")
support = Agent("support", tools=[look_up, refund, log_in, ask_pin, helper], model="offline")
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with agents, importable here and in a child."""
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SHOP)
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module(name)


async def played(bench: Workbench, shop: ModuleType, *turns: object) -> Run:
    """A run of the shop's agent with these turns."""
    bench.add(shop.support)
    shop.support._model = models.scripted(*turns)  # type: ignore[arg-type]
    return bench.run(shop.support, "Refund A-1, please", id="r1")


def pytest_says(folder: Path, name: str = "test_written.py") -> tuple[int, str]:
    """How pytest ends on the written file, in a child, and what it says."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), str(folder)])}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout


async def test_a_written_test_is_green_and_turns_red_with_its_tools(
    room: House, shop: ModuleType, tmp_path: Path
) -> None:
    bench = await room.open()
    run = await played(
        bench,
        shop,
        ["Let me look.", call("look_up", order_id="A-1"), call("look_up", order_id="A-9")],
        [call("refund", order_id="A-1", amount=40, pin="9876"), raw_call("refund", "{broken"), call("unknown")],
        call("refund", order_id="A-1", amount=41),
        call("refund", order_id="A-1", amount=42),
        "Refunded.",
    )
    await bench.approvals.approve((await run.approval()).id)
    await bench.approvals.reject((await run.approval()).id, reason="not this much")
    await bench.approvals.approve((await run.approval()).id, args={"order_id": "A-1", "amount": 1})
    await run

    text = run.to_test(tmp_path / "test_written.py")

    assert "9876" not in text
    assert "with a secret" in text
    code, words = pytest_says(tmp_path)
    assert code == 0, words
    (tmp_path / f"{shop.__name__}.py").write_text(SHOP.replace('"total": 40', '"total": 50'))
    code, words = pytest_says(tmp_path)
    assert code == 1
    assert "'total': 50" in words
    with pytest.raises(BadInput, match="is there already; a test overwrites nothing"):
        run.to_test(tmp_path / "test_written.py")


async def test_no_secret_is_written_wherever_it_was_given(room: House, shop: ModuleType, tmp_path: Path) -> None:
    bench = await room.open()
    run = await played(
        bench,
        shop,
        call("refund", order_id="A-1", amount=1, pin="proposed-1"),
        call("log_in", logins=[{"user": "ann", "pin": "listed-2"}], again={"user": "bob", "pin": "inner-3"}),
        call("ask_pin"),
        raw_call("refund", '{"pin": "cut\\"-4", "amount": 1, "order'),
        "Done; it was listed-2.",
    )
    await bench.approvals.approve((await run.approval()).id, {"order_id": "A-1", "amount": 1, "pin": "edited-5"})
    await bench.approvals.answer((await run.approval()).id, "answered-6")
    assert await run == "Done; it was listed-2."

    text = run.to_test(tmp_path / "test_written.py")

    secrets = ["proposed-1", "listed-2", "inner-3", "cut", "edited-5", "answered-6"]
    assert [secret for secret in secrets if secret in text] == []
    assert "ann" in text
    assert "bob" in text


async def test_a_team_is_played_again_and_a_failed_run_fails_again(
    room: House, shop: ModuleType, tmp_path: Path
) -> None:
    bench = await room.open()
    shop.helper._model = models.scripted(call("look_up", order_id="A-1"), "It is paid.")
    run = await played(bench, shop, call("ask_helper", message="Is A-1 paid?"), "It is.")
    await run
    shop.failing._model = models.scripted(call("look_up", order_id="A-1"))
    failed = bench.run(shop.failing, "Fail")
    with pytest.raises(RunFailed, match="its script has 1"):
        await failed

    text = run.to_test(tmp_path / "test_team.py")
    failing_text = failed.to_test(tmp_path / "test_failed.py")

    assert '"helper": {"Is A-1 paid?": [models.call("look_up", order_id="A-1"), "It is paid."]}' in text
    assert 'assert run.state["error"]["type"] == "ModelFailed"' in failing_text
    code, words = pytest_says(tmp_path, ".")
    assert code == 0, words
    assert "2 passed" in words


async def test_a_fork_is_played_again_with_all_that_its_origin_asked(
    room: House, shop: ModuleType, tmp_path: Path
) -> None:
    bench = await room.open()
    shop.helper._model = models.scripted(call("look_up", order_id="A-1"), "It is paid.")
    ask = call("ask_helper", message="Is A-1 paid?")
    run = await played(bench, shop, [ask, call("look_up", order_id="A-1")], "It is.")
    await run

    for number, edit in enumerate(({"t1.1": {"id": "A-1", "total": 1}}, {"t1.1": OSError("gone")})):
        fork = await run.fork(edit=edit, id=f"f{number}")
        await fork
        assert [child.id for child in fork.asked] == ["r1/t1.0"]
        fork.to_test(tmp_path / f"test_fork_{number}.py")

    code, words = pytest_says(tmp_path, ".")
    assert (code, "2 passed" in words) == (0, True), words


async def test_an_agent_of_a_notebook_is_named_and_a_file_needs_its_module(room: House, tmp_path: Path) -> None:
    agent = Agent("clerk", model=models.scripted("Done."))
    bench = await room.open(agent)
    run = bench.run(agent, "Go")
    with pytest.raises(BadInput, match="a test is made of one that has completed or failed"):
        run.to_test()
    await run

    assert "# agent is the agent of this notebook" in run.to_test()
    assert "from desk import clerk\n" in run.to_test(tmp_path / "test_desk.py", agent="desk:clerk")
    with pytest.raises(BadInput, match="which is in no module; define it in one, or say where it will be"):
        run.to_test(tmp_path / "test_other.py")
    with pytest.raises(BadInput, match="says where a test imports it, as 'module:name', found 'desk'"):
        run.to_test(agent="desk")
    with pytest.raises(BadInput, match=r"has no call 't1.0' to ignore; it has \[\]"):
        run.to_test(ignore=["t1.0"])


async def test_a_decision_that_is_not_scripted_is_named(room: House, shop: ModuleType) -> None:
    asked = {"support": {"Go": [call("refund", order_id="A-1", amount=1), "Done."]}, "helper": {"Go": ["Gone."]}}
    bench = await room.open(*scripted_team(shop.support, asked))

    with pytest.raises(AssertionError, match=r"call 't1\.0' asks for a decision that is not scripted: Refund an order"):
        await decided(bench, bench.run("support", "Go"), {})
    with pytest.raises(AssertionError, match=r"never asked for the decisions of \['t9\.0'\]"):
        await decided(bench, bench.run("helper", "Go"), {"t9.0": [("approve", {})]})


def test_what_source_makes_equals_what_went_in() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    values = {
        "when": datetime.datetime(2026, 11, 30, 1, 2, tzinfo=datetime.UTC),
        "there": datetime.datetime(2026, 11, 30, 1, 2, tzinfo=zone),
        "sum": [Decimal("1.10"), {1, 2}, (b"\x00", UUID(int=7)), float("inf")],
        "text": 'it\'s "so"\n' * 20,
    }
    names: dict[str, object] = {}
    exec("\n".join(sorted(imports_of([values, ANY]))), names)

    assert eval(source(values), names) == values
    assert eval(source({"x": ANY}), names) == {"x": 3}
