"""Verbs of the command line for what went wrong: dead, requeue, discard, blocked, resolve.

Each works on an open bench and gives what Python's verb of that name gives. Knows nothing of how a store is named or a
value is printed.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.bench import Workbench
    from workbench.cli_upkeep import Work

__all__ = ["add_verbs"]

CHOICES = {"start-over": "started over", "accept": "accepted", "add": "added", "set-aside": "set aside"}


def add_verbs(add: Callable[[str, Work, str], argparse.ArgumentParser]) -> None:
    """Add every verb by `add(name, work, words)`, which gives its parser."""
    dead = add("dead", _dead, "the messages that were set aside and wait to be decided")
    dead.add_argument("--all", action="store_true", help="those that are decided too")
    requeue = add("requeue", _requeue, "deliver a dead letter again")
    requeue.add_argument("--message", metavar="JSON", help="another message in its place")
    discard = add("discard", _discard, "give a dead letter up")
    for decision in (requeue, discard):
        decision.add_argument("id", type=int, help="the number of the letter")
    add("blocked", _blocked, "the keys whose code asks for other steps than their journal has")
    resolve = add("resolve", _resolve, "decide about such a key")
    resolve.add_argument("key", help="the key")
    resolve.add_argument(
        "choice",
        choices=CHOICES,
        help="start-over: its effects run again; accept: the journal as it is; add: the new step runs beside those "
        "recorded; set-aside: a dead letter",
    )
    for decision in (requeue, discard, resolve):
        decision.add_argument("--by", default=os.environ.get("USER", "you"), help="who decides")


async def _dead(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    table = bench.dead_letters.all() if options.all else bench.dead_letters
    return [asdict(letter) for letter in table], repr(table), 0


async def _requeue(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    if options.message is None:
        letter = await bench.dead_letters.requeue(options.id, by=options.by)
    else:
        letter = await bench.dead_letters.requeue(options.id, _message(options.message), by=options.by)
    return asdict(letter), f"{letter.id} requeued: message {letter.seq} of {letter.key}", 0


def _message(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"--message is JSON, found {text!r}: {error}") from error


async def _discard(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    letter = await bench.dead_letters.discard(options.id, by=options.by)
    return asdict(letter), f"{letter.id} discarded: message {letter.seq} of {letter.key}", 0


async def _blocked(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    rows = [{"key": key, "reason": reason} for key, reason in bench.blocked.items()]
    return rows, repr(Table(rows, columns=("key", "reason"))), 0


async def _resolve(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    choice = CHOICES[options.choice]
    await bench.resolve(options.key, choice, by=options.by)
    return {"key": options.key, "choice": choice, "by": options.by}, f"{options.key} {choice}", 0
