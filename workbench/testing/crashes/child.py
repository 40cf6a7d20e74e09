"""The child: hosts in processes of their own, to be killed.

`python -m workbench.testing.crashes.child` reads one JSON line per life, forks a host for it, kills it when its time is
over, and answers with one line: how it ended. It imports everything once, so that a life costs little more than its
work. It has no threads and no loop of its own, so a fork of it is a fresh process.

Source: `workbench.testing.crashes.killing` is who talks to it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.bench import Workbench
from workbench.testing.crashes.book import Book
from workbench.testing.crashes.sender import send_all
from workbench.testing.crashes.workload import Workload

if TYPE_CHECKING:
    from workbench.store.store import Store


def main() -> None:
    """Serve lives until the end of the input."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_one_life(json.loads(line))) + "\n")
        sys.stdout.flush()


def _one_life(order: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        _be_a_host(order)
    if order["kill_after"] is not None:
        time.sleep(order["kill_after"])
        os.kill(pid, signal.SIGKILL)  # ours, and not waited for: the number is still its own
    _, status = os.waitpid(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), "took": time.monotonic() - began}


def _be_a_host(order: dict[str, Any]) -> None:
    try:
        asyncio.run(_live(order))
    except BaseException:
        Path(order["errors"]).write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(1)
    os._exit(0)


async def _live(order: dict[str, Any]) -> None:
    book = Book(Path(order["book"]))
    async with asyncio.timeout(order["longest"]):
        bench = await Workbench.open(store=_store(order["store"]), lease=order["lease"], worker=order["works"])
        workload = Workload(order["round"], book, bench.store.host.id, moment=order["moment"], threads=True)
        workload.note("life", order["round"])
        workload.begin(bench)
        if not order["sends"]:
            await asyncio.get_running_loop().create_future()  # it works until it is killed
        await send_all(workload, bench, book)
        await bench.close()


def _store(made: dict[str, Any]) -> Store:
    """The keeper that whoever started us names: its module, its name, and plain arguments."""
    make: Any = importlib.import_module(made["module"])
    for name in made["name"].split("."):
        make = getattr(make, name)
    store: Store = make(*made["args"], **made["named"])
    return store


if __name__ == "__main__":
    main()
