"""The queue beside huey on SQLite: putting jobs, and having ten workers do them, in turns on the same disk.

Both commit every put and every job with synchronous FULL, and once more with NORMAL; huey keeps no results, which is
its fastest way. A job does nothing. Put to done is the time from the first put to the last job that is marked done.

    pip install 'jupyter-agent-workbench[bench]'
    python benchmarks/queues.py [--rounds 5] [--jobs 2000] [--json FILE] [--dir DIRECTORY]
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from options import parsed, parser_of, write_json
from ratio import Ratio, ratios_as_data, ratios_as_table
from report import Bar

from workbench import Workbench

if TYPE_CHECKING:
    from workbench.messaging.job import Job

WORKERS = 10
BODY = {"to": "ann@example.org", "subject": "Your order A-1001", "lines": 3}
Durability = Literal["full", "process"]
Rates = dict[str, float]


async def ours(place: Path, jobs: int, durability: Durability) -> Rates:
    """Puts alone, puts a hundred at once, work by ten workers, and all of it."""
    async with Workbench.open(place / "ours.db", durability=durability) as bench:
        alone = bench.queue("alone")
        began = time.perf_counter()
        for _ in range(jobs // 10):
            await alone.put(BODY)
        one = (jobs // 10) / (time.perf_counter() - began)

        queue, begun = bench.queue("mail"), 0

        async def handle(job: Job) -> None:
            nonlocal begun
            begun += 1

        began = time.perf_counter()
        for _ in range(jobs // 100):
            await asyncio.gather(*(queue.put(BODY) for _ in range(100)))
        put = time.perf_counter()
        queue.work(handle, workers=WORKERS)
        while begun < jobs or queue.stats.done < jobs:
            await asyncio.sleep(0.001)
        done = time.perf_counter()
    return _rates(jobs, one, began, put, done)


def theirs(place: Path, jobs: int, durability: Durability) -> Rates:
    """The same with huey: its puts are one at a time, its workers are threads."""
    from huey import SqliteHuey
    from huey.consumer import Consumer

    huey = SqliteHuey("mail", filename=str(place / "huey.db"), fsync=durability == "full", results=False)
    done, left, lock = threading.Event(), jobs, threading.Lock()

    @huey.task()  # type: ignore[untyped-decorator]
    def handle(body: dict[str, Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            if not left:
                done.set()

    began = time.perf_counter()
    for _ in range(jobs):
        handle(BODY)
    put = time.perf_counter()
    consumer = Consumer(
        huey, workers=WORKERS, periodic=False, initial_delay=0.001, max_delay=0.001, check_worker_health=False
    )
    consumer.start()
    done.wait()
    finished = time.perf_counter()
    consumer.stop(graceful=True)
    return _rates(jobs, jobs / (put - began), began, put, finished)


def _rates(jobs: int, alone: float, began: float, put: float, done: float) -> Rates:
    return {
        "put, one at a time": alone,
        "put, as many at once as it can": jobs / (put - began),
        f"work, {WORKERS} workers": jobs / (done - put),
        f"put to done, {WORKERS} workers": jobs / (done - began),
    }


def measure(folder: Path, rounds: int, jobs: int) -> list[Ratio]:
    lines: dict[str, Ratio] = {}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for durability in ("full", "process"):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                pair = [
                    lambda place=place, how=durability: asyncio.run(ours(Path(place), jobs, how)),
                    lambda place=place, how=durability: theirs(Path(place), jobs, how),
                ]
                turns = (0, 1) if number % 2 == 0 else (1, 0)
                found = {turn: pair[turn]() for turn in turns}
            for name, rate in found[0].items():
                full = durability == "full"
                bar = Bar(5.0) if full and name.startswith("put to done") else None
                line = lines.setdefault(
                    f"{name}, {durability}", Ratio(f"{name}, {'FULL' if full else 'NORMAL'}", "job/s", "huey", bar)
                )
                line.add(rate, found[1][name])
    return list(lines.values())


def main() -> None:
    parser = parser_of(__doc__, rounds=5)
    parser.add_argument("--jobs", type=int, default=2000)
    options, kind = parsed(parser)
    try:
        import huey
    except ImportError:
        raise SystemExit("there is no huey here; pip install 'jupyter-agent-workbench[bench]'") from None
    logging.disable(logging.ERROR)
    lines = measure(options.dir, options.rounds, options.jobs)
    print(f"Queues on {kind}, beside huey {huey.__version__}, {options.jobs} jobs, {options.rounds} rounds\n")
    print(ratios_as_table(lines))
    write_json(options.json, ratios_as_data(lines))


if __name__ == "__main__":
    main()
