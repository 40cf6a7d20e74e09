"""Speech: a turn that is known in advance, said word by word on the loop as a model would, and noted when asked for."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

from workbench.models.messages import Call, model_message
from workbench.models.model import Request, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["note", "said", "say"]


async def say(text: str, on_text: Callable[[str], None], delay: float = 0.0) -> None:
    """Give `text` to `on_text` a word at a time, `delay` seconds apart; what else waits on the loop runs in between."""
    for word in re.findall(r"\s*\S+\s*", text) if text.strip() else ():
        on_text(word)
        await asyncio.sleep(delay)


def note(log: Path | None, turn: int) -> None:
    """Append a line about an ask (`turn`, `pid`, `at`) to `log`, so that asks can be counted outside the store."""
    if log is not None:
        line = json.dumps({"turn": turn, "pid": os.getpid(), "at": time.time()})
        with log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def said(parts: Sequence[str | Call], request: Request, *, model: str) -> Turn:
    """The turn that says `parts`. A word counts as a token; there is no price."""
    message = model_message(parts, model=model)
    return Turn.of(
        message,
        model=model,
        finish="tool_call" if any(isinstance(part, Call) for part in parts) else "stop",
        input_tokens=_words(request.instructions) + sum(_weight(kept) for kept in request.history),
        output_tokens=_weight(message),
    )


def _weight(message: Mapping[str, Any]) -> int:
    return sum(_words(part.get("content")) + _words(part.get("args")) for part in message["json"]["parts"])


def _words(value: Any) -> int:
    """How many words the texts and arguments in plain data have."""
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value.split())
    return len(json.dumps(value, ensure_ascii=False).split())
