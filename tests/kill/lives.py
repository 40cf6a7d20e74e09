"""Lives: real kernels that run a source in the folder of a store, are killed by their pid, and followed by others."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        return "".join(self._said[id])

    async def reached(self, point: str) -> None:
        """Wait until the life has come to `point`, the name of a file in its folder."""
        await self.until((self.folder / point).exists, point)

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for a condition on files or outputs. Raises: AssertionError with what failed meanwhile."""
        ends = time.monotonic() + PATIENCE
        while not condition():
            assert not self._failed, "\n".join(self._failed.values())
            assert self.kernel.alive, f"the kernel died before {what}: {self.kernel.last_words()}"
            assert time.monotonic() < ends, (
                f"waited {PATIENCE} s for {what}; the log ends with {self.kernel.last_words()}"
            )
            await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """SIGKILL."""
        await self.kernel.kill()

    async def died(self) -> None:
        """Wait until it has ended by itself."""
        async with asyncio.timeout(PATIENCE):
            while self.kernel.alive:
                await asyncio.sleep(0.01)

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
    """Let a life begin the story in `folder` and kill it at `point`."""
    async with Life(folder, STOP_AT=point) as life:
        life.begin(f"{STORY}\nawait {story}()")
        await life.reached(point)
        await life.kill()


async def told(folder: Path, story: str, without: str = "") -> dict[str, Any]:
    """Let another life, without a part of the runtime if need be, tell the story to its end; gives what it told and left behind."""
    async with Life(folder, WITHOUT=without) as life:
        await life.run(f"{STORY}\nawait {story}()")
    return {
        **json.loads((folder / "told").read_text()),
        "effects": Counter(lines(folder / "effects")),
        "turns": [json.loads(line)["turn"] for line in lines(folder / "turns")],
    }


def lines(file: Path) -> list[str]:
    """The lines of a file, none where there is no file."""
    return file.read_text().splitlines() if file.exists() else []
