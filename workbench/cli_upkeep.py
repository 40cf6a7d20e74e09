"""Verbs of the command line for who looks after a store: keys, doctor, prune, delete, export, import.

Each works on an open bench and gives what Python's verb of that name gives. Knows nothing of how a store is named or a
value is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from workbench.bench import Workbench

__all__ = ["Work", "add_verbs", "doctor"]

DAY = 86_400.0

Work: TypeAlias = "Callable[[Workbench, argparse.Namespace], Awaitable[tuple[Any, str, int]]]"
"""Gives what is printed with `--json`, the words without, and the exit status."""


def add_verbs(add: Callable[[str, Work, str], argparse.ArgumentParser]) -> None:
    """Add every verb by `add(name, work, words)`, which gives its parser."""
    add("keys", _keys, "every key in a store")
    add("doctor", doctor, "what is true of a store and of this Python, and what to do about it")
    prune = add("prune", _prune, "forget what is older than the retention, or than so many days")
    prune.add_argument("--days", type=float, help="forget what was over this many days ago")
    delete = add("delete", _delete, "forget a key or run and everything of it")
    delete.add_argument("id", help="the id of a run or a key")
    delete.add_argument("--unfinished", action="store_true", help="also when it has work left")
    export = add("export", _export, "write a key or run to a new file")
    export.add_argument("id", help="the id of a run or a key")
    export.add_argument("file", help="the file to make")
    import_ = add("import", _import, "bring in a key or run from a file")
    import_.add_argument("file", help="a file of workbench export")
    import_.add_argument(
        "--continue", dest="go_on", action="store_true", help="let it go on here; else it is read-only"
    )


async def _keys(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    table = bench.keys()
    return list(table), repr(table), 0


async def doctor(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    """What `bench.doctor()` says; the status is 1 when something is broken."""
    report = await bench.doctor()
    return report.to_plain(), repr(report), 0 if report.well else 1


async def _prune(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    gone = await bench.prune(None if options.days is None else time.time() - options.days * DAY)
    return {"rows": gone}, f"{gone} rows forgotten", 0


async def _delete(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    await bench.delete(options.id, unfinished=options.unfinished)
    return {"deleted": options.id}, f"{options.id} deleted", 0


async def _export(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    rows = await bench.export(options.id, options.file)
    return {"rows": rows, "file": options.file}, f"{rows} rows of {options.id} in {options.file}", 0


async def _import(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    key = await bench.import_(options.file, read_only=not options.go_on)
    return {"key": key}, f"{key} imported", 0
