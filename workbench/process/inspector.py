"""The inspector: a process as a person sees it, and the buttons that it has. Plain today: state, mailbox, owner, lives.

Source: LOOK 3 (process inspector). The shape is `ProcessView` of `workbench.agents.views`. Knows nothing of windows.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.patch import diff
from workbench.plain import decode
from workbench.words import kind_and_words, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.process.handle import Handle

__all__ = ["Doing", "Inspector"]

_SENTENCES = {
    "starting": "No state yet.",
    "running": "It waits for messages, or is at work on one.",
    "restarting": "It failed and begins again.",
    "done": "Its body has returned.",
    "crashed": "Its body failed.",
    "disposed": "It was ended; its children ended with it.",
}


@dataclass(frozen=True, slots=True)
class Doing:
    """What a process does at the moment: its shape, the bold beginning of the sentence, the rest."""

    shape: str
    strong: str
    text: str = ""
    tone: str = "plain"


class Inspector:
    """The source of a handle's window."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._text: str | None = None
        self._state: Any = None
        self._changed: list[str] = []

    def view(self) -> dict[str, Any]:
        """The whole view, made now."""
        handle = self._handle
        self._look(handle.states.text)
        return {
            "kind": "process",
            "name": handle.name,
            "status": handle.status,
            "now": time.time(),
            "error": _error(handle.error),
            "state": self._state,
            "changed": self._changed,
            "now_line": _now_line(handle),
            "actions": [
                {"label": label, "command": command, "args": {}, "enabled": on}
                for label, command, on in handle.buttons()
            ],
            **handle.details(),
        }

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after the process changed; gives the function that stops it."""
        return self._handle.states.changes.subscribe(changed)

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a button. Raises: what its verb raises; BadInput for one that there is not."""
        await self._handle.press(name)
        return {"status": self._handle.status}

    def _look(self, text: str | None) -> None:
        """Decode a new state, and note what changed in it."""
        if text is not None and text != self._text:
            state = decode(text)
            self._changed = [] if self._text is None else [str(op[1]) for op in diff(self._state, state)]
            self._text, self._state = text, state


def _error(error: BaseException | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "type": type(error).__qualname__,
        "message": words_of(error),
        "traceback": "".join(traceback.format_exception(error)),
    }


def _now_line(handle: Handle) -> dict[str, Any]:
    doing = handle.doing() if handle.error is None else None
    if doing is not None:
        text = doing.text if handle.states.ready else f"{doing.text} {_SENTENCES['starting']}".strip()
        return {"tone": doing.tone, "shape": doing.shape, "strong": doing.strong, "text": text, "action": None}
    killed = handle.status == "disposed"
    tone = "red" if handle.status == "crashed" else "violet" if killed else "plain"
    text = kind_and_words(handle.error) if handle.error is not None else _SENTENCES[handle.status]
    recover = next((label for label, _, on in handle.buttons() if on and label == "Recover"), None)
    return {
        "tone": tone,
        "shape": handle.status,
        "strong": f"{handle.status.capitalize()}.",
        "text": text,
        "action": recover,
    }
