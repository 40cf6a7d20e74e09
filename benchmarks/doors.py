"""A door under load: calls over MCP and open streams from another process, beside a kernel that is otherwise idle.

200 calls are in flight at any time, each of a tool that takes five seconds, and 50 streams listen for changes, for a
minute. What must hold: no call fails, the bench's loop is late by 20 ms at most in 99 of 100 looks, memory grows by 50
MB at most, and no session or stream is left. Exit status 1 when one of them does not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from options import parsed, parser_of, write_json

from workbench import Agent, Workbench, models, tool

TOKEN = secrets.token_urlsafe(24)
VERSION = "2026-07-28"
LATE, GROWTH = 0.020, 50e6
LOOK_EVERY = 0.005


@tool(read_only=True)
async def think(seconds: float) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return "thought"


def main() -> None:
    parser = parser_of(__doc__, rounds=1)
    parser.add_argument("--calls", type=int, default=200, help="calls in flight")
    parser.add_argument("--streams", type=int, default=50, help="open streams")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--takes", type=float, default=5.0, help="seconds that one call takes")
    parser.add_argument("--load", help=argparse.SUPPRESS)
    options, disk = parsed(parser)
    if options.load:
        print(json.dumps(asyncio.run(load(json.loads(options.load)))))
        return
    figures = [asyncio.run(measured(options)) for _ in range(options.rounds)]
    for figure in figures:
        print(" · ".join(f"{name} {value}" for name, value in figure.items()), f"({disk})")
    write_json(options.json, figures)
    sys.exit(0 if all(holds(figure) for figure in figures) else 1)


def holds(figure: dict[str, Any]) -> bool:
    return (
        figure["failed"] == 0
        and figure["lag p99 ms"] <= LATE * 1e3
        and figure["growth MB"] <= GROWTH / 1e6
        and figure["left open"] == 0
    )


async def measured(options: Any) -> dict[str, Any]:
    agent = Agent("thinker", tools=[think], model=models.scripted("I thought."))
    with TemporaryDirectory(dir=options.dir) as folder:
        async with Workbench.open(Path(folder) / "agents.db", agent) as bench:
            door = await bench.publish(mcp={"load": TOKEN})
            warm = {"url": door.url, "token": TOKEN, "calls": 8, "streams": 2, "seconds": 2.0, "takes": 0.2}
            await loaded(warm)
            before = resident()
            lags: list[float] = []
            looking = asyncio.ensure_future(look(lags))
            asked = {name: getattr(options, name) for name in ("calls", "streams", "seconds", "takes")}
            done = await loaded({**warm, **asked})
            looking.cancel()
            await asyncio.sleep(0.5)
            growth, left = resident() - before, sum(door.connected.values())
    return {
        "calls": done["calls"],
        "failed": done["failed"],
        "per second": round(done["calls"] / options.seconds, 1),
        "lag p50 ms": round(statistics.median(lags) * 1e3, 2),
        "lag p99 ms": round(statistics.quantiles(lags, n=100)[98] * 1e3, 2),
        "growth MB": round(growth / 1e6, 1),
        "left open": left,
    }


async def look(lags: list[float]) -> None:
    """How late the loop wakes whoever sleeps."""
    while True:
        due = time.monotonic() + LOOK_EVERY
        await asyncio.sleep(LOOK_EVERY)
        lags.append(max(0.0, time.monotonic() - due))


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def loaded(load: dict[str, Any]) -> dict[str, Any]:
    """What another process saw that puts the load on."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--load", json.dumps(load), stdout=subprocess.PIPE
    )
    said, _ = await child.communicate()
    done: dict[str, Any] = json.loads(said)
    return done


async def load(load: dict[str, Any]) -> dict[str, Any]:
    done = {"calls": 0, "failed": 0}
    ends = time.monotonic() + load["seconds"]
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=load["url"], limits=limits, timeout=60, trust_env=False) as http:
        listening = [asyncio.ensure_future(listen(http, load, done)) for _ in range(load["streams"])]
        callers = [call_again(http, load, ends, done, place) for place in range(load["calls"])]
        await asyncio.gather(*callers)
        for each in listening:
            each.cancel()
        await asyncio.wait(listening)
    return done


async def call_again(http: httpx.AsyncClient, load: dict[str, Any], ends: float, done: Any, place: int) -> None:
    await asyncio.sleep(load["takes"] * place / load["calls"])
    arguments = {"name": "think", "arguments": {"seconds": load["takes"]}}
    while time.monotonic() < ends:
        try:
            answer = await http.post("/mcp", **request(load, "tools/call", arguments, "think"))
            kept = answer.status_code == 200 and '"thought"' in answer.text
        except httpx.HTTPError:
            kept = False
        done["calls"] += 1
        done["failed"] += not kept


async def listen(http: httpx.AsyncClient, load: dict[str, Any], done: Any) -> None:
    asked = request(load, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, None)
    async with http.stream("POST", "/mcp", **asked) as stream:
        async for _ in stream.aiter_lines():
            pass
    done["failed"] += 1  # it ended before it was told to


def request(load: dict[str, Any], method: str, params: dict[str, Any], name: str | None) -> dict[str, Any]:
    headers = {
        "Authorization": f"Bearer {load['token']}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
    }
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return {"json": body, "headers": headers | ({} if name is None else {"Mcp-Name": name})}


if __name__ == "__main__":
    main()
