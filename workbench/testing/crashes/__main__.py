"""The command: `python -m workbench.testing.crashes --kills 500 --minutes 30` kills hosts for as long as is asked.

It works on a SQLite file in a folder of its own, which stays when a promise was broken: the report names the round, and
the folder has its store and its book. Exits with 1 then.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.crashes.killing import kill_suite


def main() -> int:
    """Kill, and say what it showed."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="crashes-", dir=options.folder))
    report = asyncio.run(
        kill_suite(
            partial(SQLiteStore, folder / "bench.db", durability=options.durability),
            folder,
            kills=options.kills,
            seconds=60 * options.minutes,
            seed=options.seed,
            tell=lambda line: print(line, flush=True),
        )
    )
    print(report)
    if report.broken:
        print(f"what is left of it is in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m workbench.testing.crashes", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="how many hosts to kill, at least (100)")
    parser.add_argument("--minutes", type=float, default=0.0, help="how long to go on, at least (0)")
    parser.add_argument("--seed", type=int, default=0, help="which random moments (0)")
    parser.add_argument("--durability", choices=("full", "process"), default="full", help="of the store (full)")
    parser.add_argument("--folder", help="where to make the folder of the run; by default the system's for temporary")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
