"""The key: the name under which a durable process is stored, and what cannot be one.

Every verb of every keeper checks it alike, so that none accepts what another cannot hold. Knows nothing of how keys
are made from arguments.
"""

from __future__ import annotations

from workbench.errors import BadInput

__all__ = ["checked"]


def checked(key: str) -> str:
    """The key itself, which is text of at least one character. Raises: BadInput."""
    if not isinstance(key, str) or not key:
        raise BadInput(f"a key is a text of at least one character, not {key!r}; name the process", key=key)
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the key {key!r} has half of a character in it; use text of UTF-8", key=key) from error
    return key
