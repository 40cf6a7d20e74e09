"""Verbs of the command line for doors: `token new NAME`, `serve APPLICATION`.

A token is printed once, here; whoever publishes gives it to `bench.publish`, or sets the variable that is named. A
bench is served to those whose tokens are in the environment, until SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from workbench.endpoints.callers import checked_name, new_token, variable
from workbench.errors import BadInput

__all__ = ["add_verbs", "told"]

CHANNELS = ("mcp", "a2a", "wire")

Verb = Callable[[argparse.Namespace], Awaitable[int]]


def add_verbs(add: Callable[[str, Verb, str], argparse.ArgumentParser]) -> None:
    """Add every verb by `add(name, verb, words)`, which gives its parser."""
    token = add("token", _token, "a new token for who may call a door")
    token.add_argument("what", choices=["new"], help="make one")
    token.add_argument("name", help="who will call with it, e.g. desktop")
    token.add_argument("--channel", choices=CHANNELS, default="mcp", help="what it will call (mcp)")
    token.add_argument("--json", action="store_true", help="print JSON")
    serve = add("serve", _serve, "the doors of a bench without a notebook, until SIGTERM or SIGINT")
    serve.add_argument("application", help="the bench, as module:attribute, e.g. app:bench")
    for channel in CHANNELS:
        words = f"serve {channel} to the callers in {variable(channel, 'NAME')} (every channel that has some)"
        serve.add_argument(f"--{channel}", action="store_true", help=words)
    serve.add_argument("--port", type=int, default=0, help="the port (that of last time, else a free one)")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--public-url", help="where others reach it, when that is not host and port")
    serve.add_argument("--approvals", choices=["decline", "wait"], default="decline", help="calls that need a person")
    serve.add_argument("--default-agent", help="who answers A2A callers that name no skill")
    serve.add_argument("--json", action="store_true", help="print a line of JSON for each thing that happens")


async def _token(options: argparse.Namespace) -> int:
    caller = checked_name(options.channel, options.name)
    token, name = new_token(), variable(options.channel, caller)
    can_be_set = name.isidentifier() and caller == caller.lower()  # by a shell, and read as this caller
    if options.json:
        lines = [json.dumps({"name": caller, "token": token, "variable": name if can_be_set else None})]
    else:
        lines = [
            token,
            f"for who publishes: {f'{name}, or ' if can_be_set else ''}{options.channel}={{{caller!r}: token}}",
            "for who calls: WORKBENCH_TOKEN; it is shown this once",
        ]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


async def _serve(options: argparse.Namespace) -> int:
    from workbench.worker import work

    asked = [channel for channel in CHANNELS if getattr(options, channel)] or [*filter(_has_callers, CHANNELS)]
    if not asked:
        raise BadInput(
            f"nobody could call: no variable {variable('mcp', 'NAME')} or its like is set; make a token with "
            "workbench token new NAME"
        )
    publish: dict[str, Any] = dict.fromkeys(asked, True) | {
        name: getattr(options, name) for name in ("port", "host", "public_url", "approvals", "default_agent")
    }
    await work(options.application, partial(told, options.json), publish)
    return 0


def _has_callers(channel: str) -> bool:
    return any(name.startswith(variable(channel, "")) for name in os.environ)


def told(as_json: bool, event: dict[str, Any]) -> None:
    """Print what a headless host says of itself."""
    match event:
        case _ if as_json:
            line = json.dumps(event)
        case {"event": "working", "store": store, "pid": pid, "definitions": names}:
            line = f"working on {store} as pid {pid}: {', '.join(names) or 'no definitions'}"
        case {"event": "serving", "url": url, "callers": callers}:
            line = f"serving at {url}: " + "; ".join(
                f"{channel} for {', '.join(who)}" for channel, who in callers.items()
            )
        case {"event": "stopping", "signal": signal}:
            line = f"{signal}: stopping; what is unfinished stays in the journal"
        case _:
            line = event["event"]
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
