"""Durable processes through the public API: what a message costs, alone and with 100 processes at once.

    python benchmarks/durable.py [--rounds 5] [--json FILE] [--dir DIRECTORY] [--only TEXT]

- A message with one step is three durable writes: the message before it is handled, the step's result before the next
  line runs, the state when the body asks for the next message. The state is ten strings of 90 bytes.
- A cast is awaited until it is in the journal, a call until its answer is; time runs until everything is committed.
- Every round has a fresh directory on a real disk; the raw limit of that disk and the shape (`shape.py`) are measured
  before and after each figure.

Every run checks what it counted: the state of each process must say how many messages it had.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from disk import raw_commits
from options import parsed, parser_of, write_json
from report import Bar, Figure, as_data, as_table
from shape import shape_messages, shape_recovery

from workbench.bench import Workbench
from workbench.durable.definition import durable
from workbench.process.calls import Call

LINES = [f"{number:02d} ".ljust(90, "x") for number in range(10)]
RAW_SECONDS = 0.25
SHAPE_SECONDS = 0.5
INSTANCES = 1000
LAG_EVERY = 0.002


@dataclass(frozen=True, slots=True)
class Load:
    """How much is done at once: `processes`, each with `messages`, each with `steps`."""

    processes: int
    messages: int
    steps: int = 1
    calls: bool = False


async def work(key: str) -> str:
    """The effect of a step that costs nothing itself."""
    return f"done {key[-8:]}"


@durable(key="worker:{steps}:{name}")
async def worker(ctx: Any, steps: int, name: int) -> Any:
    """Does its steps for each message and keeps the last ten lines."""
    state = ctx.restored or {"count": 0, "lines": LINES}
    yield state
    async for message in ctx:
        match message:
            case {"line": line}:
                for _ in range(steps):
                    await ctx.step("work", work)
                state = {"count": state["count"] + 1, "lines": [*state["lines"][1:], line]}
            case Call({"line": line}, reply):
                for _ in range(steps):
                    await ctx.step("work", work)
                state = {"count": state["count"] + 1, "lines": [*state["lines"][1:], line]}
                reply(line)
            case Call({"type": "count"}, reply):
                reply(state["count"])
        yield state


async def send(process: Any, load: Load) -> None:
    """Everything that one process gets, in order, until the last of it is committed."""
    for number in range(load.messages):
        message = {"line": LINES[number % 10]}
        if load.calls:
            await process.call(message, id=f"call {number}")
        else:
            await process.cast(message)
    counted = await process.call({"type": "count"}, id="count")
    if counted != load.messages:
        raise SystemExit(f"{process!r} counted {counted} messages of {load.messages}; the figures would mean nothing")


async def messages(directory: Path, load: Load, durability: str) -> dict[str, float]:
    """Messages per second, processor microseconds for each, and the loop's lag in milliseconds."""
    async with Workbench.open(directory / "bench.db", worker, durability=durability) as bench:
        processes = [bench.lookup(worker, steps=load.steps, name=name) for name in range(load.processes)]
        await asyncio.gather(*(process.call({"type": "count"}, id="begin") for process in processes))
        gc.collect()
        lags: list[float] = []
        watch = asyncio.create_task(_watch_lag(lags))
        began, used = time.perf_counter(), time.process_time()
        await asyncio.gather(*(send(process, load) for process in processes))
        took, used = time.perf_counter() - began, time.process_time() - used
        watch.cancel()
    done = load.processes * load.messages
    return {"rate": done / took, "cpu": used / done * 1e6, "lag": _p99(lags) * 1e3}


async def _watch_lag(lags: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(LAG_EVERY)
        lags.append(time.perf_counter() - began - LAG_EVERY)


def _p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)] if values else 0.0


# A process that is interrupted in a step, and what it takes to bring a thousand of them back.


class Begun:
    """Counts the instances that came to life, and wakes who waits for the last of them without turning the loop."""

    def __init__(self) -> None:
        self.count = 0
        self.all = asyncio.Event()

    def one_more(self) -> None:
        self.count += 1
        if self.count == INSTANCES:
            self.all.set()


begun = Begun()


@durable(key="instance:{name}")
async def instance(ctx: Any, name: int) -> Any:
    """Says that it lives here, then works through what was interrupted."""
    begun.one_more()
    state = ctx.restored or {"count": 0, "lines": LINES}
    yield state
    async for message in ctx:
        await ctx.step("first", work)
        if message["stay"]:
            await ctx.step("second", stay if interrupting else work)
        state = {"count": state["count"] + 1, "lines": LINES}
        yield state


interrupting = False


async def stay(key: str) -> None:
    """A step that never ends."""
    await asyncio.Event().wait()


async def interrupt(path: str) -> None:
    """Bring the instances to the middle of a message; this process is then killed."""
    global interrupting
    interrupting = True
    bench = await Workbench.open(path, instance)
    processes = [bench.lookup(instance, name=name) for name in range(INSTANCES)]
    for stays in (False, True):
        await asyncio.gather(*(process.cast({"stay": stays}) for process in processes))
    while any(process.pending or process.state["count"] < 1 for process in processes):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    print("ready", flush=True)
    await asyncio.Event().wait()


def recovery(directory: Path) -> float:
    """Milliseconds from opening a file whose last process was killed until every instance is claimed and loaded."""
    path = directory / "interrupted.db"
    command = [sys.executable, __file__, "--interrupt", str(path), "--dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        if child.stdout.readline().strip() != "ready":
            raise SystemExit("the process that is to be interrupted ended by itself")
        child.send_signal(signal.SIGKILL)
    return asyncio.run(recover(path))


async def recover(path: Path) -> float:
    """What `recovery` measures: an instance is claimed and loaded once its body runs."""
    global begun
    begun = Begun()
    gc.collect()
    began = time.perf_counter()
    async with Workbench.open(path, instance) as bench:
        await begun.all.wait()
        took = time.perf_counter() - began
        last = bench.lookup(instance, name=INSTANCES - 1)
        await last.until(lambda state: state["count"] == 2)
    return took * 1e3


FULL, NORMAL = "FULL", "NORMAL"
ALONE, MANY = 1, 100

FIGURES: list[tuple[Figure, Load]] = [
    (Figure("casts, 1 step, alone", "msg/s", FULL, Bar(1_200), 1_857), Load(ALONE, 1_000)),
    (Figure("casts, 1 step, 100 at once", "msg/s", FULL, Bar(20_000), 32_553), Load(MANY, 100)),
    (Figure("calls, 1 step, alone", "call/s", FULL), Load(ALONE, 1_000, calls=True)),
    (Figure("calls, 1 step, 100 at once", "call/s", FULL, Bar(15_000), 32_553), Load(MANY, 100, calls=True)),
    (Figure("10-step casts, alone", "step/s", FULL), Load(ALONE, 200, 10)),
    (Figure("10-step casts, 100 at once", "step/s", FULL, Bar(50_000), 84_883), Load(MANY, 25, 10)),
    (Figure('casts, 1 step, alone, "process"', "msg/s", NORMAL, Bar(8_000), 13_109), Load(ALONE, 3_000)),
]
DURABILITY = {FULL: "full", NORMAL: "process"}


class Run:
    """All figures of one run of this file."""

    def __init__(self, place: Path, only: str) -> None:
        self.place = place
        self.loads = [(figure, load) for figure, load in FIGURES if only in figure.name]
        self.lag = Figure("loop lag p99, 100 at once", "ms", bar=Bar(5, at_most=True))
        self.recovery = Figure("1,000 instances: claimed and loaded", "ms", bar=Bar(100, at_most=True), shape=14.7)
        self.recovery_shape = Figure("the shape of the recovery", "ms")
        self.limits = {name: Figure(f"raw SQLite, WAL, {name}", "commit/s") for name in (FULL, NORMAL)}
        self.shapes = {
            figure.name: Figure(f"the shape of {figure.name}", figure.unit, figure.raw) for figure, _ in self.loads
        }
        self.recovers = only in self.recovery.name

    def round(self) -> None:
        """One round: every load in a directory of its own, with the raw limit before and after it."""
        for figure, load in self.loads:
            self._in_a_fresh_directory(lambda place, figure=figure, load=load: self._measure(place, figure, load))
        if self.recovers:
            self._in_a_fresh_directory(self._recover)

    def _measure(self, place: Path, figure: Figure, load: Load) -> None:
        assert figure.raw is not None
        limits, shapes = [raw_commits(place, figure.raw, RAW_SECONDS)], [_shape(place, figure.raw, load)]
        found = asyncio.run(messages(place, load, DURABILITY[figure.raw]))
        shapes.append(_shape(place, figure.raw, load))
        limits.append(raw_commits(place, figure.raw, RAW_SECONDS))
        self.limits[figure.raw].add(mean(limits))
        self.shapes[figure.name].add(mean(shapes) * load.steps, raw=mean(limits))
        figure.add(
            found["rate"] * load.steps,
            raw=mean(limits),
            shape=mean(shapes) * load.steps,
            cpu=found["cpu"] / load.steps,
        )
        if load == Load(MANY, 100):
            self.lag.add(found["lag"])

    def _recover(self, place: Path) -> None:
        before = shape_recovery(place, INSTANCES)
        took = recovery(place)
        shape = mean([before, shape_recovery(place, INSTANCES)])
        self.recovery_shape.add(shape)
        self.recovery.add(took, shape=shape)

    def _in_a_fresh_directory(self, measure: Callable[[Path], Any]) -> None:
        with tempfile.TemporaryDirectory(prefix="workbench-bench-", dir=self.place) as directory:
            measure(Path(directory))

    def figures(self) -> list[Figure]:
        """What was measured, the limits first."""
        rates = [one for figure, _ in self.loads for one in (self.shapes[figure.name], figure)]
        all_of_them = [*self.limits.values(), *rates, self.lag, self.recovery_shape, self.recovery]
        return [figure for figure in all_of_them if figure.rounds]


def _shape(place: Path, synchronous: str, load: Load) -> float:
    thread = synchronous == FULL or load.processes > 1
    return shape_messages(place, synchronous, load.processes, load.steps, SHAPE_SECONDS, thread=thread)


def main() -> None:
    parser = parser_of(__doc__, rounds=5)
    parser.add_argument("--only", default="", help="measure the figures whose name has this text")
    parser.add_argument("--interrupt", help=argparse.SUPPRESS)
    options, kind = parsed(parser)
    if options.interrupt:
        asyncio.run(interrupt(options.interrupt))
    run = Run(options.dir, options.only)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        run.round()
    print(f"Durable processes on {kind}, synchronous FULL unless said otherwise, {options.rounds} rounds\n")
    print(as_table(run.figures()))
    write_json(options.json, as_data(run.figures()))


if __name__ == "__main__":
    main()
