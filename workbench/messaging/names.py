"""What the post room takes from its callers: names of queues, topics, subscribers and jobs, seconds, counts.

What makes no sense is refused at once, by its value, before anything is written. Knows nothing of what is done with it.
"""

from __future__ import annotations

import math

from workbench.errors import BadInput

__all__ = ["named", "seconds", "whole"]


def named(what: str, name: object) -> str:
    """The name itself, which is text of at least one character. Raises: BadInput."""
    if not isinstance(name, str) or not name:
        raise BadInput(f"{what} is a text of at least one character, found {name!r}; give it a name", found=name)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{what} {name!r} has half of a character in it; use text of UTF-8", found=name) from error
    return name


def seconds(what: str, value: object, least: float = 0.0) -> None:
    """Raises: BadInput for what is no number of seconds, or less than `least`."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value) or value < least:
        raise BadInput(f"{what} is a number of seconds, at least {least:g}, found {value!r}")


def whole(what: str, value: object, least: int) -> None:
    """Raises: BadInput for what is no whole number, or less than `least`."""
    if type(value) is not int or value < least:
        raise BadInput(f"{what} is a whole number from {least}, found {value!r}")
