"""Lives: real kernels and programs that run the story in the folder of a store, and are killed by their pid."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

import pytest

from workbench.testing.kernel import Kernel

STORY = Path(__file__).with_name("story.py").read_text()
PATIENCE = 60.0


class Life:
    """One kernel: `async with Life(folder, STOP_AT="saved") as life`. Killed when it is left."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        self._env = env
        self._said: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}
        self._idle: set[str] = set()
        self._kernel: Kernel | None = None

    async def __aenter__(self) -> Self:
        self._kernel = await Kernel.start(
            self._received, lambda: None, cwd=self.folder, env=self._env, frontend="plain", python=None
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()
        await self.kernel.close()

    @property
    def kernel(self) -> Kernel:
        """The kernel, which is there from entering on."""
        assert self._kernel is not None
        return self._kernel

    def begin(self, source: str) -> str:
        """Send a cell; gives its id."""
        id = self.kernel.execute(source, stop_on_error=True)
        self._said[id] = []
        return id

    async def run(self, source: str) -> str:
        """Run a cell to its end; gives what it printed. Raises: AssertionError with its traceback when it fails."""
        return await self.end_of(self.begin(source))

    async def end_of(self, id: str) -> str:
        """Wait for a cell that was begun; gives what it printed."""
        async with asyncio.timeout(PATIENCE):
            reply = await self.kernel.reply(id)
        assert reply is not None, f"the kernel died: {self.kernel.last_words()}"
        assert reply["status"] == "ok", "\n".join(reply.get("traceback", []))
        await self.until(lambda: id in self._idle, f"the outputs of {id}")
        return "".join(self._said[id]).strip()

    async def reached(self, point: str) -> None:
        """Wait until the life has come to `point`, the name of a file in its folder."""
        await self.until((self.folder / point).exists, point)

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for a condition on files or outputs. Raises: AssertionError with what failed meanwhile."""
        ends = time.monotonic() + PATIENCE
        while not condition():
            assert not self._failed, "\n".join(self._failed.values())
            assert self.kernel.alive, f"the kernel died before {what}: {self.kernel.last_words()}"
            assert time.monotonic() < ends, f"waited for {what}; the log ends with {self.kernel.last_words()}"
            await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """SIGKILL."""
        await self.kernel.kill()

    def _received(self, message: dict[str, Any]) -> None:
        parent, content = message["parent_header"].get("msg_id", ""), message["content"]
        match message["msg_type"]:
            case "stream" if parent in self._said:
                self._said[parent].append(content["text"])
            case "error" if parent in self._said:
                self._failed[parent] = "\n".join(content["traceback"])
            case "status" if content["execution_state"] == "idle":
                self._idle.add(parent)


async def killed_at(folder: Path, story: str, point: str) -> None:
    """Let a kernel begin the story in `folder` and kill it at `point`."""
    async with Life(folder, STOP_AT=point) as life:
        life.begin(f"{STORY}\nawait {story}()")
        await life.reached(point)
        await life.kill()


async def told(folder: Path, story: str, without: str = "") -> dict[str, Any]:
    """Let a kernel, `without` a part of the runtime if need be, tell the story to its end; gives what was left."""
    async with Life(folder, WITHOUT=without) as life:
        await life.run(f"{STORY}\nawait {story}()")
    return left(folder)


def play(folder: str, story: str, env: dict[str, str]) -> None:
    """Tell the story, of `story.py` unless another file is named before a dot, in this process, made for it."""
    os.chdir(folder)
    os.environ.update(env)
    file, _, name = story.rpartition(".")
    asyncio.run(getattr(import_module(file or "story"), name)())


def program(folder: Path, story: str, **env: str) -> BaseProcess:
    """Begin the story in `folder` in a plain process, forked from one that knows it by heart."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["story", "team"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        forkserver.ensure_running()
    begun = forks.Process(target=play, args=(str(folder), story, env))
    begun.start()
    return begun


def kill_program_at(folder: Path, story: str, point: str) -> None:
    """Let a plain process begin the story and kill it at `point`."""
    marks = lines(folder / point)
    begun = program(folder, story, STOP_AT=point)
    try:
        ends = time.monotonic() + PATIENCE
        while lines(folder / point) == marks:
            assert begun.is_alive(), f"the program ended with {begun.exitcode} before {point}"
            assert time.monotonic() < ends, f"waited for {point}"
            time.sleep(0.01)
    finally:
        begun.kill()
        begun.join()


def run_program(folder: Path, story: str, **env: str) -> int | None:
    """Let a plain process tell the story; gives how it ended."""
    begun = program(folder, story, **env)
    begun.join(PATIENCE)
    begun.kill()
    begun.join()
    return begun.exitcode


def left(folder: Path) -> dict[str, Any]:
    """What a story told and left behind."""
    return {
        **json.loads((folder / "told").read_text()),
        "effects": Counter(lines(folder / "effects")),
        "turns": [json.loads(line)["turn"] for line in lines(folder / "turns")],
    }


def lines(file: Path) -> list[str]:
    """The lines of a file, none where there is no file."""
    return file.read_text().splitlines() if file.exists() else []
