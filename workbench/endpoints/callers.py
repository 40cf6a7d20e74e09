"""Callers: who may call through a door, known by the digests of their tokens.

- Tokens come from the arguments of `publish`, or from `WORKBENCH_<CHANNEL>_CALLERS_<NAME>` in the environment.
- Only digests are kept, and every one of them is compared, in constant time, whichever fits.
- No error shows a token, nor a part of one.

Source: ENDPOINTS 1.5, DESIGN rule 13. Knows nothing of HTTP.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.agents.context import Principal
from workbench.errors import BadInput

if TYPE_CHECKING:
    from workbench.door import Given

__all__ = ["SHORTEST", "Caller", "Callers", "checked_name", "new_token", "variable"]

SHORTEST = 16
"""Characters of a token, at least."""
LONGEST = 64  # characters of a caller's name
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{LONGEST - 1}}}")
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, as `scope["user"]` has it. `str()` gives `mcp:desktop`."""

    name: str
    channel: str

    is_authenticated = True

    def __str__(self) -> str:
        return f"{self.channel}:{self.name}"

    @property
    def display_name(self) -> str:
        """`mcp:desktop`, as libraries that look for a user call it."""
        return str(self)

    @property
    def identity(self) -> str:
        """The same."""
        return str(self)

    @property
    def principal(self) -> Principal:
        """The caller as runs and tools know it."""
        return Principal(self.name, self.channel)


class Callers:
    """The callers of one channel. `given` are their tokens by name, or True for those of the environment.

    Raises: BadInput for a name or a token that cannot be, a token that two callers have, or nobody at all.
    """

    def __init__(self, channel: str, given: Given, environ: Mapping[str, str] | None = None) -> None:
        self.channel = channel
        tokens = _from(channel, os.environ if environ is None else environ) if given is True else given
        if not isinstance(tokens, Mapping):
            raise BadInput(
                f"{channel}= takes tokens by the caller's name, or True for those of the environment, "
                f"found {type(tokens).__name__}"
            )
        self._digests = {checked_name(channel, name): _digest(_checked(channel, name, tokens[name])) for name in tokens}
        if not self._digests:
            raise BadInput(
                f"nobody could call: no caller is given with {channel}=, and no variable {variable(channel, 'NAME')} "
                "is set; make a token with workbench token new NAME"
            )
        if len(set(self._digests.values())) < len(self._digests):
            raise BadInput(f"two callers of {channel} have the same token; give each its own")

    @property
    def names(self) -> list[str]:
        """The names of those who may call."""
        return list(self._digests)

    def who(self, token: str) -> Caller | None:
        """Whose token it is; None when it is nobody's. Takes the same time for each."""
        digest, found = _digest(token), None
        for name, known in tuple(self._digests.items()):
            if hmac.compare_digest(digest, known):
                found = name
        return None if found is None else Caller(found, self.channel)

    def revoke(self, name: str) -> None:
        """Know a caller no more. Raises: BadInput when there is no such caller."""
        if self._digests.pop(name, None) is None:
            raise BadInput(f"no caller {name!r} of {self.channel} here, there are {self.names}")

    def __repr__(self) -> str:
        return f"<Callers of {self.channel}: {', '.join(self.names)}>"


def variable(channel: str, name: str) -> str:
    """The environment variable that holds the token of a caller."""
    return f"WORKBENCH_{channel.upper()}_CALLERS_{name.upper()}"


def checked_name(channel: str, name: object) -> str:
    """The name itself, by which a caller can be known. Raises: BadInput."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadInput(
            f"a caller of {channel} is named by letters, digits, _ . and -, the first a letter or digit, at most "
            f"{LONGEST} of them, found {name!r:.80}"
        )
    return name


def new_token() -> str:
    """A token that nobody guesses: 32 random bytes as 43 characters."""
    return secrets.token_urlsafe(32)


def _from(channel: str, environ: Mapping[str, str]) -> dict[str, str]:
    prefix = variable(channel, "")
    return {name[len(prefix) :].lower(): token for name, token in environ.items() if name.startswith(prefix)}


def _checked(channel: str, name: str, token: object) -> str:
    if not isinstance(token, str):
        raise BadInput(f"the token of {channel} caller {name!r} is a text, found {type(token).__name__}")
    if len(token) < SHORTEST:
        raise BadInput(
            f"the token of {channel} caller {name!r} has {len(token)} characters, at least {SHORTEST} are needed; "
            f"make one with workbench token new {name}"
        )
    if not _TOKEN.fullmatch(token):
        raise BadInput(
            f"the token of {channel} caller {name!r} has characters that no header carries; use letters and digits"
        )
    return token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
