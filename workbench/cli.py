"""The front door of the command line: parse, call, print.

Every verb is one of Python's, with `--json` for programs. Exit status: 0 done, 1 not so or refused, 2 called wrongly.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from workbench import __version__, cli_approvals, cli_budgets, cli_doors, cli_mending, cli_upkeep
from workbench.cli_doors import told
from workbench.cli_upkeep import Work, doctor
from workbench.cli_words import on_the_line
from workbench.durable.doctor import versions
from workbench.errors import BadInput, WorkbenchError

__all__ = ["main"]

Verb = Callable[[argparse.Namespace], Awaitable[int]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit status."""
    options = _parser().parse_args(_parted(sys.argv[1:] if argv is None else argv))
    try:
        status: int = asyncio.run(options.verb(options))
    except WorkbenchError as error:
        print(f"workbench: {on_the_line(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _parted(argv: Sequence[str]) -> list[str]:
    """The command line with what is JupyterLab's set apart: argparse takes options that come first for our own."""
    verb, given = list(argv[:1]), list(argv[1:])
    theirs = verb == ["lab"] and given not in (["-h"], ["--help"])
    return [*verb, "--", *given] if theirs else [*verb, *given]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workbench", description="Durable agents that live in a Jupyter kernel.")
    parser.add_argument("--version", action="version", version=f"workbench {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    demo = _verb(
        verbs,
        "demo",
        _demo,
        "a kernel is killed while a tool is at work, and another carries on: the whole story, checked",
    )
    demo.add_argument("--into", type=Path, help="the folder to work in (a new one under ./demo)")
    lab = _verb(verbs, "lab", _lab, "JupyterLab on the lessons")
    lab.add_argument("arguments", nargs=argparse.REMAINDER, help="what goes to JupyterLab, options too")
    worker = _verb(verbs, "worker", _worker, "a headless host: runs what is due until SIGTERM or SIGINT")
    worker.add_argument("application", help="the bench, as module:attribute, e.g. app:bench")
    worker.add_argument("--json", action="store_true", help="print a line of JSON for each thing that happens")
    cli_doors.add_verbs(lambda name, verb, words: _verb(verbs, name, verb, words))
    runs = _store_verb(verbs, "runs", _runs, "the runs in a store")
    runs.add_argument("--status", help="only those with this status")
    show = _store_verb(verbs, "show", _show, "one run")
    show.add_argument("id", help="the id of the run")
    journal = _store_verb(verbs, "journal", _journal, "every message, step and state of a key or run")
    journal.add_argument("id", help="the id of a run or a key")
    journal.add_argument("--at", type=int, metavar="SEQ", help="the state as it was once this message was handled")
    kill = _store_verb(verbs, "kill", _kill, "end the life of a run or key, wherever it is, as a crash would")
    kill.add_argument("id", help="the id of a run or a key")
    kill.add_argument("--by", default=os.environ.get("USER", "you"), help="who kills it")
    probe = _verb(verbs, "probe", _probe, "what a model server does of what the workbench uses")
    probe.add_argument("url", help="the server's address, e.g. http://127.0.0.1:11434/v1")
    probe.add_argument("model", nargs="?", help="the server's name of the model (its first)")
    probe.add_argument("--json", action="store_true", help="print JSON")
    for add_verbs in (cli_approvals.add_verbs, cli_upkeep.add_verbs, cli_mending.add_verbs, cli_budgets.add_verbs):
        add_verbs(lambda name, work, words: _store_verb(verbs, name, partial(_look_after, work), words))
    return parser


def _verb(verbs: Any, name: str, verb: Verb, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=words, description=words)
    parser.set_defaults(verb=verb)
    return parser


def _store_verb(verbs: Any, name: str, verb: Verb, words: str) -> argparse.ArgumentParser:
    parser = _verb(verbs, name, verb, words)
    parser.add_argument("--store", help="the store's file (the one *.db here, else in one folder below)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


async def _demo(options: argparse.Namespace) -> int:
    from workbench.testing.story import tell_the_story

    try:
        into = _new_folder() if options.into is None else options.into
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        place = "demo" if options.into is None else str(options.into)
        raise BadInput(f"the folder {place!r} cannot be made: {error.strerror}; name another with --into") from error
    _say(
        "An agent refunds one order and cancels another. "
        "Its kernel is killed between moving the money and sending the receipt.\n"
    )
    story = await tell_the_story(into, _say)
    _say("\nWhat is so, read from the files of the bank, the mail server and the model:")
    for check in story.checks:
        _say(f"  {'yes' if check.holds else 'NO '}  {check.claim}\n       {check.seen}")
    _say(f"\nThe executed notebook: {story.notebook}\nThe same to read in a browser: {story.html}")
    _say(f"The run again: workbench show lesson-02 --store {story.store}")
    _say("\nThe money moved once." if story.true else "\nNot everything is so: see NO above.")
    return 0 if story.true else 1


def _new_folder() -> Path:
    Path("demo").mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="story-", dir="demo"))


async def _lab(options: argparse.Namespace) -> int:
    from workbench.testing.lessons import lessons_to_work_in

    if importlib.util.find_spec("jupyterlab") is None:
        raise BadInput('JupyterLab is not installed here; pip install "jupyter-agent-workbench[lab]"')
    lessons = lessons_to_work_in()
    _say(f"The lessons are in {lessons}")
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    given = options.arguments[1:] if options.arguments[:1] == ["--"] else options.arguments
    # in our place, so that its signals, its terminal and its exit status are its own
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, *given, str(lessons)])


async def _worker(options: argparse.Namespace) -> int:
    from workbench.worker import work

    await work(options.application, partial(told, options.json))
    return 0


async def _kill(options: argparse.Namespace) -> int:
    async with _bench(options) as bench:
        await bench.kill(options.id, by=options.by)
        if options.json:
            _print({"id": options.id, "killed": True, "by": options.by})
        else:
            _say(f"{options.id} killed")
    return 0


async def _runs(options: argparse.Namespace) -> int:
    async with _bench(options) as bench:
        table = bench.runs.find(status=options.status)
        if options.json:
            _print(
                [
                    {
                        "id": r.id,
                        "parent": r.parent,
                        "agent": r.agent,
                        "status": r.status,
                        "alive": r.alive,
                        "request": r.request,
                        "output": r.state["output"],
                    }
                    for r in table
                ]
            )
        else:
            _say(repr(table))
    return 0


async def _show(options: argparse.Namespace) -> int:
    async with _bench(options) as bench:
        view = bench.runs[options.id].view()
        if options.json:
            _print(view)
        else:
            from workbench.widgets.static_twin import text

            _say(text(dict(view)))
    return 0


async def _journal(options: argparse.Namespace) -> int:
    async with _bench(options) as bench:
        table = bench.journal(options.id)
        if options.at is not None:
            _print(table.at(options.at))
        elif options.json:
            _print([dict(row) for row in table])
        else:
            _say(repr(table))
    return 0


async def _probe(options: argparse.Namespace) -> int:
    """What a server can do, asked with the key in WORKBENCH_MODEL_KEY; the status is 1 when something is missing."""
    from workbench.models.compatible import probe

    key = os.environ.get("WORKBENCH_MODEL_KEY") or "unused"
    table = await probe(options.url, options.model, api_key=key)
    _print([dict(row) for row in table]) if options.json else _say(repr(table))
    return 0 if all(row["works"] for row in table) else 1


async def _look_after(work: Work, options: argparse.Namespace) -> int:
    """Do a verb of a file of verbs, such as `workbench.cli_approvals`. The doctor answers without a store too."""
    if options.store is None and work is doctor and not _candidates():
        report = versions()
        _print(report.to_plain()) if options.json else _say(repr(report))
        return 0
    async with _bench(options) as bench:
        value, words, status = await work(bench, options)
    _print(value) if options.json else _say(words)
    return status


def _bench(options: argparse.Namespace) -> Any:
    """A bench on the store that runs nothing."""
    from workbench.bench import Workbench

    return Workbench.open(_store(options.store), worker=False)


def _store(given: str | None) -> str:
    """The store's file. Raises: BadInput when there is none, or more than one to choose from."""
    if given is not None:
        if "://" not in given and not Path(given).is_file():
            raise BadInput(f"there is no store {given!r}; name the file that Workbench.open was given")
        return given
    found = _candidates()
    if len(found) != 1:
        names = ", ".join(str(path) for path in found) or "none"
        raise BadInput(f"which store? --store names the file; here there are: {names}")
    return str(found[0])


def _candidates() -> list[Path]:
    return sorted(Path().glob("*.db")) or sorted(Path().glob("*/*.db"))


def _say(text: str) -> None:
    print(text, flush=True)


def _print(value: Any) -> None:
    print(json.dumps(value, indent=1, default=str))
