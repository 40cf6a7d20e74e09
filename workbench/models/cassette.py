"""Recorded models: a real model's turns, kept in a file the first time and played from it afterwards.

- A turn is found by the digest of its whole request (instructions, history, tools, settings, model), so a changed
  prompt is a new request and never gets an old answer. Times are left out of the digest, or no request would ever
  come twice.
- A request that has no turn is told by what of it is new, compared with the nearest one that has.
- The file is replaced as a whole, never half written, and holds messages and digests only: no key, no header, no
  setting.
- The model behind is made when a turn must be recorded; playing needs neither its package nor its key.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ModelFailed
from workbench.models.model import Turn
from workbench.models.providers import resolve
from workbench.models.speech import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.models.model import Model, Request

__all__ = ["Recorded", "recorded"]

_FORMAT = "workbench-cassette-2"
ASKED = "asked"


def recorded(model: object, cassette: str | os.PathLike[str], *, record: bool = True) -> Recorded:
    """A model that answers from the file `cassette`, and asks `model` for turns that it does not have yet.

    `model` is whatever `resolve` understands. With `record` off it asks nobody and fails instead. Raises: BadInput for
    a cassette that is no path.
    """
    if not cassette or not isinstance(cassette, (str, os.PathLike)):
        raise BadInput(f'a cassette is the path of a file, such as "cassette.json", found {cassette!r:.80}')
    return Recorded(model, Path(cassette), record)


class Recorded:
    """A model with a cassette. Made by `recorded`."""

    def __init__(self, model: object, cassette: Path, record: bool) -> None:
        self.name = model if isinstance(model, str) else str(getattr(model, "name", "recorded"))
        self._model = model
        self._cassette = cassette
        self._record = record

    def __repr__(self) -> str:
        return f"recorded({self.name!r}, {str(self._cassette)!r})"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        asked = _asked(self.name, request)
        key, tape = _digest(list(asked.values())), _read(self._cassette)
        kept = tape.get(key)
        if kept is not None:
            turn = Turn.from_plain({name: value for name, value in kept.items() if name != ASKED})
            await say(turn.text, on_text)
            return turn
        parts = {name: _digest(part) for name, part in asked.items()}
        turn = await self._recorder(parts, tape).ask(request, on_text)
        _write(self._cassette, key, {**turn.to_plain(), ASKED: parts})
        return turn

    def _recorder(self, parts: dict[str, str], tape: dict[str, Any]) -> Model:
        missing = f"cassette {str(self._cassette)!r} has no turn for this request: {_news(parts, tape)}"
        if not self._record:
            raise ModelFailed(f"{missing}; record it again", kind="script", retryable=False, status=None)
        try:
            return resolve(self._model)
        except BadInput as error:
            raise BadInput(f"{missing}, and it cannot be recorded: {error}") from error


def _asked(model: str, request: Request) -> dict[str, Any]:
    """What a request is made of, by the names that people know."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    asked = {
        "model": model,
        "instructions": request.instructions,
        "history": [message["json"] for message in request.history],
        "settings": request.settings,
        "tools": tools,
    }
    output = request.output
    return asked if output is None else {**asked, "output": [output.name, output.description, output.parameters]}


def _news(parts: dict[str, str], tape: dict[str, Any]) -> str:
    """What of a request differs from the nearest one that was recorded."""
    known = [each[ASKED] for each in tape.values() if ASKED in each]
    if not known:
        return "it has none that says what it was asked with" if tape else "it is empty"
    names = [*parts, *({name for each in known for name in each} - parts.keys())]
    differing = min(([name for name in names if each.get(name) != parts.get(name)] for each in known), key=len)
    return f"the nearest one that it has differs in {' and '.join(differing)}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(_timeless(value), sort_keys=True).encode()).hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key != "timestamp"}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _read(cassette: Path) -> dict[str, Any]:
    if not cassette.exists():
        return {}
    try:
        content = json.loads(cassette.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"{str(cassette)!r} is no cassette: it is not JSON; give another path or delete it") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise BadInput(f"{str(cassette)!r} is no cassette of the format {_FORMAT!r}; give another path or delete it")
    turns: dict[str, Any] = content["turns"]
    return turns


def _write(cassette: Path, key: str, turn: dict[str, Any]) -> None:
    """Add a turn to what the file holds now; the file is the old one or the new one at every instant."""
    content = {"format": _FORMAT, "turns": {**_read(cassette), key: turn}}
    cassette.parent.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=cassette.parent, prefix=cassette.name, suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, sort_keys=True, ensure_ascii=False)
        os.replace(path, cassette)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
