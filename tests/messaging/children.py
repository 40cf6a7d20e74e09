"""What tests of several kernels share: benches of this process, and children, which are killed by their pid."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from workbench import Workbench

CHILD = Path(__file__).with_name("child.py")
PATIENCE = 60.0

OpenBench = Callable[[], Awaitable[Workbench]]
"""Opens one more host of the same place."""


@asynccontextmanager
async def child(folder: Path, what: str, *rest: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that runs `what` of `child.py` on the store in `folder`; killed when it is left."""
    words = [str(word) for word in (CHILD, folder, what, *rest)]
    begun = await asyncio.create_subprocess_exec(sys.executable, *words)
    try:
        yield begun
    finally:
        if begun.returncode is None:
            begun.kill()
        await begun.wait()


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait for what another process, or its write, brings about."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"waited {PATIENCE} s for {what}") from None


def lines(folder: Path, file: str) -> list[str]:
    """The lines of a file, none where there is no file."""
    path = folder / file
    return path.read_text().splitlines() if path.exists() else []
