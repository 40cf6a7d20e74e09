"""Owners in processes of their own: paused beyond their lease, in another namespace, where locks do not work."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time

import pytest
from stores import OpenStore, Spawn, line

from workbench.store.journal import Commit


async def test_an_owner_paused_beyond_its_lease_lands_no_write(open_store: OpenStore, spawn: Spawn) -> None:
    child = await spawn("paused", "order:1")
    assert (await line(child)).startswith("owns")
    store = await open_store(now=lambda: time.time() + 60)

    os.kill(child.pid, signal.SIGSTOP)
    assert await store.claim("order:1") is None
    epoch = (await store.load("order:1")).epoch
    await store.commit("order:1", epoch, Commit('"ours"', 0, 1))
    before = await store.history("order:1")

    os.kill(child.pid, signal.SIGCONT)
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    said = [await line(child) for _ in range(3)]

    assert said == ["append Fenced", "put_step Fenced", "commit Fenced"]
    assert await store.history("order:1") == before
    info = await store.key_info("order:1")
    assert info is not None
    assert (info.snapshot, info.epoch) == ('"ours"', epoch)


async def test_an_owner_without_locks_that_is_only_busy_keeps_its_keys(open_store: OpenStore, spawn: Spawn) -> None:
    child = await spawn("busy", "order:1")
    assert (await line(child)).startswith("owns")
    store = await open_store()
    asked = 0

    said = asyncio.ensure_future(line(child))
    while not said.done():
        assert await store.claim("order:1") is not None
        asked += 1
        await asyncio.wait([said], timeout=0.02)

    assert said.result() == "awake"
    assert asked > 20


def namespaces() -> list[str]:
    """How a process gets a pid namespace of its own here. Skips where none may be made."""
    tool = shutil.which("unshare")
    if tool is None:
        pytest.skip("pid namespaces need the program unshare")
    for options in (
        ["--pid", "--fork", "--kill-child"],
        ["--user", "--map-root-user", "--pid", "--fork", "--kill-child"],
    ):
        if subprocess.run([tool, *options, "true"], capture_output=True).returncode == 0:
            return [tool, *options]
    pytest.skip("this machine lets nobody make a pid namespace")


async def test_an_owner_in_another_pid_namespace_is_known_alive_and_known_dead(
    open_store: OpenStore, spawn: Spawn
) -> None:
    under = await asyncio.to_thread(namespaces)
    store = await open_store()
    child = await spawn("own", "order:1", under=tuple(under))
    assert (await line(child)).startswith("owns")

    owner = await store.claim("order:1")
    assert owner is not None
    assert owner.pid == 1

    child.kill()
    await child.wait()
    async with asyncio.timeout(10):
        while await store.claim("order:1") is not None:
            await asyncio.sleep(0.005)
