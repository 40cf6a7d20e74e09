"""What a name in the post room is: of a queue, a topic, a subscriber, the key of a job."""

from __future__ import annotations

from workbench.errors import BadInput

__all__ = ["named"]


def named(what: str, name: object) -> str:
    """The name itself, which is text of at least one character. Raises: BadInput."""
    if not isinstance(name, str) or not name:
        raise BadInput(f"{what} is a text of at least one character, found {name!r}; give it a name", found=name)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{what} {name!r} has half of a character in it; use text of UTF-8", found=name) from error
    return name
