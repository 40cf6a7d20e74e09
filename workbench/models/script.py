"""Scripted models: every turn is written down beforehand.

- Which turn is played is a pure function of the history (how many model turns it has), so a new kernel with the same
  script carries on at the right turn, and asking twice gives the same turn.
- A script that is at its end fails; it never repeats or invents.
- `log` counts asks outside the store, one JSON line each, so that a test can tell a replayed turn from one that was
  asked again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ModelFailed
from workbench.given import seconds
from workbench.models.messages import Call, turns_in, unique_ids
from workbench.models.speech import note, said, say

if TYPE_CHECKING:
    from workbench.models.model import Request, Turn

__all__ = ["Scripted", "ScriptedCall", "ScriptedTurn", "call", "raw_call", "scripted"]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call in a script."""

    tool: str
    args: dict[str, Any]
    raw: str | None = None
    """The text in place of the arguments, for a call whose arguments are none."""


ScriptedTurn = str | ScriptedCall | Sequence[str | ScriptedCall]


def call(tool: str, /, **args: Any) -> ScriptedCall:
    """A tool call for `scripted`, with JSON arguments."""
    return ScriptedCall(tool, args)


def raw_call(tool: str, text: str) -> ScriptedCall:
    """A tool call for `scripted` with any text in place of its arguments, as a model may garble them."""
    return ScriptedCall(tool, {}, text)


def scripted(*turns: ScriptedTurn, log: str | os.PathLike[str] | None = None, delay: float = 0.0) -> Scripted:
    """A model that plays `turns`, each a text, a call, or a list of both.

    `log` is a file that gets a line per ask (`turn`, `pid`, `at`); `delay` is the time in seconds between two words.
    Raises: BadInput when a turn is something else or empty, and for a log or a delay that cannot be.
    """
    if log is not None and not isinstance(log, (str, os.PathLike)):
        raise BadInput(f"the log of a script is the path of a file, found {log!r:.80}")
    seconds("the delay between two words of a script", delay)
    return Scripted(tuple(_parts(turn, number) for number, turn in enumerate(turns)), Path(log) if log else None, delay)


class Scripted:
    """A model that plays a script. Made by `scripted`."""

    name = "scripted"

    def __init__(self, turns: tuple[tuple[str | ScriptedCall, ...], ...], log: Path | None, delay: float) -> None:
        self.turns = turns
        self._log = log
        self._delay = delay

    def __repr__(self) -> str:
        return f"scripted({len(self.turns)} turns)"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        number = request.omitted + turns_in(request.history)
        note(self._log, number)
        if number >= len(self.turns):
            raise ModelFailed(
                f"the scripted model is asked for turn {number + 1} and its script has {len(self.turns)}; add a turn",
                kind="script",
                retryable=False,
                status=None,
                turns=len(self.turns),
            )
        parts = _identified(self.turns[number], request)
        for part in parts:
            if isinstance(part, str):
                await say(part, on_text, self._delay)
        return said(parts, request, model=self.name)


def _identified(parts: Sequence[str | ScriptedCall], request: Request) -> list[str | Call]:
    ids = iter(unique_ids([None for part in parts if isinstance(part, ScriptedCall)], request.history))
    return [
        part
        if isinstance(part, str)
        else Call(next(ids), part.tool, part.args, json.dumps(part.args, ensure_ascii=False), None)
        if part.raw is None
        else Call(next(ids), part.tool, None, part.raw, None)
        for part in parts
    ]


def _parts(turn: object, number: int) -> tuple[str | ScriptedCall, ...]:
    parts = tuple(turn) if isinstance(turn, list | tuple) else (turn,)
    for part in parts:
        if not isinstance(part, str | ScriptedCall):
            raise BadInput(
                f"turn {number + 1} of the script has {part!r}; a turn is a text, models.call(...), or a list of both",
                turn=number,
            )
    if not any(isinstance(part, ScriptedCall) or part.strip() for part in parts):
        raise BadInput(f"turn {number + 1} of the script is empty; give it a text or a call", turn=number)
    return parts
