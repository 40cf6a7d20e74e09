"""Serving: the doors of a bench without a notebook, as a program of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import httpx
import pytest

from workbench import Workbench
from workbench.cli import main
from workbench.endpoints import connect

TOKEN = "a-token-of-the-lab"
APP = """
from workbench import Agent, Workbench, durable, models

@durable(key="note:{id}")
async def note(ctx, id: str):
    state = ctx.restored or []
    yield state
    async for message in ctx:
        state = [*state, message]
        yield state

bench = Workbench.open("agents.db", note, Agent("clerk", model=models.scripted("Here you are.")))
"""


async def test_a_bench_is_served_to_the_callers_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    words = ("-m", "workbench", "serve", "app:bench", "--json")
    env = os.environ | {"WORKBENCH_WIRE_CALLERS_LAB": TOKEN, "WORKBENCH_A2A_CALLERS_PARTNER": f"{TOKEN}-too"}
    child = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=PIPE, cwd=tmp_path, env=env)
    assert child.stdout is not None
    try:
        async with asyncio.timeout(60):
            events = [json.loads(await child.stdout.readline()) for _ in range(2)]
            url = events[1]["url"]
            remote = await connect(url, TOKEN)
            there = remote.lookup("note", id="a")
            await there.cast("hello")
            await there.until(lambda state: state == ["hello"])
            await remote.close()
            async with httpx.AsyncClient() as http:
                card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
            child.send_signal(signal.SIGTERM)
            rest = [json.loads(line)["event"] for line in (await child.stdout.read()).splitlines()]
            await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()

    assert [event["event"] for event in events] == ["working", "serving"]
    assert events[1]["callers"] == {"a2a": ["partner"], "wire": ["lab"]}
    assert [skill["id"] for skill in card["skills"]] == ["clerk"]
    assert (rest, child.returncode) == (["stopping", "stopped"], 0)


def test_nobody_to_serve_is_said(monkeypatch, capsys) -> None:
    for name in [name for name in os.environ if "_CALLERS_" in name]:
        monkeypatch.delenv(name)

    assert main(["serve", "app:bench"]) == 1
    assert "nobody could call: no variable WORKBENCH_MCP_CALLERS_NAME or its like is set" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "ada lovelace", "-ada", "ada=x", "büro", "x" * 65, "ada\n"])
def test_a_name_that_no_caller_can_have_gets_no_token(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "new", "--", name]) == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("workbench: a caller of mcp is named by letters, digits, _ . and -")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("desk_2", "WORKBENCH_MCP_CALLERS_DESK_2, or mcp={'desk_2': token}"),
        ("my-desk", "mcp={'my-desk': token}"),
        ("Desk", "mcp={'Desk': token}"),
    ],
)
def test_a_variable_is_named_where_one_can_be_set(name: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "new", name]) == 0

    assert capsys.readouterr().out.splitlines()[1] == f"for who publishes: {says}"


async def test_a_new_token_lets_its_caller_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert await asyncio.to_thread(main, ["token", "new", "my-desk.2", "--channel", "wire", "--json"]) == 0

    made = json.loads(capsys.readouterr().out)
    assert (made["name"], made["variable"]) == ("my-desk.2", None)
    async with Workbench.open(":memory:") as bench:
        door = await bench.publish(wire={made["name"]: made["token"]})
        await (await connect(door.url, made["token"])).close()
