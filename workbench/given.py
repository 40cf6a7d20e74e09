"""What callers give: names, durations, addresses, functions, each refused by what it is for when it cannot be.

- A bool is no number, and neither is what has no end: an infinite wait is asked for by None, where that can be.
- A number has a bound, so that no timer, row or loop has to carry one that it cannot.

Knows nothing of what is named or counted.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from urllib.parse import SplitResult

__all__ = [
    "LONGEST",
    "MOST",
    "NAME",
    "address",
    "bearer",
    "duration",
    "named",
    "parsed_url",
    "predicate",
    "seconds",
    "several",
    "shown",
    "shown_url",
    "whole",
]

WEB = ("http", "https")
"""The schemes of what is reached over the web."""

LONGEST = 1e11
"""Seconds that a duration has at most, about 3,000 years."""

MOST = (1 << 63) - 1
"""The largest whole number of a row."""


NAME = 1024
"""Bytes that a name has at most: room for any id or address, and not for what belongs into a message."""


def named(what: str, name: object, most: int = NAME) -> str:
    """The name itself, which is text of at least one character and at most `most` bytes. Raises: BadInput."""
    if not isinstance(name, str) or not name:
        raise BadInput(f"{what} is a text of at least one character, found {shown(name)}; give it a name", found=name)
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise BadInput(f"{what} {name!r} has half of a character in it; use text of UTF-8", found=name) from error
    if size > most:
        raise BadInput(
            f"{what} has at most {most:,} bytes, found {size:,}, beginning with {name[:40]!r}; "
            "give it a short name, and put the rest into a message",
            found=name,
        )
    return name


def seconds(what: str, value: object, least: float = 0.0, most: float = LONGEST) -> float:
    """The number of seconds itself. Raises: BadInput for what is none, less than `least` or more than `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise BadInput(f"{what} is a number of seconds, at least {least:g}{_until(value, most)}, found {shown(value)}")
    return float(value)


def duration(what: str, value: object) -> float | None:
    """Seconds above 0 of a number or a timedelta, or None for ever. Raises: BadInput."""
    if value is None:
        return None
    given = value.total_seconds() if isinstance(value, dt.timedelta) else value
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= LONGEST:
        raise BadInput(
            f"{what} is a number of seconds above 0{_until(given, LONGEST)}, a timedelta, or None to keep for ever, "
            f"found {shown(value)}"
        )
    return float(given)


def whole(what: str, value: object, least: int, most: int = MOST) -> int:
    """The whole number itself. Raises: BadInput for what is none, less than `least` or more than `most`."""
    if type(value) is not int or not least <= value <= most:
        raise BadInput(f"{what} is a whole number from {least}{_until(value, most)}, found {shown(value)}")
    return value


def parsed_url(url: object, schemes: Collection[str] = WEB) -> SplitResult | None:
    """The parts of a URL that has one of the schemes, and a host and port that can be; None for everything else."""
    if type(url) is not str or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        return None
    return parts if parts.scheme in schemes and host and port != 0 else None


def address(what: str, url: object, schemes: Collection[str] = WEB) -> SplitResult:
    """The parts of a URL as `parsed_url` has them. Raises: BadInput for everything else."""
    parts = parsed_url(url, schemes)
    if parts is None:
        *others, last = (f"{scheme}://" for scheme in schemes)
        raise BadInput(
            f"{what} begins with {', '.join(others)} or {last}, and has a host and port that can be, "
            f"found {shown_url(url):.80}"
        )
    return parts


def bearer(token: object, giver: str) -> str:
    """The token itself, which a header carries. Raises: BadInput, which shows nothing of it."""
    if type(token) is not str or not token.strip() or not token.isprintable() or not token.isascii():
        raise BadInput(
            f"token is the text that {giver} gave you, found one that is empty or has characters that no header carries"
        )
    return token


def predicate(given: object, of: str = "state") -> None:
    """Raises: BadInput for what is no function, which `until` is given one of."""
    if not callable(given):
        raise BadInput(f"until takes a function of the {of} that says whether it is reached, found {shown(given):.80}")


def several(what: str, given: object, example: str) -> Iterable[Any]:
    """The things themselves, one after another. Raises: BadInput for what is none of several, as a text is not."""
    if isinstance(given, (str, bytes, dict)) or not hasattr(given, "__iter__"):
        raise BadInput(f"{what} are given as a list, such as {example}, found {shown(given):.80}")
    return given


def shown(value: object) -> str:
    """What a value looks like, or of which kind it is where that cannot be shown."""
    try:
        return repr(value)
    except Exception as error:  # such as a whole number of more digits than Python writes
        return f"a {type(value).__qualname__} that cannot be shown ({type(error).__qualname__})"


def shown_url(url: object) -> str:
    """What a URL looks like, be it none, without what may be a secret in it: who logs in, and what follows the path."""
    if not isinstance(url, str):
        return shown(url)
    return repr(re.sub(r"(?s)([?#]).+", r"\1…", re.sub(r"(?s)\A(.*?//)?.*@", r"\1…@", url)))


def _until(value: object, most: float) -> str:
    """The bound in words, for what is above it."""
    return f" and at most {most:g}" if isinstance(value, (int, float)) and value > most else ""
