"""Recorded models: a real model's turns, kept in a file the first time and played from it afterwards.

- A turn is found by the digest of its whole request (instructions, history, tools, settings, model), so a changed
  prompt is a new request and never gets an old answer. Times are left out of the digest, or no request would ever
  come twice.
- The file is replaced as a whole, never half written, and holds no key: only messages.
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

_FORMAT = "workbench-cassette-1"


def recorded(model: object, cassette: str | os.PathLike[str], *, record: bool = True) -> Recorded:
    """A model that answers from the file `cassette`, and asks `model` for turns that it does not have yet.

    `model` is whatever `resolve` understands. With `record` off it asks nobody and fails instead.
    """
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
        key = _digest(self.name, request)
        kept = _read(self._cassette).get(key)
        if kept is not None:
            turn = Turn.from_plain(kept)
            await say(turn.text, on_text)
            return turn
        turn = await self._recorder(key).ask(request, on_text)
        _write(self._cassette, key, turn.to_plain())
        return turn

    def _recorder(self, key: str) -> Model:
        missing = f"cassette {str(self._cassette)!r} has no turn for this request ({key[:12]})"
        if not self._record:
            raise ModelFailed(f"{missing}; record it again", kind="script", retryable=False, status=None)
        try:
            return resolve(self._model)
        except BadInput as error:
            raise BadInput(f"{missing}, and it cannot be recorded: {error}") from error


def _digest(model: str, request: Request) -> str:
    asked = [model, request.instructions, [message["json"] for message in request.history], request.settings]
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    return hashlib.sha256(json.dumps(_timeless([asked, tools]), sort_keys=True).encode()).hexdigest()


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
