"""Words for numbers, times and values, the same in every picture; the front end's twin is `widgets/src/parts/words.ts`.

- Durations: 41 ms, 1.9 s, 0:41, 1:12:05. Instants: UTC, since a saved picture is read anywhere.
  Thousands have separators.
- What would hide in a text, or turn its direction, is shown as a mark.
- An unknown price is "no price", never 0.

Knows nothing of views. Source: LOOK 4.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.agents.secret_texts import DOTS, masked

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = [
    "arguments",
    "clock",
    "cost",
    "count",
    "elapsed",
    "moment",
    "plural",
    "short",
    "spent",
    "tokens",
    "took",
    "visible",
]

WIDTH = 80
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""Control and direction characters; line ends and tabs are none."""


def took(seconds: float | None) -> str:
    """How long something took: exact while short. Nothing for None."""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{max(0, round(seconds * 1000))} ms"
    return f"{seconds:.1f} s" if seconds < 59.95 else elapsed(seconds)


def elapsed(seconds: float) -> str:
    """A duration as a clock shows it: 0:41, 1:12:05."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def clock(instant: float) -> str:
    """The time of day of an instant, in UTC."""
    return f"{datetime.fromtimestamp(instant, UTC):%H:%M:%S}"


def moment(instant: float) -> str:
    """An instant in full: 29 Nov 2026, 14:02:46 UTC."""
    at = datetime.fromtimestamp(instant, UTC)
    return f"{at.day} {at:%b %Y, %H:%M:%S} UTC"


def count(number: int | float) -> str:
    """A number with separators: 20,012."""
    return f"{number:,}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """1 line, 2 lines."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def cost(microdollars: int | None) -> str:
    """Money: three decimals below one dollar, and "no price" when none is known."""
    if microdollars is None:
        return "no price"
    dollars = microdollars / 1_000_000
    return f"${dollars:.3f}" if dollars < 1 else f"${dollars:,.2f}"


def tokens(usage: Mapping[str, Any]) -> str:
    """Tokens in and out; "not reported" where no turn came with a figure, the least where some did not."""
    if usage["unreported"] and usage["input_tokens"] is None:
        return "not reported"
    least = "at least " if usage["unreported"] else ""
    return f"{least}{count(usage['input_tokens'] or 0)} in, {count(usage['output_tokens'] or 0)} out"


def spent(usage: Mapping[str, Any]) -> str:
    """The cost of all turns; the least that it can be where some have no price."""
    priced = usage["cost_microdollars"] is not None
    return ("at least " if priced and usage["unpriced"] else "") + cost(usage["cost_microdollars"])


def arguments(args: dict[str, Any], secret: Collection[str] = ()) -> str:
    """The arguments of a call as code: order_id="A-1002", limit=3. What stands at the places in `secret` is dots."""
    shown = masked(args, secret, DOTS)
    return ", ".join(f"{name}={value if value is DOTS else short(value)}" for name, value in shown.items())


def short(value: Any, width: int = WIDTH) -> str:
    """A value as JSON in one line, cut at the end; what is cut off is counted."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= width else f"{text[: width - 1]}… ({plural(len(text), 'character')})"


def visible(said: str) -> str:
    """A text with its control and direction characters as marks: ␇, ⟨U+202E⟩."""
    return HIDDEN.sub(_mark, said)


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else f"⟨U+{code:04X}⟩"
