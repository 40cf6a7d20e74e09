"""Verbs of the command line for doors: `token new NAME`.

A token is printed once, here; whoever publishes gives it to `bench.publish`, or sets the variable that is named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Awaitable, Callable

from workbench.endpoints.callers import new_token, variable

__all__ = ["add_verbs"]

Verb = Callable[[argparse.Namespace], Awaitable[int]]


def add_verbs(add: Callable[[str, Verb, str], argparse.ArgumentParser]) -> None:
    """Add every verb by `add(name, verb, words)`, which gives its parser."""
    token = add("token", _token, "a new token for who may call a door")
    token.add_argument("what", choices=["new"], help="make one")
    token.add_argument("name", help="who will call with it, e.g. desktop")
    token.add_argument("--channel", choices=["mcp", "a2a", "wire"], default="mcp", help="what it will call (mcp)")
    token.add_argument("--json", action="store_true", help="print JSON")


async def _token(options: argparse.Namespace) -> int:
    token, name = new_token(), variable(options.channel, options.name)
    if options.json:
        lines = [json.dumps({"name": options.name, "token": token, "variable": name})]
    else:
        lines = [
            token,
            f"for who publishes: {name}, or {options.channel}={{{options.name!r}: token}}",
            "for who calls: WORKBENCH_TOKEN; it is shown this once",
        ]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0
